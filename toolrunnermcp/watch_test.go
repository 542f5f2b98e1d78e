package toolrunnermcp_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnermcp"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// logged is a logger whose records can be waited for.
func logged() (*slog.Logger, <-chan string) {
	records := make(chan string, 100)
	handler := slog.NewTextHandler(writerFunc(func(p []byte) (int, error) { records <- string(p); return len(p), nil }), nil)
	return slog.New(handler), records
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestAListThatChangesInARunReachesTheModel(t *testing.T) {
	for _, via := range connectors {
		t.Run(via.name, func(t *testing.T) {
			log, records := logged()
			model := toolrunnertest.NewServer(t,
				toolrunnertest.Message(toolrunnertest.Call("toolu_1", "grow", `{}`)),
				toolrunnertest.Func(func(*toolrunnertest.Request) toolrunnertest.Reply {
					awaitChange(t, records, "grown", "fail")
					return toolrunnertest.Message(toolrunnertest.Call("toolu_2", "echo", `{}`))
				}),
				toolrunnertest.Message(toolrunnertest.Call("toolu_3", "grown", `{}`), toolrunnertest.Call("toolu_4", "fail", `{}`)),
				toolrunnertest.Text("Well."))
			var watcher toolrunnermcp.Watcher
			defer watcher.Close()
			session := via.connect(t, &mcp.ClientOptions{ToolListChangedHandler: watcher.ToolListChanged})
			options := toolrunnermcp.Options{Logger: log}
			tools := mustTools(t, session, options)
			runner := newRunner(t, model, tools)
			if err := watcher.Watch(t.Context(), runner, session, tools, options); err != nil {
				t.Fatal(err)
			}
			if _, err := runner.RunToCompletion(t.Context()); err != nil {
				t.Fatal(err)
			}
			requests := model.Requests()
			changes := string(requests[2].Body)
			for _, want := range []string{`"type":"tool_addition"`, `"name":"grown"`, `"type":"tool_removal"`} {
				if !strings.Contains(changes, want) {
					t.Errorf("request 2 = %s, want %s in it", changes, want)
				}
			}
			if got := string(requests[3].ToolResult("toolu_3")); !strings.Contains(got, "grown indeed") {
				t.Errorf("result of the new tool = %s", got)
			}
			checkFailed(t, requests[3], "toolu_4", "Tool 'fail' not found")
			if err := toolrunnertest.CheckRun(requests); err != nil {
				t.Error(err)
			}
		})
	}
}

// awaitChange waits until the log says what was added and removed, which may
// take more than one notification.
func awaitChange(t *testing.T, records <-chan string, added, removed string) {
	var log strings.Builder
	for !strings.Contains(log.String(), "added=["+added) || !strings.Contains(log.String(), "removed=["+removed) {
		select {
		case record := <-records:
			log.WriteString(record)
		case <-t.Context().Done():
			t.Errorf("the change never came; log:\n%s", log.String())
			return
		}
	}
}

// changing is a server whose list the test sets.
type changing struct {
	*mcp.Server

	mu   sync.Mutex
	list *mcp.ListToolsResult // nil: listing fails
}

func newChanging(first *mcp.ListToolsResult) *changing {
	c := &changing{Server: mcp.NewServer(me, &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}}}), list: first}
	c.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if method != "tools/list" {
				return next(ctx, method, r)
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.list == nil {
				return nil, errors.New("the list is lost")
			}
			return c.list, nil
		}
	})
	return c
}

// set changes the list and says so, and returns when everybody has done what
// follows. The SDK's server notifies of its own tools, and takes its time.
func (c *changing) set(list *mcp.ListToolsResult) {
	c.mu.Lock()
	c.list = list
	c.mu.Unlock()
	c.AddTool(&mcp.Tool{Name: "not listed", InputSchema: anyInput}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New("not called")
	})
	<-time.After(time.Second)
	synctest.Wait()
}

// B126: the tools of a runner change as the server's do, and only then.
func TestOnlyWhatDiffersIsAddedAndRemoved(t *testing.T) {
	changed := page("", "a", "b")
	changed.Tools[0].Description = "new"
	hinted := page("", "a", "b")
	hinted.Tools[1].Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true}
	for _, test := range []struct {
		name string
		list *mcp.ListToolsResult
		want string // in the log
	}{
		{"nothing", page("", "b", "a"), ""},
		{"added", page("", "a", "b", "c", "d.e"), `added="[c d_e_e67adc82]" removed=[]`},
		{"removed", page("", "b"), `added=[] removed=[a]`},
		{"all removed", page(""), `added=[] removed="[a b]"`},
		{"another description", changed, `added=[a] removed=[]`},
		{"another hint", hinted, `added=[b] removed=[]`},
		{"a list that is cut", page("x", "c"), `added=[c] removed=[]`},
		{"no list", nil, "cannot be had"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var watcher toolrunnermcp.Watcher
				server := newChanging(page("", "a", "b"))
				session := connectMemory(t, server.Server, &mcp.ClientOptions{ToolListChangedHandler: watcher.ToolListChanged})
				log, records := logged()
				options := toolrunnermcp.Options{Logger: log}
				tools := mustTools(t, session, options)
				runner := newRunner(t, toolrunnertest.NewServer(t), tools)
				if err := watcher.Watch(t.Context(), runner, session, tools, options); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				server.set(test.list)
				watcher.Close()
				got := drain(records)
				if test.want == "" && got != "" || !strings.Contains(got, test.want) {
					t.Errorf("log = %q, want %q in it", got, test.want)
				}
				if n := strings.Count(got, "have changed"); n > 1 {
					t.Errorf("%d changes, want at most one; log = %q", n, got)
				}
			})
		})
	}
}

