package toolrunnermcp_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnermcp"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

func page(next string, names ...string) *mcp.ListToolsResult {
	result := &mcp.ListToolsResult{NextCursor: next, Tools: []*mcp.Tool{}}
	for _, name := range names {
		result.Tools = append(result.Tools, &mcp.Tool{Name: name, InputSchema: anyInput})
	}
	return result
}

// B048, B082: every page once, and never for ever.
func TestPagesAreReadToTheEndButNotForEver(t *testing.T) {
	for _, test := range []struct {
		name     string
		pages    map[string]*mcp.ListToolsResult // by cursor
		maxPages int
		want     []string
		log      string
	}{
		{
			name:  "two pages",
			pages: map[string]*mcp.ListToolsResult{"": page("2", "c", "b"), "2": page("", "a")},
			want:  []string{"a", "b", "c"},
		},
		{
			name:  "empty first page",
			pages: map[string]*mcp.ListToolsResult{"": page("2"), "2": page("3", "a"), "3": page("")},
			want:  []string{"a"},
		},
		{
			name:  "no tools",
			pages: map[string]*mcp.ListToolsResult{"": page("")},
			want:  []string{},
		},
		{
			name:  "a cursor that stays",
			pages: map[string]*mcp.ListToolsResult{"": page("x", "a"), "x": page("x", "b")},
			want:  []string{"a", "b"},
			log:   "a cursor came again",
		},
		{
			name:  "cursors in a circle",
			pages: map[string]*mcp.ListToolsResult{"": page("1", "a"), "1": page("2", "b"), "2": page("1", "c")},
			want:  []string{"a", "b", "c"},
			log:   "a cursor came again",
		},
		{
			name:     "more pages than allowed",
			pages:    map[string]*mcp.ListToolsResult{"": page("1", "a"), "1": page("2", "b"), "2": page("", "c")},
			maxPages: 2,
			want:     []string{"a", "b"},
			log:      "more pages than Options.MaxPages",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log strings.Builder
			session := connectPages(t, func(cursor string) *mcp.ListToolsResult { return test.pages[cursor] })
			tools := mustTools(t, session, toolrunnermcp.Options{MaxPages: test.maxPages, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if diff := cmp.Diff(test.want, names(tools)); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
			if !strings.Contains(log.String(), test.log) || test.log == "" && log.Len() > 0 {
				t.Errorf("log = %q, want %q in it", log.String(), test.log)
			}
		})
	}
}

// B082: new cursors without an end, with answers that come from the cache of the session.
func TestAnEndlessListIsCutAfterTheDefaultOfPages(t *testing.T) {
	pages := 0
	session := connectPages(t, func(string) *mcp.ListToolsResult {
		pages++
		return page(fmt.Sprint(pages), fmt.Sprintf("tool_%d", pages))
	})
	if got := len(mustTools(t, session, toolrunnermcp.Options{})); got != 100 {
		t.Errorf("%d tools, want 100", got)
	}
}

func TestListingEndsWithItsContext(t *testing.T) {
	why := errors.New("no time")
	ctx, cancel := context.WithCancelCause(t.Context())
	session := connectPages(t, func(string) *mcp.ListToolsResult {
		cancel(why)
		return page("next", "a")
	})
	if _, err := newSource(t, session, toolrunnermcp.Options{}).Tools(ctx); !errors.Is(err, why) {
		t.Errorf("err = %v, want %v", err, why)
	}
}

func TestListingEndsAfterTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		defer close(done)
		session := connectPages(t, func(string) *mcp.ListToolsResult { <-done; return page("") })
		_, err := newSource(t, session, toolrunnermcp.Options{Name: "slow", Timeout: time.Minute}).Tools(t.Context())
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), `listing the tools of the MCP server "slow": it did not answer within 1m0s`) {
			t.Errorf("err = %v, want one that says that the server did not answer", err)
		}
	})
}

func TestAServerThatKnowsNoToolsHasNone(t *testing.T) {
	server := mcp.NewServer(me, nil)
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if method == "tools/list" {
				return next(ctx, "unknown", r)
			}
			return next(ctx, method, r)
		}
	})
	if got := mustTools(t, connectMemory(t, server, nil), toolrunnermcp.Options{}); len(got) != 0 {
		t.Errorf("tools = %q, want none", names(got))
	}
}

// MC4: a page that is not there is not the end of the list.
func TestALaterPageThatTheServerDoesNotKnowIsAnError(t *testing.T) {
	server := mcp.NewServer(me, nil)
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			switch {
			case method != "tools/list":
				return next(ctx, method, r)
			case r.GetParams().(*mcp.ListToolsParams).Cursor == "":
				return page("2", "a"), nil
			}
			return next(ctx, "unknown", r)
		}
	})
	tools, err := newSource(t, connectMemory(t, server, nil), toolrunnermcp.Options{}).Tools(t.Context())
	if wire := (*jsonrpc.Error)(nil); !errors.As(err, &wire) || wire.Code != jsonrpc.CodeMethodNotFound {
		t.Errorf("%d tools, err = %v; want the server's error", len(tools), err)
	}
}

