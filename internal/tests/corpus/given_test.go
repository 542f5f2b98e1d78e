package corpus_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// takenRequests returns the bodies of the recorded requests that the API answered with
// status 200.
func takenRequests(t *testing.T) map[string][]byte {
	t.Helper()
	root, ok := runtest.CorpusRoot()
	if !ok {
		t.Skip("the recordings are not here")
	}
	metas, err := filepath.Glob(filepath.Join(root, "*", "*", "meta.json"))
	if err != nil || len(metas) == 0 {
		t.Fatalf("there are no recordings in %s: %v", root, err)
	}
	bodies := map[string][]byte{}
	for _, path := range metas {
		var meta struct {
			Interactions []struct {
				N, Status int
				Path      string
			}
		}
		data, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(data, &meta)
		}
		if err != nil {
			continue // of other kinds
		}
		for _, i := range meta.Interactions {
			body, err := os.ReadFile(filepath.Join(filepath.Dir(path), fmt.Sprintf("%03d.request.json", i.N)))
			if err == nil && i.Status == 200 && i.Path == "/v1/messages" {
				bodies[filepath.Base(filepath.Dir(filepath.Dir(path)))+"/"+filepath.Base(filepath.Dir(path))+fmt.Sprintf("/%03d", i.N)] = body
			}
		}
	}
	return bodies
}

// R4: a history that the API took, New and SetMessages take, and send it as it was.
func TestRecordedHistoriesAreTaken(t *testing.T) {
	for name, body := range takenRequests(t) {
		t.Run(name, func(t *testing.T) {
			recorded := runtest.Object(body)
			params := runtest.Given()
			for _, raw := range elements(t, recorded["messages"]) {
				params.Messages = append(params.Messages, runtest.Verbatim(string(raw)))
			}
			if recorded["tools"] != nil {
				for _, raw := range elements(t, recorded["tools"]) {
					params.Tools = append(params.Tools, runtest.RawDefinition(string(raw)))
				}
			}
			c := runtest.New(t)
			c.Server.Ignore(runtest.RulesOfReplies...)
			c.Server.Otherwise(toolrunnertest.Text("done"))
			r, err := toolrunner.New(&c.Client.Beta.Messages, nil, params)
			if err != nil {
				t.Fatalf("New() error = %v", err)
			}
			wantSentAs(t, c, r, recorded["messages"])
			if err := r.SetMessages(params.Messages...); err != nil {
				t.Fatalf("SetMessages() error = %v", err)
			}
			wantSentAs(t, c, r, recorded["messages"])
		})
	}
}

func wantSentAs(t *testing.T, c *runtest.Conversation, r *toolrunner.Runner, want json.RawMessage) {
	t.Helper()
	for _, err := range r.All(t.Context()) {
		if err != nil {
			t.Fatalf("All() error = %v", err)
		}
		break
	}
	var sent bytes.Buffer
	for i, m := range c.Request(t, -1).Messages() {
		if i > 0 {
			sent.WriteByte(',')
		}
		sent.Write(m)
	}
	if diff := cmp.Diff(exact(t, want), exact(t, []byte("["+sent.String()+"]"))); diff != "" {
		t.Errorf("the messages (-recorded +sent):\n%.2000s", diff)
	}
}

// exact decodes JSON, with the digits of its numbers.
func exact(t *testing.T, raw []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return v
}
