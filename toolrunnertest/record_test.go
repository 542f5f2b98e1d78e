package toolrunnertest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// session has a conversation of a plain and a streamed request, and one that fails. It returns what it got.
func session(t *testing.T, srv *toolrunnertest.Server) []string {
	t.Helper()
	client := srv.Client(option.WithHeader("Cookie", "session=secret-cookie"), option.WithHeader("Anthropic-Organization-Id", "secret-org"))
	var got []string
	p := params()
	reply, err := client.Beta.Messages.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, reply.RawJSON())
	p.Messages = append(p.Messages, reply.ToParam(), anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("More <b>!")))
	var response *http.Response
	stream := client.Beta.Messages.NewStreaming(t.Context(), p, option.WithResponseBodyInto(&response))
	defer stream.Close()
	body, err := io.ReadAll(response.Body)
	got = append(got, string(body))
	if err == nil {
		t.Error("the stream ended well, want it to break")
	}
	_, err = client.Beta.Messages.New(t.Context(), p)
	if err == nil {
		t.Fatal("the third request succeeded, want an error")
	}
	return append(got, err.Error())
}

// recordSession records a session into a folder and returns what it got.
func recordSession(t *testing.T, dir string) []string {
	t.Helper()
	endpoint := toolrunnertest.NewServer(t,
		toolrunnertest.Text("Hello."), toolrunnertest.Text("More of it, much more.").CutAt(700),
		toolrunnertest.Status(529, "overloaded_error", "Overloaded").RetryAfter(7e9).Header("Set-Cookie", "secret-cookie"),
	)
	url, err := endpoint.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TOOLRUNNER_RECORD", "1")
	t.Setenv("ANTHROPIC_API_KEY", "secret-key")
	t.Setenv("ANTHROPIC_BASE_URL", url)
	srv := toolrunnertest.Replay(t, toolrunnertest.Recording{Dir: dir})
	got := session(t, srv)
	srv.Close()
	for i, q := range endpoint.Requests() {
		if key := q.Header.Get("Authorization"); key != "Bearer secret-key" {
			t.Errorf("request %d went out with the key %q, want the one of the environment", i, key)
		}
		if recorded := srv.Requests()[i]; string(recorded.Body) != string(q.Body) || recorded.Status != q.Status {
			t.Errorf("Requests()[%d] = %d %s\nthe endpoint has %d %s", i, recorded.Status, recorded.Body, q.Status, q.Body)
		}
	}
	t.Setenv("TOOLRUNNER_RECORD", "")
	return got
}

func TestRecordingIsReplayedAsItWas(t *testing.T) {
	dir := t.TempDir()
	recorded := recordSession(t, dir)
	srv := toolrunnertest.Replay(t, toolrunnertest.Recording{Dir: dir})
	if diff := cmp.Diff(recorded, session(t, srv)); diff != "" {
		t.Errorf("what the client got (-recording +replaying):\n%s", diff)
	}
	if n := srv.Remaining(); n != 0 {
		t.Errorf("%d recorded responses are left, want none", n)
	}
	if got := srv.Requests()[2].Status; got != 529 {
		t.Errorf("status of the third = %d, want 529", got)
	}
}

