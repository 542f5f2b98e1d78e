package history

import (
	"errors"
	"fmt"
	"slices"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/media"
)

// EncodeAll encodes messages from the caller, whose code may run. Messages that are
// known keep their bytes; an assistant message that says nothing is left out. Thinking
// without a signature is refused, unless it is to be kept. The error is an *[Error].
func EncodeAll(messages []anthropic.BetaMessageParam, known map[string][]byte, unsigned bool) ([]Draft, error) {
	drafts := make([]Draft, 0, len(messages))
	for i, p := range messages {
		raw, err := EncodeParam(p)
		if err != nil {
			return nil, &Error{Index: i, Reason: fmt.Sprintf("it cannot be encoded: %v", err)}
		}
		original, isKnown := known[string(raw)]
		if isKnown {
			raw = original
		}
		draft, ok, err := ReadMessage(raw)
		if err != nil {
			return nil, &Error{Index: i, Reason: err.Error()}
		}
		if fault := draft.thinkingFault(unsigned); ok && fault != nil {
			return nil, &Error{Index: i, Reason: fault.Error()}
		}
		if ok {
			if err := media.Check(draft.Raw); err != nil && !isKnown {
				return nil, &Error{Index: i, Reason: err.Error() + "; the Messages API would refuse each request with it"}
			}
			draft.Index = i
			drafts = append(drafts, draft)
		}
	}
	return drafts, nil
}

// thinkingFault says which thinking of a message the API refuses, or a host that takes
// thinking without a signature.
func (m *Draft) thinkingFault(unsigned bool) error {
	switch {
	case m.thinks:
		return errThinks
	case m.unsigned && !unsigned:
		return errUnsigned
	}
	return nil
}

var errThinks = errors.New("it ends with a thinking block, which the Messages API refuses; leave the block out")

var errUnsigned = errors.New("it has a thinking block without a signature, which the Messages API refuses; leave the block out, or set Params.KeepUnsignedThinking for a host that takes it")

// Known returns the bytes of messages by the form in which a caller gets them, for
// EncodeAll. If the messages have changed since, now are those that count.
func Known(messages, now []Message) map[string][]byte {
	known := make(map[string][]byte, len(messages))
	for i := range messages {
		if raw, err := EncodeParam(messages[i].Param()); err == nil {
			known[string(raw)] = messages[i].Raw
			if i < len(now) {
				known[string(raw)] = now[i].Raw
			}
		}
	}
	return known
}

// AppendAll adds messages. Calls that they leave unanswered are answered by what
// unanswered returns. The error is an *[Error]; the history may then hold some of the
// messages.
func (h *History) AppendAll(drafts []Draft, unanswered func(Use) []byte) error {
	for _, draft := range drafts {
		if err := h.Append(draft, unanswered); err != nil {
			return &Error{Index: draft.Index, Reason: err.Error()}
		}
	}
	return nil
}

// Fork returns a history that can grow while h stays as it is. It costs nothing, and
// is valid until h changes.
func (h *History) Fork() History {
	return History{turn: slices.Clip(h.turn), waiting: h.waiting, Messages: slices.Clip(h.Messages), Open: slices.Clip(h.Open), Changes: slices.Clip(h.Changes), Base: h}
}

// Clip has the next message move to new memory: others may know what came after the
// last one.
func (h *History) Clip() {
	h.Messages, h.Open, h.Changes = slices.Clip(h.Messages), slices.Clip(h.Open), slices.Clip(h.Changes)
}

// Point is a state of a history that it can go back to.
type Point struct {
	messages, changes, drafts int
	open                      []Use
	turn, waiting             []string
}

// Point returns the present state.
func (h *History) Point() Point {
	return Point{len(h.Messages), len(h.Changes), len(h.Drafts), slices.Clip(h.Open), slices.Clip(h.turn), h.waiting}
}

// Back removes what was added since a point.
func (h *History) Back(p Point) {
	h.Forget(h.Messages[p.messages:])
	h.Messages, h.Changes, h.Drafts, h.Open = h.Messages[:p.messages], h.Changes[:p.changes], h.Drafts[:p.drafts], p.open
	h.turn, h.waiting = p.turn, p.waiting
}

// Forget forgets the ids of the tool uses in messages.
func (h *History) Forget(messages []Message) {
	for i := range messages {
		for _, id := range messages[i].UseIDs() {
			delete(h.IDs, id)
		}
	}
}

// PopSystem removes the system messages at the end, and returns them.
func (h *History) PopSystem() []Draft {
	n := len(h.Messages)
	for n > 0 && h.Messages[n-1].Role == RoleSystem {
		n--
	}
	popped := make([]Draft, 0, len(h.Messages)-n)
	changes := 0
	for _, m := range h.Messages[n:] {
		draft, _, _ := ReadMessage(m.Raw) // it was read before
		changes += len(draft.Changes)
		popped = append(popped, draft)
	}
	h.Messages = h.Messages[:n:n]
	h.Changes = slices.Clip(h.Changes[:len(h.Changes)-changes])
	return popped
}

// TakesSystem reports whether a system message may follow.
func (h *History) TakesSystem() bool {
	last := h.lastOrdinary()
	return last != nil && (last.Role != RoleAssistant || last.ServerEnd && len(h.waiting) == 0)
}

// TextMessage returns a message of the user with one text.
func TextMessage(text string) Message {
	return JoinMessage(RoleUser, [][]byte{AppendText(nil, text)})
}
