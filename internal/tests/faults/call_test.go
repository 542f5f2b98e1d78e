package faults_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// traveled returns a call as it is after so many trips through encoding/json.
func traveled(t *testing.T, call *toolrunner.Call, trips int) *toolrunner.Call {
	t.Helper()
	for range trips {
		data, err := json.Marshal(call)
		mustDo(t, "Marshal()", err)
		var back toolrunner.Call
		mustDo(t, "Unmarshal()", json.Unmarshal(data, &back))
		call = &back
	}
	return call
}

type order struct {
	N    int            `json:"n"`
	Tags []string       `json:"tags,omitempty"`
	More map[string]int `json:"more,omitempty"`
}

// F6, F27: a call survives encoding/json: its id, name, both inputs and key, so that a
// decision that was made on it counts, and the handler's key is the one that was shown.
func TestCallSurvivesJSON(t *testing.T) {
	inputs := map[string]string{
		"plain":           `{"n":1}`,
		"space and html":  "{ \"n\" : 1 ,\n\"tags\": [\"<&>\"] }",
		"strings of JSON": `{"n":"1","tags":"[\"a\"]"}`,
		"a large number":  `{"n":1,"more":{"x":9007199254740993}}`,
	}
	for name, input := range inputs {
		for _, trips := range []int{0, 1, 2} {
			t.Run(name, func(t *testing.T) {
				var shown *toolrunner.Call
				var key string
				params := toolrunner.Params{Validate: toolrunner.ValidateLenient, Approve: func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
					shown = call
					return toolrunner.Suspend(), nil
				}}
				tool := toolrunner.NewTool("work", "", func(ctx context.Context, in order) (int, error) {
					call, _ := toolrunner.CallFrom(ctx)
					key = call.IdempotencyKey()
					return in.N, nil
				})
				c := runtest.StartUnchecked(t, params, runtest.Tools(tool), runtest.Blocks("a work "+input), toolrunnertest.Text("done"))
				c.RunSuspended(t, "a")
				back := traveled(t, shown, trips)
				if back.ID != shown.ID || back.Name != shown.Name || back.Iteration != shown.Iteration || back.ConversationID != c.ConversationID() {
					t.Errorf("the call came back as %+v, want %+v", back, shown)
				}
				if got, want := compact(t, back.Input), compact(t, shown.Input); got != want {
					t.Errorf("Input = %s, want %s", got, want)
				}
				if got, want := back.IdempotencyKey(), shown.IdempotencyKey(); got != want {
					t.Errorf("IdempotencyKey() = %s, want %s", got, want)
				}
				var in order
				mustDo(t, "Decode()", back.Decode(&in))
				if in.N != 1 {
					t.Errorf("Decode() = %+v, want n to be 1", in)
				}
				mustDo(t, "Decide()", c.Decide("a", toolrunner.Allow().For(back)))
				c.MustPlay(t, nil)
				runtest.WantSuccess(t, c.Request(t, -1), "a", "1")
				if key != shown.IdempotencyKey() {
					t.Errorf("the handler's key is %s, want %s", key, shown.IdempotencyKey())
				}
			})
		}
	}
}

func compact(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	data, err := json.Marshal(raw)
	mustDo(t, "Marshal()", err)
	return string(data)
}

// F6: a decision that was made on another call or input is still refused.
func TestDecisionOnAnotherCallIsRefusedAfterJSON(t *testing.T) {
	c, ran := start(t, toolrunner.Params{Approve: runtest.Suspending("a")}, runtest.Blocks(`a work {"n":1}`))
	shown := c.RunSuspended(t, "a").Calls[0]
	for name, change := range map[string]func(call *toolrunner.Call){
		"name":   func(call *toolrunner.Call) { call.Name = "other" },
		"number": func(call *toolrunner.Call) { call.Input = json.RawMessage(`{"n":1.0}`) },
	} {
		data, err := json.Marshal(shown)
		mustDo(t, "Marshal()", err)
		var other toolrunner.Call
		mustDo(t, "Unmarshal()", json.Unmarshal(data, &other))
		change(&other)
		other = *traveled(t, &other, 1)
		refused := (*toolrunner.DecisionError)(nil)
		if err := c.Decide("a", toolrunner.Allow().For(&other)); !errors.As(err, &refused) {
			t.Errorf("Decide() on a call with another %s: error = %v, want a *DecisionError", name, err)
		}
	}
	ran.Want(t)
}

// A call that is no call, as JSON, is refused and changes nothing.
func TestJSONThatIsNoCallIsRefused(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `7`, `{"id":"a","name":"work"}`, `{"id":"","name":"work","input":{}}`, `{"id":"a","id":"b","name":"work","input":{}}`,
		`{"id":"a","name":"work","input":{"n":1,"n":2}}`, `{"ID":"a","name":"work","input":{}}`,
	} {
		call := toolrunner.Call{ID: "before"}
		if err := json.Unmarshal([]byte(text), &call); err == nil {
			t.Errorf("Unmarshal(%s) error = nil, want one", text)
		}
		if call.ID != "before" {
			t.Errorf("Unmarshal(%s) has changed the call to %v", text, call)
		}
	}
}

// Call.Decode takes a key for the field of exactly that name, and refuses a key that
// comes twice at any depth: what is decided on is what runs.
func TestDecodeIsExact(t *testing.T) {
	for _, text := range []string{`{"n":1,"n":2}`, `{"n":1,"more":{"x":1,"x":2}}`, `{"n":1,"other":[{"a":{"b":1,"b":2}}]}`, `{"n":1,"\u006e":2}`, `{"n":"1"}`, `[]`, `{"n":`} {
		call := toolrunner.Call{ID: "a", Name: "work", Input: json.RawMessage(text)}
		var in order
		if err := call.Decode(&in); err == nil || !strings.Contains(err.Error(), `"a"`) {
			t.Errorf("Decode(%s) error = %v, want one that names the call", text, err)
		}
	}
	call := toolrunner.Call{ID: "a", Input: json.RawMessage(`{"N":7,"n":1,"Tags":["x"],"unknown":{"deep":true}}`)}
	var in order
	mustDo(t, "Decode()", call.Decode(&in))
	if in.N != 1 || in.Tags != nil {
		t.Errorf("Decode() = %+v, want n of exactly that name, and no tags", in)
	}
	for _, into := range []any{nil, order{}, (*order)(nil), "text"} {
		if err := call.Decode(into); err == nil || !strings.Contains(err.Error(), "pointer") {
			t.Errorf("Decode(%T) error = %v, want one that asks for a pointer", into, err)
		}
	}
	var open any
	mustDo(t, "Decode()", call.Decode(&open))
}

// F4: a call without a name goes on with one.
func TestCallWithoutANameDoesNotBlockLaterRequests(t *testing.T) {
	c, ran := start(t, toolrunner.Params{},
		toolrunnertest.RawJSON(`{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"a","input":{}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`),
		toolrunnertest.Text("done"), toolrunnertest.Text("resumed"))
	var snapshot []byte
	c.MustPlay(t, func(turn *toolrunner.Turn) {
		if turn.Iteration() == 1 {
			var err error
			snapshot, err = c.Snapshot()
			mustDo(t, "Snapshot()", err)
		}
	})
	ran.Want(t)
	if _, failed := runtest.ResultText(t, c.Request(t, 1), "a"); !failed {
		t.Error("the call has not failed")
	}
	resumed := c.Resume(t, snapshot, runtest.Asking(""), ran.Tool("work"))
	mustDo(t, "the resumed loop", resumed.Play(t.Context(), nil))
}
