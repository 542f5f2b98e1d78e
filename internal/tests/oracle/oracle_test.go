// Package oracle holds two accounts of what the Messages API takes against each other: the history that the runner keeps,
// and toolrunnertest.CheckRequest, which knows nothing of the runner.
package oracle_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// gaps are the rules that the library does not keep yet: it takes a history that breaks one. A rule leaves the table with
// the change that mends the library; TestTheRunnerAndTheOracleAgreeButForTheGaps fails for one that is closed.
func gaps() map[toolrunnertest.Rule]string {
	return map[toolrunnertest.Rule]string{}
}

// verdict is what the two say about a history.
type verdict struct {
	refused  error                 // by New
	breaches []toolrunnertest.Rule // of the history as it was given
	sent     []toolrunnertest.Rule // of the request that went out, if one did
}

func requestOf(messages []string) []byte {
	return []byte(`{"model":"m","max_tokens":1,"tools":[{"name":"f","input_schema":{"type":"object"}}],"messages":[` + strings.Join(messages, ",") + `]}`)
}

// judge gives a history to both. If the runner takes it, it is asked to go on.
func judge(t *testing.T, messages []string) verdict {
	t.Helper()
	var v verdict
	v.breaches = rulesOf(requestOf(messages))
	srv := toolrunnertest.NewServer(nil)
	defer srv.Close()
	srv.Otherwise(toolrunnertest.Text("done"))
	params := toolrunner.Params{BetaMessageNewParams: anthropic.BetaMessageNewParams{Model: "m", MaxTokens: 1}}
	for _, m := range messages {
		params.Messages = append(params.Messages, verbatim(m))
	}
	client := srv.Client()
	tool := toolF()
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{tool}, params)
	if set, resumed := otherWays(t, client, tool, params); !sameVerdict(err, set) || !sameVerdict(err, resumed) {
		t.Errorf("New says %v, SetMessages %v, Resume %v\n%s", err, set, resumed, strings.Join(messages, "\n"))
	}
	if err != nil {
		v.refused = err
		return v
	}
	_, err = runner.RunToCompletion(t.Context())
	if err != nil && srv.Err() == nil {
		t.Fatalf("the run failed: %v\n%s", err, strings.Join(messages, "\n"))
	}
	for _, q := range srv.Requests() {
		v.sent = append(v.sent, rulesOf(q.Body)...)
	}
	if (err == nil) != (len(v.sent) == 0) {
		t.Fatalf("the run ended with %v after requests that break %v\n%s", err, v.sent, strings.Join(messages, "\n"))
	}
	return v
}

func verbatim(message string) anthropic.BetaMessageParam {
	return param.Override[anthropic.BetaMessageParam](json.RawMessage(message))
}

// toolF is the tool that requestOf defines.
func toolF() *toolrunner.Tool {
	return toolrunner.NewRawTool(anthropic.BetaToolParam{Name: "f", InputSchema: anthropic.BetaToolInputSchemaParam{}},
		func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			return toolrunner.TextResult("ran"), nil
		})
}

// rulesOf returns the rules that a request breaks.
func rulesOf(body []byte) []toolrunnertest.Rule {
	var rules []toolrunnertest.Rule
	for _, b := range toolrunnertest.Breaches(toolrunnertest.CheckRequest(body)) {
		rules = append(rules, b.Rule)
	}
	return rules
}

// check says how the two differ, "" if they do not.
func check(t *testing.T, messages []string) (difference string, met []string) {
	t.Helper()
	v := judge(t, messages)
	var refusal *toolrunner.HistoryError
	switch {
	case v.refused != nil && !errors.As(v.refused, &refusal):
		return fmt.Sprintf("New fails with %v, want a *HistoryError", v.refused), nil
	case v.refused != nil && (refusal.Index < 0 || refusal.Index >= len(messages) || refusal.Reason == ""):
		return fmt.Sprintf("New names message %d of %d: %v", refusal.Index, len(messages), v.refused), nil
	case v.refused != nil && len(v.breaches) == 0:
		return fmt.Sprintf("New refuses what the API takes: %v", v.refused), nil
	}
	for _, rule := range v.sent {
		if gaps()[rule] == "" {
			return fmt.Sprintf("New takes a history that breaks %v, and a request that breaks %v goes out", v.breaches, v.sent), nil
		}
		met = append(met, string(rule))
	}
	return "", met
}

