package migrate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	official "github.com/anthropics/anthropic-sdk-go/v2/toolrunner"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// What docs/migrate.md says of both runners: each row is one script, played to the
// one and to the other.
func TestBehaviourOfBothRunnersIsAsTheGuideSays(t *testing.T) {
	call := toolrunnertest.Message(toolrunnertest.Call("toolu_1", "pay", `{"amount":9007199254740993}`))
	answer := toolrunnertest.Text("Paid.")
	overloaded := toolrunnertest.Status(529, "overloaded_error", "Overloaded")

	tests := []struct {
		name             string
		script           []toolrunnertest.Reply
		official, ours   func(t *testing.T, c *client) string
		before, after    string
		invalidIsOfClaim bool // the official runner sends what the API refuses
	}{
		{
			name: "G5: the calls of the last turn that MaxIterations allows", script: []toolrunnertest.Reply{call},
			official: func(t *testing.T, c *client) string {
				_, err := c.official(1).RunToCompletion(t.Context())
				return fmt.Sprintf("error %v, ran %d", err, c.ran.Load())
			},
			ours: func(t *testing.T, c *client) string {
				_, err := c.ours(t, 1).RunToCompletion(t.Context())
				return fmt.Sprintf("limit %t, ran %d", errors.Is(err, toolrunner.ErrMaxIterations), c.ran.Load())
			},
			before: "error <nil>, ran 0", after: "limit true, ran 1",
		},
		{
			name: "G6: going on after an error of the API", script: []toolrunnertest.Reply{call, overloaded, answer}, invalidIsOfClaim: true,
			official: func(t *testing.T, c *client) string {
				runner := c.official(0)
				_, first := runner.RunToCompletion(t.Context())
				_, second := runner.RunToCompletion(t.Context())
				return fmt.Sprintf("failed %t, then %t, ran %d", first != nil, second != nil, c.ran.Load())
			},
			ours: func(t *testing.T, c *client) string {
				runner := c.ours(t, 0)
				_, first := runner.RunToCompletion(t.Context())
				_, second := runner.RunToCompletion(t.Context())
				return fmt.Sprintf("failed %t, then %t, ran %d", first != nil, second != nil, c.ran.Load())
			},
			before: "failed true, then true, ran 2", after: "failed true, then false, ran 1",
		},
		{
			name: "G4: messages that are appended after the end", script: []toolrunnertest.Reply{answer, answer},
			official: func(t *testing.T, c *client) string {
				runner := c.official(0)
				_, first := runner.RunToCompletion(t.Context())
				runner.AppendMessages(say("And the next?"))
				_, second := runner.RunToCompletion(t.Context())
				return fmt.Sprintf("%v %v, %d requests", first, second, len(c.srv.Requests()))
			},
			ours: func(t *testing.T, c *client) string {
				runner := c.ours(t, 0)
				_, first := runner.RunToCompletion(t.Context())
				if err := runner.AppendMessages(say("And the next?")); err != nil {
					t.Error(err)
				}
				_, second := runner.RunToCompletion(t.Context())
				return fmt.Sprintf("%v %v, %d requests", first, second, len(c.srv.Requests()))
			},
			before: "<nil> <nil>, 1 requests", after: "<nil> <nil>, 2 requests",
		},
		{
			name: "a reply that was cut off, under RunToCompletion", script: []toolrunnertest.Reply{answer.StopReason("max_tokens")},
			official: func(t *testing.T, c *client) string {
				message, err := c.official(0).RunToCompletion(t.Context())
				return fmt.Sprint(message.StopReason, " ", err)
			},
			ours: func(t *testing.T, c *client) string {
				message, err := c.ours(t, 0).RunToCompletion(t.Context())
				return fmt.Sprint(message.StopReason, " ", errors.Is(err, toolrunner.ErrTruncated))
			},
			before: "max_tokens <nil>", after: "max_tokens true",
		},
		{
			name: "G16: an integer above 2^53 in the input", script: []toolrunnertest.Reply{call, answer},
			official: func(t *testing.T, c *client) string {
				_, err := c.official(0).RunToCompletion(t.Context())
				return fmt.Sprint(c.input.Load(), " ", err)
			},
			ours: func(t *testing.T, c *client) string {
				_, err := c.ours(t, 0).RunToCompletion(t.Context())
				return fmt.Sprint(c.input.Load(), " ", err)
			},
			before: `{"amount":9007199254740992} <nil>`, after: `{"amount":9007199254740993} <nil>`,
		},
		{
			name: "G8: an event loop that is left early", script: []toolrunnertest.Reply{answer, answer},
			official: func(t *testing.T, c *client) string {
				turns := 0
				for events := range c.officialStreaming().AllStreaming(t.Context()) {
					for range events {
						break
					}
					if turns++; turns == 2 {
						break
					}
				}
				return fmt.Sprintf("%d requests", len(c.srv.Requests()))
			},
			ours: func(t *testing.T, c *client) string {
				for turn, err := range c.ours(t, 0).AllStreaming(t.Context()) {
					if err != nil {
						return err.Error()
					}
					for range turn.Events() {
						break
					}
				}
				return fmt.Sprintf("%d requests", len(c.srv.Requests()))
			},
			before: "2 requests", after: "1 requests",
		},
		{
			name: "G10: a stream that ends in the middle", script: []toolrunnertest.Reply{answer.EndAfter(3)},
			official: func(t *testing.T, c *client) string {
				runner := c.officialStreaming()
				for events := range runner.AllStreaming(t.Context()) {
					for _, err := range events {
						if err != nil {
							return err.Error()
						}
					}
				}
				return fmt.Sprint(runner.IsCompleted(), " ", runner.Err())
			},
			ours: func(t *testing.T, c *client) string {
				for _, err := range c.ours(t, 0).AllStreaming(t.Context()) {
					if err != nil {
						return fmt.Sprintf("%T", err)
					}
				}
				return "no error"
			},
			before: "true <nil>", after: "*toolrunner.IncompleteStreamError",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.official(t, newClient(t, test.script, test.invalidIsOfClaim)); got != test.before {
				t.Errorf("the official runner: %s, want %s", got, test.before)
			}
			if got := test.ours(t, newClient(t, test.script, false)); got != test.after {
				t.Errorf("this runner: %s, want %s", got, test.after)
			}
		})
	}
}

