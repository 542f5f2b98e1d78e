package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// runOfficial runs tools by the SDK's own runner, and returns the results that it sent.
func runOfficial(t *testing.T, server *toolrunnertest.Server, tools ...anthropic.BetaTool) []string {
	t.Helper()
	client := server.Client()
	runner := client.Beta.Messages.NewToolRunner(tools, anthropic.BetaToolRunnerParams{BetaMessageNewParams: anthropic.BetaMessageNewParams{
		Model: "claude-test", MaxTokens: 100, Messages: []anthropic.BetaMessageParam{runtest.User("hi")},
	}})
	if _, err := runner.RunToCompletion(t.Context()); err != nil {
		t.Fatal(err)
	}
	requests := server.Requests()
	var results []string
	for _, id := range []string{"a", "b"} {
		if block := requests[len(requests)-1].ToolResult(id); block != nil {
			results = append(results, string(block))
		}
	}
	return results
}

// P18, S5, S6, S8: another runner sends the text of the error that Execute returns. It is
// what the model is to read, never the private cause, and no panic ends the process.
func TestToolsUnderTheOfficialRunner(t *testing.T) {
	private := errors.New("password in /etc/secret")
	fails := func(r *toolrunner.Result, err error) toolrunner.Handler {
		return func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { return r, err }
	}
	content := []runtest.Content{runtest.TextContent("no such file"), runtest.TextContent("try ls")}
	tests := []struct {
		name  string
		run   toolrunner.Handler
		want  string // the text of the result
		cause error
	}{
		{"a plain error", fails(nil, private), "Error: password in /etc/secret", private},
		{"a wrapped error", fails(nil, fmt.Errorf("open: %w", private)), "Error: open: password in /etc/secret", private},
		{"ToolError", fails(nil, &toolrunner.ToolError{Content: content, Err: private}), "Error: no such file\ntry ls", private},
		{"a wrapped ToolError", fails(nil, fmt.Errorf("x: %w", &toolrunner.ToolError{Content: content, Err: private})), "Error: no such file\ntry ls", private},
		{"a ToolError without content", fails(nil, &toolrunner.ToolError{Err: private}), "Error: the tool failed without saying why.", private},
		{"a failed result", fails(&toolrunner.Result{Content: content, IsError: true, Err: private}, nil), "Error: no such file\ntry ls", private},
		{"ErrorResult", fails(toolrunner.ErrorResult("Error: no"), nil), "Error: no", nil},
		{"a failed result that says nothing", fails(&toolrunner.Result{IsError: true, Err: private}, nil), "Error: the tool failed without saying why.", private},
		{"content beside an error", fails(toolrunner.TextResult("half"), private), "Error: half\nError: password in /etc/secret", private},
		{"no text", fails(nil, errors.New(" ")), "Error: the tool failed without saying why.", nil},
		{"a long text", fails(nil, errors.New(strings.Repeat("é", 5000))), "Error: " + strings.Repeat("é", 4096) + "...", nil},
		{"malformed text", fails(nil, errors.New("a\xffb")), "Error: a\ufffdb", nil},
		{"a panic", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { panic("secret") }, "Error: the tool failed unexpectedly.", nil},
		{"an error that panics", fails(nil, panickingError{}), "Error: the tool failed unexpectedly.", nil},
		{"Abort", fails(nil, toolrunner.Abort(private)), "Error: the tool ended the run.", private},
		{"a picture that is cut off", fails(&toolrunner.Result{Content: []runtest.Content{imageContent(picture(t, 9, 9)[:60])}}, nil), "the tool's result cannot be sent: the image of 60 bytes is broken", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tool := runtest.Raw("f", test.run)
			server := toolrunnertest.NewServer(t, toolrunnertest.Message(toolrunnertest.Call("a", "f", `{}`)), toolrunnertest.Text("done"))
			results := runOfficial(t, server, tool)
			var got struct {
				Content []struct{ Text string }
				Failed  bool `json:"is_error"`
			}
			if err := json.Unmarshal([]byte(results[0]), &got); err != nil || !got.Failed || len(got.Content) != 1 || !strings.Contains(got.Content[0].Text, test.want) {
				t.Errorf("the result is %.500s, want a failed one with %q", results[0], test.want)
			}
			if _, err := tool.Execute(t.Context(), json.RawMessage(`{}`)); test.cause != nil && !errors.Is(err, test.cause) {
				t.Errorf("Execute() error = %v does not wrap %v", err, test.cause)
			}
		})
	}
}

type panickingError struct{}

func (panickingError) Error() string { panic("boom") }

