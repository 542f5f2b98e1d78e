package toolrunnertest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// checkCase is a request and what is wrong with it: "rule path" for each breach.
type checkCase struct {
	name string
	body string
	want []string
}

func runChecks(t *testing.T, cases []checkCase) {
	t.Helper()
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			if !json.Valid([]byte(tt.body)) {
				t.Fatalf("the case is not JSON: %s", tt.body)
			}
			var got []string
			for _, b := range toolrunnertest.Breaches(toolrunnertest.CheckRequest([]byte(tt.body))) {
				got = append(got, strings.TrimSpace(string(b.Rule)+" "+b.Path))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("CheckRequest(%s): breaches (-want +got):\n%s", tt.body, diff)
			}
		})
	}
}

// with is a valid request with more top-level fields.
func with(fields string) string {
	return `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"q"}],` + fields + `}`
}

// messages is a valid request but for its messages.
func messages(list ...string) string {
	return `{"model":"m","max_tokens":1,"messages":[` + strings.Join(list, ",") + `]}`
}

func user(content string) string      { return `{"role":"user","content":` + content + `}` }
func assistant(content string) string { return `{"role":"assistant","content":` + content + `}` }

func use(id string) string    { return `{"type":"tool_use","id":"` + id + `","name":"f","input":{}}` }
func result(id string) string { return `{"type":"tool_result","tool_use_id":"` + id + `"}` }
func text(s string) string    { return `{"type":"text","text":"` + s + `"}` }
func list(blocks ...string) string {
	return "[" + strings.Join(blocks, ",") + "]"
}

var question = user(`"q"`)

func TestCheckRequestWantsTheRequiredParameters(t *testing.T) {
	runChecks(t, []checkCase{
		{"all there", messages(question), nil},
		{"R5: unknown parameter", with(`"from_the_future":{"a":1}`), []string{"unknown-parameter from_the_future"}},
		{"no object", `[]`, []string{"body"}},
		{"null", `null`, []string{"body"}},
		{"nothing", `{}`, []string{"model model", "max-tokens max_tokens", "messages-empty messages"}},
		{"keys of another case", `{"Model":"m","max_tokens":1,"messages":[` + question + `]}`, []string{"model model", "unknown-parameter Model"}},
		{"empty model", `{"model":"","max_tokens":1,"messages":[` + question + `]}`, []string{"model model"}},
		{"zero max_tokens", `{"model":"m","max_tokens":0,"messages":[` + question + `]}`, []string{"max-tokens max_tokens"}},
		{"max_tokens as text", `{"model":"m","max_tokens":"1","messages":[` + question + `]}`, []string{"max-tokens max_tokens"}},
		{"max_tokens with a fraction", `{"model":"m","max_tokens":1.5,"messages":[` + question + `]}`, []string{"max-tokens max_tokens"}},
		{"no messages", messages(), []string{"messages-empty messages"}},
		{"messages as text", `{"model":"m","max_tokens":1,"messages":"q"}`, []string{"messages-empty messages"}},
	})
}

