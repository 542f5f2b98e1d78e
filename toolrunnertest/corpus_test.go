package toolrunnertest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// corpus finds the recorded exchanges beside the repository, or beside the folder that holds its worktrees.
func corpus(t *testing.T) string {
	t.Helper()
	for _, dir := range []string{"../../shared/corpus", "../../../shared/corpus"} {
		if _, err := os.Stat(filepath.Join(dir, "loops.json")); err == nil {
			return dir
		}
	}
	t.Skip("there is no corpus")
	return ""
}

// exchange is a recorded request with the status that the API gave to it.
type exchange struct {
	name   string
	status int
	body   []byte
}

func exchanges(t *testing.T) []exchange {
	t.Helper()
	var list []exchange
	metas, err := filepath.Glob(filepath.Join(corpus(t), "*", "*", "meta.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range metas {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var meta struct {
			Provenance   string
			Interactions []struct {
				Status int
				Path   string
			}
		}
		if err := json.Unmarshal(raw, &meta); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if meta.Provenance != "recorded" {
			continue
		}
		requests, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.request.json"))
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(requests)
		if len(requests) != len(meta.Interactions) {
			continue
		}
		for i, request := range requests {
			if strings.HasPrefix(meta.Interactions[i].Path, "/v1/messages") && !strings.Contains(meta.Interactions[i].Path, "count_tokens") {
				body, err := os.ReadFile(request)
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, exchange{request, meta.Interactions[i].Status, body})
			}
		}
	}
	return list
}

func TestCheckRequestAcceptsWhatTheAPIAccepted(t *testing.T) {
	for _, e := range exchanges(t) {
		if e.status != 200 {
			continue
		}
		if err := toolrunnertest.CheckRequest(e.body); err != nil {
			t.Errorf("%s: %v", e.name, err)
		}
	}
}

func TestCheckRequestRefusesWhatTheAPIRefused(t *testing.T) {
	for _, e := range exchanges(t) {
		if e.status == 400 && toolrunnertest.CheckRequest(e.body) == nil {
			t.Errorf("%s: accepted", e.name)
		}
	}
}

// The recorded loops in which the assistant's messages were sent back as they came pass the check, streamed or not; those
// in which they were rewritten do not.
func TestCheckRunTellsRecordedLoopsThatKeepRepliesFromThoseThatDoNot(t *testing.T) {
	dir := corpus(t)
	raw, err := os.ReadFile(filepath.Join(dir, "loops.json"))
	if err != nil {
		t.Fatal(err)
	}
	var loops []struct {
		Dir   string
		Steps []struct {
			N, Next   int
			Assistant string
		}
	}
	if err := json.Unmarshal(raw, &loops); err != nil {
		t.Fatal(err)
	}
	for _, loop := range loops {
		for _, step := range loop.Steps {
			if step.Assistant != "exact" && step.Assistant != "assistant-rewritten" {
				continue
			}
			if strings.HasPrefix(loop.Dir, "mirascope/") {
				continue // adds "citations":null, which loops.json does not count as a change
			}
			err := replay(t, filepath.Join(dir, loop.Dir), step.N, step.Next)
			kept := !slices.ContainsFunc(rules(err), func(rule string) bool { return strings.HasPrefix(rule, "reply-") })
			if want := step.Assistant == "exact"; kept != want {
				t.Errorf("%s, reply %d: kept = %v, want %v: %v", loop.Dir, step.N, kept, want, err)
			}
		}
	}
}

// replay sends two recorded requests, the first answered as recorded, and checks them as a run.
func replay(t *testing.T, dir string, numbers ...int) error {
	t.Helper()
	srv := toolrunnertest.NewServer(nil)
	for _, n := range numbers {
		name := filepath.Join(dir, fmt.Sprintf("%03d", n))
		body, err := os.ReadFile(name + ".request.json")
		if err != nil {
			t.Fatal(err)
		}
		if stream, err := os.ReadFile(name + ".response.sse"); err == nil {
			srv.Add(toolrunnertest.RawSSE(string(stream)))
		} else if plain, err := os.ReadFile(name + ".response.json"); err == nil {
			srv.Add(toolrunnertest.RawJSON(string(plain)))
		}
		post(srv, string(body))
	}
	return toolrunnertest.CheckRun(srv.Requests(), toolrunnertest.ValuesOnly())
}

func rules(err error) []string {
	var names []string
	for _, b := range toolrunnertest.Breaches(err) {
		names = append(names, string(b.Rule))
	}
	return names
}
