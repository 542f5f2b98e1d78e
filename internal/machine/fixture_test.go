package machine

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// now is the time in tests of the machine, which has no clock of its own.
var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const (
	callA       = `{"type":"tool_use","id":"a","name":"pure","input":{}}`
	callB       = `{"type":"tool_use","id":"b","name":"impure","input":{}}`
	serverUse   = `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`
	fallbackOne = `{"type":"fallback","from":{"model":"m"},"to":{"model":"n"}}`
)

func testTool(name string) *Tool {
	return &Tool{Name: name, Definition: []byte(`{"name":"` + name + `","input_schema":{"type":"object"}}`), Repeatable: name == "pure"}
}

// testTools returns the tools that the machines of tests begin with: one that may run
// again after an interruption, and one that may not.
func testTools(tb testing.TB) *Tools {
	tb.Helper()
	tools, err := NewTools([]*Tool{testTool("pure"), testTool("impure")}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return tools
}

func paramOf(raw string) anthropic.BetaMessageParam {
	return param.Override[anthropic.BetaMessageParam](json.RawMessage(raw))
}

func paramsOf(raws ...string) []anthropic.BetaMessageParam {
	messages := make([]anthropic.BetaMessageParam, len(raws))
	for i, raw := range raws {
		messages[i] = paramOf(raw)
	}
	return messages
}

// newMachine returns the machine of a conversation that begins with messages.
func newMachine(tb testing.TB, raws ...string) *Machine {
	tb.Helper()
	drafts, err := history.EncodeAll(paramsOf(raws...), nil, false)
	if err != nil {
		tb.Fatal(err)
	}
	m, err := New("conversation", testTools(tb), drafts)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// follow adds follow-ups as a caller does.
func follow(m *Machine, raws ...string) error {
	drafts, err := history.EncodeAll(paramsOf(raws...), nil, false)
	if err != nil {
		return err
	}
	return m.Follow(drafts)
}

// next returns the next step that is more than a change of the state.
func next(m *Machine, l StepLimits) Step {
	l.Now = now
	for {
		s := m.Next(l)
		if s.Kind != Settle {
			return s
		}
		m.Settle(l.Limits.FailedCalls > 0, now)
	}
}

// answer runs a call, whose result is a text.
func answer(m *Machine, call *Call, text string) {
	m.Start(call, false)
	m.SetResult(call, history.ResultBlock(call.use, text, false), nil)
}

// startMachine returns a machine that has got these replies, each of blocks and a stop
// reason. All calls but those of the last reply have been answered with "done".
func startMachine(tb testing.TB, replies ...[2]string) *Machine {
	tb.Helper()
	m := newMachine(tb, `{"role":"user","content":[{"type":"text","text":"begin"}]}`)
	for _, r := range replies {
		s := next(m, StepLimits{})
		for ; s.Kind == Run; s = next(m, StepLimits{}) {
			m.ComeToCalls()
			for _, call := range s.Calls {
				answer(m, call, "done")
			}
		}
		if s.Kind != Send {
			tb.Fatalf("before %s: step %d, want a request", r, s.Kind)
		}
		m.Begin(s)
		take(tb, m, r[0], r[1])
	}
	return m
}

// readReply reads a reply of blocks and a stop reason.
func readReply(tb testing.TB, m *Machine, blocks, stopReason string) *history.Reply {
	tb.Helper()
	r, err := history.ReadReply([]byte(`{"role":"assistant","content":[`+blocks+`],"stop_reason":"`+stopReason+`","usage":{"input_tokens":5,"output_tokens":1}}`), m.Place())
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// take gives the machine a reply to the request under way.
func take(tb testing.TB, m *Machine, blocks, stopReason string) {
	tb.Helper()
	m.Received(readReply(tb, m, blocks, stopReason), nil)
	m.ComeToCalls()
}

// wantValidRequest checks that the next step is a request that the API accepts, and
// begins it.
func wantValidRequest(t *testing.T, m *Machine) {
	t.Helper()
	s := next(m, StepLimits{})
	if s.Kind != Send {
		t.Fatalf("step = %d, want a request", s.Kind)
	}
	m.Begin(s)
	body := requestBody(m, m.Messages())
	if err := toolrunnertest.CheckRequest(body); err != nil {
		t.Errorf("the request is invalid: %v\n%s", err, body)
	}
}

// requestBody returns a body with the tools of the machine, its container, and
// messages.
func requestBody(m *Machine, messages []history.Message) []byte {
	tools := []json.RawMessage{}
	for _, tool := range m.FirstTools() {
		tools = append(tools, tool.Definition)
	}
	body := map[string]any{"model": "m", "max_tokens": 10, "tools": tools, "messages": rawsOf(messages)}
	if m.Container(now) != "" {
		body["container"] = m.Container(now)
	}
	raw, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("the history is no JSON: %v", err))
	}
	return raw
}

func rawsOf(messages []history.Message) []json.RawMessage {
	raws := []json.RawMessage{}
	for _, m := range messages {
		raws = append(raws, m.Raw)
	}
	return raws
}

func textsOf(messages []history.Message) []string {
	texts := make([]string, len(messages))
	for i, m := range messages {
		texts[i] = string(m.Raw)
	}
	return texts
}
