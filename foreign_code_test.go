package toolrunner_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
)

func foreignRaw(run toolrunner.Handler) []anthropic.BetaTool {
	return []anthropic.BetaTool{toolrunner.NewRawTool(anthropic.BetaToolParam{Name: "work"}, run)}
}

func foreignOneCall(input string) []string {
	return []string{
		foreignMessage("m1", "tool_use", foreignCall("a", "work", input)),
		foreignMessage("m2", "end_turn", foreignText("done")),
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
	tools := foreignRaw(func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		if _, err := raw.Execute(ctx, json.RawMessage(`{"n":1}`)); err != nil {
			return nil, err
		}
		content, err := inner.Execute(ctx, json.RawMessage(`{"city":"Rome"}`))
		if string(call.Input) != `{"city":"Paris"}` {
			t.Errorf("the outer call has the input %s now", call.Input)
		}
		return &toolrunner.Result{Content: content}, err
	})
	runner := foreignRunner(t, newForeignAPI(t, foreignOneCall(`{"city":"Paris"}`)...), tools, nil)
	if _, err := runner.RunToCompletion(t.Context()); err != nil {
		t.Fatal(err)
	}
	if history := foreignHistory(t, runner); !strings.Contains(history, "sunny in Rome") {
		t.Errorf("the history is %s, want the result for Rome", history)
	}
	if seen == nil || string(seen.Input) != `{"n":1}` || seen.Name != "raw" || seen.ID != "a" {
		t.Errorf("the inner handler got %+v, want its own name and input and the id of the outer call", seen)
	}
}
