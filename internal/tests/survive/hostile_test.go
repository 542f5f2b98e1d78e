package survive_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

const sealKey = "0123456789abcdef"

// takeUp resumes a run of recorded, whose tools are there.
func takeUp(t *testing.T, key string, data []byte) (*toolrunner.Runner, error) {
	t.Helper()
	srv := toolrunnertest.NewServer(t)
	client := srv.Client()
	params := toolrunner.Params{}
	if key != "" {
		params.SnapshotKey = []byte(key)
	}
	if len(data) == 0 {
		data = []byte{'\n'}
	}
	return runtest.StartOrResume(&client, runtest.EffectLog("").Tools(nil), params, data)
}

func wantRefused(t *testing.T, key string, data []byte, what string) {
	t.Helper()
	_, err := takeUp(t, key, data)
	var refused *toolrunner.SnapshotError
	if !errors.As(err, &refused) {
		t.Errorf("Resume() with %s: error = %v, want a *SnapshotError", what, err)
	}
}

// E181: no byte of a sealed snapshot can be changed, left out or put in.
func TestSealedSnapshotCannotBeChanged(t *testing.T) {
	deltas := recorded(t, toolrunner.Params{SnapshotKey: []byte(sealKey)})
	whole := joined(deltas)
	if _, err := takeUp(t, sealKey, whole); err != nil {
		t.Fatal(err)
	}
	record := deltas[0].Data
	sealed := record[:len(record)-1] // the line feed says nothing
	for i := 1; i < len(sealed); i++ {
		for _, b := range []byte{sealed[i] ^ 1, ' ', '"'} {
			if b == sealed[i] {
				continue
			}
			changed := bytes.Clone(record)
			changed[i] = b
			wantRefused(t, sealKey, changed, fmt.Sprintf("byte %d changed from %q to %q", i, sealed[i], b))
		}
		wantRefused(t, sealKey, slices.Delete(bytes.Clone(record), i, i+1), fmt.Sprintf("byte %d left out", i))
		wantRefused(t, sealKey, slices.Insert(bytes.Clone(record), i, ' '), fmt.Sprintf("a space before byte %d", i))
	}
	for i := 0; i < len(whole)-len(deltas[len(deltas)-1].Data); i += 29 { // the last one may be torn
		changed := bytes.Clone(whole)
		if changed[i] ^= 1; whole[i] != '\n' {
			wantRefused(t, sealKey, changed, fmt.Sprintf("byte %d of all changed", i))
		}
	}
}

// Deltas count in their order, from the first on, of one run, each once.
func TestDeltasCannotBeRearranged(t *testing.T) {
	for _, key := range []string{"", sealKey} {
		params := toolrunner.Params{}
		if key != "" {
			params.SnapshotKey = []byte(key)
		}
		one, two := recorded(t, params), recorded(t, params)
		for name, deltas := range map[string][]toolrunner.Delta{
			"the first left out":      one[1:],
			"one left out":            slices.Delete(slices.Clone(one), 2, 3),
			"one twice":               slices.Insert(slices.Clone(one), 3, one[2]),
			"an early one at the end": append(slices.Clone(one), one[3]),
			"the first again":         append(slices.Clone(one), one[0]),
			"two the other way round": slices.Concat(one[:2], one[3:4], one[2:3], one[4:]),
			"one of another run":      slices.Concat(one[:3], two[3:4], one[4:]),
			"the end of another run":  slices.Concat(one[:3], two[3:]),
			"another run after it":    slices.Concat(one, two),
		} {
			wantRefused(t, key, joined(deltas), name+", key "+key)
		}
		for n := 1; n <= len(one); n++ { // an earlier state is genuine; the sequence tells
			if _, err := takeUp(t, key, joined(one[:n])); err != nil {
				t.Errorf("Resume() of %d deltas: error = %v", n, err)
			}
		}
	}
}

func TestSnapshotNeedsItsKey(t *testing.T) {
	sealed := joined(recorded(t, toolrunner.Params{SnapshotKey: []byte(sealKey)}))
	open := joined(recorded(t, toolrunner.Params{}))
	wantRefused(t, "", sealed, "no key")
	wantRefused(t, "another key that is long", sealed, "another key")
	wantRefused(t, sealKey+"g", sealed, "a longer key")
	wantRefused(t, sealKey, open, "no seal")
	wantRefused(t, sealKey, slices.Concat(sealed, open), "an open run after a sealed one")
	stripped := bytes.ReplaceAll(sealed, []byte(",\n\"mac\""), []byte(",\n\"Mac\""))
	wantRefused(t, sealKey, stripped, "a seal of another name")
	if _, err := takeUp(t, "short", sealed); err == nil || !strings.Contains(err.Error(), "SnapshotKey has 5 bytes") {
		t.Errorf("Resume() with a short key: error = %v", err)
	}
}