func TestCheckRequestWantsLegalRoles(t *testing.T) {
	system := `{"role":"system","content":"s"}`
	runChecks(t, []checkCase{
		{"assistant first", messages(assistant(`"a"`), question), nil},
		{"R1: system first", messages(system, question), []string{"system-position messages.0"}},
		{"unknown role", messages(question, `{"role":"tool","content":"t"}`), []string{"message-shape messages.1.role"}},
		{"no role", messages(question, `{"content":"t"}`), []string{"message-shape messages.1.role"}},
		{"no object", messages(question, `"t"`), []string{"message-shape messages.1"}},
		{"no content", messages(question, `{"role":"user"}`), []string{"message-shape messages.1.content"}},
		{"content as object", messages(question, user(`{}`)), []string{"message-shape messages.1.content"}},
		{"block as text", messages(user(`["t"]`)), []string{"block-shape messages.0.content.0"}},
		{"block without type", messages(user(`[{"text":"t"}]`)), []string{"block-shape messages.0.content.0"}},
		{"text block without text", messages(user(`[{"type":"text"},` + text("t") + `]`)), []string{"block-shape messages.0.content.0.text"}},
		{"unknown block", messages(user(`[{"type":"from_the_future"}]`)), nil},
		{"users in a row", messages(question, question, assistant(`"a"`), question), nil},
		{"assistants in a row", messages(question, assistant(`"a"`), assistant(`"b"`), question), nil},
		{"E100: system after user", messages(question, system, assistant(`"a"`)), nil},
		{"E100: system after assistant", messages(question, assistant(`"a"`), system), []string{"system-position messages.2"}},
		{"E100: system after results", messages(question, assistant(list(use("t1"))), user(list(result("t1"))), system), nil},
		{"call of the user", messages(user(list(use("t1")))), []string{"block-role messages.0.content.0"}},
		{
			"result of the assistant", messages(question, assistant(list(use("t1"), result("t1"))), user(list(result("t1")))),
			[]string{"block-role messages.1.content.1"},
		},
		{
			"thinking of the user", messages(user(list(`{"type":"thinking","thinking":"t","signature":"s"}`))),
			[]string{"block-role messages.0.content.0"},
		},
	})
}

// Rule 4 of the field reports, with the table of B044.
func TestCheckRequestKnowsWhatMayBeEmpty(t *testing.T) {
	answered := user(list(result("t1")))
	answer := func(content string) string {
		return messages(question, assistant(list(use("t1"))), user(list(`{"type":"tool_result","tool_use_id":"t1","content":`+content+`}`)))
	}
	runChecks(t, []checkCase{
		{"B044: assistant newlines beside a call", messages(question, assistant(list(text(`\n\n`), use("t1"))), answered), nil},
		{"B044: assistant blank alone", messages(question, assistant(list(text(" "))), question), []string{"text-whitespace messages.1"}},
		{"B044: assistant nothing", messages(question, assistant(`[]`)), nil},
		{"E98: assistant nothing in the middle", messages(question, assistant(`[]`), question), []string{"assistant-empty messages.1"}},
		{"B044: result empty text", answer(`""`), nil},
		{"B044: result empty list", answer(`[]`), nil},
		{"B044: result empty text block", answer(`[{"type":"text","text":""}]`), nil},
		{"B044: user empty text", messages(user(`""`)), []string{"user-empty messages.0"}},
		{"B044: user empty list", messages(user(`[]`)), []string{"user-empty messages.0"}},
		{"B044: user empty block", messages(user(list(text(""), text("x")))), []string{"text-empty messages.0.content.0"}},
		{"B044: system empty block", with(`"system":[{"type":"text","text":""}]`), []string{"text-empty system.0"}},
		{"B018: assistant empty block", messages(question, assistant(list(text(""), use("t1"))), answered), []string{"text-empty messages.1.content.0"}},
		{"system text", with(`"system":"s"`), nil},
		{"system block of another type", with(`"system":[{"type":"image"}]`), []string{"block-shape system.0"}},
		{"system message empty", messages(question, `{"role":"system","content":[]}`), []string{"text-empty messages.1"}},
		{"user blank", messages(user(`" \n"`)), []string{"text-whitespace messages.0"}},
		{"user blank after results", messages(question, assistant(list(use("t1"))), user(list(result("t1"), text(" ")))), nil},
		{"B096: space at the end", messages(question, assistant(`"Hello "`)), []string{"trailing-whitespace messages.1"}},
		{"B096: space at the end, not last", messages(question, assistant(`"Hello "`), question), nil},
		{"B096: space before the end", messages(question, assistant(list(text("a "), text("b")))), nil},
	})
}

