package logs_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// E71, E229, G34, promise 8: the logger learns what the model does not: stacks and
// private causes. It does not learn the contents of messages.
func TestLoggerLearnsWhyCallsFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		failing := runtest.Raw("failing", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { return nil, runtest.ErrBroken })
		panicking := runtest.Raw("panicking", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { panic("private") })
		private := runtest.Raw("private", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			return &toolrunner.Result{Content: []runtest.Content{runtest.TextContent("public")}, IsError: true, Err: runtest.ErrEnough}, nil
		})
		stuck := runtest.Raw("stuck", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			runtest.Pause(time.Hour)
			return toolrunner.TextResult("late"), nil
		})
		stuck.Timeout = time.Second
		params := runtest.Asking("hi")
		params.MaxConcurrency = 1
		params.Logger = slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn}))
		const secret = `{"password":"hunter2"}`
		c := runtest.Start(t, params, runtest.Tools(failing, panicking, private, stuck, runtest.Says("fine", "hunter3")), toolrunnertest.Message(
			toolrunnertest.Call("a", "failing", secret), toolrunnertest.Call("b", "panicking", secret), toolrunnertest.Call("c", "private", secret),
			toolrunnertest.Call("d", "stuck", secret), toolrunnertest.Call("e", "fine", secret),
		), toolrunnertest.Text("done"))
		c.Run(t)
		runtest.Pause(2 * time.Hour)
		for _, want := range []string{"call_id=a", "error=broken", "private", "goroutine", "error=enough", "tool call abandoned", "timed out after 1s"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("the log does not hold %q:\n%s", want, out.String())
			}
		}
		for _, never := range []string{"hunter", "call_id=e"} {
			if strings.Contains(out.String(), never) {
				t.Errorf("the log holds %q:\n%s", never, out.String())
			}
		}
		for _, never := range []string{"goroutine", "private", "enough"} {
			for _, id := range []string{"a", "b", "c", "d"} {
				if text, _ := runtest.ResultText(t, c.Request(t, -1), id); strings.Contains(text, never) {
					t.Errorf("the model reads %q in the result of %s: %s", never, id, text)
				}
			}
		}
	})
}

// The record of a call that starts while its reply streams says so.
func TestLoggerLearnsWhichCallsStartEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		params := runtest.EagerParams()
		params.ConversationID = "c"
		params.Logger = slog.New(slog.NewTextHandler(&out, nil))
		var ran runtest.Journal
		c := runtest.Start(t, params, runtest.Tools(ran.Reads("look"), ran.Tool("change")), runtest.Blocks("a look", "b change", "text").StopReason("tool_use"), toolrunnertest.Text("done"))
		c.MustStream(t, nil)
		for _, want := range []string{
			`msg="tool call started" tool=look call_id=a iteration=1 eager=true conversation_id=c` + "\n",
			`msg="tool call started" tool=change call_id=b iteration=1 conversation_id=c` + "\n",
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("the log does not hold %q:\n%s", want, out.String())
			}
		}
	})
}

// P14: the record of invalid input names the fields, and holds nothing that the model wrote:
// neither values nor keys of its own.
func TestTheRecordOfInvalidInputNamesTheFields(t *testing.T) {
	type to struct {
		Name string         `json:"name" jsonschema:"required"`
		Tags map[string]int `json:"tags"`
	}
	type in struct {
		To     []to    `json:"to"`
		Amount float64 `json:"amount" jsonschema:"minimum=1"`
	}
	pay := toolrunner.NewTool("pay", "", func(context.Context, in) (string, error) { return "", nil })
	var out bytes.Buffer
	params := runtest.Asking("hi")
	params.Logger = slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn}))
	c := runtest.Start(t, params, runtest.Tools(pay),
		toolrunnertest.Message(toolrunnertest.Call("a", "pay", `{"to":[{"name":"x"},{"tags":{"hunter1":"hunter2"}}],"amount":0,"hunter3":1}`)), toolrunnertest.Text("done"))
	c.Run(t)
	if want := `error="invalid input: to[1].tags.*, to[1].name, amount, *"`; !strings.Contains(out.String(), want) || strings.Contains(out.String(), "hunter") {
		t.Errorf("the log is\n%s\nwant %s", out.String(), want)
	}
}