func TestRecordingHoldsNoSecrets(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "009.request.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	recordSession(t, dir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), "secret") || strings.Contains(string(data), "toolrunnertest") {
			t.Errorf("%s holds what should not be kept:\n%s", entry.Name(), data)
		}
	}
	want := []string{
		"001.json", "001.request.json", "001.response.json", "002.json", "002.request.json", "002.response.sse",
		"003.json", "003.request.json", "003.response.json",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestReplayShowsHowARequestDiffers(t *testing.T) {
	dir := t.TempDir()
	recordSession(t, dir)
	tb := &spy{}
	srv := toolrunnertest.Replay(tb, toolrunnertest.Recording{Dir: dir})
	defer srv.Close()
	client := srv.Client()
	p := params()
	p.MaxTokens = 9
	if _, err := client.Beta.Messages.New(t.Context(), p); err == nil {
		t.Error("another request was answered, want an error")
	}
	if len(tb.errors) != 1 || !strings.Contains(tb.errors[0], "recorded request 001") || !strings.Contains(tb.errors[0], "+   \"max_tokens\": 9") {
		t.Errorf("errors = %q, want one with the difference", tb.errors)
	}
	if n := srv.Remaining(); n != 3 {
		t.Errorf("%d responses are left, want 3", n)
	}
	ignoring := toolrunnertest.Replay(t, toolrunnertest.Recording{Dir: dir, Ignore: []string{"max_tokens"}})
	other := ignoring.Client()
	if _, err := other.Beta.Messages.New(t.Context(), p); err != nil {
		t.Errorf("a request that differs in what is ignored = %v, want an answer", err)
	}
}

func TestRecordingThatLacksSomethingFailsTheTest(t *testing.T) {
	endpoint := httptest.NewServer(http.NotFoundHandler())
	endpoint.Close()
	t.Setenv("TOOLRUNNER_RECORD", "1")
	t.Setenv("ANTHROPIC_API_KEY", "k")
	t.Setenv("ANTHROPIC_BASE_URL", endpoint.URL)
	tb := &spy{}
	srv := toolrunnertest.Replay(tb, toolrunnertest.Recording{Dir: t.TempDir()})
	if res := post(srv, plainBody); res.StatusCode != http.StatusBadGateway {
		t.Errorf("status = %d, want %d", res.StatusCode, http.StatusBadGateway)
	}
	for _, f := range slices.Backward(tb.cleanups) {
		f()
	}
	if len(tb.errors) != 1 || !strings.Contains(tb.errors[0], "the recording is not complete") {
		t.Errorf("errors = %q, want one", tb.errors)
	}
}

// Agents that run at once send their requests in any order.
func TestReplayDoesNotDependOnTheOrder(t *testing.T) {
	dir := t.TempDir()
	api := toolrunnertest.NewServer(nil, toolrunnertest.Text("one"), toolrunnertest.Text("two"))
	api.Ignore(toolrunnertest.RuleKey, toolrunnertest.RuleVersion)
	endpoint := httptest.NewServer(api)
	defer endpoint.Close()
	recorder, err := toolrunnertest.Record(dir, endpoint.URL)
	if err != nil {
		t.Fatal(err)
	}
	bodies := []string{plainBody, strings.Replace(plainBody, `"q"`, `"p"`, 1)}
	var want, got []string
	for _, body := range bodies {
		w := httptest.NewRecorder()
		recorder.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/messages?beta=true", strings.NewReader(body)))
		want = append(want, w.Body.String())
	}
	srv := toolrunnertest.Replay(t, toolrunnertest.Recording{Dir: dir})
	for _, body := range slices.Backward(bodies) {
		got = append([]string{read(t, request(srv, http.MethodPost, "/v1/messages?beta=true", body))}, got...)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("replies (-recorded +replayed):\n%s", diff)
	}
}

func TestReplaySaysWhatIsMissing(t *testing.T) {
	tests := []struct{ name, record, want string }{
		{"no recording", "", "there is no recording in"},
		{"no key", "1", "ANTHROPIC_API_KEY is not"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("TOOLRUNNER_RECORD", tt.record)
			t.Setenv("ANTHROPIC_API_KEY", "")
			tb := &spy{}
			toolrunnertest.Replay(tb, toolrunnertest.Recording{Dir: t.TempDir()}).Close()
			if len(tb.errors) != 1 || !strings.Contains(tb.errors[0], tt.want) {
				t.Errorf("errors = %q, want one that says %q", tb.errors, tt.want)
			}
		})
	}
	if _, err := toolrunnertest.Record(t.TempDir(), "api.anthropic.com"); err == nil {
		t.Error("Record without a scheme = nil, want an error")
	}
}

