package main

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

func TestHeadersStayWithTheirServer(t *testing.T) {
	var leaked []string
	stranger := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		leaked = append(leaked, r.Header.Get("X-Key"))
	}))
	defer stranger.Close()
	kept := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kept = r.Header.Get("X-Key")
		http.Redirect(w, r, stranger.URL, http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	client := http.Client{Transport: &headers{map[string]string{"X-Key": "secret"}, server.URL + "/mcp", http.DefaultTransport}}
	response, err := client.Get(server.URL + "/other")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if kept != "secret" || !slices.Equal(leaked, []string{""}) {
		t.Errorf("the server got %q, the one that it redirects to %q; want the secret, and nothing", kept, leaked)
	}
}

func TestServersDoNotGetTheKeysOfTheAPI(t *testing.T) {
	got := withoutKeys([]string{"PATH=/bin", "ANTHROPIC_API_KEY=k", "anthropic_auth_token=t", "HOME=/root"})
	if want := []string{"PATH=/bin", "HOME=/root"}; !slices.Equal(got, want) {
		t.Errorf("withoutKeys = %q, want %q", got, want)
	}
}

func TestPrefixIsLegal(t *testing.T) {
	tests := map[string]string{
		"notes":                 "notes__",
		"my server.example/möp": "my_server_example_m_p__",
		strings.Repeat("n", 99): strings.Repeat("n", 62) + "__",
	}
	for server, want := range tests {
		if got := prefix(server); got != want {
			t.Errorf("prefix(%q) = %q, want %q", server, got, want)
		}
	}
}
