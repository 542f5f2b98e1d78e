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

func TestCheckRequestAcceptsWhatTheAPIAccepted(t *testing.T) {
	accepted := 0
	for _, e := range exchanges(t) {
		if e.status != 200 {
			continue
		}
		accepted++
		if err := toolrunnertest.CheckRequest(e.body); err != nil {
			t.Errorf("%s: %v", e.name, err)
		}
	}
	t.Logf("%d requests", accepted)
}

// A recorded 400 has a reason that the body shows, or one that it cannot show.
func TestCheckRequestRefusesWhatTheAPIRefused(t *testing.T) {
	for _, e := range exchanges(t) {
		if e.status == 400 {
			if err := toolrunnertest.CheckRequest(e.body); err == nil {
				t.Logf("%s: accepted", e.name)
			}
		}
	}
}
