package requests_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
)

// runOn runs a conversation of one reply and what follows, and returns what the API got.
func runOn(t *testing.T, reply string, streaming bool, tools ...anthropic.BetaTool) (*toolrunner.Runner, *api) {
	t.Helper()
	a := &api{script: []string{reply}}
	client := a.client()
	r, err := toolrunner.New(&client.Beta.Messages, tools, runtest.Asking("u0"))
	if err != nil {
		t.Fatal(err)
	}
	all := r.All
	if streaming {
		all = r.AllStreaming
	}
	for _, err := range all(t.Context()) {
		if err != nil {
			t.Errorf("the loop ended with %v", err)
			break
		}
	}
	if err := r.AppendMessages(runtest.User("last")); err != nil {
		t.Errorf("AppendMessages() error = %v", err)
	}
	if _, err := r.RunToCompletion(t.Context()); err != nil {
		t.Errorf("going on: %v", err)
	}
	for _, fault := range a.faults {
		t.Error(fault)
	}
	return r, a
}

// W10: a call whose arguments are nothing but white space, or whose input is null or not
// there, has none: its tool runs with {}. Any other input that is no object fails its
// call, also null that is streamed: that is what the model wrote. Otherwise a plain reply
// and a streamed one, where arguments come as text, are alike.
func TestArgumentsThatAreNone(t *testing.T) {
	const absent = "absent"
	for _, tt := range []struct {
		input string // in a plain reply
		text  string // in a stream, all deltas together
		runs  bool
	}{
		{`{}`, `{}`, true},
		{`" "`, ` `, true},
		{`"  "`, `  `, true},
		{`"\n"`, "\n", true},
		{`"\t\r\n "`, "\t\r\n ", true},
		{`""`, ``, true},
		{`null`, ``, true},
		{`"null"`, `null`, false}, // a stream has null for what the model wrote
		{`"\"null\""`, `"null"`, false},
		{absent, absent, true},
		{`[]`, `[]`, false},
		{`[{}]`, `[{}]`, false},
		{`"x"`, `"x"`, false},
		{`"{}"`, `"{}"`, false},
		{`5`, `5`, false},
		{`0`, `0`, false},
		{`-1.5e3`, `-1.5e3`, false},
		{`true`, `true`, false},
		{`false`, `false`, false},
	} {
		for _, streaming := range []bool{false, true} {
			name := map[bool]string{false: "plain ", true: "streamed "}[streaming] + tt.input
			t.Run(name, func(t *testing.T) {
				var ran runtest.Journal
				input := `,"input":` + tt.input
				if streaming && tt.text != absent {
					text, _ := json.Marshal(tt.text)
					input = `,"input":{},"text":` + string(text)
				}
				if tt.input == absent {
					input = ""
				}
				_, a := runOn(t, message("tool_use", `{"type":"tool_use","id":"a","name":"work"`+input+`}`), streaming, ran.Tool("work"))
				if tt.runs {
					ran.Want(t, "a")
				} else {
					ran.Want(t)
				}
				sent := string(a.requests[1])
				if !strings.Contains(sent, `"input":{}`) {
					t.Errorf("the call goes back as %s, want the input {}", sent)
				}
				if failed := strings.Contains(sent, "is not a JSON object"); failed == tt.runs {
					t.Errorf("the call failed for its input: %v, want %v\n%s", failed, !tt.runs, sent)
				}
			})
		}
	}
}
