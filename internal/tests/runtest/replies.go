package runtest

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

func LookAt(ids ...string) toolrunnertest.Reply {
	blocks := make([]toolrunnertest.Block, len(ids))
	for i, id := range ids {
		blocks[i] = toolrunnertest.Call(id, "look", `{}`)
	}
	return toolrunnertest.Message(blocks...)
}

// SummaryReply is the API's reply to a request to compact. Its tokens are in the
// iterations, none at the top.
func SummaryReply(summary string) toolrunnertest.Reply {
	return toolrunnertest.Message(toolrunnertest.Compaction(summary)).Usage(0, 0)
}

// Calls is a reply that calls a tool once for each id.
func Calls(tool string, ids ...string) toolrunnertest.Reply {
	blocks := make([]toolrunnertest.Block, len(ids))
	for i, id := range ids {
		blocks[i] = toolrunnertest.Call(id, tool, `{}`)
	}
	return toolrunnertest.Message(blocks...)
}

// shortened describes an event, such as "start 1".
func shortened(e toolrunner.Event) string {
	name := strings.TrimPrefix(strings.TrimPrefix(e.Type, "content_block_"), "message_")
	if strings.HasPrefix(e.Type, "message_") {
		return "message " + name
	}
	return name + " " + string(rune('0'+e.Index))
}

// Blocks is a reply of calls, given as "id tool" or "id tool input", and of other
// blocks, given as "text" and "fallback".
func Blocks(list ...string) toolrunnertest.Reply {
	all := make([]toolrunnertest.Block, len(list))
	for i, b := range list {
		switch parts := strings.SplitN(b, " ", 3); {
		case b == "text":
			all[i] = toolrunnertest.Say("so")
		case b == "fallback":
			all[i] = toolrunnertest.RawBlock(`{"type":"fallback","from":{"model":"a"},"to":{"model":"b"}}`)
		case len(parts) == 3:
			all[i] = toolrunnertest.Call(parts[0], parts[1], parts[2])
		default:
			all[i] = toolrunnertest.Call(parts[0], parts[1], `{}`)
		}
	}
	return toolrunnertest.Message(all...).Chunk(0)
}

// EventCount returns how many events a reply has as a stream, without the ping.
func EventCount(t *testing.T, reply toolrunnertest.Reply) int {
	t.Helper()
	stream := StreamOf(t, reply)
	return strings.Count(stream, "event: ") - strings.Count(stream, "event: ping")
}

type Content = anthropic.BetaToolResultBlockParamContentUnion

func TextContent(s string) Content { return Content{OfText: &anthropic.BetaTextBlockParam{Text: s}} }

const CallReply = `{"id":"msg_1","type":"message","role":"assistant","model":"claude-test","content":[{"type":"text","text":"Täg 😀"},` +
	`{"type":"tool_use","id":"toolu_1","name":"act","input":` + CallInput + `}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":12}}`

var ServerSearch = toolrunnertest.ServerToolUse("srvtoolu_1", "web_search", `{"query":"x"}`)

var ServerFound = toolrunnertest.RawBlock(`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`)

func Repeated(reply toolrunnertest.Reply, n int) []toolrunnertest.Reply {
	replies := make([]toolrunnertest.Reply, n)
	for i := range replies {
		replies[i] = reply
	}
	return replies
}

// StreamOf returns the event stream that a scripted reply is sent as.
func StreamOf(t testing.TB, reply toolrunnertest.Reply) string {
	t.Helper()
	srv := toolrunnertest.NewServer(t, reply)
	client := srv.Client()
	var response *http.Response
	err := client.Beta.Messages.NewStreaming(context.Background(), anthropic.BetaMessageNewParams{
		Model: "claude-test", MaxTokens: 10,
		Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("Hi"))},
	}, option.WithResponseBodyInto(&response)).Err()
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	stream, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(stream)
}
