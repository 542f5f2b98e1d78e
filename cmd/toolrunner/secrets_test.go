package main

import (
	"bytes"
	"testing"
)

func TestSecretsAreBlottedOut(t *testing.T) {
	hidden := secrets{}
	hidden.Add("", "short", "sk-of-the-user")
	hidden.addServer(&server{
		Env:     map[string]string{"API_KEY": "key-of-the-server", "DIR": "/home/user/notes"},
		Headers: map[string]string{"Authorization": "Bearer token-of-the-server"},
		URL:     "https://user:password-of-the-user@notes.example/mcp?key=query-of-the-url&x=1",
	})
	var out bytes.Buffer
	w := hidden.writer(&out)
	const text = "short sk-of-the-user key-of-the-server /home/user/notes token-of-the-server password-of-the-user query-of-the-url x=1\n"
	if n, err := w.Write([]byte(text)); n != len(text) || err != nil {
		t.Errorf("Write = %d, %v", n, err)
	}
	if got, want := out.String(), "short [secret] [secret] /home/user/notes [secret] [secret] [secret] x=1\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
