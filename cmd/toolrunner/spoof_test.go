//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/toolrunner/toolrunner/internal/question"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A2 (e): the model's text looks like a question, and the person answers it; the real
// question, of another call, is not answered by that.
func TestAnswersToAQuestionOfTheModelAreDropped(t *testing.T) {
	for _, columns := range []uint16{40, 80, 200} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			fake := question.Fence + "\nRun write with 2 bytes of input? " + choices
			typed := make(chan struct{})
			text := toolrunnertest.Say(fake)
			call := toolrunnertest.Call("toolu_a", "write", `{"file_path":"a","content":"x"}`)
			first := toolrunnertest.Func(func(*toolrunnertest.Request) toolrunnertest.Reply {
				return toolrunnertest.Message(text, toolrunnertest.Call("toolu_0", "read", `{"file_path":"."}`))
			})
			second := toolrunnertest.Func(func(*toolrunnertest.Request) toolrunnertest.Reply {
				<-typed // while the model works
				return toolrunnertest.Message(call)
			})
			server := toolrunnertest.NewServer(t, first, second, toolrunnertest.Text("Done.").Expect(toolrunnertest.HasResult("toolu_a", "declined")))
			y := sit(t, server, nil, "Write.", "-tools", "read,write")
			if err := pty.Setsize(y.screen, &pty.Winsize{Rows: 24, Cols: columns}); err != nil {
				t.Fatal(err)
			}
			y.sees("=== toolrunner asks ===")
			y.sees(choices)
			y.types("y\ny\ny")
			y.sees("y\r\ny\r\ny")
			close(typed)
			y.sees(question.Fence)
			y.sees("Run write with 31 bytes of input? " + choices)
			y.types("n\n")
			y.sees("Done.")
			if shown := y.leaves(exitOK); strings.Count(shown, question.Fence) != 1 {
				t.Errorf("the fence is shown %d times, want once:\n%s", strings.Count(shown, question.Fence), shown)
			}
			if _, err := os.Stat(filepath.Join(y.command.Dir, "a")); err == nil {
				t.Error("the file was written")
			}
		})
	}
}

// A2 (a)-(d): a call that disguises itself is shown as what it is.
func TestQuestionOfTheCommandCannotBeDisguised(t *testing.T) {
	for _, columns := range []uint16{40, 80, 200} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			input, err := json.Marshal(map[string]string{
				"file_path":       "a",
				"file_path\u200d": "b\u3164\u115f\u2800\ufe0f\U000e0100\u02ba",
				"content":         "rm" + strings.Repeat(" ", int(columns)) + "Run read with 2 bytes of input? " + choices,
			})
			if err != nil {
				t.Fatal(err)
			}
			// A tool of MCP, whose schema forbids nothing.
			servers := `{"mcpServers": {"notes": {"command": "mcpserver", "args": ["x"]}}}`
			call := toolrunnertest.Message(toolrunnertest.Call("toolu_a", "notes__write", string(input)))
			server := toolrunnertest.NewServer(t, call, toolrunnertest.Text("Done."))
			y := sit(t, server, func(c *exec.Cmd) {
				if err := os.WriteFile(filepath.Join(c.Dir, "servers.json"), []byte(servers), 0o600); err != nil {
					t.Fatal(err)
				}
			}, "Write.", "-mcp", "servers.json")
			if err := pty.Setsize(y.screen, &pty.Winsize{Rows: 100, Cols: columns}); err != nil {
				t.Fatal(err)
			}
			y.sees(question.Fence)
			y.sees("bytes of input:\r\n")
			from := y.read
			y.sees(fmt.Sprintf("Run notes__write with %d bytes of input? [y]es, [n]o REASON", len(input)))
			rows, _, _ := strings.Cut(y.seen.String()[from:], "Run notes__write")
			joined := strings.ReplaceAll(rows, "\r\n  | ", "")
			for _, want := range []string{`"file_path" [not in the schema]: "a"`, `"file_path\u200d" [not in the schema]: "b\u3164\u115f\u2800\ufe0f\udb40\udd00\u02ba"`} {
				if !strings.Contains(joined, want) {
					t.Errorf("shown is\n%s\nwant %s in it", rows, want)
				}
			}
			for row := range strings.SplitSeq(strings.TrimSuffix(rows, "\r\n"), "\r\n") {
				if !strings.HasPrefix(row, "  ") || len([]rune(row)) > int(columns) {
					t.Errorf("a row is %q", row)
				}
			}
			y.types("n\n")
			y.leaves(exitOK)
		})
	}
}

// C42: "always" would let a shell or an interpreter run anything, so it is not offered.
func TestAlwaysIsNotOfferedForWhatRunsCode(t *testing.T) {
	tests := []struct {
		name, schema, input string
		want                bool
	}{
		{"bash", "", `{}`, true},
		{"server__run_command", "", `{}`, true},
		{"server__runScript", "", `{}`, true},
		{"shell__anything", `{"properties":{"cmd":{}}}`, `{}`, true},
		{"anything", "", `{"command":"ls"}`, true},
		{"exec__notes", "", `{}`, false}, // the name of the server says nothing of the tool
		{"write", `{"properties":{"file_path":{},"content":{}}}`, `{"file_path":"a"}`, false},
		{"github__create_issue", `{"properties":{"title":{}}}`, `{"title":"bash"}`, false},
	}
	for _, tt := range tests {
		if got := runsCode(question.Call{Name: tt.name, Schema: []byte(tt.schema), Input: []byte(tt.input)}); got != tt.want {
			t.Errorf("runsCode(%s %s) = %t, want %t", tt.name, tt.schema, got, tt.want)
		}
	}
	server := toolrunnertest.NewServer(t, toolrunnertest.Message(toolrunnertest.Call("toolu_a", "bash", `{"command":"true"}`)), toolrunnertest.Text("Done."))
	y := sit(t, server, nil, "Run.", "-tools", "bash")
	y.sees("[y]es, [n]o REASON: ")
	y.types("a\n")
	y.sees("Please answer with one of these.")
	y.sees("[y]es, [n]o REASON: ") // what is typed before does not answer it
	y.types("n\n")
	y.leaves(exitOK)
}

// P1: the calls of one turn that change files run alone, in the model's order: 20
// times a copy before a removal, and edits of one file.
func TestCallsThatChangeFilesRunInOrder(t *testing.T) {
	var blocks []toolrunnertest.Block
	const edits = 20
	var before, after strings.Builder
	for i := range edits {
		fmt.Fprintf(&before, "old %02d\n", i)
		fmt.Fprintf(&after, "new %02d\n", i)
		blocks = append(blocks, toolrunnertest.Call(fmt.Sprintf("toolu_e%d", i), "edit", fmt.Sprintf(`{"file_path":"f","old_string":"old %02d","new_string":"new %02d"}`, i, i)))
	}
	blocks = append(blocks,
		toolrunnertest.Call("toolu_cp", "bash", `{"command":"sleep 0.1; cp f backup"}`),
		toolrunnertest.Call("toolu_rm", "bash", `{"command":"rm f"}`))
	server := toolrunnertest.NewServer(t, toolrunnertest.Message(blocks...), toolrunnertest.Text("Done."))
	y := sit(t, server, func(c *exec.Cmd) {
		if err := os.WriteFile(filepath.Join(c.Dir, "f"), []byte(before.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}, "Go.", "-tools", "all", "-yes")
	y.leaves(exitOK)
	if got, err := os.ReadFile(filepath.Join(y.command.Dir, "backup")); string(got) != after.String() {
		t.Errorf("the copy holds %q, %v, want all edits", got, err)
	}
}
