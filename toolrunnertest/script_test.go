package toolrunnertest_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

func TestScriptsThatMakeNoSenseAreRefusedWithTheirLine(t *testing.T) {
	tests := []struct{ name, script, want string }{
		{"nothing", "", "x.script: there is no turn"},
		{"comments only", "# a\n\n#b", "x.script: there is no turn"},
		{"no mark", "< text a\nhello", "x.script:2: a line begins with"},
		{"no reply in the middle", "> user a\n\n< text b", "x.script:2: the turn before has no reply"},
		{"no reply at the end", "< text a\n\n> user a", "x.script:3: the turn before has no reply"},
		{"the request after the reply", "< text a\n> user b", "x.script:2: what a request has to be"},
		{"an unknown condition", "> usr a\n< text a", `x.script:1: a request has no "usr"`},
		{"an unknown part", "< txt a", `x.script:1: a reply has no "txt"`},
		{"two replies", "< text a\n< status 500 api_error b", "x.script:2: the turn has a reply already"},
		{"a block after a whole reply", "< status 500 api_error b\n< text a", "x.script:2: the turn has a reply that is whole"},
		{"a missing argument", "< call toolu_1", "x.script:1: an argument is missing"},
		{"too many arguments", "< stop end_turn now", `x.script:1: there is something left: "now"`},
		{"no number", "< text a\n< cut soon", `x.script:2: "soon" is not a number`},
		{"no status of an error", "< status 7 a b", "x.script:1: 7 is not the status of an error"},
		{"no duration", "< text a\n< delay 2", `x.script:2: "2" is not a duration`},
		{"no JSON", "< block {", `x.script:1: "{" is not JSON`},
		{"neither message nor error", "< json {}", "x.script:1: it is neither"},
		{"no file", "< file nowhere.json", "x.script:1: open nowhere.json"},
		{"TS5: no id", "< call toolu:1 f", `x.script:1: "toolu:1" is not the id of a call`},
		{"TS5: no name", "< call toolu_1 get.weather", `x.script:1: "get.weather" is not the name of a tool`},
		{"an unknown rule", "ignore tool-inputs\n< text a", `x.script:1: there is no rule "tool-inputs"`},
		{"nothing to go on with", "| a", "x.script:1: there is no line"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := toolrunnertest.ParseScript("x.script", tt.script)
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("ParseScript(%q) = %v, want %s", tt.script, err, tt.want)
			}
		})
	}
}

func TestScriptSaysWhatTheMethodsOfReplySay(t *testing.T) {
	dir := t.TempDir()
	recorded := `{"type":"message","role":"assistant","id":"m","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn"}`
	if err := os.WriteFile(filepath.Join(dir, "reply.json"), []byte(recorded), 0o600); err != nil {
		t.Fatal(err)
	}
	all := toolrunnertest.Message
	tests := []struct {
		name, script string
		want         toolrunnertest.Reply
	}{
		{"text", "< text  Hi there ", toolrunnertest.Text("Hi there")},
		{"JSON text", `< text "Hi\n \" "`, toolrunnertest.Text("Hi\n \" ")},
		{"text in quotes", `< text "Hi", he said`, toolrunnertest.Text(`"Hi", he said`)},
		{"several lines", "< text a\r\n|  b\n|\n| c", toolrunnertest.Text("a\n b\n\nc")},
		{"lines after nothing", "< block\n| {\"type\":\n| \"x\"}", all(toolrunnertest.RawBlock("{\"type\":\n\"x\"}"))},
		{"empty text", `< text ""`, toolrunnertest.Text("")},
		{
			"blocks", "< thinking c2ln Hm, hm.\n< text a\n< call t1 f {\"a\": 1}\n< call t2 g\n< server-call s1 web_search {}",
			all(toolrunnertest.Thinking("Hm, hm.", "c2ln"), toolrunnertest.Say("a"), toolrunnertest.Call("t1", "f", `{"a": 1}`), toolrunnertest.Call("t2", "g", "{}"), toolrunnertest.ServerToolUse("s1", "web_search", "{}")),
		},
		{"a call that is cut off", "< call t1 f {\"a\n< stop max_tokens", all(toolrunnertest.Call("t1", "f", `{"a`)).StopReason("max_tokens")},
		{"status", "< status 529 overloaded_error Too busy\n< retry-after 1500ms", toolrunnertest.Status(529, "overloaded_error", "Too busy").RetryAfter(1500 * time.Millisecond)},
		{
			"shape", "< text a\n< stop-sequence \"\\n\"\n< usage 3 4\n< id m1\n< model m2\n< container c\n< header X-A b c",
			toolrunnertest.Text("a").StopSequence("\n").Usage(3, 4).ID("m1").Model("m2").Container("c").Header("X-A", "b c"),
		},
		{"faults", "< text abcdef\n< chunk 2\n< trickle 20ms\n< delay 3s\n< error-after 4 api_error No, no", toolrunnertest.Text("abcdef").Chunk(2).Trickle(20*time.Millisecond).Delay(3*time.Second).ErrorEvent(4, "api_error", "No, no")},
		{"end", "< text abcdef\n< end-after 3", toolrunnertest.Text("abcdef").EndAfter(3)},
		{"file", "< file reply.json", toolrunnertest.RawJSON(recorded)},
		{"in place", "< json " + recorded, toolrunnertest.RawJSON(recorded)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			replies, err := toolrunnertest.ParseScript(filepath.Join(dir, "x.script"), "# it\n"+tt.script)
			if err != nil || len(replies) != 1 {
				t.Fatalf("ParseScript() = %d replies, %v, want one", len(replies), err)
			}
			body := streamBody
			if strings.Contains(tt.script, recorded) || tt.name == "file" {
				body = plainBody
			}
			synctest.Test(t, func(t *testing.T) {
				got, want := answered(t, replies[0], body), answered(t, tt.want, body)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("the answer (-Go +script):\n%s", diff)
				}
			})
		})
	}
}

