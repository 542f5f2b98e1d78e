package toolrunnertest_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// White space between tokens changes nothing that CheckRequest sees.
func FuzzCheckRequestIgnoresWhiteSpace(f *testing.F) {
	f.Add([]byte(plainBody))
	f.Add([]byte(messages(question, assistant(list(text("a "), use("t1"))), user(list(result("t1"), text(""))))))
	f.Add([]byte(with(`"tools":[{"name":"f","input_schema":{"oneOf":[]}},null],"tool_choice":{"type":"tool"}`)))
	f.Add([]byte(`{"messages":[null,{"role":1},{"role":"user","content":[[],1,{"type":"thinking"}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var spaced bytes.Buffer
		if json.Indent(&spaced, body, " ", "\t") != nil {
			if toolrunnertest.CheckRequest(body) == nil {
				t.Errorf("CheckRequest(%q) accepts what is not JSON", body)
			}
			return
		}
		want := toolrunnertest.Breaches(toolrunnertest.CheckRequest(body))
		got := toolrunnertest.Breaches(toolrunnertest.CheckRequest(spaced.Bytes()))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("CheckRequest(%q) depends on white space:\n%s", body, diff)
		}
	})
}

// The stream of a message carries the same message, byte for byte, in chunks of any size.
func FuzzStreamCarriesTheMessage(f *testing.F) {
	f.Add("a<", "b\n", "c=", `{"n":1.0, "s":"\u00e9"}`, 3)
	f.Add("", "", "", "", 0)
	f.Add("漢字", "\xff", "\u2028", `{}`, 1)
	f.Fuzz(func(t *testing.T, said, thought, signature, input string, chunk int) {
		input = strings.Trim(input, " \t\r\n") // a plain reply does not carry the space around a value
		if input != "" && !json.Valid([]byte(input)) {
			t.Skip("a plain reply cannot carry this input")
		}
		message := toolrunnertest.Message(
			toolrunnertest.Say(said), toolrunnertest.Thinking(thought, signature), toolrunnertest.RedactedThinking(said),
			toolrunnertest.Call("toolu_1", said, input), toolrunnertest.ServerToolUse("srvtoolu_1", thought, input),
		).ID("msg").Container("c").Chunk(chunk)
		srv := toolrunnertest.NewServer(t, message)
		body := read(t, post(srv, streamBody))
		srv.Add(toolrunnertest.RawSSE(body))
		post(srv, streamBody)
		requests := srv.Requests()
		if diff := cmp.Diff(fields(t, requests[0].Reply), fields(t, requests[1].Reply)); diff != "" {
			t.Errorf("message and stream differ (-message +stream):\n%s", diff)
		}
	})
}

// fields returns the top-level fields of an object, each as its bytes.
func fields(t *testing.T, raw json.RawMessage) map[string]string {
	t.Helper()
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	texts := map[string]string{}
	for key, value := range object {
		texts[key] = string(value)
	}
	return texts
}
