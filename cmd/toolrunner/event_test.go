package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

// examples is one of each event that scripts get, as docs/cli.md shows them.
func examples() []event {
	input := json.RawMessage(`{"path":"a.txt"}`)
	return []event{
		runStarted{"claude-sonnet-5-5", []string{"read", "notes__find"}, false},
		turnStarted{1},
		thinkingAdded{1, "Which file?"},
		textAdded{1, "Let me look."},
		replied{1, "tool_use", "Let me look.", 412, 57},
		callStarted{1, "toolu_1", "read", input, time.Time{}},
		callProgress{"toolu_1", "half way", 1, 2},
		callEnded{1, "toolu_1", "read", input, callOK, "one\n", milliseconds(12 * time.Millisecond)},
		warned{"write is denied, as there is no terminal to ask at"},
		interrupted{},
		runEnded{
			Outcome: "completed", Text: "It says one.", Turns: 2, Calls: 1, InputTokens: 901, OutputTokens: 80,
			Duration: milliseconds(2345 * time.Millisecond),
		},
	}
}

// The names are a promise to scripts: an event that changes here breaks them.
func TestEventsAreAsTheDocumentationShowsThem(t *testing.T) {
	const page, begin, end = "../../docs/cli.md", "<!-- events -->\n```json\n", "```\n<!-- end of events -->"
	var want strings.Builder
	for _, e := range examples() {
		line, err := encodeEvent(e)
		if err != nil {
			t.Fatal(err)
		}
		want.Write(line)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	shown, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no part for the events", page)
	}
	if shown == want.String() {
		return
	}
	if !*update {
		t.Fatalf("%s shows\n%s\nwant\n%s\ngo test -update rewrites it", page, shown, want.String())
	}
	if err := os.WriteFile(page, []byte(before+begin+want.String()+end+after), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestEventsOnALineAreJSONThatNoTerminalObeys(t *testing.T) {
	line, err := encodeEvent(textAdded{1, "<a>\x1b[2J\x7f\u009b\u202e\U000e0001\n\u200d👩\u200d🚀\xff"})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"text","turn":1,"text":"<a>\u001b[2J\u007f\u009b\u202e\udb40\udc01\n` + "\u200d👩\u200d🚀" + `\ufffd"}` + "\n"
	if string(line) != want {
		t.Errorf("encodeEvent = %s, want %s", line, want)
	}
	var back struct{ Text string }
	if err := json.Unmarshal(line, &back); err != nil || back.Text != "<a>\x1b[2J\x7f\u009b\u202e\U000e0001\n\u200d👩\u200d🚀\ufffd" {
		t.Errorf("the text decodes to %q, %v", back.Text, err)
	}
}