func TestCheckRequestWantsEachCallAnsweredOnceRightAfterIt(t *testing.T) {
	calls := assistant(list(use("t1"), use("t2")))
	both := user(list(result("t1"), result("t2")))
	runChecks(t, []checkCase{
		{"answered", messages(question, calls, both), nil},
		{"in another order", messages(question, calls, user(list(result("t2"), result("t1")))), nil},
		{"B041: text after the results", messages(question, calls, user(list(result("t1"), result("t2"), text("x")))), nil},
		{"B041: text before the results", messages(question, calls, user(list(text("x"), result("t1"), result("t2")))), []string{
			"tool-result-order messages.2.content.1", "tool-result-order messages.2.content.2",
		}},
		{"B041: text between", messages(question, calls, user(list(result("t1"), text("x"), result("t2")))), []string{
			"tool-result-order messages.2.content.2",
		}},
		{"B041: image between", messages(question, calls, user(list(result("t1"), `{"type":"image","source":{"type":"url","url":"u"}}`, result("t2")))), []string{
			"tool-result-order messages.2.content.2",
		}},
		{"B077: over two messages", messages(question, calls, user(list(result("t1"))), user(list(result("t2")))), []string{
			"tool-result-missing messages.1", "tool-result-unknown messages.3.content.0",
		}},
		{"B010: message between", messages(question, calls, question, both), []string{
			"tool-result-missing messages.1", "tool-result-unknown messages.3.content.0", "tool-result-unknown messages.3.content.1",
		}},
		{"B005: none", messages(question, calls, question), []string{"tool-result-missing messages.1"}},
		{"none, call last", messages(question, calls), []string{"tool-result-missing messages.1"}},
		{"one missing", messages(question, calls, user(list(result("t1")))), []string{"tool-result-missing messages.1"}},
		{"B009: twice", messages(question, calls, user(list(result("t1"), result("t2"), result("t1")))), []string{
			"tool-result-duplicate messages.2.content.2",
		}},
		{"without a call", messages(user(list(result("t1")))), []string{"tool-result-unknown messages.0.content.0"}},
		{"later again", messages(question, calls, both, both), []string{
			"tool-result-unknown messages.3.content.0", "tool-result-unknown messages.3.content.1",
		}},
		{"calls of two assistant messages", messages(question, assistant(list(use("t1"))), assistant(list(use("t2"))), both), nil},
		{"no tool_use_id", messages(question, assistant(list(use("t1"))), user(list(result("t1"), `{"type":"tool_result"}`))), []string{
			"block-shape messages.2.content.1.tool_use_id", "tool-result-unknown messages.2.content.1",
		}},
	})
}

func TestCheckRequestWantsWellFormedCallsAndResults(t *testing.T) {
	call := func(id, input string) string {
		return messages(question, assistant(list(`{"type":"tool_use","id":"`+id+`","name":"f","input":`+input+`}`)), user(list(result(id))))
	}
	answer := func(fields string) string {
		return messages(question, assistant(list(use("t1"))), user(list(`{"type":"tool_result","tool_use_id":"t1",`+fields+`}`)))
	}
	runChecks(t, []checkCase{
		{"B134: empty id", call("", "{}"), []string{"id-format messages.1.content.0.id"}},
		{"B134: id with colon and dot", call("call:1.2", "{}"), []string{"id-format messages.1.content.0.id"}},
		{"any legal id", call("functions_x-0", "{}"), nil},
		{
			"R4: id of an earlier turn that was answered", messages(question, assistant(list(use("t1"))), user(list(result("t1"))), assistant(list(use("t1"))), user(list(result("t1")))),
			nil,
		},
		{
			"B094: id twice in a message", messages(question, assistant(list(use("t1"), use("t1"))), user(list(result("t1")))),
			[]string{"id-duplicate messages.1.content.1"},
		},
		{"rule 9: input as text", call("t1", `"{}"`), []string{"tool-input messages.1.content.0.input"}},
		{"rule 9: input as list", call("t1", `[]`), []string{"tool-input messages.1.content.0.input"}},
		{"rule 9: input null", call("t1", `null`), []string{"tool-input messages.1.content.0.input"}},
		{
			"no input, no name", messages(question, assistant(list(`{"type":"tool_use","id":"t1"}`)), user(list(result("t1")))),
			[]string{"block-shape messages.1.content.0.name", "tool-input messages.1.content.0.input"},
		},
		{"error with text", answer(`"is_error":true,"content":"x"`), nil},
		{"error with an image", answer(`"is_error":true,"content":[{"type":"image","source":{"type":"url","url":"u"}}]`), nil},
		{"error without content", answer(`"is_error":true`), []string{"tool-result-error messages.2.content.0"}},
		{"error with empty content", answer(`"is_error":true,"content":""`), []string{"tool-result-error messages.2.content.0"}},
		{"error with empty text", answer(`"is_error":true,"content":[{"type":"text","text":""}]`), []string{"tool-result-error messages.2.content.0"}},
		{"no error without content", answer(`"is_error":false`), nil},
		{"E73: null content", answer(`"content":[null]`), []string{"block-shape messages.2.content.0.content.0"}},
		{"content as object", answer(`"content":{}`), []string{"block-shape messages.2.content.0.content"}},
	})
}

