package faults_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// unsummed is a snapshot as version 1 of the format had it, which has no checksum: the
// tests change it as somebody might who has no seal to stop him.
func unsummed(snapshot []byte) []byte {
	return regexp.MustCompile(`,\n"sum":"[0-9a-f]+"`).ReplaceAll(bytes.Replace(snapshot, []byte(`"toolrunner":2`), []byte(`"toolrunner":1`), 1), nil)
}

// F23: states of a call that exclude its decision are refused: they would run a call that
// was denied, or wait for a decision that nobody can make any more.
func TestContradictoryCallsAreNotResumed(t *testing.T) {
	c, ran := start(t, toolrunner.Params{Approve: runtest.Suspending("a")}, callOf("a"))
	c.RunSuspended(t, "a")
	snapshot, err := c.Snapshot()
	mustDo(t, "Snapshot()", err)
	const was = `"state":"suspended"`
	if !bytes.Contains(snapshot, []byte(was)) {
		t.Fatalf("the snapshot has no %s: %s", was, snapshot)
	}
	for change, want := range map[string]bool{
		`"state":"suspended"`:                               true,
		`"state":"waiting","decision":"allow"`:              true,
		`"state":"waiting","decision":"deny"`:               false,
		`"state":"started","decision":"deny"`:               false,
		`"state":"suspended","decision":"allow"`:            false,
		`"state":"suspended","decision":"deny"`:             false,
		`"state":"suspended","decision":"allow input"`:      false,
		`"state":"waiting","decision":"allow input"`:        false,
		`"state":"waiting","decision":"perhaps"`:            false,
		`"state":"answered","decision":"allow"`:             false,
		`"state":"unrun"`:                                   false,
		`"state":"waiting","decision":"deny","repeat":true`: false,
	} {
		data := bytes.Replace(unsummed(snapshot), []byte(was), []byte(change), 1)
		params := runtest.ToAsk(runtest.Asking(""))
		r, err := toolrunner.Resume(&c.Client.Beta.Messages, runtest.Tools(ran.Tool("work")), params, data)
		if refused := (*toolrunner.SnapshotError)(nil); want != (err == nil) || err != nil && !errors.As(err, &refused) {
			t.Errorf("Resume() with %s: runner %v, error = %v; want it taken: %v", change, r != nil, err, want)
		}
	}
	ran.Want(t)
}

// F12: a snapshot knows the definition that a tool has now, beside the one that goes out:
// the right tool is resumed without a warning, and the prefix of requests stays.
func TestSnapshotKnowsTheToolOfNow(t *testing.T) {
	tool := func(text string) *toolrunner.Tool {
		return toolrunner.NewTool("work", text, func(context.Context, struct{}) (string, error) { return text, nil })
	}
	c := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(tool("old")), toolrunnertest.Text("one"))
	c.Server.Otherwise(toolrunnertest.Text("more"))
	c.MustAddTools(t, tool("new"))
	c.MustPlay(t, nil)
	snapshot, err := c.Snapshot()
	mustDo(t, "Snapshot()", err)
	before := string(c.Request(t, 0).Field("tools"))
	for text, warns := range map[string]bool{"old": true, "new": false} {
		var warnings []string
		params := runtest.ToAsk(runtest.Asking(""))
		params.Logger = slog.New(logFunc(func(r slog.Record) {
			if r.Level >= slog.LevelWarn {
				warnings = append(warnings, r.Message)
			}
		}))
		resumed := c.Resume(t, snapshot, params, tool(text))
		if warns != (len(warnings) > 0) {
			t.Errorf("resuming with the %s tool warns %q, want a warning: %v", text, warnings, warns)
		}
		mustDo(t, "AppendMessages()", resumed.AppendMessages(runtest.User("more")))
		mustDo(t, "the resumed loop", resumed.Play(t.Context(), nil))
		if got := string(c.Request(t, -1).Field("tools")); got != before {
			t.Errorf("resumed with the %s tool, the request has the tools %s, want %s", text, got, before)
		}
	}
}

// F13: the time of a body that breaks off counts, also in what the checkpoint has:
// resuming does not evade Limits.Duration.
func TestTimeOfABodyThatBreaksOffIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, ends := range []string{"break", "panic"} {
			var kept []byte
			params := toolrunner.Params{Checkpoint: func(_ context.Context, d toolrunner.Delta) error { kept = append(kept, d.Data...); return nil }}
			c, ran := start(t, params, callOf("a"))
			func() {
				defer func() { _ = recover() }()
				for _, err := range c.All(t.Context()) {
					mustDo(t, "All()", err)
					runtest.Pause(400 * time.Millisecond)
					if ends == "panic" {
						panic("of the body")
					}
					break
				}
			}()
			params = runtest.ToAsk(runtest.Asking(""))
			params.Limits.Duration = 400 * time.Millisecond
			resumed := c.Resume(t, kept, params, ran.Tool("work"))
			mustDo(t, "the resumed loop", resumed.Play(t.Context(), nil))
			if got := resumed.Outcome(); got != toolrunner.OutcomeLimitReached {
				t.Errorf("%s: Outcome() = %v, want limit reached", ends, got)
			}
		}
	})
}