// answer is what a client sees of a reply.
type answer struct {
	Status int
	Header map[string][]string
	Body   string
	Took   time.Duration
}

func answered(t *testing.T, reply toolrunnertest.Reply, body string) answer {
	t.Helper()
	start := time.Now()
	res := post(toolrunnertest.NewServer(t, reply), body)
	return answer{res.StatusCode, res.Header, read(t, res), time.Since(start)}
}

func TestScriptConditions(t *testing.T) {
	const body = `{"model":"m","max_tokens":1,"tools":[{"name":"f","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"q"},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"bad"}],"is_error":true},{"type":"text","text":"and now"}]}]}`
	tests := []struct{ condition, want string }{
		{"user now", ""},
		{"user q", `the last text of the user is "and now", want it to contain "q"`},
		{"result t1 bad", ""},
		{"result t1", ""},
		{"result t1 good", `the result of t1 is "bad", want it to contain "good"`},
		{"result t2 bad", "there is no result for the call t2"},
		{"error t1 bad", ""},
		{"model m", ""},
		{"model n", `the model is "m", want "n"`},
		{"tool f", ""},
		{"tool g", `the tools offered are ["f"], want "g" among them`},
		{`body "max_tokens":1`, ""},
		{"body nothing", "the body is"},
	}
	for _, tt := range tests {
		t.Run(tt.condition, func(t *testing.T) {
			for mark, intro := range map[string]string{">": "request 1 is not what the script expects: ", "?": "no reply of the script is for request 1: "} {
				replies, err := toolrunnertest.ParseScript("x", mark+" "+tt.condition+"\n< text a")
				if err != nil {
					t.Fatal(err)
				}
				tb := &spy{}
				srv := toolrunnertest.NewServer(tb, replies...)
				res := post(srv, body)
				switch {
				case tt.want == "" && res.StatusCode != http.StatusOK:
					t.Errorf("%s: status %d, want 200: %q", mark, res.StatusCode, tb.errors)
				case tt.want != "" && (res.StatusCode != http.StatusBadRequest || len(tb.errors) != 1 || !strings.HasPrefix(tb.errors[0], "toolrunnertest: "+intro+tt.want)):
					t.Errorf("%s: status %d, errors %q, want 400 and %q", mark, res.StatusCode, tb.errors, intro+tt.want)
				}
				if left := srv.Remaining(); (left == 1) != (tt.want != "") {
					t.Errorf("%s: %d replies are left", mark, left)
				}
			}
		})
	}
}

func TestScriptSwitchesRulesOff(t *testing.T) {
	replies, err := toolrunnertest.ParseScript("x", "ignore text-empty, tool-input\n\n< text a")
	if err != nil {
		t.Fatal(err)
	}
	srv := toolrunnertest.NewServer(t, replies...)
	res := post(srv, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":""}]}]}`)
	if res.StatusCode != http.StatusOK {
		t.Errorf("status = %d, want 200", res.StatusCode)
	}
}

// serve asks for a reply that may break the connection.
func serve(srv *toolrunnertest.Server, body string) {
	defer func() {
		r := recover()
		if err, ok := r.(error); r != nil && (!ok || !errors.Is(err, http.ErrAbortHandler)) {
			panic(r)
		}
	}()
	post(srv, body)
}

// No text makes the parser panic; what it accepts can be served, in either form.
func FuzzParseScript(f *testing.F) {
	weather, err := os.ReadFile("testdata/weather.script")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(weather))
	f.Add("< text a\n< cut 0")
	f.Add("? user \"\\u0000\"\n< call a b {\n| }\n\nignore model\n< json {\"type\":\"error\"}\n< header \n b")
	f.Add("< file x\n|")
	f.Fuzz(func(t *testing.T, text string) {
		replies, err := toolrunnertest.ParseScript("dir/x", text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "dir/x:") {
				t.Errorf("ParseScript(%q) = %v, want an error with the path", text, err)
			}
			return
		}
		if len(replies) == 0 {
			t.Errorf("ParseScript(%q) = no replies and no error", text)
		}
		if strings.Contains(text, "delay") || strings.Contains(text, "trickle") {
			return
		}
		for _, body := range []string{plainBody, streamBody} {
			serve(toolrunnertest.NewServer(nil, replies...), body)
		}
	})
}

// TS5: arguments are split at any white space; the input of a call may stand on a line of its own.
func TestScriptSplitsAtAnyWhiteSpace(t *testing.T) {
	want := toolrunnertest.Message(toolrunnertest.Thinking("A thought.", "c2ln"), toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`))
	for name, script := range map[string]string{
		"spaces": "< thinking c2ln A thought.\n< call toolu_1 get_weather {\"city\":\"Paris\"}",
		"lines":  "< thinking c2ln\n| A thought.\n< call toolu_1 get_weather\n| {\"city\":\"Paris\"}",
		"tabs":   "<\tthinking\tc2ln\tA thought.\n<\tcall\ttoolu_1\tget_weather\t{\"city\":\"Paris\"}",
	} {
		replies, err := toolrunnertest.ParseScript("x.script", script)
		if err != nil || len(replies) != 1 {
			t.Errorf("%s: %d replies, %v; want one", name, len(replies), err)
			continue
		}
		got := read(t, post(toolrunnertest.NewServer(nil, replies...), plainBody))
		if wanted := read(t, post(toolrunnertest.NewServer(nil, want), plainBody)); got != wanted {
			t.Errorf("%s: the reply is\n%s\nwant\n%s", name, got, wanted)
		}
	}
}
