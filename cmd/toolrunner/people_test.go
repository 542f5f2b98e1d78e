package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 6, 21, 12, 0, 0, 0, time.UTC)

// at returns a tick some time after noon.
func at(d time.Duration) tick { return tick{noon.Add(d)} }

func TestPeopleReadWhatHappens(t *testing.T) {
	input := json.RawMessage(`{ "path" : "a" }`)
	began := callStarted{1, "toolu_1", "read", input, noon}
	over := callEnded{1, "toolu_1", "read", input, callOK, "text", milliseconds(1500 * time.Millisecond)}
	failed := callEnded{1, "toolu_2", "re\x1bad", input, callFailed, "Error: no\nsuch\x07 file", 0}
	ended := runEnded{Outcome: "completed", Turns: 2, Calls: 3, FailedCalls: 1, DeniedCalls: 1, InputTokens: 10, OutputTokens: 20, CacheReadInputTokens: 5, Duration: milliseconds(time.Second)}
	both := screen{out: true, err: true, width: 40}
	const wipe = "\r\x1b[K"
	tests := []struct {
		name     string
		screen   screen
		events   []event
		out, err string // "both" in out, if both are a terminal
	}{
		{
			"text is exact in a file, and its line ends",
			screen{},
			[]event{textAdded{1, "a\x1b[2J"}, textAdded{1, "b"}, blockEnded{}, replied{}},
			"a\x1b[2Jb\n", "",
		},
		{
			"text does not command a terminal", both,
			[]event{textAdded{1, "a\x1b[2J\r\nb\rc\u202e\u009b\n"}, blockEnded{}},
			"a␛[2J\nb␍c\ufffd\ufffd\n", "",
		},
		{
			"a line for each call",
			screen{},
			[]event{textAdded{1, "a"}, blockEnded{}, began, over, failed},
			"a\n", "ok          1.50s  read {\"path\":\"a\"}\nfailed      0.00s  re␛ad {\"path\":\"a\"}: no such␇ file\n",
		},
		{
			"text and lines are apart on a terminal", both,
			[]event{textAdded{1, "a"}, blockEnded{}, began, over, over, textAdded{2, "b"}, blockEnded{}, runEnded{Outcome: "completed"}},
			"a\n\nok          1.50s  read {\"path\":\"a\"}\nok          1.50s  read {\"path\":\"a\"}\n\nb\n\ncompleted: 0 turns, 0 calls, 0 tokens in, 0 out, 0.00s\n", "",
		},
		{
			"a note does not end up within a line", both,
			[]event{textAdded{1, "a"}, warned{"mind\nthe gap"}, textAdded{1, "b"}},
			"a\n\nnote  mind the gap\n\nb", "",
		},
		{
			"what takes long is shown, and wiped away", both,
			[]event{began, at(time.Second), at(2 * time.Second), at(3 * time.Second), over},
			wipe + `… read {"path":"a"}  2s` + wipe + `… read {"path":"a"}  3s` + wipe + "ok          1.50s  read {\"path\":\"a\"}\n", "",
		},
		{
			"with what the tool says", both,
			[]event{began, callProgress{"toolu_1", "half\x1b way", 1, 2}, at(time.Minute)},
			wipe + `… read {"path":"a"}  1 of 2 half␛…  60s`, "",
		},
		{
			"several calls are counted", both,
			[]event{began, callStarted{1, "toolu_2", "grep", input, noon}, at(time.Minute)},
			wipe + `… 2 calls, the first of them read…  60s`, "",
		},
		{
			"wide characters take two columns", both,
			[]event{callStarted{1, "toolu_1", "read", json.RawMessage(`{"path":"` + strings.Repeat("道", 40) + `"}`), noon}, at(time.Minute)},
			wipe + `… read {"path":"道道道道道道道道…  60s`, "",
		},
		{
			"the model takes long", both,
			[]event{waiting{forModel, noon}, at(2 * time.Second), thinkingAdded{1, "hm"}, at(3 * time.Second), textAdded{1, "a"}, at(9 * time.Second)},
			wipe + "… waiting for the model  2s" + wipe + "… the model thinks  3s" + wipe + "a", "",
		},
		{
			"a file is told of long calls, ever more seldom",
			screen{},
			[]event{began, at(9 * time.Second), at(10 * time.Second), at(11 * time.Second), at(20 * time.Second), at(39 * time.Second), at(40 * time.Second), over},
			"", "running    10.00s  read {\"path\":\"a\"}\nrunning    20.00s  read {\"path\":\"a\"}\nrunning    40.00s  read {\"path\":\"a\"}\nok          1.50s  read {\"path\":\"a\"}\n",
		},
		{
			"the end, and why",
			screen{},
			[]event{textAdded{1, "a"}, func() event { e := ended; e.Outcome, e.Error = "max_iterations", "no\nmore\x1b"; return e }()},
			"a\n", "toolrunner run: no\n  more␛\nmax iterations: 2 turns, 3 calls (1 failed, 1 denied), 15 tokens in (5 cached), 20 out, 1.00s\n",
		},
		{
			"colours",
			screen{colours: true},
			[]event{over, failed},
			"", "\x1b[32mok          1.50s  \x1b[0m\x1b[36mread\x1b[0m {\"path\":\"a\"}\n\x1b[31mfailed      0.00s  \x1b[0m\x1b[36mre␛ad\x1b[0m {\"path\":\"a\"}: no such␇ file\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out, stderr bytes.Buffer
			p := &people{out: &out, err: &stderr, screen: tt.screen, noted: noteAt}
			if tt.screen.out && tt.screen.err {
				p.err = &out
			}
			for _, e := range tt.events {
				if err := p.print(e); err != nil {
					t.Fatalf("print(%#v) = %v", e, err)
				}
			}
			if diff := cmp.Diff(tt.out, out.String()); diff != "" {
				t.Errorf("stdout (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.err, stderr.String()); diff != "" {
				t.Errorf("stderr (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLinesStayShort(t *testing.T) {
	long := json.RawMessage(`{"text":"` + strings.Repeat("ä", 5000) + `"}`)
	var out bytes.Buffer
	p := &people{out: &out, err: &out}
	if err := p.print(callEnded{1, "toolu_1", "read", long, callFailed, strings.Repeat("b ", 5000), 0}); err != nil {
		t.Fatal(err)
	}
	if got, most := len([]rune(out.String())), 450; got > most {
		t.Errorf("the line has %d characters, want at most %d", got, most)
	}
}
