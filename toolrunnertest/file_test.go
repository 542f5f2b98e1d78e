package toolrunnertest_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

func written(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFileIsServedInTheFormThatIsAskedFor(t *testing.T) {
	const message = `{"id":"m", "model":"x","type":"message","role":"assistant","content":[{"citations":null,"type":"text","text":"a b"},` +
		`{"type":"tool_use","id":"t1","name":"f","input":{"n":1.0}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":2},"of_tomorrow":[1]}`
	srv := toolrunnertest.NewServer(t, toolrunnertest.File(written(t, "reply.json", message)), toolrunnertest.File(written(t, "reply.json", message)))
	if got := read(t, post(srv, plainBody)); got != message {
		t.Errorf("the plain answer is\n%s\nwant\n%s", got, message)
	}
	stream := read(t, post(srv, streamBody))
	if !strings.HasPrefix(stream, "event: message_start\n") || !strings.Contains(stream, `"of_tomorrow"`) {
		t.Errorf("the streamed answer is\n%s", stream)
	}
	path := written(t, "reply.sse", stream)
	srv.Add(toolrunnertest.File(path), toolrunnertest.File(path))
	if got := read(t, post(srv, streamBody)); got != stream {
		t.Errorf("the stream from a file is\n%s\nwant\n%s", got, stream)
	}
	var want, got any
	if err := json.Unmarshal([]byte(message), &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(read(t, post(srv, plainBody))), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the message from a file of its stream (-want +got):\n%s", diff)
	}
}

func TestFileOfAnErrorHasItsStatus(t *testing.T) {
	const failure = `{"type":"error","error":{"type":"rate_limit_error","message":"Slow"}}`
	srv := toolrunnertest.NewServer(t, toolrunnertest.File(written(t, "reply.json", failure)))
	res := post(srv, streamBody)
	if got := read(t, res); res.StatusCode != http.StatusTooManyRequests || got != failure {
		t.Errorf("the answer is %d %s, want 429 %s", res.StatusCode, got, failure)
	}
}

func TestFileThatCannotBeUsedFailsTheTest(t *testing.T) {
	for name, reply := range map[string]toolrunnertest.Reply{
		"missing": toolrunnertest.File("nowhere.json"), "no message": toolrunnertest.File(written(t, "x.json", "[]")),
	} {
		tb := &spy{}
		srv := toolrunnertest.NewServer(tb, reply)
		if len(tb.errors) != 1 {
			t.Errorf("%s: the errors %q before a request, want one", name, tb.errors)
		}
		if res := post(srv, plainBody); res.StatusCode != http.StatusInternalServerError || len(tb.errors) != 1 {
			t.Errorf("%s: status %d with the errors %q, want 500 with one", name, res.StatusCode, tb.errors)
		}
	}
}

func TestScriptThatCannotBeUsedIsAnError(t *testing.T) {
	for name, path := range map[string]string{"missing": "nowhere.script", "broken": written(t, "x.script", "a")} {
		if replies, err := toolrunnertest.Script(path); err == nil || replies != nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: Script() = %d replies, %v; want an error that names %s", name, len(replies), err, path)
		}
	}
}
