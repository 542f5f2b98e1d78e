package toolrunnertest

import (
	"fmt"
	"slices"
	"strings"
)

// Rule is the name of a rule of the Messages API or of a run. Names do not change.
type Rule string

// The rules of [CheckRequest]. Each comment says what a request has to be, and where the rule is from: the text of the
// API's own error, in quotes, or the report of a request that the API took or refused.
const (
	// RuleBody: the body is a JSON object.
	RuleBody Rule = "body"
	// RuleSurrogate: no string has half a surrogate pair, such as "\ud83d". "The request body is not valid JSON: no low
	// surrogate in string".
	RuleSurrogate Rule = "surrogate"
	// RuleUnknownParameter: the API knows each top-level parameter. "from_the_future: Extra inputs are not permitted".
	RuleUnknownParameter Rule = "unknown-parameter"
	// RuleParameterType: a parameter is of the type that it has to be. "stream: Input should be a valid boolean".
	RuleParameterType Rule = "parameter-type"
	// RuleModel: model is given. "model: Field required".
	RuleModel Rule = "model"
	// RuleMaxTokens: max_tokens is an integer above 0. "max_tokens: Field required".
	RuleMaxTokens Rule = "max-tokens"
	// RuleTemperature: temperature is from 0 to 1. "temperature: range: 0..1".
	RuleTemperature Rule = "temperature"
	// RuleThinkingBudget: budget_tokens is at least 1,024 and below max_tokens; with interleaved thinking, which a header
	// asks for, it may be above. "`max_tokens` must be greater than `thinking.budget_tokens`".
	RuleThinkingBudget Rule = "thinking-budget"
	// RuleThinkingToolChoice: thinking does not stand beside a tool_choice of any or tool. "Thinking may not be enabled when
	// tool_choice forces tool use."
	RuleThinkingToolChoice Rule = "thinking-tool-choice"
	// RuleMessagesEmpty: there are messages. "messages: at least one message is required".
	RuleMessagesEmpty Rule = "messages-empty"
	// RuleMessageShape: a message is an object with a legal role and a content of text or blocks.
	RuleMessageShape Rule = "message-shape"
	// RuleSystemPosition: a system message follows a user message, or an assistant message that ends in what the API ran
	// itself, and an assistant message or the end follows it. "role 'system' must precede an 'assistant' message or end the
	// array"; for the first: use the top-level system parameter. System messages in a row count as one. One without content
	// that has an output_config may stand anywhere.
	RuleSystemPosition Rule = "system-position"
	// RuleBlockShape: a block is an object with a type and the fields of that type. "Field required".
	RuleBlockShape Rule = "block-shape"
	// RuleBlockRole: a block stands in a message of a role that may have it; a system message has texts, tool_addition and
	// tool_removal alone, and a tool_result has no calls and results. "`tool_use` blocks can only be in `assistant` messages".
	RuleBlockRole Rule = "block-role"
	// RuleImageType: the media type of an image is JPEG, PNG, GIF or WebP. "media_type: Input should be 'image/jpeg',
	// 'image/png', 'image/gif' or 'image/webp'".
	RuleImageType Rule = "image-type"
	// RuleUserEmpty: user content is not empty. "user messages must have non-empty content".
	RuleUserEmpty Rule = "user-empty"
	// RuleAssistantEmpty: assistant content is empty at most in the last message. "all messages must have non-empty content
	// except for the optional final assistant message".
	RuleAssistantEmpty Rule = "assistant-empty"
	// RuleTextEmpty: no text block is empty; in a tool_result it may be. "text content blocks must be non-empty".
	RuleTextEmpty Rule = "text-empty"
	// RuleTextWhitespace: a message is not white space alone. "text content blocks must contain non-whitespace text".
	RuleTextWhitespace Rule = "text-whitespace"
	// RuleTrailingWhitespace: a last assistant message does not end in white space. "final assistant content cannot end
	// with trailing whitespace".
	RuleTrailingWhitespace Rule = "trailing-whitespace"
	// RuleIDFormat: ids consist of letters, digits, _ and -. "String should match pattern '^[a-zA-Z0-9_-]+$'".
	RuleIDFormat Rule = "id-format"
	// RuleIDDuplicate: no two calls of an assistant turn have the same id. "`tool_use` ids must be unique". An id of a turn
	// that has been answered may come again: that was recorded with status 200.
	RuleIDDuplicate Rule = "id-duplicate"
	// RuleToolInput: the input of a call is an object. "input: Input should be a valid dictionary".
	RuleToolInput Rule = "tool-input"
	// RuleToolResultMissing: each tool_use is answered in the message right after it. "`tool_use` ids were found without
	// `tool_result` blocks immediately after".
	RuleToolResultMissing Rule = "tool-result-missing"
	// RuleToolResultUnknown: each tool_result answers a tool_use of the message before it. "unexpected `tool_use_id` found
	// in `tool_result` blocks".
	RuleToolResultUnknown Rule = "tool-result-unknown"
	// RuleToolResultDuplicate: a tool_use is answered once. "each tool_use must have a single result".
	RuleToolResultDuplicate Rule = "tool-result-duplicate"
	// RuleToolResultOrder: tool_result blocks come before all other blocks. "messages following `tool_use` blocks must begin
	// with a matching number of `tool_result` blocks".
	RuleToolResultOrder Rule = "tool-result-order"
	// RuleToolResultAlone: while a call that the API runs waits for the answers to tool_use blocks beside it, the answers
	// stand alone: no other block after them, and no message before the API goes on. The documentation of server tools: send
	// a user message with only the tool_result blocks; what follows them ends the turn early, and the waiting call is refused.
	RuleToolResultAlone Rule = "tool-result-alone"
	// RuleToolResultError: a tool_result with is_error has content. "content cannot be empty if `is_error` is true".
	RuleToolResultError Rule = "tool-result-error"
	// RuleServerResultMissing: a call that the API runs has its result in the same assistant turn, unless that turn is last
	// or waits for a tool_use of its own. "`web_fetch` tool use with id srvtoolu_1 was found without a corresponding
	// `web_fetch_tool_result` block".
	RuleServerResultMissing Rule = "server-result-missing"
	// RuleServerResultUnknown: the result of a call that the API ran stands after that call, in the same assistant turn.
	// "unexpected `tool_use_id` found in `web_fetch_tool_result` blocks: srvtoolu_1. Each `web_fetch_tool_result` block must
	// have a corresponding `server_tool_use` block before it."
	RuleServerResultUnknown Rule = "server-result-unknown"
	// RuleToolReference: a tool_reference names a tool of the request. "Tool reference 'x' not found in available tools".
	RuleToolReference Rule = "tool-reference"
	// RuleThinking: a thinking block has its thinking and its signature, a redacted one its data. "signature: Field required".
	RuleThinking Rule = "thinking"
	// RuleThinkingFinal: an assistant turn does not end in thinking. "The final block in an assistant message cannot be
	// `thinking`."
	RuleThinkingFinal Rule = "thinking-final"
	// RuleCacheControlShape: a cache_control is of type ephemeral, with a ttl of 5m or 1h. "ttl: Input should be '5m' or '1h'".
	RuleCacheControlShape Rule = "cache-control-shape"
	// RuleCacheControlOrder: none of 1h comes after one of 5m. "a ttl='1h' cache_control block must not come after a ttl='5m'
	// cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`."
	RuleCacheControlOrder Rule = "cache-control-order"
	// RuleCacheControlCount: there are at most 4. "A maximum of 4 blocks with cache_control may be provided. Found 5."
	RuleCacheControlCount Rule = "cache-control-count"
	// RuleCacheControlPlace: none is on a thinking block or an empty text. "cache_control cannot be set for empty text blocks".
	RuleCacheControlPlace Rule = "cache-control-place"
	// RuleToolName: tools have names of 1 to 128 letters, digits, _ and -. "String should match pattern
	// '^[a-zA-Z0-9_-]{1,128}$'".
	RuleToolName Rule = "tool-name"
	// RuleToolDuplicate: no two tools have the same name. "Tool names must be unique."
	RuleToolDuplicate Rule = "tool-duplicate"
	// RuleInputSchema: input_schema is an object of type object without oneOf, anyOf, allOf and $ref at the top, and its
	// properties are an object and required a list of distinct names. "input_schema does not support oneOf, allOf, or anyOf
	// at the top level". "JSON schema is invalid. It must match JSON Schema draft 2020-12".
	RuleInputSchema Rule = "input-schema"
	// RulePropertyName: the properties at the top of an input_schema have names of 1 to 64 letters, digits, _, . and -; what
	// is nested is not looked at. "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'".
	RulePropertyName Rule = "property-name"
	// RuleStrictSchema: the schema of a strict tool does not refer to itself. "Circular reference detected in schema
	// definitions".
	RuleStrictSchema Rule = "strict-schema"
	// RuleStrictCount: at most 20 tools are strict. The documentation of structured outputs has the limit.
	RuleStrictCount Rule = "strict-count"
	// RuleToolChoice: tool_choice fits the tools. "Tool 'x' not found in provided tools".
	RuleToolChoice Rule = "tool-choice"
	// RuleMCPServer: each MCP server has a name, each MCP toolset names a server of the request, and each server is named by one. "MCP server 'x' is
	// defined but not referenced by any `mcp_toolset` in `tools`."
	RuleMCPServer Rule = "mcp-server"
	// RuleCompaction: a request to compact has none of the parameters that shape a reply.
	RuleCompaction Rule = "compaction"
)

