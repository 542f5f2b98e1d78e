package machine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// entropy turns the bytes of a fuzz input into choices. Once they are used up
// every choice is the first one.
type entropy struct{ rest []byte }

func (e *entropy) empty() bool { return len(e.rest) == 0 }

// below returns a choice of 0 to n-1.
func (e *entropy) below(n int) int {
	if len(e.rest) == 0 {
		return 0
	}
	b := e.rest[0]
	e.rest = e.rest[1:]
	return int(b) % n
}

func oneOf[T any](e *entropy, choices ...T) T { return choices[e.below(len(choices))] }

// script makes events of a conversation.
type script struct {
	*entropy
	serverCalls int      // made so far; the API never repeats their ids
	pending     []string // server calls without a result at the end of the history
}

var fuzzStopReasons = []string{
	"tool_use", "end_turn", "tool_use", "pause_turn", "max_tokens", "refusal", "compaction", "stop_sequence",
	"model_context_window_exceeded", "something_new", "",
}

// callID returns an id of a small set, so that ids come again.
func (s *script) callID() string {
	return oneOf(s.entropy, "a", "b", "c", "d", "e", "f", "a:1", "a_1", "\u00e4", "g", "h")
}

func (s *script) toolName() string { return oneOf(s.entropy, "pure", "impure", "late", "missing") }

// replyBody returns a message of the API. It goes on with the server calls that
// the last recorded reply left without result.
func (s *script) replyBody() []byte {
	var blocks []string
	for _, id := range s.pending {
		blocks = append(blocks, serverResult(id))
	}
	for range s.below(6) {
		blocks = append(blocks, s.replyBlocks()...)
	}
	reason := oneOf(s.entropy, fuzzStopReasons...)
	if (reason == "tool_use" || reason == "pause_turn") && s.below(3) == 1 {
		use, id := s.serverUse()
		blocks = append(blocks, use)
		if reason == "tool_use" { // code that calls a tool (E88)
			blocks = append(blocks, s.callBlock(s.callID(), id))
		}
	}
	stop := `"stop_reason":"` + reason + `"`
	if reason == "" {
		stop = `"stop_reason":null`
	}
	container := oneOf(s.entropy, "", `,"container":{"id":"box_1"}`, `,"container":null`)
	return []byte(`{"id":"msg","type":"message","role":"assistant","model":"m","content":[` + strings.Join(blocks, ",") +
		`],` + stop + container + `,"usage":{"input_tokens":1,"output_tokens":2}}`)
}

// replyBlocks returns blocks that may stand in a reply.
func (s *script) replyBlocks() []string {
	switch s.below(12) {
	case 0, 1, 2:
		return []string{s.callBlock(s.callID(), "")}
	case 3:
		return []string{`{"type":"text","text":"hello "}`}
	case 4:
		return []string{oneOf(s.entropy, `{"type":"text","text":""}`, `{"type":"text","text":" \n"}`, `{"citations":null,"text":"x\u0020","type":"text"}`)}
	case 5:
		return []string{`{"type":"thinking","thinking":"","signature":"c2ln"}`}
	case 6:
		return []string{`{"type":"fallback","from":{"model":"m"},"to":{"model":"n"}}`}
	case 7:
		return []string{`{"type":"novelty","n":12345678901234567890,"tool":{"name":"pure"}}`}
	case 8:
		return []string{`{"type":"redacted_thinking","data":"ZGF0YQ=="}`}
	case 9:
		block := s.callBlock(s.callID(), "")
		return []string{block, block}
	default:
		use, id := s.serverUse()
		return []string{use, serverResult(id)}
	}
}

