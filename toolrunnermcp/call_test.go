package toolrunnermcp_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolrunner/toolrunner/toolrunnermcp"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// B048 over real transports: the server lists three tools on a page.
func TestAllPagesOfARealServerAreRead(t *testing.T) {
	for _, via := range connectors {
		t.Run(via.name, func(t *testing.T) {
			session := via.connect(t, nil)
			tools := mustTools(t, session, toolrunnermcp.Options{Prefix: "k-"})
			want := []string{"k-die", "k-echo", "k-fail", "k-grow", "k-progress", "k-refuse", "k-wait", "k-was_cancelled"}
			if diff := cmp.Diff(want, names(tools)); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
		})
	}
}

func TestArgumentsReachTheServerDigitForDigit(t *testing.T) {
	for _, via := range connectors {
		t.Run(via.name, func(t *testing.T) {
			tools := mustTools(t, via.connect(t, nil), toolrunnermcp.Options{})
			const input = `{"z":12345678901234567890123,"a":1.10,"e":1e400,"s":"<é>"}`
			result, err := call(t.Context(), t, tools, "echo", input)
			got := textOf(t, result, err)
			got = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(got)
			if got != input {
				t.Errorf("the server got %s, want %s", got, input)
			}
			result, err = call(t.Context(), t, tools, "echo", "")
			if got := textOf(t, result, err); got != "{}" {
				t.Errorf("the server got %s for no input, want {}", got)
			}
		})
	}
}

func TestFailuresOfAToolReachTheModelInTheServersWords(t *testing.T) {
	for _, via := range connectors {
		t.Run(via.name, func(t *testing.T) {
			model := toolrunnertest.NewServer(t,
				toolrunnertest.Message(
					toolrunnertest.Call("toolu_1", "fail", `{}`),
					toolrunnertest.Call("toolu_2", "refuse", `{}`),
				),
				toolrunnertest.Text("Pity."))
			tools := mustTools(t, via.connect(t, nil), toolrunnermcp.Options{})
			if _, err := newRunner(t, model, tools).RunToCompletion(t.Context()); err != nil {
				t.Fatal(err)
			}
			last := model.Requests()[1]
			for id, want := range map[string]string{
				"toolu_1": `{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"no such city"}],"is_error":true}`,
				"toolu_2": `{"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"text","text":"Error: not today"}],"is_error":true}`,
			} {
				if got := string(last.ToolResult(id)); got != want {
					t.Errorf("result of %s = %s, want %s", id, got, want)
				}
			}
		})
	}
}

// B126: a dead server fails its calls, and takes neither the run nor the tools down.
func TestAServerThatDiesInACallFailsTheCallAlone(t *testing.T) {
	model := toolrunnertest.NewServer(t,
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "die", `{}`)),
		toolrunnertest.Message(toolrunnertest.Call("toolu_2", "echo", `{}`)),
		toolrunnertest.Text("It is gone."))
	tools := mustTools(t, connectProcess(t, nil), toolrunnermcp.Options{})
	if _, err := newRunner(t, model, tools).RunToCompletion(t.Context()); err != nil {
		t.Fatal(err)
	}
	requests := model.Requests()
	checkFailed(t, requests[1], "toolu_1", "no answer came from the MCP server, so whether the call took effect is unknown")
	checkFailed(t, requests[2], "toolu_2", "the MCP server is gone, and its tools work no longer")
	if err := toolrunnertest.CheckRun(requests); err != nil {
		t.Error(err)
	}
}

