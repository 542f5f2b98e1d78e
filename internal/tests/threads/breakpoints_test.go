package threads_test

import (
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// marked is a message of the user with a cache_control.
func marked(text string) anthropic.BetaMessageParam {
	return runtest.Verbatim(`{"role":"user","content":[{"type":"text","text":"` + text + `","cache_control":{"type":"ephemeral"}}]}`)
}

// T27: a request that holds the whole history anew has no cache_control in what the API was
// given before; what is new keeps it, and so does a history that the caller has put in place.
func TestReplaysDropTheBreakpointsOfWhatTheAPIHad(t *testing.T) {
	many := []anthropic.BetaMessageParam{marked("1"), marked("2"), marked("3")}
	for name, tt := range map[string]struct {
		replies []toolrunnertest.Reply
		change  func(t *testing.T, c *runtest.Conversation)
		want    []string // texts with a breakpoint, by request
	}{
		"each K has its own four": {
			[]toolrunnertest.Reply{toolrunnertest.Text("a"), done()}, nil, []string{"0", "1 2 3"},
		},
		"not found": {
			[]toolrunnertest.Reply{toolrunnertest.Text("a"), refused(notFound), done()}, nil, []string{"0", "1 2 3", "1 2 3"},
		},
		"unsupported": {
			[]toolrunnertest.Reply{toolrunnertest.Text("a"), refused(unsupported), done()}, nil, []string{"0", "1 2 3", "1 2 3"},
		},
		"a history of the caller": {
			[]toolrunnertest.Reply{toolrunnertest.Text("a"), done()}, func(t *testing.T, c *runtest.Conversation) {
				if err := c.SetMessages(marked("x"), marked("y")); err != nil {
					t.Error(err)
				}
			}, []string{"0", "y 1 2 3"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			params := asking()
			params.Messages = []anthropic.BetaMessageParam{marked("0")}
			c := start(t, false, params, tt.replies...)
			c.MustPlay(t, func(turn *toolrunner.Turn) {
				if turn.Iteration() > 1 {
					return
				}
				if tt.change != nil {
					tt.change(t, c)
				}
				c.MustAppend(t, many...)
			})
			var got []string
			for _, q := range c.Server.Requests() {
				got = append(got, breakpointsOf(q))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("breakpoints (-want +got):\n%s", diff)
			}
		})
	}
}

func breakpointsOf(q *toolrunnertest.Request) string {
	var texts []string
	for _, m := range q.Messages() {
		for _, b := range runtest.WireBlocks(runtest.Object(m)["content"]) {
			if strings.Contains(string(m), "cache_control") {
				texts = append(texts, b.Text)
			}
		}
	}
	return strings.Join(texts, " ")
}