// The rules that a server has beside those of [CheckRequest].
const (
	// RuleKey: a request has a key, in x-api-key or in authorization. "x-api-key header is required", with status 401.
	RuleKey Rule = "key"
	// RuleVersion: a request has an anthropic-version. "anthropic-version: header is required".
	RuleVersion Rule = "version"
	// RuleReplyUnused: when the test ends, every reply of the script has been asked for.
	RuleReplyUnused Rule = "reply-unused"
)

// The rules of [CheckRun].
const (
	// RuleHistoryChanged: the messages of a request begin with those of the request before, byte for byte but for their
	// cache_control.
	RuleHistoryChanged Rule = "history-changed"
	// RuleReplyMissing: the next message is the reply, if it arrived whole and has content.
	RuleReplyMissing Rule = "reply-missing"
	// RuleReplyChanged: it has the reply's blocks, without the empty texts: as JSON values, each number with its digits.
	RuleReplyChanged Rule = "reply-changed"
	// RuleReplyBytes: and as bytes; see [ValuesOnly].
	RuleReplyBytes Rule = "reply-bytes"
	// RuleCacheControlLost: a request whose predecessor had a cache_control in its messages has one at the same place or
	// later.
	RuleCacheControlLost Rule = "cache-control-lost"
	// RuleContainerMissing: once a reply has named a container, requests carry one.
	RuleContainerMissing Rule = "container-missing"
	// RuleContainerChanged: and the same one, unless an earlier request had already chosen another.
	RuleContainerChanged Rule = "container-changed"
	// RuleToolsChanged: the tools are the same, byte for byte.
	RuleToolsChanged Rule = "tools-changed"
	// RuleSystemChanged: the system prompt is the same, byte for byte.
	RuleSystemChanged Rule = "system-changed"
	// RuleThreadParameters: a request that continues a thread leaves out system and tools, which the API has.
	RuleThreadParameters Rule = "thread-parameters"
)

