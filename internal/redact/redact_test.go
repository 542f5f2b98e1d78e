package redact_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/toolrunner/toolrunner/internal/redact"
)

// MW3: what looks like a secret is hidden, whoever wrote it; the rest stays.
func TestWhatLooksLikeASecretIsHidden(t *testing.T) {
	const s = "hunter2hunter2"
	tests := []struct{ name, text, want string }{
		{"password=", "login password=" + s + " failed", "login password=[redacted] failed"},
		{"a quoted value", `PGPASSWORD="` + s + ` x" psql`, "PGPASSWORD=[redacted] psql"},
		{"YAML", "client_secret: " + s + "\nuser: ann", "client_secret: [redacted]\nuser: ann"},
		{"JSON password", `{"user":"ann","password":"` + s + `\"x","n":1}`, `{"user":"ann","password":"[redacted]","n":1}`},
		{"JSON access_token", `{"access_token": "` + s + `"}`, `{"access_token": "[redacted]"}`},
		{"JSON client_secret", `{"client_secret":"` + s + `"}`, `{"client_secret":"[redacted]"}`},
		{"JSON token", `{"token":"` + s + `"}`, `{"token":"[redacted]"}`},
		{"JSON in JSON", `"{\"db_password\":\"` + s + `\",\"n\":1}"`, `"{\"db_password\":\"[redacted]\",\"n\":1}"`},
		{"AWS key", "id AKIAIOSFODNN7EXAMPLE.", "id [redacted]."},
		{"GitHub", "ghp_0123456789abcdefghij", "[redacted]"},
		{"JWT", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc_def-123", "[redacted]"},
		{"X-Amz-Signature", "https://b.s3/x?X-Amz-Signature=" + s + "&x=1", "https://b.s3/x?X-Amz-Signature=[redacted]&x=1"},
		{"X-Amz-Credential", "?X-Amz-Credential=" + s + "&x=1", "?X-Amz-Credential=[redacted]&x=1"},
		{"sig", "https://x.blob/y?sv=1&sig=" + s, "https://x.blob/y?sv=1&sig=[redacted]"},
		{"key", "https://x/y?key=" + s + "&q=1", "https://x/y?key=[redacted]&q=1"},
		{"a token before a host", "git clone https://" + s + "@github.com/x", "git clone https://[redacted]@github.com/x"},
		{"a password before a host", "postgres://ann:" + s + "@x/db@host/y", "postgres://ann:[redacted]@x/db@host/y"},
		{"X-Api-Key", "X-Api-Key: " + s + "\nHost: x", "X-Api-Key: [redacted]\nHost: x"},
		{"Authorization without bearer", "Authorization: " + s + " " + s + "\nHost: x", "Authorization: [redacted]\nHost: x"},
		{"Bearer", "with Bearer " + s, "with Bearer [redacted]"},
		{"Cookie", "Cookie: a=" + s + "; b=c", "Cookie: [redacted]"},
		{"PEM", "-----BEGIN RSA PRIVATE KEY-----\n" + s + "\n-----END RSA PRIVATE KEY-----\nrest", "[redacted]\nrest"},
		{"PEM that is torn", "-----BEGIN PRIVATE KEY-----\\n" + s, "[redacted]"},
		{"Anthropic", "sk-ant-api03-" + s, "sk-ant-[redacted]"},
		{"no secret", `{"input_tokens":12,"stop":"end_turn","monkey":"see"} max_tokens=5, http://host/path: line 3; keys: 4; the token is missing`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.want
			if want == "" {
				want = tt.text
			}
			var none redact.Set
			got := none.Hide(tt.text)
			if got != want {
				t.Errorf("Hide(%q) = %q, want %q", tt.text, got, want)
			}
			if again := none.Hide(got); again != got {
				t.Errorf("Hide twice = %q, want %q", again, got)
			}
		})
	}
}

// MW2: a secret that another one begins with leaves nothing of it, in whatever order
// they were added.
func TestLongerSecretsAreHiddenFirst(t *testing.T) {
	for _, values := range [][]string{{"abcdefgh", "abcdefghij", "abcdefghijkl"}, {"abcdefghijkl", "abcdefghij", "abcdefgh"}, {"abcdefghij", "abcdefgh", "abcdefghijkl"}} {
		var s redact.Set
		s.Add(values...)
		if got := s.Known("abcdefghijkl abcdefghij abcdefgh short"); got != "[redacted] [redacted] [redacted] short" {
			t.Errorf("after %q the text is %q", values, got)
		}
	}
}

// F21: a signature that is new with each request does not make the set grow, and a key
// that comes with each of them stays hidden.
func TestASetIsBounded(t *testing.T) {
	var s redact.Set
	header := http.Header{"X-Api-Key": {"the-key-of-all-requests"}, "Content-Type": {"application/json"}}
	for i := range 2000 {
		header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Signature%06d", i))
		s.AddHeader(header)
	}
	text := s.Known("the-key-of-all-requests Signature001999 Signature000001 application/json")
	if want := "[redacted] [redacted] Signature000001 application/json"; text != want {
		t.Errorf("the text is %q, want %q", text, want)
	}
	s.Add("short", "        ")
	if text := strings.Repeat("short ", 3); s.Known(text) != text {
		t.Error("a short value is hidden")
	}
}