func (s *script) callBlock(id, caller string) string {
	input := oneOf(s.entropy, `{}`, `{"n":12345678901234567890, "a":[null]}`, `"cut"`, `[]`, `null`, ``)
	if input != "" {
		input = `,"input":` + input
	}
	if caller != "" {
		caller = `,"caller":{"type":"code_execution_20260120","tool_id":"` + caller + `"}`
	}
	return fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q%s%s}`, id, s.toolName(), input, caller)
}

// serverUse returns a call that the API runs, and its id.
func (s *script) serverUse() (use, id string) {
	s.serverCalls++
	if s.below(2) == 1 {
		id = fmt.Sprintf("mcptoolu_%d", s.serverCalls)
		return fmt.Sprintf(`{"type":"mcp_tool_use","id":%q,"name":"f","server_name":"s","input":{}}`, id), id
	}
	id = fmt.Sprintf("srvtoolu_%d", s.serverCalls)
	return fmt.Sprintf(`{"type":"server_tool_use","id":%q,"name":"code_execution","input":{}}`, id), id
}

func serverResult(id string) string {
	if strings.HasPrefix(id, "mcp") {
		return fmt.Sprintf(`{"type":"mcp_tool_result","tool_use_id":%q,"is_error":false,"content":[]}`, id)
	}
	return fmt.Sprintf(`{"type":"code_execution_tool_result","tool_use_id":%q,"content":{"type":"code_execution_result","stdout":"","stderr":"","return_code":0,"content":[]}}`, id)
}

// result returns what a tool comes back with.
func (s *script) result(use history.Use) []byte {
	switch s.below(5) {
	case 0:
		return history.ResultBlock(use, "fine", false)
	case 1:
		return history.ResultBlock(use, "broken", true)
	case 2:
		return fmt.Appendf(nil, `{"type":"tool_result","tool_use_id":%q}`, use.ID)
	case 3:
		return fmt.Appendf(nil, `{"type":"tool_result","tool_use_id":%q,"content":"failed","is_error":true}`, use.ID)
	default:
		return fmt.Appendf(nil, `{"type":"tool_result","tool_use_id":%q,"content":[]}`, use.ID)
	}
}

// followUp returns messages that a caller may try to add while calls are open.
func (s *script) followUp(open []*Call) []anthropic.BetaMessageParam {
	var messages []anthropic.BetaMessageParam
	for range 1 + s.below(3) {
		messages = append(messages, s.message(open)...)
	}
	return messages
}

func (s *script) message(open []*Call) []anthropic.BetaMessageParam {
	text := func(text string) anthropic.BetaContentBlockParamUnion { return anthropic.NewBetaTextBlock(text) }
	switch s.below(10) {
	case 0:
		return []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(text("go on"))}
	case 1:
		return []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(text(oneOf(s.entropy, "", " ", "\u00a0")), text(oneOf(s.entropy, "", " ", "x")))}
	case 2:
		return []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(s.results(open)...)}
	case 3:
		return []anthropic.BetaMessageParam{paramOf(`{"role":"user","content":` + oneOf(s.entropy, `"plain"`, `""`, `[]`, `" "`, `null`, `7`) + `}`)}
	case 4:
		return []anthropic.BetaMessageParam{paramOf(`{"role":"assistant","content":` + oneOf(s.entropy, `"said "`, `""`, `[]`, `" "`, `[{"type":"text","text":"a "},{"type":"text","text":" "}]`) + `}`)}
	case 5:
		id := s.callID()
		call := paramOf(`{"role":"assistant","content":[` + s.callBlock(id, "") + `]}`)
		if s.below(2) == 0 {
			return []anthropic.BetaMessageParam{call}
		}
		return []anthropic.BetaMessageParam{call, anthropic.NewBetaUserMessage(anthropic.NewBetaToolResultBlock(id, "given", false))}
	case 6:
		return []anthropic.BetaMessageParam{paramOf(`{"role":"system","content":` + oneOf(s.entropy, `"be brief"`, `""`, `[{"type":"text","text":""}]`) + `}`)}
	case 7:
		kind := oneOf(s.entropy, "tool_removal", "tool_addition")
		return []anthropic.BetaMessageParam{paramOf(fmt.Sprintf(`{"role":"system","content":[{"type":%q,"tool":{"type":"tool_reference","name":%q}}]}`, kind, s.toolName()))}
	case 8:
		return []anthropic.BetaMessageParam{paramOf(oneOf(s.entropy, `{"role":"other","content":"x"}`, `[]`, `{"role":"user","content":[{"text":"x"}]}`, `{"role":"user"}`, `{"role":"user","content":[{"type":"tool_use","id":"z","name":"pure","input":{}}]}`))}
	default:
		return []anthropic.BetaMessageParam{
			anthropic.NewBetaUserMessage(text("more")),
			paramOf(`{"content":[{"type":"text","text":"only now"}],"clear_at":"next_user_message","role":"system"}`),
		}
	}
}

// results returns results for some of the open calls, right and wrong ones.
func (s *script) results(open []*Call) []anthropic.BetaContentBlockParamUnion {
	var blocks []anthropic.BetaContentBlockParamUnion
	for _, call := range open {
		switch s.below(4) {
		case 0:
			blocks = append(blocks, anthropic.NewBetaToolResultBlock(call.use.ID, "given", false))
		case 1:
			blocks = append(blocks, param.Override[anthropic.BetaContentBlockParamUnion](json.RawMessage(
				fmt.Sprintf(`{"tool_use_id":%q,"type":"tool_result"}`, call.use.ID))))
		}
	}
	switch s.below(6) {
	case 1:
		blocks = append(blocks, anthropic.NewBetaTextBlock("and this"))
	case 2:
		blocks = append(blocks, anthropic.NewBetaToolResultBlock(s.callID(), "guessed", true))
	case 3:
		blocks = append([]anthropic.BetaContentBlockParamUnion{anthropic.NewBetaTextBlock("before")}, blocks...)
	}
	return blocks
}

func encodeAll(messages []anthropic.BetaMessageParam) string {
	all := make([]string, len(messages))
	for i, m := range messages {
		raw, err := m.MarshalJSON()
		all[i] = string(raw)
		if err != nil {
			all[i] = err.Error()
		}
	}
	return strings.Join(all, "\n")
}

// breachesBeside returns the breaches of a check that are not of certain rules.
func breachesBeside(err error, rules ...toolrunnertest.Rule) []toolrunnertest.Breach {
	return slices.DeleteFunc(toolrunnertest.Breaches(err), func(b toolrunnertest.Breach) bool { return slices.Contains(rules, b.Rule) })
}

// withoutAbandoned leaves out the calls before the last fallback block of each
// reply: they belong to an attempt that is over, and are answered by nobody
// (E17, E20).
func withoutAbandoned(body []byte) []byte {
	var request map[string]json.RawMessage
	if json.Unmarshal(body, &request) != nil {
		return body
	}
	var messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	_ = json.Unmarshal(request["messages"], &messages)
	for i, m := range messages {
		blocks, err := history.ParseBlocks(m.Content)
		seam := -1
		for at, b := range blocks {
			if b.Kind == history.TypeFallback {
				seam = at
			}
		}
		if err != nil || m.Role != history.RoleAssistant || seam < 0 {
			continue
		}
		at := -1
		blocks = slices.DeleteFunc(blocks, func(b history.Block) bool {
			at++
			return at < seam && b.Kind == history.TypeToolUse
		})
		joined := history.JoinMessage(history.RoleAssistant, history.RawsOf(blocks))
		messages[i].Content = joined.Content()
	}
	request["messages"], _ = json.Marshal(messages)
	body, _ = json.Marshal(request)
	return body
}
