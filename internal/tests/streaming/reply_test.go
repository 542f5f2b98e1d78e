package streaming_test

import (
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// printed is what a program prints that goes by the events of turns.
func printed(t *testing.T, c *runtest.Conversation) (text, thinking, input string) {
	t.Helper()
	c.MustStream(t, func(turn *toolrunner.Turn) {
		for e, err := range turn.Events() {
			if err != nil {
				t.Error(err)
			}
			text, thinking, input = text+e.Text, thinking+e.Thinking, input+e.PartialJSON
			if u, err := e.Union(); err != nil || u.Type != e.Type {
				t.Errorf("the event %s is decoded as %v, %v", e.Raw(), u.Type, err)
			}
		}
		if turn.Text() != text {
			t.Errorf("Text() = %q, and the events have %q", turn.Text(), text)
		}
	})
	return text, thinking, input
}

// R3: a program that prints what events add prints the whole reply, whatever form the server
// gives it: text that a block begins with, and a reply that is not streamed at all.
func TestEventsHaveTheWholeReply(t *testing.T) {
	t.Run("text in content_block_start", func(t *testing.T) {
		sse := `data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}}

data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"h","signature":"s"}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"m"}}

data: {"type":"content_block_stop","index":0}

data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":"He"}}

data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"llo"}}

data: {"type":"content_block_stop","index":1}

data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}

data: {"type":"message_stop"}

`
		text, thinking, _ := printed(t, runtest.StartUnchecked(t, toolrunner.Params{}, nil, toolrunnertest.RawSSE(sse)))
		if text != "Hello" || thinking != "hm" {
			t.Errorf("the events have %q and %q", text, thinking)
		}
	})
	t.Run("JSON in answer to a streaming request", func(t *testing.T) {
		body := `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"Hello"},
			{"type":"tool_use","id":"a","name":"look","input":{"x": 1}}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`
		c := runtest.StartUnchecked(t, toolrunner.Params{}, []anthropic.BetaTool{runtest.Says("look", "ok")}, toolrunnertest.RawJSON(body))
		text, thinking, input := printed(t, c)
		if text != "Hello" || thinking != "hm" || input != `{"x": 1}` {
			t.Errorf("the events have %q, %q and %q", text, thinking, input)
		}
	})
	t.Run("they come once", func(t *testing.T) {
		body := `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hello"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`
		c := runtest.StartUnchecked(t, toolrunner.Params{}, nil, toolrunnertest.RawJSON(body))
		var seen strings.Builder
		c.MustStream(t, func(turn *toolrunner.Turn) {
			for range 2 {
				for e := range turn.Events() {
					seen.WriteString(e.Text)
				}
			}
		})
		if seen.String() != "Hello" {
			t.Errorf("the events have %q", seen.String())
		}
	})
}