// F24: a message of the user begins the next run after a limit, as it does after any
// other end: the conversation is not dead. Other messages do not.
func TestMessageOfTheUserBeginsTheNextRunAfterALimit(t *testing.T) {
	limits := map[string]func(p *toolrunner.Params){
		"MaxIterations":      func(p *toolrunner.Params) { p.MaxIterations = 1 },
		"Limits.EachTool":    func(p *toolrunner.Params) { p.Limits.EachTool = 1 },
		"Limits.TotalTokens": func(p *toolrunner.Params) { p.Limits.TotalTokens = 1 },
	}
	for name, limit := range limits {
		for _, resumes := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				params := toolrunner.Params{}
				limit(&params)
				c, ran := start(t, params, callOf("a"), toolrunnertest.Text("done"))
				c.MustPlay(t, nil)
				mustDo(t, "another loop", c.Play(t.Context(), nil))
				c.WantRequests(t, 1)
				if resumes {
					snapshot, err := c.Snapshot()
					mustDo(t, "Snapshot()", err)
					params = runtest.Asking("")
					limit(&params)
					c = c.Resume(t, snapshot, params, ran.Tool("work"))
				}
				c.MustAppend(t, runtest.User("more"))
				c.MustPlay(t, nil)
				c.WantShape(t, "user 'hi'", "assistant call(a)", "user result(a)", "user 'more'")
				if got := c.IterationCount(); got != 1 {
					t.Errorf("IterationCount() = %d, want 1: it is another run", got)
				}
				ran.Want(t, "a")
			})
		}
	}
}

// nested is JSON that is nested so deep.
func nested(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

// F14: whatever enters the conversation can be sent, saved and resumed: one limit of depth
// holds for replies, messages, results, inputs and definitions, and leaves room for what
// goes around them.
func TestWhatEntersCanBeSentAndResumed(t *testing.T) {
	for _, depth := range []int{10, 5000, 9880, 9890, 9895, 9900, 9990, 9996, 9999, 12000} {
		deep := nested(depth)
		result := runtest.RawContentBlock(`{"type":"text","text":"x","citations":` + deep + `}`)
		ways := map[string]func(t *testing.T) *runtest.Conversation{
			"input": func(t *testing.T) *runtest.Conversation {
				c, _ := start(t, toolrunner.Params{}, runtest.Blocks(`a work {"n":`+deep+`}`), toolrunnertest.Text("done"))
				return c
			},
			"another input": func(t *testing.T) *runtest.Conversation {
				params := toolrunner.Params{Approve: runtest.ByID(map[string]toolrunner.Decision{"a": toolrunner.AllowInput([]byte(`{"n":` + deep + `}`))})}
				c, _ := start(t, params, callOf("a"), toolrunnertest.Text("done"))
				return c
			},
			"result": func(t *testing.T) *runtest.Conversation {
				tool := runtest.Raw("work", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
					return &toolrunner.Result{Content: []runtest.Content{result}}, nil
				})
				return runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(tool), callOf("a"), toolrunnertest.Text("done"))
			},
			"message": func(t *testing.T) *runtest.Conversation {
				c, _ := start(t, toolrunner.Params{}, toolrunnertest.Text("done"))
				_ = c.AppendMessages(runtest.Verbatim(`{"role":"user","content":[{"type":"text","text":"x"}],"more":` + deep + `}`))
				return c
			},
			"definition": func(t *testing.T) *runtest.Conversation {
				c, _ := start(t, toolrunner.Params{}, toolrunnertest.Text("done"))
				_ = c.AddToolParams(runtest.RawDefinition(`{"name":"deep","input_schema":{"type":"object","default":` + deep + `}}`))
				return c
			},
		}
		for way, begin := range ways {
			t.Run(fmt.Sprintf("%s, %d deep", way, depth), func(t *testing.T) {
				c := begin(t)
				c.Server.Ignore("reply-unused", "block-shape", "input-schema", "message-shape")
				if err := c.Play(t.Context(), nil); err != nil && depth <= 5000 {
					t.Errorf("the run's error = %v, want none", err)
				}
				snapshot, err := c.Snapshot()
				mustDo(t, "Snapshot()", err)
				c.Resume(t, snapshot, runtest.Asking(""), runtest.Says("work", "x"))
				for _, q := range c.Server.Requests() {
					if !json.Valid(q.Body) {
						t.Error("a request is nested deeper than encoding/json reads")
					}
				}
			})
		}
	}
}
