package toolrunnermemory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnermemory"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// ask has the model call the tool with an input, and returns what it reads of it; a failed
// result begins with "! ".
func ask(t *testing.T, tool *toolrunner.Tool, input string) string {
	t.Helper()
	srv := toolrunnertest.NewServer(t, toolrunnertest.Message(toolrunnertest.Call("toolu_1", "memory", input)), toolrunnertest.Text("ok"))
	client := srv.Client()
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{tool}, toolrunner.Params{
		BetaMessageNewParams: anthropic.BetaMessageNewParams{
			Model: "claude-test", MaxTokens: 100, Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("hi"))},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := runner.RunToCompletion(t.Context()); err != nil {
		t.Fatal(err)
	}
	var result struct {
		Content []struct{ Text string }
		IsError bool `json:"is_error"`
	}
	if err := json.Unmarshal(srv.Requests()[1].ToolResult("toolu_1"), &result); err != nil || len(result.Content) != 1 {
		t.Fatalf("the result is %s, %v", srv.Requests()[1].ToolResult("toolu_1"), err)
	}
	if result.IsError {
		return "! " + result.Content[0].Text
	}
	return result.Content[0].Text
}

// M1: the definition is the API's own, with a breakpoint if one is asked for.
func TestTheDefinitionIsTheAPIs(t *testing.T) {
	for want, options := range map[string]toolrunnermemory.Options{
		`[{"name":"memory","type":"memory_20250818"}]`:                                      {},
		`[{"cache_control":{"type":"ephemeral"},"name":"memory","type":"memory_20250818"}]`: {CacheControl: anthropic.NewBetaCacheControlEphemeralParam()},
	} {
		srv := toolrunnertest.NewServer(t, toolrunnertest.Text("ok"))
		client := srv.Client()
		runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{toolrunnermemory.New(toolrunnermemory.NewMap(nil), options)}, toolrunner.Params{
			BetaMessageNewParams: anthropic.BetaMessageNewParams{
				Model: "claude-test", MaxTokens: 100, Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("hi"))},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := runner.RunToCompletion(t.Context()); err != nil {
			t.Fatal(err)
		}
		var got any
		if err := json.Unmarshal(srv.Requests()[0].Field("tools"), &got); err != nil {
			t.Fatal(err)
		}
		if text, err := json.Marshal(got); err != nil || string(text) != want {
			t.Errorf("tools = %s, %v, want %s", text, err, want)
		}
	}
}

// files is what each case of the table begins with.
var files = map[string]string{
	"a.md": "one\ntwo\nthree\n", "notes/b.md": "x", "notes/deep/c": "", "notes/.hidden": "h", "empty": "", "big": strings.Repeat("z", 1536), "bad": "\xff",
	"twice": "same\nsame same\n", "overlap": "aaa",
}

