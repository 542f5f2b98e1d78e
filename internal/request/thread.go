package request

import (
	"slices"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// Thread says whether the API keeps the conversation. The zero value is a request with
// nothing of it.
type Thread struct {
	Create   bool   // the API keeps what the request has
	Previous string // id of the reply that the request continues, if it is not empty
	Kept     int    // messages that the API has then
}

// String returns what the member thread says: "create", "continue", or "" without one.
func (t Thread) String() string {
	switch {
	case t.Previous != "":
		return "continue"
	case t.Create:
		return "create"
	}
	return ""
}

const threadsBeta = anthropic.AnthropicBetaMessageThreads2026_08_12

// appendThread adds what makes the request one of a thread. Source: the comments of
// BetaMessageThreadParamUnion in the SDK.
func (r *Request) appendThread() {
	switch t := r.thread; {
	case t.Previous != "":
		r.rest.Append([]byte(`,"thread":{"type":"continue","previous_message_id":`), wire.AppendString(nil, t.Previous), []byte("}"))
	case t.Create:
		r.rest.Append([]byte(`,"thread":{"type":"create"}`))
	default:
		return
	}
	if !slices.Contains(r.Params.Betas, threadsBeta) {
		r.Params.Betas = append(slices.Clip(r.Params.Betas), threadsBeta)
	}
}
