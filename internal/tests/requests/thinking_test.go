package requests_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// W5: thinking without a signature, as a cut-off or another host leaves it, and thinking
// at the end are left out of what is sent. Signed thinking stays, also with no text.
func TestThinkingThatTheAPIRefusesIsNotSentBack(t *testing.T) {
	const (
		none  = `{"type":"thinking","thinking":"hm"}`
		null  = `{"type":"thinking","thinking":"hm","signature":null}`
		quiet = `{"type":"thinking","thinking":"","signature":"c2ln"}`
	)
	for name, tt := range map[string]struct {
		blocks []string
		kept   int // blocks of thinking
	}{
		"unsigned, then a call":      {[]string{unsigned, callBlock("a")}, 0},
		"no signature, then a call":  {[]string{none, callBlock("a")}, 0},
		"null, then a call":          {[]string{null, callBlock("a")}, 0},
		"unsigned between signed":    {[]string{thought, unsigned, quiet, callBlock("a")}, 2},
		"signed, then a call":        {[]string{thought, callBlock("a")}, 1},
		"quiet, then a call":         {[]string{quiet, callBlock("a")}, 1},
		"interleaved":                {[]string{thought, callBlock("a"), quiet, callBlock("b")}, 2},
		"at the end":                 {[]string{say("so"), thought}, 0},
		"at the end, behind a call":  {[]string{callBlock("a"), thought}, 0},
		"two at the end":             {[]string{thought, say("so"), thought, quiet}, 1},
		"alone":                      {[]string{thought}, 0},
		"before nothing but a blank": {[]string{say("so"), thought, blankText}, 0},
		"redacted alone":             {[]string{redacted}, 0},
		"redacted at the end":        {[]string{say("so"), redacted}, 0},
		"redacted, then a call":      {[]string{redacted, callBlock("a")}, 0},
	} {
		for _, stop := range []string{"tool_use", "max_tokens", "refusal", "end_turn", "model_context_window_exceeded", "stop_sequence"} {
			for _, streaming := range []bool{false, true} {
				t.Run(name+"/"+stop+map[bool]string{false: "/plain", true: "/streamed"}[streaming], func(t *testing.T) {
					var ran runtest.Journal
					_, a := runOn(t, message(stop, tt.blocks...), streaming, ran.Tool("work"))
					if got := strings.Count(string(a.requests[len(a.requests)-1]), `"type":"thinking"`); got != tt.kept {
						t.Errorf("%d blocks of thinking go back, want %d: %s", got, tt.kept, a.requests[len(a.requests)-1])
					}
				})
			}
		}
	}
}

// W5: messages that are given with such thinking are refused, with the remedy.
func TestThinkingThatTheAPIRefusesIsNotTaken(t *testing.T) {
	given := func(blocks ...string) []string {
		return []string{`{"role":"user","content":"u0"}`, `{"role":"assistant","content":[` + strings.Join(blocks, ",") + `]}`, `{"role":"user","content":"u1"}`}
	}
	for name, messages := range map[string][]string{
		"unsigned":   given(unsigned, say("so")),
		"at the end": given(say("so"), thought),
		"hollow":     given(`{"type":"redacted_thinking","data":""}`, say("so")),
		"cached":     given(`{"type":"thinking","thinking":"hm","signature":"c2ln","cache_control":{"type":"ephemeral"}}`, say("so")),
	} {
		t.Run(name, func(t *testing.T) {
			wantRefused(t, messages, 1)
		})
	}
}

// wantRefused checks that New, SetMessages and, but for the first message, AppendMessages
// refuse messages, and say which.
func wantRefused(t *testing.T, messages []string, index int) {
	t.Helper()
	params := runtest.Given()
	for _, m := range messages {
		params.Messages = append(params.Messages, runtest.Verbatim(m))
	}
	client := (&api{}).client()
	_, err := toolrunner.New(&client.Beta.Messages, nil, params)
	r, newErr := toolrunner.New(&client.Beta.Messages, nil, runtest.Asking("u"))
	if newErr != nil {
		t.Fatal(newErr)
	}
	for what, err := range map[string]error{"New": err, "SetMessages": r.SetMessages(params.Messages...)} {
		var refusal *toolrunner.HistoryError
		if !errors.As(err, &refusal) || refusal.Index != index || refusal.Reason == "" {
			t.Errorf("%s: %v, want a *HistoryError for message %d", what, err, index)
		}
	}
}

// W5: hosts that write no signatures, and want their thinking back as it was, get it if
// the caller says so: in replies, messages and snapshots.
func TestUnsignedThinkingIsKeptForHostsThatWantIt(t *testing.T) {
	for name, block := range map[string]string{
		"empty":  unsigned,
		"absent": `{"type":"thinking","thinking":"hm"}`,
	} {
		for _, streaming := range []bool{false, true} {
			t.Run(name+map[bool]string{false: "/plain", true: "/streamed"}[streaming], func(t *testing.T) {
				c := runtest.New(t, toolrunnertest.Message(toolrunnertest.RawBlock(block), toolrunnertest.Call("a", "work", `{}`)))
				c.Server.Otherwise(toolrunnertest.Text("done"))
				c.Server.Ignore(toolrunnertest.RuleThinking)
				c.Streaming = streaming
				var ran runtest.Journal
				params := runtest.Asking("hi")
				params.KeepUnsignedThinking = true
				c.Runner = c.NewRunner(t, params, ran.Tool("work"))
				c.MustPlay(t, nil)
				ran.Want(t, "a")
				snapshot, err := c.Snapshot()
				if err != nil {
					t.Fatal(err)
				}
				c.Runner = c.Resume(t, snapshot, params, ran.Tool("work")).Runner
				if err := c.SetMessages(append(c.Messages(), runtest.User("more"))...); err != nil {
					t.Fatal(err)
				}
				c.MustPlay(t, nil)
				c.WantShape(t, "user 'hi'", "assistant thinking call(a)", "user result(a)", "assistant 'done'", "user 'more'")
				if !slices.ContainsFunc(c.Request(t, -1).Messages(), func(m json.RawMessage) bool { return strings.Contains(string(m), block) }) && !streaming {
					t.Errorf("the thinking does not go back as it came: %s", c.Request(t, -1).Body)
				}
				other := runtest.ToAsk(runtest.Asking(""))
				if _, err := toolrunner.Resume(&c.Client.Beta.Messages, runtest.Tools(ran.Tool("work")), other, snapshot); err == nil {
					t.Error("Resume() takes unsigned thinking although nobody wants it back")
				}
			})
		}
	}
}