// TS6: what a URL or an MCP server holds as a secret is in no file, and a request with another is still the one recorded.
func TestRecordingBlotsTheSecretsOfURLsAndMCPServers(t *testing.T) {
	dir := t.TempDir()
	api := toolrunnertest.NewServer(nil, toolrunnertest.Text("one"))
	api.Ignore(toolrunnertest.RuleKey, toolrunnertest.RuleVersion)
	endpoint := httptest.NewServer(api)
	defer endpoint.Close()
	recorder, err := toolrunnertest.Record(dir, endpoint.URL)
	if err != nil {
		t.Fatal(err)
	}
	uri := func(secret string) string { return "/v1/messages?beta=true&api_key=" + secret }
	body := func(secret string) string {
		return with(`"mcp_servers":[{"type":"url","name":"s","url":"https://` + secret + `@mcp.example/sse?token=` + secret + `","authorization_token":"` + secret +
			`"}],"tools":[{"type":"mcp_toolset","mcp_server_name":"s"}]`)
	}
	recorder.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, uri("secret1"), strings.NewReader(body("secret1"))))
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 3 {
		t.Fatalf("files = %q, %v; want three", files, err)
	}
	for _, file := range files {
		if data, err := os.ReadFile(file); err != nil || strings.Contains(string(data), "secret") {
			t.Errorf("%s holds a secret: %s, %v", file, data, err)
		}
	}
	srv := toolrunnertest.Replay(t, toolrunnertest.Recording{Dir: dir})
	if res := request(srv, http.MethodPost, uri("secret2"), body("secret2")); res.StatusCode != http.StatusOK {
		t.Errorf("with another secret: %d %s, want 200", res.StatusCode, read(t, res))
	}
	if got := string(api.Requests()[0].Body); got != body("secret1") {
		t.Errorf("the endpoint got %s, want what was sent", got)
	}
}

// TS6: an earlier recording is there until another is complete.
func TestAnEarlierRecordingOutlivesOneThatFails(t *testing.T) {
	dir := t.TempDir()
	recordSession(t, dir)
	want := entriesOf(t, dir)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	t.Setenv("TOOLRUNNER_RECORD", "true")
	t.Setenv("ANTHROPIC_BASE_URL", gone.URL)
	tb := &spy{}
	srv := toolrunnertest.Replay(tb, toolrunnertest.Recording{Dir: dir})
	post(srv, plainBody)
	srv.Close()
	if diff := cmp.Diff(want, entriesOf(t, dir)); diff != "" || len(tb.errors) != 1 {
		t.Errorf("errors %q, want one; the folder (-before +after):\n%s", tb.errors, diff)
	}
	if _, err := toolrunnertest.Record(dir, gone.URL); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, entriesOf(t, dir)); diff != "" {
		t.Errorf("the folder before the first response (-before +after):\n%s", diff)
	}
	if beside := entriesOf(t, filepath.Dir(dir)); len(beside) != 1 {
		t.Errorf("beside the folder there is %q, want nothing", beside)
	}
}

func entriesOf(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// TS6: 0 and false do not record; what is neither is a mistake.
func TestTheVariableThatRecordsIsABoolean(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "k")
	t.Setenv("ANTHROPIC_BASE_URL", "http://nowhere.invalid")
	for value, want := range map[string]string{"0": "", "false": "", "yes": `TOOLRUNNER_RECORD is "yes"`} {
		t.Setenv("TOOLRUNNER_RECORD", value)
		tb := &spy{}
		srv := toolrunnertest.Replay(tb, toolrunnertest.Recording{Dir: "testdata/recording"})
		srv.Close()
		switch {
		case want == "" && (len(tb.errors) > 0 || srv.Remaining() == 0):
			t.Errorf("%s: errors %q with %d replies, want a recording that is played", value, tb.errors, srv.Remaining())
		case want != "" && (len(tb.errors) != 1 || !strings.Contains(tb.errors[0], want)):
			t.Errorf("%s: errors %q, want %s", value, tb.errors, want)
		}
	}
}