func drain(records <-chan string) string {
	var log strings.Builder
	for len(records) > 0 {
		log.WriteString(<-records)
	}
	return log.String()
}

func TestWhatChangedBeforeTheWatchIsNotMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var watcher toolrunnermcp.Watcher
		defer watcher.Close()
		server := newChanging(page("", "a"))
		session := connectMemory(t, server.Server, &mcp.ClientOptions{ToolListChangedHandler: watcher.ToolListChanged})
		tools := mustTools(t, session, toolrunnermcp.Options{})
		server.set(page("", "a", "b"))
		log, records := logged()
		if err := watcher.Watch(t.Context(), newRunner(t, toolrunnertest.NewServer(t), tools), session, tools, toolrunnermcp.Options{Logger: log}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := drain(records); !strings.Contains(got, "added=[b]") {
			t.Errorf("log = %q, want added=[b] in it", got)
		}
	})
}

func TestAWatchEndsWithItsContextAndWithTheWatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var watcher toolrunnermcp.Watcher
		server := newChanging(page("", "a"))
		session := connectMemory(t, server.Server, &mcp.ClientOptions{ToolListChangedHandler: watcher.ToolListChanged})
		tools := mustTools(t, session, toolrunnermcp.Options{})
		runner := newRunner(t, toolrunnertest.NewServer(t), tools)
		log, records := logged()
		options := toolrunnermcp.Options{Logger: log}
		ctx, cancel := context.WithCancel(t.Context())
		if err := watcher.Watch(ctx, runner, session, tools, options); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		if n := followers(); n != 0 {
			t.Errorf("%d goroutines of the watcher after its context ended, want 0", n)
		}
		if err := watcher.Watch(t.Context(), runner, session, tools, options); err != nil {
			t.Fatal(err)
		}
		if synctest.Wait(); followers() != 1 {
			t.Errorf("%d goroutines of the watcher, want 1", followers())
		}
		watcher.Close()
		if n := followers(); n != 0 {
			t.Errorf("%d goroutines of the watcher after Close, want 0", n)
		}
		server.set(page("", "b"))
		if got := drain(records); got != "" {
			t.Errorf("log = %q, want nothing", got)
		}
		if err := watcher.Watch(t.Context(), runner, session, tools, options); err == nil {
			t.Error("no error from a watcher that is closed")
		}
	})
}

func TestAWatchThatMakesNoSenseIsRefused(t *testing.T) {
	session := connectTools(t)
	runner := newRunner(t, toolrunnertest.NewServer(t), nil)
	for _, test := range []struct {
		name    string
		runner  *toolrunner.Runner
		session *mcp.ClientSession
		options toolrunnermcp.Options
	}{
		{"no runner", nil, session, toolrunnermcp.Options{}},
		{"no session", runner, nil, toolrunnermcp.Options{}},
		{"illegal prefix", runner, session, toolrunnermcp.Options{Prefix: "."}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var watcher toolrunnermcp.Watcher
			defer watcher.Close()
			if err := watcher.Watch(t.Context(), test.runner, test.session, nil, test.options); err == nil {
				t.Error("no error")
			}
		})
	}
}

// followers counts the goroutines that follow a session.
func followers() int {
	stacks := make([]byte, 1<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "toolrunnermcp.(*following).run(")
}

func TestTheListOfASessionThatDiedKeepsTheTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var watcher toolrunnermcp.Watcher
		defer watcher.Close()
		session := connectMemory(t, newServer(), &mcp.ClientOptions{ToolListChangedHandler: watcher.ToolListChanged})
		log, records := logged()
		options := toolrunnermcp.Options{Logger: log}
		tools := mustTools(t, session, options)
		_ = session.Close()
		model := toolrunnertest.NewServer(t, toolrunnertest.Message(toolrunnertest.Call("toolu_1", "echo", `{}`)), toolrunnertest.Text("Gone."))
		runner := newRunner(t, model, tools)
		if err := watcher.Watch(t.Context(), runner, session, tools, options); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := drain(records); !strings.Contains(got, "the runner keeps the ones it has") {
			t.Errorf("log = %q, want that the runner keeps its tools", got)
		}
		if _, err := runner.RunToCompletion(t.Context()); err != nil {
			t.Fatal(err)
		}
		requests := model.Requests()
		if diff := cmp.Diff(string(requests[0].Field("tools")), string(requests[1].Field("tools"))); diff != "" {
			t.Errorf("tools (-first +second):\n%s", diff)
		}
		checkFailed(t, requests[1], "toolu_1", "the MCP server is gone")
	})
}
