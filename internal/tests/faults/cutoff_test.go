package faults_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// cutOff is a reply that max_tokens cut off in the input of the call "b". What is left of
// the input is JSON, as the API sends it when it does not stream.
func cutOff(input string) toolrunnertest.Reply {
	return toolrunnertest.RawJSON(fmt.Sprintf(`{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[`+
		`{"type":"tool_use","id":"a","name":"work","input":{"n":1}},{"type":"tool_use","id":"b","name":"work","input":%s}],`+
		`"stop_reason":"max_tokens","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`, input))
}

// cutStream is the same as a stream, which ends in the middle of the input.
func cutStream(input string) toolrunnertest.Reply {
	return toolrunnertest.RawSSE(runtest.Frames(runtest.EvStart,
		`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"b","name":"work","input":{}}}`,
		fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":%q}}`, input),
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"max_tokens","stop_sequence":null},"usage":{"output_tokens":12}}`, runtest.EvStop))
}

// F31: a call that was cut off never runs, with whatever is left of its input, wherever
// the reply is taken: into the same run, in which the model reads why, or another one.
func TestCallThatWasCutOffNeverRuns(t *testing.T) {
	replies := map[string]toolrunnertest.Reply{
		"plain, nothing left":        cutOff(`{}`),
		"plain, null left":           cutOff(`null`),
		"plain, a part left":         cutOff(`{"path":"/"}`),
		"plain, text left":           cutOff(`"{\"path\": \"/"`),
		"streamed, the beginning":    cutStream(`{"path": "/`),
		"streamed, a whole object":   cutStream(`{"path": "/"}`),
		"streamed, nothing":          cutStream(``),
		"streamed, a brace too many": cutStream(`{}}`),
	}
	ways := map[string]func(c *runtest.Conversation, turn *toolrunner.Turn) error{
		"Replace": func(_ *runtest.Conversation, turn *toolrunner.Turn) error { return turn.Replace(turn.ToParam()) },
		"Replace, text after": func(_ *runtest.Conversation, turn *toolrunner.Turn) error {
			return turn.Replace(turn.ToParam(), runtest.User("go on"))
		},
		"SetMessages": func(c *runtest.Conversation, _ *toolrunner.Turn) error { return c.SetMessages(c.Messages()...) },
		"SetMessages, the reply": func(c *runtest.Conversation, turn *toolrunner.Turn) error {
			return c.SetMessages(runtest.User("hi"), turn.ToParam())
		},
		"SetMessages twice": func(c *runtest.Conversation, turn *toolrunner.Turn) error {
			reply := turn.ToParam()
			_ = c.SetMessages(runtest.User("anew"))
			return c.SetMessages(runtest.User("hi"), reply)
		},
		"another run, Messages": nil,
		"another run, ToParam":  nil,
	}
	for name, reply := range replies {
		for way, take := range ways {
			t.Run(name+"/"+way, func(t *testing.T) {
				c, ran := start(t, toolrunner.Params{}, reply)
				c.Streaming = strings.HasPrefix(name, "streamed")
				c.Server.Otherwise(toolrunnertest.Text("done"))
				first := true
				var saved []anthropic.BetaMessageParam
				c.MustPlay(t, func(turn *toolrunner.Turn) {
					if _ = turn.Text(); !first {
						return
					}
					first = false
					switch {
					case take != nil:
						mustDo(t, "taking over", take(c, turn))
					case strings.HasSuffix(way, "Messages"):
						saved = c.Messages()
					default:
						saved = []anthropic.BetaMessageParam{runtest.User("hi"), turn.ToParam()}
					}
				})
				if take == nil {
					other := continued(t, c, append(saved, runtest.User("go on")), ran.Tool("work"))
					mustDo(t, "the other run", other.Play(t.Context(), nil))
					other = continued(t, c, saved, ran.Tool("work"))
					if saved[len(saved)-1].OfUser == nil {
						mustDo(t, "the other run", other.Play(t.Context(), nil))
					}
				}
				if ran.Has("b") {
					t.Errorf("the call ran")
				}
				if _, failed := runtest.ResultText(t, c.Request(t, -1), "b"); !failed {
					t.Errorf("the model does not read that the call was not run: %s", c.Request(t, -1).Body)
				}
			})
		}
	}
}

// F31: the documented form of an input that is no object, which holds what the model
// wrote, says in any history that the call cannot run.
func TestMarkedCallDoesNotRunInAnyHistory(t *testing.T) {
	const marked = `{"role":"assistant","content":[{"type":"tool_use","id":"b","name":"work","input":{"INVALID_JSON":"{\"path\": tr"}}]}`
	for name, message := range map[string]string{
		"as it is":   marked,
		"with space": strings.Replace(marked, `{"INVALID_JSON":`, `{ "INVALID_JSON" : `, 1),
		"escaped":    strings.Replace(marked, `INVALID_JSON`, `\u0049NVALID_JSON`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			c, ran := start(t, runtest.Given(runtest.User("hi"), runtest.Verbatim(message)), toolrunnertest.Text("done"))
			c.MustPlay(t, nil)
			if name != "escaped" { // another spelling is input like any other, and says nothing
				ran.Want(t)
				text, failed := runtest.ResultText(t, c.Request(t, 0), "b")
				if !failed || !strings.Contains(text, `{"path": tr`) {
					t.Errorf("the result = %q, failed %v; want what the model wrote", text, failed)
				}
			}
		})
	}
	for name, input := range map[string]string{
		"another key beside it": `{"INVALID_JSON":"x","n":1}`, "no text": `{"INVALID_JSON":1}`, "deeper": `{"n":{"INVALID_JSON":"x"}}`, "a text": `{"n":"INVALID_JSON"}`,
	} {
		t.Run(name, func(t *testing.T) {
			c, ran := start(t, toolrunner.Params{}, runtest.Blocks("a work "+input), toolrunnertest.Text("done"))
			c.MustPlay(t, nil)
			ran.Want(t, "a")
		})
	}
}

// F31: what a model writes in that form itself does not run either, plain, streamed and
// where calls start early, and nobody is asked about it.
func TestCallThatImitatesTheMarkDoesNotRun(t *testing.T) {
	for _, mode := range []string{"plain", "streaming", "eager"} {
		t.Run(mode, func(t *testing.T) {
			var ran runtest.Journal
			params := toolrunner.Params{EagerTools: mode == "eager"}
			c := runtest.StartUnchecked(t, params, runtest.Tools(ran.Reads("work")), runtest.Blocks(`b work {"INVALID_JSON":"x"}`, "a work"), toolrunnertest.Text("done"))
			c.Streaming = mode != "plain"
			c.MustPlay(t, nil)
			ran.Want(t, "a")
			if _, failed := runtest.ResultText(t, c.Request(t, -1), "b"); !failed {
				t.Error("the call has not failed")
			}
		})
	}
}
