package toolrunner_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// What the documentation of the official tool runners shows, in some language, has an
// example here that runs and prints, and a page that shows it.
func TestEachCapabilityIsShownInTheGuide(t *testing.T) {
	capabilities := []struct{ name, example string }{
		{"S1 typed tools from a struct", "ExampleNewTool"},
		{"S2 tools from a JSON Schema", "ExampleNewBetaToolFromBytes"},
		{"S3 tools from a value of the SDK", "ExampleNewBetaTool"},
		{"S4 strict tools", "ExampleTool_strict"},
		{"S5 validation when a call comes", "ExampleValidation"},
		{"S6 results beyond text", "ExampleNewTool_results"},
		{"S7 only the final message", "ExampleRunner_RunToCompletion"},
		{"S8 leaving the loop early", "ExampleRunner_All_leaveEarly"},
		{"S9 step by step", "ExampleRunner_Next"},
		{"S10 bounded loops", "ExampleParams_maxIterations"},
		{"S11 parameters that change between turns", "ExampleParams"},
		{"S12 a follow-up after the results", "ExampleRunner_AppendMessages"},
		{"S13 a truncated turn tried again", "ExampleTurn_Retry"},
		{"S14 a history that was taken over", "ExampleTurn_Replace"},
		{"S15 compaction on demand", "ExampleRunner_CompactBeforeNextTurn"},
		{"S16 compaction by a threshold", "ExampleAutoCompact"},
		{"S16 compaction by the client", "ExampleClientCompaction"},
		{"S17 context editing by the API", "ExampleParams_contextEditing"},
		{"S18 why a tool failed", "ExampleParams_logger"},
		{"S19 ANTHROPIC_LOG", "ExampleParams_environmentLog"},
		{"S20 stopping at a failed tool", "ExampleTurn_Results"},
		{"S21 logging a failed tool and going on", "ExampleTurn_Results_goOn"},
		{"S22 an error with content", "ExampleToolError"},
		{"S23 cache control on a result", "ExampleTurn_Results_cacheControl"},
		{"S24 cache control inside a result", "ExampleNewTool_cacheControl"},
		{"S25 streaming", "ExampleRunner_AllStreaming"},
		{"S26 the final message of a stream", "ExampleRunner_LastMessage"},
		{"S27 a human in the loop", "ExampleApprover"},
		{"S27 a decision that comes later", "ExampleSuspend"},
		{"S28 a log of one's own", "ExampleMiddleware"},
		{"S29 calls that run on a condition", "ExampleMiddleware_conditional"},
		{"S30 server tools beside client tools", "ExampleParams_serverTools"},
		{"S31 tools of an MCP server", "toolrunnermcp.ExampleSource"},
		{"Q7 a memory that the model keeps", "toolrunnermemory.Example"},
		{"Q8 a handler for a tool of the API's own", "ExampleTool_native"},
		{"Q13 each answer as a value of its own", "ExampleOutput"},
		{"S32 tools that come and go", "ExampleRunner_AddTools"},
	}
	e := readExamples(t, "example*_test.go", "toolrunner*/example*_test.go")
	var pages bytes.Buffer
	for _, page := range append(guidePages(t), "docs/mcp.md") {
		pages.Write(readFile(t, page))
	}
	text := pages.String()
	for _, capability := range capabilities {
		if e.outputs[capability.example] == "" {
			t.Errorf("%s: %s is not there, or prints nothing", capability.name, capability.example)
		}
		shown := slices.ContainsFunc(marked.FindAllStringIndex(text, -1), func(at []int) bool {
			rest := text[at[1]:]
			return strings.HasPrefix(rest, capability.example+" -->") || strings.HasPrefix(rest, capability.example+": ")
		})
		if !shown {
			t.Errorf("%s: no page shows %s", capability.name, capability.example)
		}
	}
}