// Rule 2 of the field reports.
func TestCheckRequestWantsServerCallsAnsweredInTheirTurn(t *testing.T) {
	search := `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`
	found := `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`
	mcp := `{"type":"mcp_tool_use","id":"mcptoolu_1","name":"f","server_name":"s","input":{}}`
	code := `{"type":"server_tool_use","id":"srvtoolu_1","name":"code_execution","input":{}}`
	ran := `{"type":"code_execution_tool_result","tool_use_id":"srvtoolu_1","content":{}}`
	runChecks(t, []checkCase{
		{"answered", messages(question, assistant(list(search, found, text("a"))), question), nil},
		{"paused", messages(question, assistant(list(search))), nil},
		{"continued", messages(question, assistant(list(search)), assistant(list(found)), question), nil},
		{"unanswered", messages(question, assistant(list(search)), question), []string{"server-result-missing messages.1.content.0"}},
		{"mcp unanswered", messages(question, assistant(list(mcp)), question), []string{"server-result-missing messages.1.content.0"}},
		{
			"mcp answered", messages(question, assistant(list(mcp, `{"type":"mcp_tool_result","tool_use_id":"mcptoolu_1","content":[]}`)), question),
			nil,
		},
		{
			"result of the user's", messages(question, assistant(list(search)), user(list(result("srvtoolu_1")))),
			[]string{"tool-result-unknown messages.2.content.0", "server-result-missing messages.1.content.0"},
		},
		{
			"E88: code that calls a tool", messages(question, assistant(list(code, use("t1"))), user(list(result("t1"))), assistant(list(ran, text("a"))), question),
			nil,
		},
		{
			"E88: code that never ends", messages(question, assistant(list(code, use("t1"))), user(list(result("t1"))), assistant(list(text("a"))), question),
			[]string{"server-result-missing messages.1.content.0"},
		},
	})
}

func TestCheckRequestWantsThinkingWhole(t *testing.T) {
	think := func(block string) string { return messages(question, assistant(list(block, text("a"))), question) }
	runChecks(t, []checkCase{
		{"whole", think(`{"type":"thinking","thinking":"t","signature":"s"}`), nil},
		{"B016: empty but signed", think(`{"type":"thinking","thinking":"","signature":"s"}`), nil},
		{"B016: without the key", think(`{"type":"thinking","signature":"s"}`), []string{"thinking messages.1.content.0.thinking"}},
		{"B042: unsigned", think(`{"type":"thinking","thinking":"t"}`), []string{"thinking messages.1.content.0.signature"}},
		{"B042: empty signature", think(`{"type":"thinking","thinking":"t","signature":""}`), []string{"thinking messages.1.content.0.signature"}},
		{"redacted", think(`{"type":"redacted_thinking","data":"d"}`), nil},
		{"redacted without data", think(`{"type":"redacted_thinking"}`), []string{"thinking messages.1.content.0.data"}},
	})
}
