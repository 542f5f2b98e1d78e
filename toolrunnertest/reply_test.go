package toolrunnertest_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

func params() anthropic.BetaMessageNewParams {
	return anthropic.BetaMessageNewParams{
		Model:     "claude-test",
		MaxTokens: 100,
		Messages:  []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("q"))},
	}
}

// stream asks for a stream and accumulates it.
func stream(ctx context.Context, client anthropic.Client) (*anthropic.BetaMessage, error) {
	events := client.Beta.Messages.NewStreaming(ctx, params())
	message := &anthropic.BetaMessage{}
	for events.Next() {
		if err := message.Accumulate(events.Current()); err != nil {
			return message, errors.Join(err, events.Close())
		}
	}
	return message, errors.Join(events.Err(), events.Close())
}

// seen is what a client sees of a message.
type seen struct {
	ID, Model, StopReason, StopSequence, StopDetails, Container string
	Content                                                     []string // as JSON
	Input, Output, CacheCreation, CacheRead                     int64
}

func see(m *anthropic.BetaMessage) seen {
	s := seen{
		ID: m.ID, Model: m.Model, StopReason: string(m.StopReason), StopSequence: m.StopSequence,
		StopDetails: m.StopDetails.Explanation, Container: m.Container.ID,
		Input: m.Usage.InputTokens, Output: m.Usage.OutputTokens,
		CacheCreation: m.Usage.CacheCreationInputTokens, CacheRead: m.Usage.CacheReadInputTokens,
	}
	for _, block := range m.Content {
		s.Content = append(s.Content, block.RawJSON())
	}
	return s
}

func TestReplyIsTheSameMessageAsJSONAndAsStream(t *testing.T) {
	plain := seen{ID: "msg_1", Model: "claude-test", StopReason: "end_turn", Input: 10, Output: 5}
	want := func(change func(*seen)) seen {
		s := plain
		change(&s)
		return s
	}
	long := strings.Repeat("añ漢\U0001F600", 20)
	tests := []struct {
		name  string
		reply toolrunnertest.Reply
		want  seen
	}{
		{"text", toolrunnertest.Text("It is <sunny> & \"warm\"\n"), want(func(s *seen) {
			s.Content = []string{`{"type":"text","text":"It is <sunny> & \"warm\"\n"}`}
		})},
		{"long text", toolrunnertest.Text(long), want(func(s *seen) {
			s.Content = []string{`{"type":"text","text":"` + long + `"}`}
		})},
		{"empty text beside a call (B018)", toolrunnertest.Message(toolrunnertest.Say(""), toolrunnertest.Call("toolu_1", "f", "{}")), want(func(s *seen) {
			s.StopReason = "tool_use"
			s.Content = []string{`{"type":"text","text":""}`, `{"type":"tool_use","id":"toolu_1","name":"f","input":{}}`}
		})},
		{"nothing", toolrunnertest.Message(), plain},
		{"zero value", toolrunnertest.Reply{}, plain},
		{"input with its own bytes (E56)", toolrunnertest.Message(toolrunnertest.Call("toolu_1", "f", `{"z": 12345678901234567890, "a":1.0,"u":"\u00e9<"}`)), want(func(s *seen) {
			s.StopReason = "tool_use"
			s.Content = []string{`{"type":"tool_use","id":"toolu_1","name":"f","input":{"z": 12345678901234567890, "a":1.0,"u":"\u00e9<"}}`}
		})},
		{"no input (E54)", toolrunnertest.Message(toolrunnertest.Call("toolu_1", "f", "")), want(func(s *seen) {
			s.StopReason = "tool_use"
			s.Content = []string{`{"type":"tool_use","id":"toolu_1","name":"f","input":{}}`}
		})},
		{
			"thinking, redacted too (B017)",
			toolrunnertest.Message(
				toolrunnertest.Thinking("Let me see. Let me see again.", "sig+/=<"), toolrunnertest.RedactedThinking("data=="),
				toolrunnertest.Say("a"), toolrunnertest.Call("toolu_1", "f", "{}"), toolrunnertest.Thinking("b", "sig2"), toolrunnertest.Call("toolu_2", "f", "{}"),
			),
			want(func(s *seen) {
				s.StopReason = "tool_use"
				s.Content = []string{
					`{"type":"thinking","thinking":"Let me see. Let me see again.","signature":"sig+/=<"}`,
					`{"type":"redacted_thinking","data":"data=="}`,
					`{"type":"text","text":"a"}`,
					`{"type":"tool_use","id":"toolu_1","name":"f","input":{}}`,
					`{"type":"thinking","thinking":"b","signature":"sig2"}`,
					`{"type":"tool_use","id":"toolu_2","name":"f","input":{}}`,
				}
			}),
		},
		{"thinking without text (B016)", toolrunnertest.Message(toolrunnertest.Thinking("", "sig")), want(func(s *seen) {
			s.Content = []string{`{"type":"thinking","thinking":"","signature":"sig"}`}
		})},
		{
			"server tools, unknown blocks and fields (E85, E88, E90)",
			toolrunnertest.Message(
				toolrunnertest.ServerToolUse("srvtoolu_1", "web_search", `{"query":"sun"}`),
				toolrunnertest.RawBlock(`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`),
				toolrunnertest.RawBlock("{\"type\":\"from_the_future\",\n\"n\":[1, 2]}"),
				toolrunnertest.RawBlock(`{"type": "tool_use","id":"toolu_1","name":"f","input": {"a": 1},"caller":{"type":"code_execution_20250825","tool_id":"srvtoolu_0"}}`),
			).StopReason("pause_turn"),
			want(func(s *seen) {
				s.StopReason = "pause_turn"
				s.Content = []string{
					`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"sun"}}`,
					`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`,
					"{\"type\":\"from_the_future\",\n\"n\":[1, 2]}",
					`{"type": "tool_use","id":"toolu_1","name":"f","input": {"a": 1},"caller":{"type":"code_execution_20250825","tool_id":"srvtoolu_0"}}`,
				}
			}),
		},
		{
			"citations",
			toolrunnertest.Message(
				toolrunnertest.RawBlock(`{"type":"text","text":"sunny","citations":[{"type":"char_location","cited_text":"s","document_index":0,"document_title":null,"start_char_index":0,"end_char_index":1,"file_id":null}]}`),
				toolrunnertest.RawBlock(`{"citations":null,"type":"text","text":"warm"}`),
			),
			want(func(s *seen) {
				s.Content = []string{
					`{"type":"text","text":"sunny","citations":[{"type":"char_location","cited_text":"s","document_index":0,"document_title":null,"start_char_index":0,"end_char_index":1,"file_id":null}]}`,
					`{"citations":null,"type":"text","text":"warm"}`,
				}
			}),
		},
		{
			"every refinement",
			toolrunnertest.Message().ID("msg_x").Model("claude-other").Container("container_1").Usage(7, 8).CacheUsage(9, 10).
				StopReason("refusal").StopDetails(`{"type":"refusal","category":"cyber","explanation":"no"}`),
			seen{
				ID: "msg_x", Model: "claude-other", Container: "container_1", StopReason: "refusal", StopDetails: "no",
				Input: 7, Output: 8, CacheCreation: 9, CacheRead: 10,
			},
		},
		{"stop sequence", toolrunnertest.Message().StopSequence("END"), want(func(s *seen) {
			s.StopReason, s.StopSequence = "stop_sequence", "END"
		})},
		{"computed and refined", toolrunnertest.Func(func(q *toolrunnertest.Request) toolrunnertest.Reply {
			return toolrunnertest.Text(q.Model())
		}).Usage(1, 2), want(func(s *seen) {
			s.Content = []string{`{"type":"text","text":"claude-test"}`}
			s.Input, s.Output = 1, 2
		})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			client := clientOf(t, tt.reply)
			got, err := client.Beta.Messages.New(t.Context(), params())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, see(got)); diff != "" {
				t.Errorf("as JSON (-want +got):\n%s", diff)
			}
			for _, chunk := range []int{0, 1, 5, 16} {
				got, err := stream(t.Context(), clientOf(t, tt.reply.Chunk(chunk)))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, see(got)); diff != "" {
					t.Errorf("as a stream in chunks of %d (-want +got):\n%s", chunk, diff)
				}
			}
		})
	}
}

