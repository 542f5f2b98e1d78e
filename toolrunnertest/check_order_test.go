package toolrunnertest_test

import "testing"

// The API's own words, in public reports of July to October 2026: role 'system' must precede an 'assistant' message or end
// the array. It may follow an assistant message that ends in a server tool's result, which was recorded with status 200.
func TestCheckRequestWantsSystemMessagesWhereTheAPITakesThem(t *testing.T) {
	system := `{"role":"system","content":"s"}`
	added := `{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_reference","name":"f"}}]}`
	effort := `{"role":"system","content":[],"output_config":{"effort":"low"}}`
	searched := assistant(list(
		`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`,
		`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`,
	))
	answer := assistant(`"a"`)
	at := func(path string) []string { return []string{"system-position " + path} }
	runChecks(t, []checkCase{
		{"R1: last", messages(question, system), nil},
		{"R1: before an answer", messages(question, system, answer, question), nil},
		{"R1: before the user", messages(question, system, question), at("messages.1")},
		{"R1: a tool change before the user", messages(question, assistant(list(use("t1"))), user(list(result("t1"))), added, question), at("messages.3")},
		{"R1: several count as one", messages(question, system, added, answer), nil},
		{"R1: several before the user", messages(question, added, system, question), at("messages.2")},
		{"R1: first", messages(system, question), at("messages.0")},
		{"R1: alone", messages(system), at("messages.0")},
		{"R1: first, before an answer", messages(added, answer), at("messages.0")},
		{"R4: options alone before the user", messages(question, effort, question), nil},
		{"R4: options alone first", messages(effort, question), nil},
		{"R4: options alone after an answer", messages(question, answer, effort, question), nil},
		{"R4: options alone between a message and the user", messages(question, system, effort, question), at("messages.1")},
		{"R1: options beside a text", messages(question, `{"role":"system","content":"s","output_config":{"effort":"low"}}`, question), at("messages.1")},
		{"R4: after what a server tool found", messages(question, searched, system), nil},
		{"R4: after what a server tool found, before the user", messages(question, searched, system, question), at("messages.2")},
		{"E100: after a text", messages(question, answer, system), at("messages.2")},
		{"F25: nothing", messages(question, `{"role":"system","content":[]}`), []string{"text-empty messages.1"}},
		{"F25: no content", messages(question, `{"role":"system"}`), []string{"message-shape messages.1.content"}},
		{"F25: space", messages(question, `{"role":"system","content":" "}`), []string{"text-whitespace messages.1"}},
		{"R1: an image", messages(question, `{"role":"system","content":[`+picture("image/png")+`]}`), []string{"block-role messages.1.content.0"}},
		{"F25: a result", messages(question, `{"role":"system","content":[`+result("t1")+`]}`), []string{
			"block-role messages.1.content.0", "tool-result-unknown messages.1.content.0",
		}},
	})
}

