package toolrunnertest_test

import (
	"encoding/json"
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

// Our rules refuse a first message of the assistant, which the API takes although its documentation does not say so.
func TestCheckRequestAcceptsWhatTheAPIAccepted(t *testing.T) {
	for _, e := range exchanges(t) {
		if e.status != 200 {
			continue
		}
		err := toolrunnertest.CheckRequest(e.body)
		if strings.HasSuffix(filepath.ToSlash(e.name), "raw_followup_empty_end_turn_normalizes_to_empty_text_choice/002.request.json") {
			if got, want := rules(err), []string{"first-message"}; !slices.Equal(got, want) {
				t.Errorf("%s: rules = %v, want %v", e.name, got, want)
			}
		} else if err != nil {
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

func rules(err error) []string {
	var names []string
	for _, b := range toolrunnertest.Breaches(err) {
		names = append(names, b.Rule)
	}
	return names
}