// clientOf is the client of a server with these replies.
func clientOf(t *testing.T, replies ...toolrunnertest.Reply) anthropic.Client {
	t.Helper()
	return toolrunnertest.NewServer(t, replies...).Client()
}

func TestStatusIsTheAPIsError(t *testing.T) {
	reply := toolrunnertest.Status(429, "rate_limit_error", "Slow down").Header("retry-after", "7")
	client := clientOf(t, reply, reply)
	_, plain := client.Beta.Messages.New(t.Context(), params())
	_, streamed := stream(t.Context(), client)
	for i, err := range []error{plain, streamed} {
		var got *anthropic.Error
		if !errors.As(err, &got) {
			t.Fatalf("error %d = %v, want an API error", i, err)
		}
		wantID := []string{"req_1", "req_2"}[i]
		wantBody := `{"type":"error","error":{"type":"rate_limit_error","message":"Slow down"},"request_id":"` + wantID + `"}`
		if got.StatusCode != http.StatusTooManyRequests || got.RequestID != wantID || got.RawJSON() != wantBody {
			t.Errorf("error %d = %d %s %s, want 429 %s %s", i, got.StatusCode, got.RequestID, got.RawJSON(), wantID, wantBody)
		}
		if after := got.Response.Header.Get("Retry-After"); after != "7" {
			t.Errorf("retry-after of error %d = %q, want 7", i, after)
		}
	}
}

func TestRepliesAreValues(t *testing.T) {
	base := toolrunnertest.Text("a").Header("x-a", "1").Usage(1, 1)
	_ = base.Header("x-a", "2").Usage(9, 9).ID("msg_other").CacheUsage(3, 3)
	client := clientOf(t, base)
	got, err := client.Beta.Messages.New(t.Context(), params())
	if err != nil {
		t.Fatal(err)
	}
	want := seen{ID: "msg_1", Model: "claude-test", StopReason: "end_turn", Input: 1, Output: 1, Content: []string{`{"type":"text","text":"a"}`}}
	if diff := cmp.Diff(want, see(got)); diff != "" {
		t.Errorf("the reply changed with its copies (-want +got):\n%s", diff)
	}
}