// B126: a listing that fails says so.
func TestListingASessionThatHasEndedIsAnError(t *testing.T) {
	session := connectMemory(t, newServer(), nil)
	_ = session.Close()
	if _, err := newSource(t, session, toolrunnermcp.Options{}).Tools(t.Context()); !errors.Is(err, mcp.ErrConnectionClosed) {
		t.Errorf("err = %v, want %v", err, mcp.ErrConnectionClosed)
	}
}

func TestOptionsThatMakeNoSenseAreRefused(t *testing.T) {
	for _, test := range []struct {
		name    string
		options toolrunnermcp.Options
		want    string
	}{
		{"illegal prefix", toolrunnermcp.Options{Prefix: "a.b"}, "Options.Prefix"},
		{"long prefix", toolrunnermcp.Options{Prefix: strings.Repeat("p", 65)}, "Options.Prefix"},
		{"negative timeout", toolrunnermcp.Options{Timeout: -1}, "Options.Timeout"},
		{"negative pages", toolrunnermcp.Options{MaxPages: -1}, "Options.MaxPages"},
		{"negative text", toolrunnermcp.Options{MaxText: -1}, "Options.MaxText"},
		{"negative media", toolrunnermcp.Options{MaxMedia: -1}, "Options.MaxMedia"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := toolrunnermcp.NewSource(test.options); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("err = %v, want one about %s", err, test.want)
			}
		})
	}
}

func TestASourceWithoutASessionSaysSo(t *testing.T) {
	source, err := toolrunnermcp.NewSource(toolrunnermcp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := source.Attach(nil); err == nil {
		t.Error("no error for a nil session")
	}
	if _, err := source.Tools(t.Context()); err == nil || !strings.Contains(err.Error(), "call Attach") {
		t.Errorf("err = %v, want one about Attach", err)
	}
	source.Close()
	if _, err := source.Tools(t.Context()); err == nil {
		t.Error("no error from a source that is closed")
	}
}

// B046, B084.
func TestNamesAreLegalUniqueAndMappedBack(t *testing.T) {
	long := strings.Repeat("n", 129)
	for _, test := range []struct {
		name    string
		options toolrunnermcp.Options
		beside  []string
		theirs  []string
		want    map[string]string // our name: theirs
	}{
		{
			name:   "legal names stay",
			theirs: []string{"read", "Read", "a-b_C1", strings.Repeat("n", 128)},
			want:   map[string]string{"read": "read", "Read": "Read", "a-b_C1": "a-b_C1", strings.Repeat("n", 128): strings.Repeat("n", 128)},
		},
		{
			name:   "illegal characters",
			theirs: []string{"admin.tools.list", "user/update", "Dockerfile scanner", "größe", ""},
			want: map[string]string{
				"admin_tools_list_ce33de31": "admin.tools.list", "user_update_736a6dc0": "user/update",
				"Dockerfile_scanner_f5879311": "Dockerfile scanner", "gr__e_d353a267": "größe", "_e3b0c442": "",
			},
		},
		{
			name:   "alike once they are legal",
			theirs: []string{"a.b", "a_b", "a b"},
			want:   map[string]string{"a_b": "a_b", "a_b_2e7336dc": "a.b", "a_b_c8687a08": "a b"},
		},
		{
			name:    "too long",
			options: toolrunnermcp.Options{Prefix: "srv_"},
			theirs:  []string{long, strings.Repeat("n", 124), long + "x"},
			want: map[string]string{
				"srv_" + strings.Repeat("n", 124):               strings.Repeat("n", 124),
				"srv_" + strings.Repeat("n", 115) + "_0bf2917c": long,
				"srv_" + strings.Repeat("n", 115) + "_35f9016f": long + "x",
			},
		},
		{
			name:   "taken by the caller",
			beside: []string{"search", "a_b_2e7336dc"},
			theirs: []string{"search", "a.b"},
			want:   map[string]string{"search_24193290": "search", "a_b_2e7336dc8eba87ef": "a.b"},
		},
		{
			name:   "the same name twice",
			theirs: []string{"twice", "once", "twice"},
			want:   map[string]string{"twice": "twice", "once": "once"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var theirs []*mcp.Tool
			for _, name := range test.theirs {
				theirs = append(theirs, &mcp.Tool{Name: name, InputSchema: anyInput})
			}
			var own []anthropic.BetaTool
			for _, name := range test.beside {
				own = append(own, localTool(name))
			}
			tools := mustAppend(t, newSource(t, connectTools(t, theirs...), test.options), own)
			got := make(map[string]string)
			for _, tool := range tools[len(own):] {
				result, err := call(t.Context(), t, tools, tool.Name(), `{}`)
				got[tool.Name()] = strings.TrimPrefix(textOf(t, result, err), "called ")
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
		})
	}
}

// localTool returns a tool of the program's own.
func localTool(name string) *toolrunner.Tool {
	return toolrunner.NewTool(name, "Ours.", func(context.Context, struct{}) (string, error) { return "ran here", nil })
}

func TestNamesDoNotDependOnTheOrderOfTheList(t *testing.T) {
	var forth, back []*mcp.Tool
	for _, name := range []string{"a.b", "a_b", "a/b", "z"} {
		tool := &mcp.Tool{Name: name, Description: name, InputSchema: anyInput}
		forth, back = append(forth, tool), append([]*mcp.Tool{tool}, back...)
	}
	definitions := func(theirs []*mcp.Tool) (all []string) {
		for _, tool := range mustTools(t, connectTools(t, theirs...), toolrunnermcp.Options{}) {
			data, err := tool.(*toolrunner.Tool).Definition.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(data))
		}
		return all
	}
	if diff := cmp.Diff(definitions(forth), definitions(back)); diff != "" {
		t.Errorf("definitions (-forth +back):\n%s", diff)
	}
}

func TestTwoServersWithTheSameToolsGoTogetherUnderPrefixes(t *testing.T) {
	model := toolrunnertest.NewServer(t,
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "a_search", `{}`), toolrunnertest.Call("toolu_2", "b_search", `{}`)),
		toolrunnertest.Text("Found."))
	search := &mcp.Tool{Name: "search", InputSchema: anyInput}
	tools := mustTools(t, connectTools(t, search), toolrunnermcp.Options{Prefix: "a_"})
	tools = append(tools, mustTools(t, connectTools(t, search), toolrunnermcp.Options{Prefix: "b_"})...)
	if _, err := newRunner(t, model, tools).RunToCompletion(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"toolu_1", "toolu_2"} {
		if got := string(model.Requests()[1].ToolResult(id)); !strings.Contains(got, `"called search"`) {
			t.Errorf("result of %s = %s, want the server's own name in it", id, got)
		}
	}
}