// What a duplicate member, or one in another case, says is under the seal as well.
func TestSealCoversEachMember(t *testing.T) {
	sealed := string(recorded(t, toolrunner.Params{SnapshotKey: []byte(sealKey)})[0].Data)
	for _, member := range []string{`"run":"forged"`, `"Run":"forged"`, `"STATE":{}`, `"mac":"forged"`, `"MAC":""`, `"mac":null`} {
		for _, changed := range []string{
			strings.Replace(sealed, `{"toolrunner"`, `{`+member+`,"toolrunner"`, 1),
			strings.Replace(sealed, ",\n\"mac\"", ","+member+",\n\"mac\"", 1),
			strings.TrimSuffix(sealed, "}\n") + "," + member + "}\n",
			strings.TrimSuffix(sealed, "}\n") + ",\n" + member + "}\n",
		} {
			wantRefused(t, sealKey, []byte(changed), "the member "+member)
		}
	}
}

// A snapshot that says what cannot be is refused, also without a seal.
func TestSnapshotThatCannotBeIsRefused(t *testing.T) {
	deltas := recorded(t, toolrunner.Params{})
	first, waiting := string(deltas[0].Data), string(joined(deltas[:2]))
	last := string(deltas[1].Data)
	edit := func(old, replacement string) string {
		if !strings.Contains(last, old) {
			t.Fatalf("there is no %s in %s", old, last)
		}
		return first + strings.Replace(last, old, replacement, 1)
	}
	for name, data := range map[string]string{
		"nothing":                "",
		"an array":               "[]",
		"another version":        strings.Replace(first, `{"toolrunner":2`, `{"toolrunner":3`, 1),
		"no version":             strings.Replace(first, `{"toolrunner":2,`, `{`, 1),
		"an unknown member":      edit(`"sequence"`, `"novelty":1,"sequence"`),
		"an unknown state":       edit(`"state":"waiting"`, `"state":"working"`),
		"an unknown field":       edit(`"iteration":1`, `"iteration":1,"novelty":1`),
		"no run":                 strings.Replace(first, `"run":"`, `"run":"","mac":"`, 1),
		"sequence zero":          strings.Replace(first, `"sequence":`, `"sequence":0,"after":`, 1),
		"a negative sequence":    strings.Replace(first, `"sequence":`, `"sequence":-`, 1),
		"a huge sequence":        edit(`"sequence":`, `"sequence":9223372036854775808`),
		"a fraction":             edit(`"sequence":`, `"sequence":1.`),
		"keeps too many":         edit(`"keep":1`, `"keep":2`),
		"keeps less than none":   edit(`"keep":1`, `"keep":-1`),
		"sent too many":          edit(`"sent":{"messages":1`, `"sent":{"messages":9`),
		"sent less than none":    edit(`"sent":{"messages":1`, `"sent":{"messages":-1`),
		"a negative iteration":   edit(`"iteration":1`, `"iteration":-1`),
		"negative usage":         edit(`"input_tokens":10`, `"input_tokens":-10`),
		"negative calls":         edit(`"book":1`, `"book":-1`),
		"negative time":          edit(`"elapsed_ns":`, `"elapsed_ns":-1`),
		"a call of another id":   edit(`{"id":"toolu_0_pay"`, `{"id":"toolu_0_play"`),
		"a call too many":        edit(`"calls":[`, `"calls":[`+"\n"+`{"id":"toolu_0_book","state":"waiting"},`),
		"a call as before":       edit(`{"id":"toolu_0_book","state":"waiting"`, `{"id":"toolu_0_book"`),
		"answered by nothing":    edit(`"state":"waiting"`, `"state":"answered"`),
		"answered by a text":     edit(`"state":"waiting"`, `"result":{"type":"text","text":"x"},"state":"answered"`),
		"answered for another":   edit(`"state":"waiting"`, `"result":{"type":"tool_result","tool_use_id":"toolu_0_pay"},"state":"answered"`),
		"failed with nothing":    edit(`"state":"waiting"`, `"result":{"type":"tool_result","tool_use_id":"toolu_0_book","is_error":true},"state":"answered"`),
		"unrun for no reason":    edit(`"state":"waiting"`, `"state":"unrun"`),
		"an unknown decision":    edit(`"state":"waiting"`, `"decision":"maybe","state":"waiting"`),
		"an input that is none":  edit(`"state":"waiting"`, `"decision":"allow input","input":[1],"state":"waiting"`),
		"a result for nobody":    edit(`{"role":"assistant"`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"x"}]},{"role":"assistant"`),
		"a call left open":       edit("\"messages\":[\n", "\"messages\":[\n"+`{"role":"assistant","content":[{"type":"tool_use","id":"x","name":"book","input":{}}]},{"role":"user","content":"hi"},`),
		"a message of nobody":    edit(`"role":"assistant"`, `"role":"nobody"`),
		"a message of no blocks": edit("\"messages\":[\n", "\"messages\":[\n"+`{"role":"user","content":[]},`),
		"an id that is taken":    edit(`"id":"toolu_0_pay","name"`, `"id":"toolu_0_book","name"`),
		"an illegal id":          edit(`"id":"toolu_0_pay","name"`, `"id":"toolu 0 pay","name"`),
		"deep nesting":           edit(`"sequence"`, `"reply":`+strings.Repeat("[", 20000)+strings.Repeat("]", 20000)+`,"sequence"`),
		"a reply that is none":   first + strings.Replace(last, `"reply":{`, `"reply":7,"x":{`, 1),
		"a tool for nothing":     edit(`"sequence"`, `"tools":{"changes":[{"type":"text","text":"x"}]},"sequence"`),
		"a torn first record":    first[:len(first)-3],
		"something after it":     waiting + "x",
	} {
		wantRefused(t, "", []byte(data), name)
	}
	if _, err := takeUp(t, "", []byte(waiting)); err != nil {
		t.Fatal(err)
	}
}

// A waiting call whose tool is gone is an error that names both; otherwise tools may
// come, change, move and go.
func TestLaterVersionOfTheProgramTakesUpARun(t *testing.T) {
	tool := func(name string) *toolrunner.Tool { return runtest.RepeatableTool(name) }
	changed := tool("a")
	changed.Definition.Description = anthropic.String("other words")
	params := runtest.Asking("hi")
	params.MaxIterations = 1
	c := runtest.New(t, toolrunnertest.Message(toolrunnertest.Call("x", "b", `{}`)))
	r := c.NewRunner(t, params, runtest.Tools(tool("a"), tool("b"), tool("c"))...)
	for range r.All(t.Context()) {
		break // before the tools run
	}
	snapshot, err := r.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	later := runtest.ToAsk(params)
	later.Model, later.MaxIterations, later.MaxTokens = "claude-later", 0, 7
	for _, test := range []struct {
		name  string
		tools []*toolrunner.Tool
		want  string
	}{
		{"in another order", []*toolrunner.Tool{tool("c"), tool("b"), tool("a")}, "a b c"},
		{"with a new one first", []*toolrunner.Tool{tool("new"), tool("a"), tool("b"), tool("c")}, "a b c new"},
		{"without one", []*toolrunner.Tool{tool("c"), tool("b")}, "b c"},
		{"with a changed one", []*toolrunner.Tool{tool("c"), tool("b"), changed}, "a b c"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := runtest.New(t, toolrunnertest.Text("done"))
			r, err := toolrunner.Resume(&c.Client.Beta.Messages, runtest.Tools(test.tools...), later, snapshot)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.RunToCompletion(t.Context()); err != nil {
				t.Fatal(err)
			}
			q := c.Request(t, 0)
			if got := strings.Join(q.ToolNames(), " "); got != test.want || q.Model() != "claude-later" || string(q.Field("max_tokens")) != "7" {
				t.Errorf("the request is %s, want the tools %s", q.Body, test.want)
			}
			runtest.WantSuccess(t, q, "x", "b for x")
		})
	}
	_, err = toolrunner.Resume(&c.Client.Beta.Messages, runtest.Tools(tool("a"), tool("c")), later, snapshot)
	if got := runtest.WantAs[*toolrunner.SnapshotError](t, err); !strings.Contains(got.Reason, `the call "x" waits for the tool "b"`) {
		t.Errorf("Resume() without the tool of a waiting call: error = %v", err)
	}
	later.Messages = params.Messages
	if _, err := toolrunner.Resume(&c.Client.Beta.Messages, nil, later, snapshot); err == nil || !strings.Contains(err.Error(), "AppendMessages") {
		t.Errorf("Resume() with messages: error = %v", err)
	}
}