// A server that ends is said with the end of what it wrote: to the logger, and in the error
// of the call, but not to the model.
func TestAServerThatDiesIsSaidWithItsLastWords(t *testing.T) {
	var log bytes.Buffer
	source, err := toolrunnermcp.NewSource(toolrunnermcp.Options{Name: "ideas", Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if err := source.Attach(connectProcessHeard(t, source.ClientOptions(nil), source.Stderr())); err != nil {
		t.Fatal(err)
	}
	model := toolrunnertest.NewServer(t, toolrunnertest.Message(toolrunnertest.Call("toolu_1", "die", `{}`)), toolrunnertest.Text("It is gone."))
	runner := newRunner(t, model, mustAppend(t, source, nil))
	var cause error
	for turn, err := range runner.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		results, err := turn.Results(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(results) > 0 {
			cause = results[0].Err
		}
	}
	checkFailed(t, model.Requests()[1], "toolu_1", "no answer came from the MCP server")
	if read := string(model.Requests()[1].Body); strings.Contains(read, "s3cret") {
		t.Errorf("the model reads what the server wrote: %s", read)
	}
	if cause == nil || !strings.Contains(cause.Error(), "out of ideas, says s3cret") || len(cause.Error()) > 2500 {
		t.Errorf("the error of the call is %v", cause)
	}
	if got := log.String(); strings.Count(got, "an MCP server has ended") != 1 || !strings.Contains(got, "out of ideas") || !strings.Contains(got, "server=ideas") {
		t.Errorf("the log says %s", got)
	}
}

func TestAnHTTPServerThatGoesAwayInACallFailsTheCallAlone(t *testing.T) {
	started := make(chan struct{})
	server := mcp.NewServer(me, nil)
	server.AddTool(&mcp.Tool{Name: "hang", InputSchema: anyInput}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		close(started)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	session, front := connectHTTPServer(t, server, nil)
	tools := mustTools(t, session, toolrunnermcp.Options{})
	model := toolrunnertest.NewServer(t,
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "hang", `{}`)),
		toolrunnertest.Message(toolrunnertest.Call("toolu_2", "hang", `{}`)),
		toolrunnertest.Text("It is gone."))
	go func() {
		<-started
		_ = front.Listener.Close()
		front.CloseClientConnections()
	}()
	if _, err := newRunner(t, model, tools).RunToCompletion(t.Context()); err != nil {
		t.Fatal(err)
	}
	requests := model.Requests()
	checkFailed(t, requests[1], "toolu_1", "MCP server")
	checkFailed(t, requests[2], "toolu_2", "MCP server")
}

func checkFailed(t *testing.T, request *toolrunnertest.Request, id, text string) {
	t.Helper()
	result := string(request.ToolResult(id))
	if !strings.Contains(result, `"is_error":true`) || !strings.Contains(result, text) {
		t.Errorf("result of %s = %s, want an error with %q", id, result, text)
	}
}

func TestCancellingACallCancelsItAtTheServer(t *testing.T) {
	for _, via := range connectors {
		t.Run(via.name, func(t *testing.T) {
			begun := make(chan struct{})
			session := via.connect(t, &mcp.ClientOptions{
				ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { close(begun) },
			})
			tools := mustTools(t, session, toolrunnermcp.Options{Progress: true})
			why := errors.New("changed my mind")
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				<-begun
				cancel(why)
			}()
			if _, err := call(ctx, t, tools, "wait", `{}`); !errors.Is(err, why) {
				t.Errorf("err = %v, want %v", err, why)
			}
			result, err := call(t.Context(), t, tools, "was_cancelled", `{}`)
			if got := textOf(t, result, err); got != "yes" {
				t.Errorf("was_cancelled = %q, want yes", got)
			}
		})
	}
}

func TestProgressCarriesTheIDOfTheCall(t *testing.T) {
	for _, via := range connectors {
		t.Run(via.name, func(t *testing.T) {
			reports := make(chan *mcp.ProgressNotificationParams, 2)
			session := via.connect(t, &mcp.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { reports <- r.Params },
			})
			tools := mustTools(t, session, toolrunnermcp.Options{Progress: true})
			result, err := call(t.Context(), t, tools, "progress", `{}`)
			if got := textOf(t, result, err); got != "done" {
				t.Errorf("result = %q, want done", got)
			}
			for want := range 2 {
				if got := <-reports; got.ProgressToken != "toolu_progress" || got.Progress != float64(want+1) {
					t.Errorf("report %d = %+v, want token toolu_progress and progress %d", want, got, want+1)
				}
			}
			result, err = call(t.Context(), t, mustTools(t, session, toolrunnermcp.Options{}), "progress", `{}`)
			if got := textOf(t, result, err); got != "nobody asked" {
				t.Errorf("result without Options.Progress = %q, want nobody asked", got)
			}
		})
	}
}

func TestTheTimeoutEndsACallWithAResultThatSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		session := connectMemory(t, newServer(), nil)
		tools := mustTools(t, session, toolrunnermcp.Options{Timeout: time.Minute})
		model := toolrunnertest.NewServer(t,
			toolrunnertest.Message(toolrunnertest.Call("toolu_1", "wait", `{}`)),
			toolrunnertest.Text("Too slow."))
		begin := time.Now()
		if _, err := newRunner(t, model, tools).RunToCompletion(t.Context()); err != nil {
			t.Fatal(err)
		}
		checkFailed(t, model.Requests()[1], "toolu_1", "the call timed out after 1m0s")
		if took := time.Since(begin); took != time.Minute {
			t.Errorf("the run took %v, want 1m", took)
		}
	})
}

func TestACancelledRunLeavesTheSessionUsable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		session := connectMemory(t, newServer(), nil)
		tools := mustTools(t, session, toolrunnermcp.Options{})
		model := toolrunnertest.NewServer(t,
			toolrunnertest.Message(toolrunnertest.Call("toolu_1", "wait", `{}`)),
			toolrunnertest.Message(toolrunnertest.Call("toolu_2", "echo", `{"n":1}`)),
			toolrunnertest.Text("Done."))
		runner := newRunner(t, model, tools)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := runner.RunToCompletion(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("err = %v, want %v", err, context.DeadlineExceeded)
		}
		if _, err := runner.RunToCompletion(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := string(model.Requests()[2].ToolResult("toolu_2")); !strings.Contains(got, `{\"n\":1}`) {
			t.Errorf("result = %s, want the input", got)
		}
	})
}