// M2-M21, M30, M31, M35: each command, with what the model reads.
func TestCommands(t *testing.T) {
	for _, test := range []struct {
		name, input, want string
		after             map[string]string // files that changed; "-" for one that is gone
	}{
		{"view the root", `{"command":"view","path":"/memories"}`, "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:\n" +
			"1.5K\t/memories\n14B\t/memories/a.md\n1B\t/memories/bad\n1.5K\t/memories/big\n0B\t/memories/empty\n1B\t/memories/notes/\n1B\t/memories/notes/b.md\n0B\t/memories/notes/deep/\n3B\t/memories/overlap\n15B\t/memories/twice", nil},
		{"view with a slash", `{"command":"view","path":"/memories/notes/"}`, "Here're the files and directories up to 2 levels deep in /memories/notes, excluding hidden items:\n" +
			"1B\t/memories/notes\n1B\t/memories/notes/b.md\n0B\t/memories/notes/deep/\n0B\t/memories/notes/deep/c", nil},
		{"view a file", `{"command":"view","path":"/memories/a.md"}`, "Here's the content of /memories/a.md with line numbers:\n     1\tone\n     2\ttwo\n     3\tthree\n     4\t", nil},
		{"view a hidden file", `{"command":"view","path":"/memories/notes/.hidden"}`, "Here's the content of /memories/notes/.hidden with line numbers:\n     1\th", nil},
		{"view a range", `{"command":"view","path":"/memories/a.md","view_range":[2,3]}`, "Here's the content of /memories/a.md with line numbers:\n     2\ttwo\n     3\tthree", nil},
		{"view to the end", `{"command":"view","path":"/memories/a.md","view_range":[3,-1]}`, "Here's the content of /memories/a.md with line numbers:\n     3\tthree\n     4\t", nil},
		{"view from before", `{"command":"view","path":"/memories/a.md","view_range":[-5,1]}`, "Here's the content of /memories/a.md with line numbers:\n     1\tone", nil},
		{"view beyond", `{"command":"view","path":"/memories/a.md","view_range":[4,99]}`, "Here's the content of /memories/a.md with line numbers:\n     4\t", nil},
		{"view a range of one", `{"command":"view","path":"/memories/empty","view_range":[1]}`, "Here's the content of /memories/empty with line numbers:\n     1\t", nil},
		{"view a range that is none", `{"command":"view","path":"/memories/a.md","view_range":[3,2]}`, "! Invalid `view_range` parameter: [3, 2]. It should be two lines of the file, of which there are 4, the first one first; -1 stands for the last.", nil},
		{"view nothing", `{"command":"view","path":"/memories/none"}`, "! The path /memories/none does not exist. Please provide a valid path.", nil},
		{"view what is no text", `{"command":"view","path":"/memories/bad"}`, "! The file /memories/bad is not UTF-8 text, and is left as it is.", nil},

		{"create", `{"command":"create","path":"/memories/new/x.md","file_text":"hé\n"}`, "File created successfully at: /memories/new/x.md", map[string]string{"new/x.md": "hé\n"}},
		{"create what is there", `{"command":"create","path":"/memories/a.md","file_text":"no"}`, "! File /memories/a.md already exists", nil},
		{"create the root", `{"command":"create","path":"/memories/","file_text":"no"}`, "! Cannot create the /memories directory itself", nil},
		{"create too much", `{"command":"create","path":"/memories/large","file_text":"` + strings.Repeat("y", 2000) + `"}`, "! File /memories/large would have 2000 bytes, and a file may have 1600. Please split it.", nil},

		{
			"replace", `{"command":"str_replace","path":"/memories/a.md","old_str":"two","new_str":"2\n2.5"}`,
			"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\tone\n     2\t2\n     3\t2.5\n     4\tthree",
			map[string]string{"a.md": "one\n2\n2.5\nthree\n"},
		},
		{
			"replace over lines", `{"command":"str_replace","path":"/memories/a.md","old_str":"two\nth","new_str":""}`,
			"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\tone\n     2\tree\n     3\t",
			map[string]string{"a.md": "one\nree\n"},
		},
		{"replace nothing", `{"command":"str_replace","path":"/memories/a.md","old_str":"four","new_str":""}`, "! No replacement was performed, old_str `four` did not appear verbatim in /memories/a.md.", nil},
		{"replace twice", `{"command":"str_replace","path":"/memories/twice","old_str":"same","new_str":""}`, "! No replacement was performed. Multiple occurrences of old_str `same` in lines: 1, 2, 2. Please ensure it is unique", nil},
		{
			"replace what overlaps", `{"command":"str_replace","path":"/memories/overlap","old_str":"aa","new_str":"b"}`,
			"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\tba",
			map[string]string{"overlap": "ba"},
		},
		{"replace an empty text", `{"command":"str_replace","path":"/memories/a.md","old_str":"","new_str":"x"}`, "! No replacement was performed, old_str is empty. Use insert to add text.", nil},
		{"replace in a directory", `{"command":"str_replace","path":"/memories/notes","old_str":"x","new_str":"y"}`, "! The path /memories/notes is not a file.", nil},
		{"replace in nothing", `{"command":"str_replace","path":"/memories/none","old_str":"x","new_str":"y"}`, "! The path /memories/none does not exist. Please provide a valid path.", nil},
		{"replace by too much", `{"command":"str_replace","path":"/memories/notes/b.md","old_str":"x","new_str":"` + strings.Repeat("y", 2000) + `"}`, "! File /memories/notes/b.md would have 2000 bytes, and a file may have 1600. Please split it.", nil},

		{"insert first", `{"command":"insert","path":"/memories/a.md","insert_line":0,"insert_text":"zero\n\n"}`, "The file /memories/a.md has been edited.", map[string]string{"a.md": "zero\none\ntwo\nthree\n"}},
		{"insert last", `{"command":"insert","path":"/memories/a.md","insert_line":3,"insert_text":"four"}`, "The file /memories/a.md has been edited.", map[string]string{"a.md": "one\ntwo\nthree\nfour\n"}},
		{"insert into nothing", `{"command":"insert","path":"/memories/empty","insert_line":0,"insert_text":"x"}`, "The file /memories/empty has been edited.", map[string]string{"empty": "x\n"}},
		{"insert without a last newline", `{"command":"insert","path":"/memories/notes/b.md","insert_line":1,"insert_text":"y"}`, "The file /memories/notes/b.md has been edited.", map[string]string{"notes/b.md": "x\ny\n"}},
		{"insert beyond", `{"command":"insert","path":"/memories/a.md","insert_line":4,"insert_text":"x"}`, "! Invalid `insert_line` parameter: 4. It should be within the range [0, 3].", nil},
		{"insert before", `{"command":"insert","path":"/memories/a.md","insert_line":-1,"insert_text":"x"}`, "! Invalid `insert_line` parameter: -1. It should be within the range [0, 3].", nil},
		{"insert into the root", `{"command":"insert","path":"/memories","insert_line":0,"insert_text":"x"}`, "! The path /memories is not a file.", nil},

		{"delete", `{"command":"delete","path":"/memories/a.md"}`, "Successfully deleted /memories/a.md", map[string]string{"a.md": "-"}},
		{"delete a directory", `{"command":"delete","path":"/memories/notes/deep"}`, "Successfully deleted /memories/notes/deep", map[string]string{"notes/deep/c": "-"}},
		{"delete nothing", `{"command":"delete","path":"/memories/none"}`, "! The path /memories/none does not exist", nil},
		{"delete the root", `{"command":"delete","path":"/memories/a/.."}`, "! Cannot delete the /memories directory itself", nil},

		{"rename", `{"command":"rename","old_path":"/memories/a.md","new_path":"/memories/b/c.md"}`, "Successfully renamed /memories/a.md to /memories/b/c.md", map[string]string{"a.md": "-", "b/c.md": files["a.md"]}},
		{"rename onto another", `{"command":"rename","old_path":"/memories/a.md","new_path":"/memories/empty"}`, "! The destination /memories/empty already exists", nil},
		{"rename nothing", `{"command":"rename","old_path":"/memories/none","new_path":"/memories/x"}`, "! The path /memories/none does not exist", nil},
		{"rename the root", `{"command":"rename","old_path":"/memories","new_path":"/memories/x"}`, "! Cannot rename the /memories directory itself", nil},
		{"rename to the root", `{"command":"rename","old_path":"/memories/a.md","new_path":"/memories"}`, "! Cannot rename to the /memories directory itself", nil},
		{"rename into itself", `{"command":"rename","old_path":"/memories/notes","new_path":"/memories/notes/deep/x"}`, "! Cannot rename /memories/notes to /memories/notes/deep/x: that is inside of it", nil},

		{"another root", `{"command":"view","path":"/memoriesX"}`, "! Path must start with /memories, got: /memoriesX", nil},
		{"a relative path", `{"command":"view","path":"a.md"}`, "! Path must start with /memories, got: a.md", nil},
		{"up and out", `{"command":"create","path":"/memories/a/../../etc/passwd","file_text":"x"}`, "! Path /memories/a/../../etc/passwd would escape /memories directory", nil},
		{"out and back", `{"command":"view","path":"/memories/../memories/a.md"}`, "! Path /memories/../memories/a.md would escape /memories directory", nil},
		{"up and in", `{"command":"delete","path":"/memories/notes/../a.md"}`, "Successfully deleted /memories/notes/../a.md", map[string]string{"a.md": "-"}},
		{"a backslash", `{"command":"view","path":"/memories/a\\..\\..\\b"}`, `! Path "/memories/a\\..\\..\\b" contains a character that no path may have`, nil},
		{"a NUL", `{"command":"view","path":"/memories/a\u0000"}`, `! Path "/memories/a\x00" contains a character that no path may have`, nil},
		{"another command", `{"command":"clear"}`, `! Unknown command: "clear". The commands are view, create, str_replace, insert, delete and rename.`, nil},
		{"a wrong type", `{"command":"view","path":5}`, "! Error: invalid input: path: expected string, got number 5", nil},
		{"a key twice", `{"command":"view","path":"/memories","path":"/etc"}`, "! Error: invalid input: path: given more than once", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			want := maps.Clone(files)
			for path, text := range test.after {
				if want[path] = text; text == "-" {
					delete(want, path)
				}
			}
			store := toolrunnermemory.NewMap(files)
			tool := toolrunnermemory.New(store, toolrunnermemory.Options{MaxFile: 1600})
			if got := ask(t, tool, test.input); got != test.want {
				t.Errorf("the model reads\n%s\nwant\n%s", got, test.want)
			}
			if diff := cmp.Diff(want, store.Files()); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

// M36: bounds. A file that is larger already is shown up to there, at a character.
func TestBounds(t *testing.T) {
	store := toolrunnermemory.NewMap(map[string]string{"a": strings.Repeat("é", 10), "lines": strings.Repeat("\n", 1_000_000)})
	small := toolrunnermemory.New(store, toolrunnermemory.Options{MaxFile: 5, MaxFiles: 2})
	if got, want := ask(t, small, `{"command":"view","path":"/memories/a"}`), "Here's the content of /memories/a with line numbers:\n     1\téé\n(The file has 20 bytes and is shown up to 4.)"; got != want {
		t.Errorf("the model reads\n%s\nwant\n%s", got, want)
	}
	if got, want := ask(t, small, `{"command":"create","path":"/memories/b","file_text":""}`), "! The memory is full: there are 2 files, and no more are allowed. Please delete some first."; got != want {
		t.Errorf("the model reads\n%s\nwant\n%s", got, want)
	}
	if got, want := ask(t, toolrunnermemory.New(store, toolrunnermemory.Options{}), `{"command":"view","path":"/memories/lines"}`), "! File /memories/lines exceeds maximum line limit of 999,999 lines."; got != want {
		t.Errorf("the model reads\n%.200s\nwant\n%s", got, want)
	}
}

// A memory that is read-only runs view alone, and its calls may run again.
func TestAReadOnlyMemory(t *testing.T) {
	store := toolrunnermemory.NewMap(map[string]string{"a": "x"})
	tool := toolrunnermemory.New(store, toolrunnermemory.Options{ReadOnly: true})
	if !tool.ReadOnly || !tool.Exclusive {
		t.Errorf("ReadOnly = %v, Exclusive = %v, want both", tool.ReadOnly, tool.Exclusive)
	}
	if got := ask(t, tool, `{"command":"view","path":"/memories/a"}`); !strings.HasSuffix(got, "\tx") {
		t.Errorf("the model reads %q", got)
	}
	if got, want := ask(t, tool, `{"command":"delete","path":"/memories/a"}`), `! This memory is read-only: view is the only command, and "delete" was not run.`; got != want {
		t.Errorf("the model reads %q, want %q", got, want)
	}
}

// M5: what a store fails with does not reach the model, and is the private cause.
func TestFailuresOfTheStoreStayPrivate(t *testing.T) {
	var cause error
	tool := toolrunnermemory.New(failing{toolrunnermemory.NewMap(map[string]string{"a": "x"})}, toolrunnermemory.Options{})
	handler := tool.Handler
	tool.Handler = func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		result, err := handler(ctx, call)
		if result != nil {
			cause = result.Err
		}
		return result, err
	}
	for _, input := range []string{
		`{"command":"view","path":"/memories"}`, `{"command":"view","path":"/memories/a"}`, `{"command":"create","path":"/memories/b","file_text":""}`,
		`{"command":"insert","path":"/memories/a","insert_line":0,"insert_text":""}`, `{"command":"delete","path":"/memories/a"}`, `{"command":"rename","old_path":"/memories/a","new_path":"/memories/b"}`,
	} {
		cause = nil
		if got, want := ask(t, tool, input), "! The memory could not be used: the store failed."; got != want || !errors.Is(cause, errDisk) {
			t.Errorf("%s: the model reads %q, and the cause is %v", input, got, cause)
		}
	}
}

var errDisk = errors.New("disk /secret/path failed")

// failing is a store whose disk fails.
type failing struct{ *toolrunnermemory.Map }

func (failing) List(context.Context, string) ([]toolrunnermemory.Info, error) { return nil, errDisk }

func (failing) Read(context.Context, string) ([]byte, error) { return nil, errDisk }
func (failing) Remove(context.Context, string) error         { return errDisk }
func (failing) Rename(context.Context, string, string) error { return errDisk }

// An edit that somebody else has been faster with is made again on what is there then, and
// given up on after some times.
func TestEditsAreMadeAgain(t *testing.T) {
	store := &busy{Map: toolrunnermemory.NewMap(map[string]string{"a": "x\n"}), times: 2}
	tool := toolrunnermemory.New(store, toolrunnermemory.Options{})
	if got, want := ask(t, tool, `{"command":"insert","path":"/memories/a","insert_line":1,"insert_text":"mine"}`), "The file /memories/a has been edited."; got != want {
		t.Errorf("the model reads %q, want %q", got, want)
	}
	if got, want := store.Files()["a"], "x\nmine\ntheirs\ntheirs\n"; got != want {
		t.Errorf("the file is %q, want %q", got, want)
	}
	store.times = 100
	if got, want := ask(t, tool, `{"command":"insert","path":"/memories/a","insert_line":1,"insert_text":"mine"}`), "! The file /memories/a is being changed by somebody else. Please view it and try again."; got != want {
		t.Errorf("the model reads %q, want %q", got, want)
	}
}

// busy is a store in which somebody else is faster some times.
type busy struct {
	*toolrunnermemory.Map

	times int
}

func (b *busy) Replace(ctx context.Context, path string, before, data []byte) error {
	if b.times > 0 {
		b.times--
		if err := b.Map.Replace(ctx, path, before, append(slices.Clip(before), "theirs\n"...)); err != nil {
			return fmt.Errorf("theirs: %w", err)
		}
	}
	return b.Map.Replace(ctx, path, before, data)
}
