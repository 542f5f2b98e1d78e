package toolrunner

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/google/go-cmp/cmp"
)

// stopReasons says for each stop reason of the SDK what follows it (E1 to E11).
var stopReasons = map[anthropic.BetaStopReason]struct {
	after   afterReply
	outcome Outcome
}{
	anthropic.BetaStopReasonToolUse:                    {runCalls, OutcomeCompleted},
	anthropic.BetaStopReasonPauseTurn:                  {resumeRun, OutcomeCompleted},
	anthropic.BetaStopReasonCompaction:                 {resumeRun, OutcomeCompleted},
	anthropic.BetaStopReasonEndTurn:                    {endRun, OutcomeCompleted},
	anthropic.BetaStopReasonStopSequence:               {endRun, OutcomeCompleted},
	anthropic.BetaStopReasonMaxTokens:                  {endRun, OutcomeTruncated},
	anthropic.BetaStopReasonModelContextWindowExceeded: {endRun, OutcomeTruncated},
	anthropic.BetaStopReasonRefusal:                    {endRun, OutcomeRefused},
}

func TestRuleForPlacesEachStopReason(t *testing.T) {
	check := func(reason anthropic.BetaStopReason, after afterReply, outcome Outcome) {
		if got := ruleFor(reason); got.after != after || got.outcome != outcome || got.unrun == "" {
			t.Errorf("ruleFor(%q) = %+v, want %d, %v and a reason for the model", reason, got, after, outcome)
		}
	}
	for reason, want := range stopReasons {
		check(reason, want.after, want.outcome)
	}
	check("", endRun, OutcomeCompleted)              // E12
	check("something_new", endRun, OutcomeCompleted) // E11
	check("TOOL_USE", endRun, OutcomeCompleted)
}

// E1 to E12: what the loop does after a reply with a call and each stop reason.
func TestLoopFollowsTheStopReason(t *testing.T) {
	for reason, want := range stopReasons {
		t.Run(string(reason), func(t *testing.T) {
			l := startLoop(t, [2]string{`{"type":"text","text":"so"},` + callA, string(reason)})
			got := l.step(limits{})
			kind := map[afterReply]stepKind{runCalls: stepRun, resumeRun: stepSend, endRun: stepEnd}[want.after]
			if got.kind != kind || got.kind == stepEnd && got.outcome != want.outcome {
				t.Errorf("step = %d (%v), want %d (%v)", got.kind, got.outcome, kind, want.outcome)
			}
		})
	}
	for _, blocks := range []string{`{"type":"text","text":"hi"}`, serverUse} {
		if got := startLoop(t, [2]string{blocks, "tool_use"}).step(limits{}); got.kind != stepEnd || got.outcome != OutcomeCompleted { // E2
			t.Errorf("%s: step = %d (%v), want a completed end", blocks, got.kind, got.outcome)
		}
	}
}

func TestLoopTellsTheModelWhyACallWasNotRun(t *testing.T) {
	for reason, want := range map[string]string{
		"max_tokens": unrunTruncated, "model_context_window_exceeded": unrunTruncated, "refusal": unrunRefused,
		"end_turn": unrunEnded, "stop_sequence": unrunEnded, "something_new": unrunEnded,
	} {
		t.Run(reason, func(t *testing.T) {
			l := startLoop(t, [2]string{callA, reason})
			if err := l.follow(rawMessages(`{"role":"user","content":"go on"}`)); err != nil {
				t.Fatal(err)
			}
			wantValidRequest(t, l)
			results := l.history.messages[2]
			if got := string(results.raw); !strings.Contains(got, want) || !strings.Contains(got, `"is_error":true`) {
				t.Errorf("result = %s, want an error that says %q", got, want)
			}
		})
	}
}

func TestOutcomeStringsAreDistinct(t *testing.T) {
	seen := make(map[string]Outcome)
	for o := OutcomeRunning; o <= OutcomeFailed; o++ {
		s := o.String()
		if s == "unknown" || s != strings.ToLower(s) {
			t.Errorf("Outcome(%d).String() = %q", o, s)
		}
		if other, ok := seen[s]; ok {
			t.Errorf("outcomes %d and %d are both %q", other, o, s)
		}
		seen[s] = o
	}
	if got := Outcome(200).String(); got != "unknown" {
		t.Errorf("Outcome(200).String() = %q, want unknown", got)
	}
}

