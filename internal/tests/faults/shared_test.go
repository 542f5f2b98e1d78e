package faults_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// marshaler is a value of the caller whose code runs when it is encoded.
type marshaler func() ([]byte, error)

func (m marshaler) MarshalJSON() ([]byte, error) { return m() }

// F7: the caller's code never runs under the runner's lock: a value that calls methods of
// the runner while it is encoded blocks nothing.
func TestValuesMayCallTheRunnerWhileTheyAreEncoded(t *testing.T) {
	var c *runtest.Conversation
	calls := 0
	nosy := func(text string) marshaler {
		return func() ([]byte, error) {
			calls++
			_, err := c.Messages(), c.AppendMessages(runtest.User("from within"))
			if err == nil {
				_, err = c.Snapshot()
			}
			_, _, _ = c.Pending(), c.Usage(), c.IterationCount()
			return []byte(text), err
		}
	}
	message := func(text string) anthropic.BetaMessageParam {
		return param.Override[anthropic.BetaMessageParam](nosy(`{"role":"user","content":[{"type":"text","text":"` + text + `"}]}`))
	}
	content := func(text string) runtest.Content {
		return param.Override[runtest.Content](nosy(`{"type":"text","text":"` + text + `"}`))
	}
	work := runtest.Raw("work", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
		return &toolrunner.Result{Content: []runtest.Content{content("result")}}, nil
	})
	c = runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(work), callOf("a"))
	c.Server.Otherwise(toolrunnertest.Text("done"))
	first := true
	c.MustPlay(t, func(turn *toolrunner.Turn) {
		if !first {
			return
		}
		first = false
		results, err := turn.Results(t.Context())
		mustDo(t, "Results()", err)
		results[0] = &toolrunner.Result{Content: []runtest.Content{content("edited")}}
		mustDo(t, "AppendMessages()", c.AppendMessages(message("appended")))
		mustDo(t, "Replace()", turn.Replace(turn.ToParam(), message("replaced")))
		mustDo(t, "SetMessages()", c.SetMessages(message("set")))
		mustDo(t, "AddToolParams()", c.AddToolParams(param.Override[anthropic.BetaToolUnionParam](nosy(`{"name":"x","input_schema":{"type":"object"}}`))))
	})
	if calls < 6 {
		t.Errorf("the values were encoded %d times, want each", calls)
	}
}

// F17: what may be called from any goroutine reads nothing that the body may change at
// the same time: Params, and the results in its hands. The race detector looks on.
func TestBodyMayChangeParamsAndResultsWhileOthersLook(t *testing.T) {
	c, _ := start(t, toolrunner.Params{}, callOf("a", "b"), toolrunnertest.Text("done"))
	c.MustPlay(t, func(turn *toolrunner.Turn) {
		if turn.Iteration() > 1 {
			return
		}
		results, err := turn.Results(t.Context())
		mustDo(t, "Results()", err)
		look(t, c, func() {
			c.Params.Validate = toolrunner.ValidateLenient
			c.Params.MaxConcurrency = 2
			c.Params.Limits.EachTool = 5
			c.Params.AutoCompact.Threshold = 1 << 40
			for _, result := range results {
				result.Content = append(result.Content, runtest.TextContent("more"))
				result.IsError = !result.IsError
			}
			results[0] = toolrunner.TextResult("edited")
		})
	})
	runtest.WantSuccess(t, c.Request(t, -1), "a", "edited")
}

// F17: the same before the calls run, where others decide.
func TestOthersMayDecideWhileTheBodyChangesParams(t *testing.T) {
	typed := toolrunner.NewTool("work", "", func(_ context.Context, in struct {
		N int `json:"n"`
	},
	) (int, error) {
		return in.N, nil
	})
	c := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(typed), runtest.Blocks("a work {\"n\":1}"), toolrunnertest.Text("done"))
	c.MustPlay(t, func(turn *toolrunner.Turn) {
		if turn.Iteration() == 1 {
			look(t, c, func() {
				c.Params.Validate = toolrunner.ValidateOff
				c.Params.Approve = nil
			})
		}
	})
	if text, _ := runtest.ResultText(t, c.Request(t, -1), "a"); text == "" {
		t.Error("the call has no result")
	}
}

// look calls, beside change, what any goroutine may call.
func look(t *testing.T, c *runtest.Conversation, change func()) {
	t.Helper()
	var others sync.WaitGroup
	for range 4 {
		others.Go(func() {
			for range 20 {
				_ = c.Messages()
				_ = c.Decide("a", toolrunner.AllowInput(json.RawMessage(`{"n":2}`)))
				_, _ = c.Snapshot()
				_ = c.Pending()
			}
		})
	}
	for range 20 {
		change()
	}
	others.Wait()
}

// F18: results are frozen when the body is over, however it ends: what is changed later
// does not go out, and what goes out is what the checkpoint has.
func TestResultsAreFrozenWhenTheBodyIsOver(t *testing.T) {
	for _, end := range []string{"break", "panic", "next"} {
		t.Run(end, func(t *testing.T) {
			var kept []byte
			params := toolrunner.Params{Checkpoint: func(_ context.Context, d toolrunner.Delta) error {
				if d.Full {
					kept = nil
				}
				kept = append(kept, d.Data...)
				return nil
			}}
			c, ran := start(t, params, callOf("a"), toolrunnertest.Text("done"), toolrunnertest.Text("resumed"))
			var results []*toolrunner.Result
			func() {
				defer func() { _ = recover() }()
				for turn, err := range c.All(t.Context()) {
					mustDo(t, "All()", err)
					if turn.Text() != "" {
						results[0].Content = []runtest.Content{runtest.TextContent("late")}
						continue
					}
					results, err = turn.Results(t.Context())
					mustDo(t, "Results()", err)
					results[0] = toolrunner.TextResult("edited")
					switch end {
					case "break":
						return
					case "panic":
						panic("of the body")
					}
				}
			}()
			snapshot := kept
			results[0].Content = []runtest.Content{runtest.TextContent("late")}
			results[0] = toolrunner.TextResult("later")
			if end != "next" {
				mustDo(t, "going on", c.Play(t.Context(), nil))
				resumed := c.Resume(t, snapshot, runtest.Asking(""), ran.Tool("work"))
				mustDo(t, "the resumed loop", resumed.Play(t.Context(), nil))
				runtest.WantSuccess(t, c.Request(t, 2), "a", "edited")
			} else {
				c.Server.Ignore("reply-unused")
			}
			runtest.WantSuccess(t, c.Request(t, 1), "a", "edited")
		})
	}
}