// G23: input that breaks the schema.
func TestOnlyThisRunnerChecksInput(t *testing.T) {
	script := []toolrunnertest.Reply{
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"units":"kelvin"}`)), toolrunnertest.Text("Sorry."),
	}
	theirs, err := official.NewBetaToolFromJSONSchema("get_weather", "", getWeather)
	if err != nil {
		t.Fatal(err)
	}
	before := toolrunnertest.NewServer(t, script...)
	if err := completionBefore(t.Context(), before.Client(), []anthropic.BetaTool{theirs}); err != nil {
		t.Fatal(err)
	}
	if got, want := before.Requests()[1].ToolResultText("toolu_1"), "sunny in "; got != want {
		t.Errorf("the official runner's result = %q, want %q", got, want)
	}
	ours, err := toolrunner.NewBetaToolFromJSONSchema("get_weather", "", getWeather)
	if err != nil {
		t.Fatal(err)
	}
	after := toolrunnertest.NewServer(t, script...)
	if err := completionAfter(t.Context(), after.Client(), []anthropic.BetaTool{ours}); err != nil {
		t.Fatal(err)
	}
	result := after.Requests()[1].ToolResultText("toolu_1")
	for _, want := range []string{"city: missing", `units: expected one of "celsius", "fahrenheit"`} {
		if !strings.Contains(result, want) {
			t.Errorf("this runner's result = %q, want %q in it", result, want)
		}
	}
}

// client is a scripted server with a tool that counts.
type client struct {
	srv   *toolrunnertest.Server
	ran   atomic.Int64
	input atomic.Value // of the last call
	tool  anthropic.BetaTool
	anthropic.Client
}

func newClient(t *testing.T, script []toolrunnertest.Reply, invalid bool) *client {
	t.Helper()
	srv := toolrunnertest.NewServer(nil, script...) // which does not fail the test
	t.Cleanup(srv.Close)
	if !invalid {
		srv = toolrunnertest.NewServer(t, script...)
	}
	srv.Ignore("reply-unused") // the runners differ in what they ask for
	c := &client{srv: srv, Client: srv.Client()}
	pay := func(_ context.Context, input json.RawMessage) (anthropic.BetaToolResultBlockParamContentUnion, error) {
		c.ran.Add(1)
		c.input.Store(string(input))
		return anthropic.BetaToolResultBlockParamContentUnion{OfText: &anthropic.BetaTextBlockParam{Text: "paid"}}, nil
	}
	tool, err := toolrunner.NewBetaToolFromBytes("pay", "", []byte(`{"type":"object"}`), pay)
	if err != nil {
		t.Fatal(err)
	}
	c.tool = tool
	return c
}

func (c *client) params(limit int) anthropic.BetaToolRunnerParams {
	return anthropic.BetaToolRunnerParams{BetaMessageNewParams: ask("Pay."), MaxIterations: limit, DisableThread: true}
}

func (c *client) official(limit int) *anthropic.BetaToolRunner {
	return c.Beta.Messages.NewToolRunner([]anthropic.BetaTool{c.tool}, c.params(limit))
}

func (c *client) officialStreaming() *anthropic.BetaToolRunnerStreaming {
	return c.Beta.Messages.NewToolRunnerStreaming([]anthropic.BetaTool{c.tool}, c.params(0))
}

func (c *client) ours(t *testing.T, limit int) *toolrunner.Runner {
	t.Helper()
	runner, err := toolrunner.New(&c.Beta.Messages, []anthropic.BetaTool{c.tool},
		toolrunner.Params{BetaMessageNewParams: ask("Pay."), MaxIterations: limit})
	if err != nil {
		t.Fatal(err)
	}
	return runner
}