// blockKinds says for each content block of the SDK what it is to the loop.
var blockKinds = map[string]string{
	"text": "", "thinking": "", "redacted_thinking": "", "container_upload": "", "compaction": "", "mcp_tool_listing": "",
	"fallback": "seam",
	"tool_use": "call", "server_tool_use": "server call", "mcp_tool_use": "server call",
	"web_search_tool_result": "server result", "web_fetch_tool_result": "server result", "advisor_tool_result": "server result",
	"code_execution_tool_result": "server result", "bash_code_execution_tool_result": "server result",
	"text_editor_code_execution_tool_result": "server result", "tool_search_tool_result": "server result",
	"mcp_tool_result": "server result",
}

func TestBlocksAreToldApart(t *testing.T) {
	for kind, want := range blockKinds {
		raw := `{"type":"` + kind + `","id":"x"}`
		if strings.HasSuffix(kind, "_result") {
			raw = `{"type":"` + kind + `","tool_use_id":"x"}`
		}
		b, err := parseBlock([]byte(raw))
		got := ""
		switch {
		case b.kind == typeFallback:
			got = "seam"
		case b.kind == typeToolUse:
			got = "call"
		case b.isServerUse():
			got = "server call"
		case b.isServerResult():
			got = "server result"
		}
		if err != nil || got != want {
			t.Errorf("%s is %q to the loop (%v), want %q", kind, got, err, want)
		}
	}
}

// When the SDK learns a new stop reason or block, the tables above need a row, and
// the loop perhaps a rule (E15).
func TestTablesNameEverythingTheSDKKnows(t *testing.T) {
	file := parseSDK(t, "betamessage.go")
	reasons := slices.Collect(maps.Keys(stopReasons))
	for _, tt := range []struct {
		name string
		got  []string
		want []string
	}{
		{"BetaStopReason", constants(file, "BetaStopReason"), sortedStrings(reasons)},
		{"BetaContentBlockUnion", variants(file, "BetaContentBlockUnion"), slices.Sorted(maps.Keys(blockKinds))},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s of the SDK is not what our table has (-table +SDK):\n%s", tt.name, diff)
		}
	}
}

func sortedStrings[S ~string](values []S) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = string(v)
	}
	slices.Sort(all)
	return all
}

// parseSDK parses a file of the SDK that the tests are built with.
func parseSDK(t *testing.T, name string) *ast.File {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/anthropics/anthropic-sdk-go/v2")
	list.Env = append(os.Environ(), "GOPROXY=off")
	dir, err := list.Output()
	if err != nil || len(strings.TrimSpace(string(dir))) == 0 {
		t.Skipf("the SDK's source cannot be found: %v", err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(strings.TrimSpace(string(dir)), name), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// constants returns the values of the constants of a string type, sorted.
func constants(file *ast.File, typeName string) []string {
	var values []string
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			if name, ok := spec.Type.(*ast.Ident); ok && name.Name == typeName {
				values = append(values, literals(spec.Values)...)
			}
		}
		return true
	})
	slices.Sort(values)
	return values
}

// variants returns the types that a union's AsAny tells apart, sorted.
func variants(file *ast.File, union string) []string {
	var values []string
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Name.Name != "AsAny" || f.Recv == nil {
			continue
		}
		if receiver, ok := f.Recv.List[0].Type.(*ast.Ident); !ok || receiver.Name != union {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if clause, ok := n.(*ast.CaseClause); ok {
				values = append(values, literals(clause.List)...)
			}
			return true
		})
	}
	slices.Sort(values)
	return values
}

func literals(exprs []ast.Expr) []string {
	var values []string
	for _, e := range exprs {
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if value, err := strconv.Unquote(lit.Value); err == nil {
				values = append(values, value)
			}
		}
	}
	return values
}