// P18: empty content would make the API refuse the request; what says nothing is left out.
func TestExecuteLeavesOutWhatSaysNothing(t *testing.T) {
	tool := runtest.Raw("f", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
		return &toolrunner.Result{Content: []runtest.Content{{}, runtest.TextContent(""), runtest.TextContent("x")}}, nil
	})
	got, err := tool.Execute(t.Context(), json.RawMessage(`{}`))
	if err != nil || len(got) != 1 || got[0].OfText.Text != "x" {
		t.Errorf("Execute() = %v, %v; want the one block that says something", got, err)
	}
}

// S9: a tool's own timeout holds under any runner.
func TestTimeoutAppliesToExecute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tool := runtest.Raw("f", func(ctx context.Context, _ *toolrunner.Call) (*toolrunner.Result, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		tool.Timeout = time.Minute
		begin := time.Now()
		_, err := tool.Execute(t.Context(), json.RawMessage(`{}`))
		if err == nil || err.Error() != "the call timed out after 1m0s" || time.Since(begin) != time.Minute {
			t.Errorf("Execute() error = %v after %v", err, time.Since(begin))
		}
	})
}

// S10: two calls with equal input are two calls: a payment is not taken for another. A
// handler that runs again, after a crash or by Retry, makes the same calls again.
func TestCallsOfExecuteShareNoKey(t *testing.T) {
	var keys []string
	pay := runtest.Raw("pay", func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		if own, ok := toolrunner.CallFrom(ctx); !ok || own.Name != "pay" || own.IdempotencyKey() != call.IdempotencyKey() {
			t.Errorf("CallFrom() = %v, want the call itself", own)
		}
		keys = append(keys, call.IdempotencyKey())
		return toolrunner.TextResult("paid"), nil
	})
	server := toolrunnertest.NewServer(t, toolrunnertest.Message(toolrunnertest.Call("a", "pay", `{"n":1}`)), toolrunnertest.Message(toolrunnertest.Call("b", "pay", `{"n":1}`)), toolrunnertest.Text("done"))
	runOfficial(t, server, pay)
	if len(keys) != 2 || keys[0] == keys[1] || keys[0] == "" {
		t.Errorf("the keys under another runner are %q, want two", keys)
	}

	keys = nil
	attempts := 0
	order := runtest.Raw("order", func(ctx context.Context, _ *toolrunner.Call) (*toolrunner.Result, error) {
		for _, input := range []string{`{"n":1}`, `{"n":1}`, `{"n":2}`} {
			if _, err := pay.Execute(ctx, json.RawMessage(input)); err != nil {
				return nil, err
			}
		}
		if attempts++; attempts == 1 {
			return nil, toolrunner.Temporary(errors.New("again"))
		}
		return toolrunner.TextResult("ordered"), nil
	})
	order.Idempotent = true
	c := runtest.StartUnchecked(t, toolrunner.Params{Middleware: []toolrunner.Middleware{toolrunner.Retry(2, 0)}}, runtest.Tools(order),
		toolrunnertest.Message(toolrunnertest.Call("a", "order", `{}`)), toolrunnertest.Text("done"))
	c.Run(t)
	if len(keys) != 6 || keys[0] == keys[1] || keys[0] == keys[2] || keys[1] == keys[2] {
		t.Fatalf("the keys within a handler are %q, want three, twice", keys)
	}
	for i := range 3 {
		if keys[i] != keys[i+3] {
			t.Errorf("the further attempt has the key %q, want %q again", keys[i+3], keys[i])
		}
	}
}

// S6: what a handler passes on of another tool's failure keeps its content, and its cause
// stays private.
func TestAFailureOfExecuteKeepsItsContent(t *testing.T) {
	inner := runtest.Raw("inner", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
		return &toolrunner.Result{Content: []runtest.Content{runtest.TextContent("see"), imageContent(picture(t, 1, 1))}, IsError: true, Err: runtest.ErrBroken}, nil
	})
	outer := runtest.Raw("outer", func(ctx context.Context, _ *toolrunner.Call) (*toolrunner.Result, error) {
		content, err := inner.Execute(ctx, json.RawMessage(`{}`))
		return &toolrunner.Result{Content: content}, err
	})
	c := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(outer), toolrunnertest.Message(toolrunnertest.Call("a", "outer", `{}`)), toolrunnertest.Text("done"))
	c.Run(t)
	got := string(c.Request(t, -1).ToolResult("a"))
	if !strings.Contains(got, `"text":"see"`) || !strings.Contains(got, `"type":"image"`) || strings.Contains(got, runtest.ErrBroken.Error()) {
		t.Errorf("the result is %s, want the content and no cause", got)
	}
}
