package runtest

import (
	"encoding/json"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/toolrunner/toolrunner"
)

// Messages of the system that change whether the tool "work" can be called.
const (
	RemoveWork = `{"role":"system","content":[{"type":"tool_removal","tool":{"type":"tool_reference","name":"work"}}]}`
	AddWork    = `{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_reference","name":"work"}}]}`
	DefineWork = `{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"work","input_schema":{"type":"object"}}}}]}`
)

// ToAsk returns params for Resume that keep nothing.
func ToAsk(params toolrunner.Params) toolrunner.Params {
	params.Messages, params.Checkpoint = nil, nil
	return params
}

// Asking returns params whose history is one message of the user.
func Asking(text string) toolrunner.Params { return Given(User(text)) }

// Given returns params with a history.
func Given(messages ...anthropic.BetaMessageParam) toolrunner.Params {
	return toolrunner.Params{BetaMessageNewParams: anthropic.BetaMessageNewParams{
		Model: "claude-test", MaxTokens: 1024, Messages: messages,
	}}
}

// User is a message of the user.
func User(text string) anthropic.BetaMessageParam {
	return anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(text))
}

// Messages of the assistant whose calls have no results.
const (
	OpenCallA   = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"work","input":{"n":9007199254740993}}]}`
	OpenCallsAB = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"work","input":{}},{"type":"tool_use","id":"b","name":"work","input":{}}]}`
)

// EagerParams is params under which ReadOnly tools start while replies stream.
func EagerParams() toolrunner.Params {
	params := Asking("hi")
	params.EagerTools = true
	return params
}

// MessageParams is a history.
type MessageParams = []anthropic.BetaMessageParam

// Verbatim is a message of exactly this JSON.
func Verbatim(raw string) anthropic.BetaMessageParam {
	return param.Override[anthropic.BetaMessageParam](json.RawMessage(raw))
}

// Calling is a message of the assistant that calls a tool.
func Calling(id, tool string) anthropic.BetaMessageParam {
	return Verbatim(fmt.Sprintf(`{"role":"assistant","content":[{"type":"tool_use","id":%q,"name":%q,"input":{}}]}`, id, tool))
}

// Answering is a message of the user that answers a call by hand.
func Answering(id, text string) anthropic.BetaMessageParam {
	return Verbatim(fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%q}]}`, id, text))
}

// RawDefinition is the definition of a tool of exactly this JSON.
func RawDefinition(raw string) anthropic.BetaToolUnionParam {
	return param.Override[anthropic.BetaToolUnionParam](json.RawMessage(raw))
}