// The maintainers' words on anthropic-sdk-typescript 1090: content after the tool_result blocks ends the assistant turn
// early, which is the 400; send a user message that contains only the tool_result blocks.
func TestCheckRequestWantsResultsAloneWhileTheAPIHasACallOfItsOwn(t *testing.T) {
	fetch := `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_fetch","input":{}}`
	fetched := `{"type":"web_fetch_tool_result","tool_use_id":"srvtoolu_1","content":{}}`
	deferred := assistant(list(fetch, use("t1")))
	results := user(list(result("t1")))
	alone := func(path string) []string { return []string{"tool-result-alone " + path} }
	runChecks(t, []checkCase{
		{"W1: results", messages(question, deferred, results), nil},
		{"W1: results, then the API's own", messages(question, deferred, results, assistant(list(fetched, text("a"))), question), nil},
		{"W1: a text in the same message", messages(question, deferred, user(list(result("t1"), text("b")))), alone("messages.2.content.1")},
		{"W1: a message after them", messages(question, deferred, results, question), alone("messages.3")},
		{"F9: a tool change after them", messages(
			question, deferred, results, `{"role":"system","content":[{"type":"tool_removal","tool":{"type":"tool_reference","name":"f"}}]}`,
		), alone("messages.3")},
		{"W1: options alone after them", messages(question, deferred, results, `{"role":"system","content":[],"output_config":{"effort":"low"}}`), nil},
		{"W1: again", messages(
			question, deferred, results, assistant(list(use("t2"))), user(list(result("t2"))), assistant(list(fetched)), question,
		), nil},
		{"W1: a text in the second round", messages(
			question, deferred, results, assistant(list(use("t2"))), user(list(result("t2"), text("b"))),
		), alone("messages.4.content.1")},
		{"W1: never resolved", messages(question, deferred, results, assistant(list(text("a"))), question), []string{"server-result-missing messages.1.content.0"}},
		{"W4: the open call of a reply that ended", messages(question, assistant(list(fetch)), question), []string{"server-result-missing messages.1.content.0"}},
		{"W13: a pause with a call of the client", messages(question, assistant(list(fetch, use("t1")))), []string{"tool-result-missing messages.1"}},
		{"F30: a result without its use", messages(question, assistant(list(fetched, text("a"))), question), []string{"server-result-unknown messages.1.content.0"}},
		{"F30: a result before its use", messages(question, assistant(list(fetched, fetch))), []string{"server-result-unknown messages.1.content.0"}},
		{"F30: a second result", messages(question, assistant(list(fetch, fetched, fetched))), []string{"server-result-unknown messages.1.content.2"}},
		{"F30: in a later turn", messages(question, assistant(list(fetch)), question, assistant(list(fetched))), []string{
			"server-result-missing messages.1.content.0", "server-result-unknown messages.3.content.0",
		}},
		{"F25: of the user", messages(user(list(fetch)), assistant(`"a"`)), []string{"block-role messages.0.content.0"}},
		{"a fallback after an attempt that was given up", messages(question, assistant(list(fetch, `{"type":"fallback"}`, text("a"))), question), nil},
	})
}

// "The final block in an assistant message cannot be `thinking`."
func TestCheckRequestWantsNoTurnToEndInThinking(t *testing.T) {
	signed := `{"type":"thinking","thinking":"t","signature":"s"}`
	final := []string{"thinking-final messages.1"}
	runChecks(t, []checkCase{
		{"W5: alone", messages(question, assistant(list(signed)), question), final},
		{"W5: after a text", messages(question, assistant(list(text("a"), signed)), question), final},
		{"W5: at the end", messages(question, assistant(list(text("a"), signed))), final},
		{"W5: unsigned", messages(question, assistant(list(`{"type":"thinking","thinking":"t","signature":""}`)), question), []string{
			"thinking messages.1.content.0.signature", "thinking-final messages.1",
		}},
		{"continued by another message", messages(question, assistant(list(signed)), assistant(list(text("a"))), question), nil},
	})
}

// "The request body is not valid JSON: no low surrogate in string".
func TestCheckRequestWantsWholeCharacters(t *testing.T) {
	input := func(input string) string {
		return messages(question, assistant(list(`{"type":"tool_use","id":"t1","name":"f","input":`+input+`}`)), user(list(result("t1"))))
	}
	half := []string{"surrogate"}
	runChecks(t, []checkCase{
		{"W3: a high half in an input", input(`{"a":"\ud83d"}`), half},
		{"W3: in upper case", input(`{"a":"\uD83D"}`), half},
		{"W3: a low half", input(`{"a":"\ude00"}`), half},
		{"W3: in a key", input(`{"\ud83d":1}`), half},
		{"W3: two high halves", input(`{"a":"\ud83d\ud83d"}`), half},
		{"W3: a half and a character", input(`{"a":"\ud83dx\ude00"}`), half},
		{"W3: in a text", messages(question, assistant(list(text(`a \ud83d b`))), question), half},
		{"W3: a pair", input(`{"a":"\ud83d\ude00"}`), nil},
		{"W3: a pair in both cases", input(`{"a":"\uD83D\uDE00 \ud83d\uDE00"}`), nil},
		{"W3: a backslash that is escaped", input(`{"a":"\\ud83d"}`), nil},
		{"W3: other escapes", input(`{"a":"\u00e9\ud7ff\ue000\n"}`), nil},
	})
}
