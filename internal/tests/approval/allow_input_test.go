package approval_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// changedTo is what the model reads before the result of a call with another input.
func changedTo(input string) string {
	return "[The user changed the input of this call before it ran. It ran with: " + input + "]"
}

// E175: another input is what runs; the model reads that it was changed, and to
// what; the history keeps what the model wrote.
func TestAllowInputRunsAnotherInputAndSaysSo(t *testing.T) {
	type bill struct {
		Amount int64  `json:"amount" jsonschema:"required"`
		To     string `json:"to"`
	}
	const written = `{"amount":"100"}`
	tests := []struct {
		name     string
		validate toolrunner.Validation
		written  string
		input    string
		want     string // what the handler gets; empty if the decision is refused
		changed  bool
	}{
		{"other", 0, `{"amount":100}`, `{"amount":9007199254740993, "to":"me"}`, `{"amount":9007199254740993, "to":"me"}`, true},
		{"the same", 0, `{"amount":100}`, `{"amount":100}`, `{"amount":100}`, false},
		{"the same but for space", 0, `{"amount":100}`, `{ "amount": 100 }`, `{"amount":100}`, false},
		{"digits that are lost in a float64", 0, `{"amount":9007199254740993}`, `{"amount":9007199254740992}`, `{"amount":9007199254740992}`, true},
		{"keys that come twice", toolrunner.ValidateOff, `{"amount":1,"amount":2}`, `{"amount":2}`, `{"amount":2}`, true},
		{"missing", 0, `{"amount":100}`, `{"to":"me"}`, "", false},
		{"wrong type", 0, `{"amount":100}`, written, "", false},
		{"wrong type, unchecked", toolrunner.ValidateOff, `{"amount":100}`, `{}`, `{}`, true},
		{"lenient", toolrunner.ValidateLenient, `{"amount":100}`, `{"amount":"7"}`, `{"amount":7}`, true},
		{"lenient, the same", toolrunner.ValidateLenient, written, written, `{"amount":100}`, false},
		{"lenient, the same as the handler would get", toolrunner.ValidateLenient, written, `{"amount":100}`, `{"amount":100}`, false},
		{"lenient, missing", toolrunner.ValidateLenient, written, `{}`, "", false},
	}
	for _, tt := range tests {
		for _, late := range []bool{false, true} {
			t.Run(tt.name+map[bool]string{true: ", by Decide"}[late], func(t *testing.T) {
				var got runtest.Journal
				pay := toolrunner.NewTool("pay", "", func(ctx context.Context, _ bill) (string, error) {
					call, _ := toolrunner.CallFrom(ctx)
					got.Add("%s", call.Input)
					return "paid", nil
				})
				d := toolrunner.AllowInput(runtest.RawJSON(tt.input))
				params := approving(runtest.ByID(map[string]toolrunner.Decision{"a": d}))
				if late {
					params = approving(runtest.Suspending("a"))
				}
				params.Validate = tt.validate
				replies := []toolrunnertest.Reply{toolrunnertest.Message(toolrunnertest.Call("a", "pay", tt.written))}
				if tt.want != "" {
					replies = append(replies, toolrunnertest.Text("done"))
				}
				c := runtest.Start(t, params, runtest.Tools(pay), replies...)
				_, err := c.TryRun(t.Context(), nil)
				if late {
					c.WantSuspended(t, err, "a")
					if err = c.Decide("a", d); err == nil {
						_, err = c.TryRun(t.Context(), nil)
					}
				}
				if tt.want == "" {
					runtest.WantAs[*toolrunner.DecisionError](t, err)
					got.Want(t)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				got.Want(t, tt.want)
				text := "paid"
				if tt.changed {
					text = changedTo(tt.input) + text
				}
				runtest.WantSuccess(t, c.Request(t, 1), "a", text)
				if messages := c.Request(t, 1).Messages(); !strings.Contains(string(messages[1]), `"input":`+tt.written) {
					t.Errorf("the history has %s, want the input %s as the model wrote it", messages[1], tt.written)
				}
			})
		}
	}
}

// The note is there whatever the handler returns, and the caller's copy of the
// input is the caller's.
func TestNoteOfChangedInputGoesBeforeEveryResult(t *testing.T) {
	const input = `{"n":2}`
	tests := []struct {
		name   string
		result *toolrunner.Result
		err    error
		want   string
		failed bool
	}{
		{"text", toolrunner.TextResult("x"), nil, changedTo(input) + "x", false},
		{"nil", nil, nil, changedTo(input), false},
		{"failed", toolrunner.ErrorResult("x"), nil, changedTo(input) + "x", true},
		{"failed without words", &toolrunner.Result{IsError: true}, nil, changedTo(input) + "Error: the tool failed without saying why.", true},
		{"error", nil, runtest.ErrBroken, changedTo(input) + "Error: broken", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			mine := runtest.RawJSON(input)
			d := toolrunner.AllowInput(mine)
			mine[5] = '9'
			c := runtest.Start(t, approving(runtest.ByID(map[string]toolrunner.Decision{"a": d})), runtest.Tools(runtest.Raw("work", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
				return tt.result, tt.err
			})), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
			_, err := c.TryRun(t.Context(), func(turn *toolrunner.Turn) {
				if turn.Iteration() > 1 {
					return
				}
				results, err := turn.Results(t.Context())
				if err != nil || tt.err != nil && !errors.Is(results[0].Err, tt.err) {
					t.Errorf("Results() = %v, %v; want the cause %v", results, err, tt.err)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			if text, failed := runtest.ResultText(t, c.Request(t, 1), "a"); text != tt.want || failed != tt.failed {
				t.Errorf("the result = %q, failed %v; want %q, failed %v", text, failed, tt.want, tt.failed)
			}
		})
	}
}

// A call that was interrupted may have taken effect, so the model reads with what.
func TestInterruptedCallWithAnotherInputSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := runtest.Start(t, approving(runtest.ByID(map[string]toolrunner.Decision{"a": toolrunner.AllowInput(runtest.RawJSON(`{"n":2}`))})),
		runtest.Tools(runtest.Raw("work", func(ctx context.Context, _ *toolrunner.Call) (*toolrunner.Result, error) {
			cancel()
			<-ctx.Done()
			return nil, ctx.Err()
		})), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
	if _, err := c.TryRun(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("All() error = %v, want the cancel", err)
	}
	c.Run(t)
	runtest.WantFailure(t, c.Request(t, 1), "a", changedTo(`{"n":2}`)+"Error: this call was interrupted while it ran. Whether it took effect is unknown.")
}