// Hints are believed where the options say so, and only there.
func TestWhatTheServerSaysOfAToolIsKept(t *testing.T) {
	yes := true
	session := connectTools(t,
		&mcp.Tool{Name: "a", Description: "Reads.", Title: "Reader", InputSchema: anyInput, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		&mcp.Tool{Name: "b", Title: "Writer", InputSchema: anyInput, Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes, IdempotentHint: true, Title: "no"}},
		&mcp.Tool{Name: "c", InputSchema: anyInput, Annotations: &mcp.ToolAnnotations{Title: "Thinker"}},
		&mcp.Tool{Name: "d", InputSchema: anyInput},
	)
	type told struct {
		Name, Description               string
		ReadOnly, Idempotent, Exclusive bool
		Timeout                         time.Duration
	}
	for trust, want := range map[bool][]told{
		false: {
			{"a", "Reads.", false, false, true, time.Second},
			{"b", "Writer", false, false, true, time.Second},
			{"c", "Thinker", false, false, true, time.Second},
			{"d", "", false, false, true, time.Second},
		},
		true: {
			{"a", "Reads.", true, false, false, time.Second},
			{"b", "Writer", false, true, true, time.Second},
			{"c", "Thinker", false, false, true, time.Second},
			{"d", "", false, false, true, time.Second},
		},
	} {
		var got []told
		for _, tool := range mustTools(t, session, toolrunnermcp.Options{Timeout: time.Second, TrustAnnotations: trust}) {
			own := tool.(*toolrunner.Tool)
			got = append(got, told{own.Name(), own.Description(), own.ReadOnly, own.Idempotent, own.Exclusive, own.Timeout})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("tools, trusted %v (-want +got):\n%s", trust, diff)
		}
	}
}

func TestAcceptChoosesAndChangesTools(t *testing.T) {
	session := connectTools(t,
		&mcp.Tool{Name: "read", InputSchema: anyInput, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		&mcp.Tool{Name: "drop.all", InputSchema: anyInput},
	)
	tools := mustTools(t, session, toolrunnermcp.Options{Accept: func(theirs *mcp.Tool, ours *toolrunner.Tool) bool {
		ours.ReadOnly, ours.Exclusive = theirs.Name == "read", false
		return theirs.Name != "drop.all"
	}})
	if diff := cmp.Diff([]string{"read"}, names(tools)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if own := tools[0].(*toolrunner.Tool); !own.ReadOnly || own.Exclusive {
		t.Error("the change of Accept is lost")
	}
}
