package network_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/toolrunner/toolrunner"
)

func rawTools(run toolrunner.Handler) []anthropic.BetaTool {
	return []anthropic.BetaTool{toolrunner.NewRawTool(anthropic.BetaToolParam{Name: "work"}, run)}
}

func oneCall(input string) []string {
	return []string{
		messageJSON("m1", "tool_use", callJSON("a", "work", input)),
		messageJSON("m2", "end_turn", textJSON("done")),
	}
}

// A tool that calls another one gives it an input of its own, under whatever
// call it runs itself.
func TestExecuteInsideAHandlerTakesTheInputItIsGiven(t *testing.T) {
	type input struct {
		City string `json:"city"`
	}
	var seen *toolrunner.Call
	raw := toolrunner.NewRawTool(anthropic.BetaToolParam{Name: "raw"}, func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		seen = call
		return toolrunner.TextResult("ok"), nil
	})
	inner := toolrunner.NewTool("inner", "", func(_ context.Context, in input) (string, error) { return "sunny in " + in.City, nil })
	tools := rawTools(func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		if _, err := raw.Execute(ctx, json.RawMessage(`{"n":1}`)); err != nil {
			return nil, err
		}
		content, err := inner.Execute(ctx, json.RawMessage(`{"city":"Rome"}`))
		if string(call.Input) != `{"city":"Paris"}` {
			t.Errorf("the outer call has the input %s now", call.Input)
		}
		return &toolrunner.Result{Content: content}, err
	})
	runner := startRunner(t, newPeerAPI(t, oneCall(`{"city":"Paris"}`)...), tools, nil)
	if _, err := runner.RunToCompletion(t.Context()); err != nil {
		t.Fatal(err)
	}
	if history := historyJSON(t, runner); !strings.Contains(history, "sunny in Rome") {
		t.Errorf("the history is %s, want the result for Rome", history)
	}
	if seen == nil || string(seen.Input) != `{"n":1}` || seen.Name != "raw" || seen.ID != "a" {
		t.Errorf("the inner handler got %+v, want its own name and input and the id of the outer call", seen)
	}
}

type panicking struct{}

func (panicking) MarshalJSON() ([]byte, error) { panic("boom") }

// Promise 6: code of the caller that encodes a value may panic like a handler.
func TestAPanicInMarshalJSONEndsNoProcess(t *testing.T) {
	withExtra := &anthropic.BetaTextBlockParam{Text: "x"}
	withExtra.SetExtraFields(map[string]any{"extra": panicking{}})
	contents := map[string]anthropic.BetaToolResultBlockParamContentUnion{
		"in place of a block": param.Override[anthropic.BetaToolResultBlockParamContentUnion](panicking{}),
		"in a block":          {OfText: withExtra},
	}
	for name, content := range contents {
		t.Run(name, func(t *testing.T) {
			tools := rawTools(func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
				return &toolrunner.Result{Content: []anthropic.BetaToolResultBlockParamContentUnion{content}}, nil
			})
			runner := startRunner(t, newPeerAPI(t, oneCall(`{}`)...), tools, nil)
			if _, err := runner.RunToCompletion(t.Context()); err != nil {
				t.Fatal(err)
			}
			history := historyJSON(t, runner)
			if !strings.Contains(history, "Error: the tool failed unexpectedly.") || strings.Contains(history, "boom") {
				t.Errorf("the history is %s, want a failed result that does not tell why", history)
			}
		})
	}
	runner := startRunner(t, newPeerAPI(t), nil, nil)
	block := anthropic.BetaContentBlockParamUnion{OfText: withExtra}
	for name, message := range map[string]anthropic.BetaMessageParam{
		"block":   anthropic.NewBetaUserMessage(block),
		"message": param.Override[anthropic.BetaMessageParam](panicking{}),
	} {
		if err := runner.AppendMessages(message); err == nil {
			t.Errorf("%s: AppendMessages() = nil, want an error", name)
		}
	}
	bomb := param.Override[anthropic.BetaToolUnionParam](panicking{})
	if err := runner.AddToolParams(bomb); err == nil {
		t.Error("AddToolParams() = nil, want an error")
	}
}

// A tool choice that is set while the reply streams was not sent with it: it
// forces the next request.
func TestAToolChoiceSetWhileStreamingForcesTheNextRequest(t *testing.T) {
	api := newPeerAPI(t, oneCall(`{}`)...)
	var bodies []string
	tools := rawTools(func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { return nil, nil })
	runner := startRunner(t, api, tools, func(p *toolrunner.Params) {
		p.RequestOptions = []option.RequestOption{recordBodies(&bodies)}
	})
	for turn, err := range runner.AllStreaming(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if turn.Iteration() == 1 {
			runner.Params.ToolChoice = anthropic.BetaToolChoiceUnionParam{OfAny: &anthropic.BetaToolChoiceAnyParam{}}
		}
	}
	if len(bodies) != 2 || !strings.Contains(bodies[1], `"tool_choice":{"type":"any"}`) {
		t.Errorf("the requests are %q, want the choice in the second", bodies)
	}
}

// Call: "changing it changes nothing else", not the records of the call either.
func TestAHandlerThatChangesItsCallChangesNoRecord(t *testing.T) {
	var records bytes.Buffer
	tools := rawTools(func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		call.ID, call.Name, call.Iteration = "mine", "mine", 77
		return nil, nil
	})
	runner := startRunner(t, newPeerAPI(t, oneCall(`{}`)...), tools, func(p *toolrunner.Params) {
		p.Logger = slog.New(slog.NewTextHandler(&records, nil))
	})
	if _, err := runner.RunToCompletion(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(records.String(), `"tool call ended" tool=work call_id=a iteration=1`) {
		t.Errorf("the records are\n%s", &records)
	}
}

// resultLog answers the call a by hand, when the record comes that says its
// check has failed: between the look at the call and its result.
type resultLog struct {
	slog.Handler

	on   string
	then func()
}

func (h resultLog) Handle(_ context.Context, r slog.Record) error {
	if r.Message == h.on {
		h.then()
	}
	return nil
}

// AppendMessages: a result that is taken for a call which has not started is the
// one that is sent, at whatever moment it comes.
func TestAResultThatWasTakenIsSent(t *testing.T) {
	tests := []struct{ name, on, tool string }{
		{"while the tool is looked up", "tool not found", "nothing"},
		{"while the input is checked", "tool call failed", "typed"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			api := newPeerAPI(t, messageJSON("m1", "tool_use", callJSON("a", test.tool, `{"n":"x"}`)), messageJSON("m2", "end_turn", textJSON("done")))
			typed := toolrunner.NewTool("typed", "", func(_ context.Context, in struct {
				N int `json:"n"`
			},
			) (int, error) {
				return in.N, nil
			})
			var runner *toolrunner.Runner
			var refused error
			handler := resultLog{slog.NewTextHandler(nowhereToLog{}, nil), test.on, func() {
				refused = runner.AppendMessages(anthropic.NewBetaUserMessage(anthropic.NewBetaToolResultBlock("a", "by hand", false)))
			}}
			runner = startRunner(t, api, []anthropic.BetaTool{typed}, func(p *toolrunner.Params) { p.Logger = slog.New(handler) })
			if _, err := runner.RunToCompletion(t.Context()); err != nil {
				t.Fatal(err)
			}
			if history := historyJSON(t, runner); refused != nil || !strings.Contains(history, "by hand") {
				t.Errorf("AppendMessages() = %v, and the history is %s; want the result that was taken", refused, history)
			}
		})
	}
}
