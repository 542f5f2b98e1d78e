package toolrunnermcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnermcp"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// serveVariable makes the test binary an MCP server on its standard streams.
const serveVariable = "TOOLRUNNERMCP_TEST_SERVE"

func TestMain(m *testing.M) {
	if os.Getenv(serveVariable) == "" {
		os.Exit(m.Run())
	}
	if err := newServer().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}

var (
	me         = &mcp.Implementation{Name: "test", Version: "1"}
	anyInput   = json.RawMessage(`{"type":"object","properties":{}}`)
	textAnswer = func(text string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
	}
)

// newServer returns a server with a tool for each thing that a call can do. It
// lists three tools on a page.
func newServer() *mcp.Server {
	server := mcp.NewServer(me, &mcp.ServerOptions{PageSize: 3})
	cancelled := make(chan struct{}, 1)
	add := func(name string, run mcp.ToolHandler) {
		server.AddTool(&mcp.Tool{Name: name, Description: "does " + name, InputSchema: anyInput}, run)
	}
	add("echo", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return textAnswer(string(r.Params.Arguments)), nil
	})
	add("fail", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no such city"}}}, nil
	})
	add("refuse", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New("not today")
	})
	add("progress", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		token := r.Params.GetProgressToken()
		if token == nil {
			return textAnswer("nobody asked"), nil
		}
		for i := range 2 {
			if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(i + 1), Total: 2}); err != nil {
				return nil, err
			}
		}
		return textAnswer("done"), nil
	})
	add("wait", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if token := r.Params.GetProgressToken(); token != nil { // says that the call has begun
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token})
		}
		<-ctx.Done()
		cancelled <- struct{}{}
		return nil, ctx.Err()
	})
	add("was_cancelled", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		select {
		case <-cancelled:
			return textAnswer("yes"), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	add("die", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		fmt.Fprint(os.Stderr, strings.Repeat("x", 3000)+"\nout of ideas, says s3cret\n")
		os.Exit(3)
		return nil, nil //nolint:nilnil // not reached
	})
	add("grow", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		add("grown", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return textAnswer("grown indeed"), nil
		})
		server.RemoveTools("fail")
		return textAnswer("grew"), nil
	})
	return server
}

// connectors are the ways to reach newServer.
var connectors = []struct {
	name    string
	connect func(*testing.T, *mcp.ClientOptions) *mcp.ClientSession
}{
	{"stdio", connectProcess},
	{"streamable HTTP", connectHTTP},
}

// connectProcess starts the server as a process. When the test has ended, so has
// the process.
func connectProcess(t *testing.T, options *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	return connectProcessHeard(t, options, nil)
}

// connectProcessHeard is connectProcess with a writer for what the server writes on stderr.
func connectProcessHeard(t *testing.T, options *mcp.ClientOptions, stderr io.Writer) *mcp.ClientSession {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Stderr = stderr
	command.Env = append(os.Environ(), serveVariable+"=1", "GORACE=atexit_sleep_ms=0")
	t.Cleanup(func() {
		if command.ProcessState == nil {
			t.Error("the server's process is still there")
		}
	})
	return connect(t, &mcp.CommandTransport{Command: command}, options)
}

func connectHTTP(t *testing.T, options *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	session, _ := connectHTTPServer(t, newServer(), options)
	return session
}

func connectHTTPServer(t *testing.T, server *mcp.Server, options *mcp.ClientOptions) (*mcp.ClientSession, *httptest.Server) {
	t.Helper()
	front := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(front.Close)
	return connect(t, &mcp.StreamableClientTransport{Endpoint: front.URL, MaxRetries: -1}, options), front
}

// connectMemory connects to a server in the same bubble or process.
func connectMemory(t *testing.T, server *mcp.Server, options *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	theirs, ours := mcp.NewInMemoryTransports()
	serving, err := server.Connect(t.Context(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = serving.Wait() })
	return connect(t, ours, options)
}

func connect(t *testing.T, transport mcp.Transport, options *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	session, err := mcp.NewClient(me, options).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// connectPages connects to a server whose answer to tools/list is up to pages,
// which gets the cursor.
func connectPages(t *testing.T, pages func(cursor string) *mcp.ListToolsResult) *mcp.ClientSession {
	t.Helper()
	server := mcp.NewServer(me, &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}}})
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if method == "tools/list" {
				return pages(r.GetParams().(*mcp.ListToolsParams).Cursor), nil
			}
			return next(ctx, method, r)
		}
	})
	return connectMemory(t, server, nil)
}

// connectTools connects to a server that lists tools, as they are, and answers a
// call with the name that was called.
func connectTools(t *testing.T, tools ...*mcp.Tool) *mcp.ClientSession {
	t.Helper()
	server := mcp.NewServer(me, &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}}})
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			switch method {
			case "tools/list":
				return &mcp.ListToolsResult{Tools: tools}, nil
			case "tools/call":
				return textAnswer("called " + r.GetParams().(*mcp.CallToolParamsRaw).Name), nil
			}
			return next(ctx, method, r)
		}
	})
	return connectMemory(t, server, nil)
}

// newSource returns a source of a session.
func newSource(t *testing.T, session *mcp.ClientSession, options toolrunnermcp.Options) *toolrunnermcp.Source {
	t.Helper()
	source, err := toolrunnermcp.NewSource(options)
	if err != nil {
		t.Fatal(err)
	}
	if err := source.Attach(session); err != nil {
		t.Fatal(err)
	}
	return source
}

// mustTools returns the tools that a new source of the session has.
func mustTools(t *testing.T, session *mcp.ClientSession, options toolrunnermcp.Options) []anthropic.BetaTool {
	t.Helper()
	return mustAppend(t, newSource(t, session, options), nil)
}

func mustAppend(t *testing.T, source *toolrunnermcp.Source, own []anthropic.BetaTool) []anthropic.BetaTool {
	t.Helper()
	tools, err := source.AppendTools(t.Context(), own)
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

func names(tools []anthropic.BetaTool) []string {
	all := make([]string, len(tools))
	for i, tool := range tools {
		all[i] = tool.Name()
	}
	return all
}

// call runs the handler of the tool of that name.
func call(ctx context.Context, t *testing.T, tools []anthropic.BetaTool, name, input string) (*toolrunner.Result, error) {
	t.Helper()
	for _, tool := range tools {
		if tool.Name() == name {
			return tool.(*toolrunner.Tool).Handler(ctx, &toolrunner.Call{ID: "toolu_" + name, Name: name, Input: json.RawMessage(input)})
		}
	}
	return nil, fmt.Errorf("no tool %q", name)
}

// textOf returns the text of a result of one block.
func textOf(t *testing.T, result *toolrunner.Result, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Content) != 1 || result.Content[0].OfText == nil {
		t.Fatalf("content = %+v, want one text block", result.Content)
	}
	return result.Content[0].OfText.Text
}

func newRunner(t *testing.T, model *toolrunnertest.Server, tools []anthropic.BetaTool) *toolrunner.Runner {
	t.Helper()
	client := model.Client()
	runner, err := toolrunner.New(&client.Beta.Messages, tools, toolrunner.Params{
		BetaMessageNewParams: anthropic.BetaMessageNewParams{
			Model:     "claude-test",
			MaxTokens: 100,
			Messages:  []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("Go."))},
			Betas:     []anthropic.AnthropicBeta{anthropic.AnthropicBetaInlineTools2026_09_15},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return runner
}
