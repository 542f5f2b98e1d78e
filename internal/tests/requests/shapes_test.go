package requests_test

import (
	"fmt"
	"strings"
)

// serverTools are the tools that the API runs, by the type of their use.
var serverTools = []string{"web_search", "web_fetch", "code_execution", "bash_code_execution", "text_editor_code_execution", "mcp", "tool_search_tool_regex"}

func useOf(tool, id string) string {
	if tool == "mcp" {
		return fmt.Sprintf(`{"type":"mcp_tool_use","id":%q,"name":"x","server_name":"s","input":{}}`, id)
	}
	return fmt.Sprintf(`{"type":"server_tool_use","id":%q,"name":%q,"input":{}}`, id, tool)
}

func foundBy(tool, id string) string {
	kind := "server_tool_use"
	if tool == "mcp" {
		kind = "mcp_tool_use"
	}
	return resultOf(object{"type": kind, "id": id, "name": tool})
}

func callBlock(id string) string {
	return fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"work","input":{}}`, id)
}

func codeCall(id, by string) string {
	return fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"work","input":{},"caller":{"type":"code_execution_20250825","tool_id":%q}}`, id, by)
}

const (
	thought    = `{"type":"thinking","thinking":"hm","signature":"c2ln"}`
	unsigned   = `{"type":"thinking","thinking":"hm","signature":""}`
	redacted   = `{"type":"redacted_thinking","data":"ZA=="}`
	fellBack   = `{"type":"fallback","from":{"model":"a"},"to":{"model":"b"}}`
	emptyText  = `{"type":"text","text":""}`
	blankText  = `{"type":"text","text":"\n\n"}`
	brokenText = `{"type":"text","text":"a \ud83d b"}`
)

// shapes are the contents of a reply, in which S is a server tool's use and s its result.
func shapes(tool string) map[string][]string {
	use, found := useOf(tool, "srvtoolu_1"), foundBy(tool, "srvtoolu_1")
	other, call := useOf(tool, "srvtoolu_2"), callBlock("a")
	return map[string][]string{
		"S":                    {use},
		"S call":               {use, call},
		"call S":               {call, use},
		"text S call call":     {say("so"), use, call, callBlock("b")},
		"S s call":             {use, found, call},
		"S s S call":           {use, found, other, call},
		"S s text":             {use, found, say("so")},
		"S s":                  {use, found},
		"S S call":             {use, other, call},
		"S S s":                {use, other, foundBy(tool, "srvtoolu_2")},
		"S code call":          {use, codeCall("a", "srvtoolu_1")},
		"S code call call":     {use, codeCall("a", "srvtoolu_1"), callBlock("b")},
		"S code call S":        {use, codeCall("a", "srvtoolu_1"), other},
		"thinking S":           {thought, use},
		"thinking S call":      {thought, use, call},
		"thinking call":        {thought, call},
		"thinking":             {thought},
		"unsigned":             {unsigned},
		"unsigned call":        {unsigned, call},
		"call thinking":        {call, thought},
		"text thinking":        {say("so"), thought},
		"S thinking":           {use, thought},
		"redacted":             {redacted},
		"call":                 {call},
		"call call":            {call, callBlock("b")},
		"empty call":           {emptyText, call},
		"blank":                {blankText},
		"blank call":           {blankText, call},
		"text":                 {say("so")},
		"text trailing":        {say("so \n")},
		"nothing":              {},
		"S fallback text":      {use, fellBack, say("so")},
		"call fallback call":   {call, fellBack, callBlock("b")},
		"S call fallback S":    {use, call, fellBack, other},
		"broken":               {brokenText, call},
		"S text":               {use, say("so")},
		"S text trailing":      {use, say("so ")},
		"S s thinking S":       {use, found, thought, other},
		"call twice":           {call, call},
		"S call, another name": {use, fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"nobody","input":{}}`, "a")},
		"S twice":              {use, use, call},
		"S illegal":            {useOf(tool, "srv:1"), call},
		"S illegal s":          {useOf(tool, "srv:1"), foundBy(tool, "srv:1"), call},
		"S ids meet":           {useOf(tool, "a"), call},
		"S of no object":       {strings.Replace(use, `"input":{}`, `"input":"x"`, 1), call},
		"S without input":      {strings.Replace(use, `,"input":{}`, ``, 1), found, call},
		"s S":                  {found, use, call},
		"S s s":                {use, found, found, call},
		"result":               {say("so"), `{"type":"tool_result","tool_use_id":"a","content":"x"}`},
		"image":                {say("so"), `{"type":"image","source":{"type":"url","url":"u"}}`},
		"hollow redacted":      {`{"type":"redacted_thinking","data":""}`, call},
		"hollow text":          {`{"type":"text","text":null}`, call},
		"hollow thinking":      {`{"type":"thinking","thinking":null,"signature":"c2ln"}`, call},
		"nothing but hollow":   {`{"type":"redacted_thinking","data":""}`},
		"novelty":              {`{"type":"novelty","n":1}`, call},
		"novelty alone":        {`{"type":"novelty","tool_use_id":"srvtoolu_0"}`},
		"cited":                {`{"type":"text","text":"so","citations":[{"type":"char_location","cited_text":"x","document_index":0,"document_title":null,"start_char_index":0,"end_char_index":1}]}`, call},
		"compacted":            {`{"type":"compaction","content":"so far"}`, say("so"), call},
		"compacted S":          {`{"type":"compaction","content":"so far"}`, use, call},
		"id of its server":     {use, callBlock("srvtoolu_1")},
		"no input":             {`{"type":"tool_use","id":"a","name":"work"}`, use},
		"input of blanks":      {`{"type":"tool_use","id":"a","name":"work","input":"  "}`},
		"input of a list":      {`{"type":"tool_use","id":"a","name":"work","input":[]}`, use},
		"no name":              {`{"type":"tool_use","id":"a","name":"","input":{}}`, use},
		"illegal name":         {`{"type":"tool_use","id":"a","name":"a.b","input":{}}`, use},
		"redacted thinking":    {redacted, thought},
		"thinking blank":       {thought, blankText},
		"call blank":           {call, blankText},
		"S blank":              {use, blankText},
		"no id":                {say("so"), `{"type":"tool_use","id":"x:1","name":"work","input":{}}`},
	}
}

var stops = []string{"tool_use", "pause_turn", "end_turn", "max_tokens", "refusal", "stop_sequence", "model_context_window_exceeded", "compaction", "novel", ""}

// seconds are replies that come after the first, which may go on with its work.
func seconds(tool string) map[string]string {
	found := foundBy(tool, "srvtoolu_1")
	return map[string]string{
		"":              "",
		"call":          message("tool_use", callBlock("a")),
		"s call":        message("tool_use", found, callBlock("a")),
		"s S call":      message("tool_use", found, useOf(tool, "srvtoolu_2"), callBlock("a")),
		"call before s": message("tool_use", callBlock("c")),
		"pause":         message("pause_turn", say("wait")),
		"s pause":       message("pause_turn", found, useOf(tool, "srvtoolu_2")),
		"S same":        message("tool_use", found, useOf(tool, "srvtoolu_1"), callBlock("b")),
		"text":          message("end_turn", say("so")),
		"cut":           message("max_tokens", found, callBlock("d")),
		"empty":         message("end_turn"),
		"thinking":      message("end_turn", thought),
		"refusal":       message("refusal"),
		"code":          message("tool_use", found, useOf("code_execution", "srvtoolu_3"), codeCall("e", "srvtoolu_3")),
	}
}