// requestRules are the rules of CheckRequest.
func requestRules() []Rule {
	return []Rule{
		RuleBody, RuleSurrogate, RuleUnknownParameter, RuleParameterType, RuleModel, RuleMaxTokens, RuleTemperature,
		RuleThinkingBudget, RuleThinkingToolChoice, RuleMessagesEmpty, RuleMessageShape, RuleSystemPosition, RuleBlockShape,
		RuleBlockRole, RuleImageType, RuleUserEmpty, RuleAssistantEmpty, RuleTextEmpty, RuleTextWhitespace,
		RuleTrailingWhitespace, RuleIDFormat, RuleIDDuplicate, RuleToolInput, RuleToolResultMissing, RuleToolResultUnknown,
		RuleToolResultDuplicate, RuleToolResultOrder, RuleToolResultAlone, RuleToolResultError, RuleServerResultMissing,
		RuleServerResultUnknown, RuleToolReference, RuleThinking, RuleThinkingFinal, RuleCacheControlShape,
		RuleCacheControlOrder, RuleCacheControlCount, RuleCacheControlPlace, RuleToolName, RuleToolDuplicate, RuleInputSchema,
		RulePropertyName, RuleStrictSchema, RuleStrictCount, RuleToolChoice, RuleMCPServer, RuleCompaction,
	}
}

// serverRules are the rules that a server can ignore.
func serverRules() []Rule { return append(requestRules(), RuleKey, RuleVersion, RuleReplyUnused) }

// runRules are the rules of CheckRun.
func runRules() []Rule {
	return []Rule{
		RuleHistoryChanged, RuleReplyMissing, RuleReplyChanged, RuleReplyBytes, RuleCacheControlLost, RuleContainerMissing,
		RuleContainerChanged, RuleToolsChanged, RuleSystemChanged, RuleThreadParameters,
	}
}

// checkNames says which name is not one of a rule.
func checkNames(names, rules []Rule) error {
	for _, name := range names {
		if !slices.Contains(rules, name) {
			return fmt.Errorf("there is no rule %q; the rules are %s", name, joinRules(rules))
		}
	}
	return nil
}

func joinRules(rules []Rule) string {
	texts := make([]string, len(rules))
	for i, rule := range rules {
		texts[i] = string(rule)
	}
	return strings.Join(texts, ", ")
}