// named are histories in which one thing is wrong, or looks so.
func named() map[string][]string {
	user, answer := `{"role":"user","content":"q"}`, `{"role":"assistant","content":"a"}`
	system := `{"role":"system","content":"s"}`
	reply := func(blocks ...string) string { return `{"role":"assistant","content":` + list(blocks...) + `}` }
	says := func(blocks ...string) string { return `{"role":"user","content":` + list(blocks...) + `}` }
	use := func(id string) string { return `{"type":"tool_use","id":"` + id + `","name":"f","input":{}}` }
	search := `{"type":"server_tool_use","id":"s1","name":"web_search","input":{}}`
	return map[string][]string{
		"a question":                              {user},
		"R1: system before the user":              {user, system, user},
		"R1: system last":                         {user, system},
		"R1: system before an answer":             {user, system, answer, user},
		"R1: system first":                        {system, user},
		"R1: an image of the system":              {user, `{"role":"system","content":` + list(image("image/png")) + `}`},
		"R4: an id again":                         {user, reply(use("t1")), says(result("t1", `"x"`, "")), reply(use("t1")), says(result("t1", `"x"`, ""))},
		"R4: system after a server tool's result": {user, reply(search, found("s1")), system},
		"R4: options alone":                       {user, `{"role":"system","content":[],"output_config":{"effort":"low"}}`, user},
		"W1: a text beside results":               {user, reply(search, use("t1")), says(result("t1", `"x"`, ""), text(`"b"`))},
		"W1: a message after results":             {user, reply(search, use("t1")), says(result("t1", `"x"`, "")), user},
		"W1: results alone":                       {user, reply(search, use("t1")), says(result("t1", `"x"`, ""))},
		"W3: half a character in a text":          {says(text(`"a \ud83d b"`))},
		"W3: half a character in an input":        {user, reply(`{"type":"tool_use","id":"t1","name":"f","input":{"a":"\ud83d"}}`), says(result("t1", `"x"`, ""))},
		"W4: an open call of the API":             {user, reply(search), user},
		"W4: an open call before a second message": {
			user, reply(search), reply(text(`"a"`)), user,
		},
		"W5: thinking at the end":        {user, reply(thinking(`"s"`)), user},
		"W5: unsigned thinking":          {user, reply(thinking(`""`), text(`"x"`)), user},
		"W13: open calls of both":        {user, reply(search, use("t1"))},
		"an open call":                   {user, reply(use("t1"))},
		"F25: nothing of the system":     {user, `{"role":"system","content":[]}`},
		"F25: a result of the assistant": {user, reply(result("t1", `"x"`, "")), user},
		"F25: a server call of the user": {says(search), answer},
		"F30: a result without its use":  {user, reply(found("s1")), user},
		"A9: a result of true":           {user, reply(use("t1")), says(result("t1", `true`, ""))},
		"A9: an element without a type":  {user, reply(use("t1")), says(result("t1", `[{}]`, ""))},
		"R5: a bitmap":                   {says(image("image/bmp"))},
	}
}

func TestTheRunnerAndTheOracleAgreeOnNamedHistories(t *testing.T) {
	for name, messages := range named() {
		t.Run(name, func(t *testing.T) {
			if difference, met := check(t, messages); difference != "" {
				t.Errorf("%s\n%s", difference, strings.Join(messages, "\n"))
			} else if len(met) > 0 {
				t.Skipf("a gap that is known: %q", met)
			}
		})
	}
}

// seeds are streams of decisions.
func seeds(n int) [][]byte {
	random := rand.New(rand.NewPCG(14, 2)) //nolint:gosec // the same histories each time
	list := make([][]byte, n)
	for i := range list {
		list[i] = make([]byte, 96)
		for j := range list[i] {
			list[i][j] = byte(random.UintN(256))
		}
	}
	return list
}

// A gap that the library has closed leaves the table.
func TestTheRunnerAndTheOracleAgreeButForTheGaps(t *testing.T) {
	open := map[string]bool{}
	histories := slices.Collect(maps.Values(named()))
	for _, seed := range seeds(1500) {
		c := choices(seed)
		histories = append(histories, c.history())
	}
	for _, messages := range histories {
		difference, met := check(t, messages)
		if difference != "" {
			t.Errorf("%s\n%s", difference, strings.Join(messages, "\n"))
		}
		for _, gap := range met {
			open[gap] = true
		}
	}
	for rule := range gaps() {
		if !open[string(rule)] {
			t.Errorf("no history shows the gap %s any more: take it out of the table", rule)
		}
	}
}

// The generator makes what the API takes and what it refuses, of every kind that it can.
func TestTheGeneratorMakesBothKinds(t *testing.T) {
	taken := 0
	broken := map[toolrunnertest.Rule]bool{}
	histories := seeds(1500)
	for _, seed := range histories {
		c := choices(seed)
		breaches := toolrunnertest.Breaches(toolrunnertest.CheckRequest(requestOf(c.history())))
		if len(breaches) == 0 {
			taken++
		}
		for _, b := range breaches {
			broken[b.Rule] = true
		}
	}
	if taken < len(histories)/10 || taken > len(histories)*9/10 {
		t.Errorf("the API takes %d of %d histories, want a tenth of either kind at least", taken, len(histories))
	}
	for _, rule := range []toolrunnertest.Rule{
		toolrunnertest.RuleSurrogate, toolrunnertest.RuleSystemPosition, toolrunnertest.RuleBlockShape, toolrunnertest.RuleBlockRole,
		toolrunnertest.RuleImageType, toolrunnertest.RuleUserEmpty, toolrunnertest.RuleTextEmpty, toolrunnertest.RuleTextWhitespace,
		toolrunnertest.RuleTrailingWhitespace, toolrunnertest.RuleIDFormat, toolrunnertest.RuleIDDuplicate, toolrunnertest.RuleToolInput,
		toolrunnertest.RuleToolResultMissing, toolrunnertest.RuleToolResultUnknown, toolrunnertest.RuleToolResultOrder,
		toolrunnertest.RuleToolResultAlone, toolrunnertest.RuleServerResultMissing, toolrunnertest.RuleServerResultUnknown,
		toolrunnertest.RuleThinking, toolrunnertest.RuleThinkingFinal,
	} {
		if !broken[rule] {
			t.Errorf("no history breaks %s", rule)
		}
	}
}

func FuzzTheRunnerAndTheOracle(f *testing.F) {
	for _, seed := range seeds(50) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, decisions []byte) {
		c := choices(slices.Clone(decisions))
		messages := c.history()
		if difference, _ := check(t, messages); difference != "" {
			t.Errorf("%s\n%s", difference, strings.Join(messages, "\n"))
		}
	})
}
