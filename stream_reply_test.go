package toolrunner_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Rows E55, B008, B036, G15.
func TestInputThatIsNoObjectNeverRuns(t *testing.T) {
	for _, parts := range [][]string{
		{`{"q": Dave}`},
		{`{"a":"x`},
		{`{"a":`, `1`},
		{`{`},
		{`}`},
		{`null`},
		{`nu`, `ll`},
		{`[]`},
		{`12`},
		{`"{}"`},
		{`{} {}`},
		{`{"a":1}}`},
		{`{"a":1}`, `{"a":1}`},
		{`{"a":"` + "\n" + `"}`},
		{`{'a':1}`},
		{`{"a":01}`},
		{"{\"a\":\"\x00\"}"},
		{`{"a":1,}`},
		{`\u007b\u007d`},
		{"\uFEFF{}"},
	} {
		t.Run(strings.Join(parts, "|"), func(t *testing.T) {
			events := []string{evStart, evCall}
			for _, p := range parts {
				events = append(events, evInput(0, p))
			}
			r := newTaped(t, frames(append(events, evEnd0, evCalled, evStop)...))
			if turns, err := drain(r.Runner); err != nil || turns != 2 {
				t.Errorf("%d turns and the error %v, want 2 and none", turns, err)
			}
			if len(r.inputs) > 0 {
				t.Errorf("the tool ran with %q, want no run", r.inputs)
			}
			sentReply(t, r, 1)
			q := toolrunnertest.Request{Body: r.requests[1]}
			var result struct {
				IsError bool `json:"is_error"`
				Content []struct{ Text string }
			}
			if err := json.Unmarshal(q.ToolResult("toolu_1"), &result); err != nil {
				t.Fatalf("the result: %v", err)
			}
			if !result.IsError || len(result.Content) != 1 || !strings.Contains(result.Content[0].Text, strings.Join(parts, "")) {
				t.Errorf("the result = %+v, want an error that quotes %q", result, parts)
			}
		})
	}
}

// A plain reply is taken whatever its content type is, and what is no reply at all
// shows in the error (W11, A12).
func TestPlainBodyOfAnyContentType(t *testing.T) {
	for _, contentType := range []string{eventStream, "", "text/plain", "text/html; charset=utf-8", "application/json", "application/vnd.api+json"} {
		for _, body := range []string{callReply, " \r\n\t" + callReply + "\n"} {
			r := newTaped(t, body)
			r.contentType = contentType
			if turns, err := drain(r.Runner); err != nil || turns != 2 || len(r.inputs) != 1 || r.open != 0 {
				t.Errorf("%q: %d turns, the inputs %q, %d open bodies and the error %v; want 2, one, none and none", contentType, turns, r.inputs, r.open, err)
			}
		}
		for _, tt := range []struct{ body, kind, want string }{
			{`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, "*anthropic.Error", "Overloaded"},
			{`{"message":"no healthy upstream"}`, "*toolrunner.ReplyError", "no healthy upstream"},
		} {
			r := newTaped(t, tt.body)
			r.contentType = contentType
			_, err := drain(r.Runner)
			if kindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%q: the error is a %s: %v, want a %s with %q", contentType, kindOf(err), err, tt.kind, tt.want)
			}
			wantLost(t, r, err)
		}
	}
	for _, contentType := range []string{eventStream, "", "text/html"} {
		for _, body := range []string{"<html>\n<title>502 Bad Gateway</title>", "upstream timed out" + strings.Repeat(".", 4096)} {
			r := newTaped(t, body)
			r.contentType = contentType
			_, err := drain(r.Runner)
			var incomplete *toolrunner.IncompleteStreamError
			if !errors.As(err, &incomplete) || !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), fmt.Sprintf("%.20q", body)[1:15]) || len(err.Error()) > 600 {
				t.Errorf("%q: the error is %v, want an *IncompleteStreamError with the beginning of %q", contentType, err, body[:20])
			}
			wantLost(t, r, err)
		}
	}
}

// A call without arguments may be streamed as white space: it runs with {} (W10).
func TestStreamedWhiteSpaceIsAnEmptyInput(t *testing.T) {
	for _, parts := range [][]string{{" "}, {"  "}, {"\n"}, {" \t", "\r\n"}, {"", " ", ""}} {
		t.Run(fmt.Sprintf("%q", parts), func(t *testing.T) {
			events := []string{evStart, evCall}
			for _, p := range parts {
				events = append(events, evInput(0, p))
			}
			r := newTaped(t, frames(append(events, evEnd0, evCalled, evStop)...))
			if turns, err := drain(r.Runner); err != nil || turns != 2 {
				t.Errorf("%d turns and the error %v, want 2 and none", turns, err)
			}
			if diff := cmp.Diff([]string{"{}"}, r.inputs); diff != "" {
				t.Errorf("inputs of the tool (-want +got):\n%s", diff)
			}
			if got, want := sentReply(t, r, 1), `[{"type":"tool_use","id":"toolu_1","name":"act","input":{}}]`; got != want {
				t.Errorf("the reply is sent back as %s, want %s", got, want)
			}
		})
	}
}

// Rows B092, B093, E144: what is missing or null changes nothing, and counts are
// totals, not sums.
func TestUsageOfAStream(t *testing.T) {
	start := func(usage string) string {
		return `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[]` + usage + `}}`
	}
	end := func(usage string) string {
		return `{"type":"message_delta","delta":{"stop_reason":"end_turn"}` + usage + `}`
	}
	const nine = `,"usage":{"input_tokens":9,"cache_read_input_tokens":100,"cache_creation_input_tokens":4,"output_tokens":1}`
	tests := []struct {
		name   string
		events []string
		want   toolrunner.Usage
	}{
		{"counts replace counts", []string{start(nine), end(`,"usage":{"output_tokens":12}`)}, toolrunner.Usage{InputTokens: 9, CacheReadInputTokens: 100, CacheCreationInputTokens: 4, OutputTokens: 12}},
		{
			"the later of two wins",
			[]string{start(nine), end(`,"usage":{"output_tokens":12}`), end(`,"usage":{"output_tokens":13,"input_tokens":10}`)},
			toolrunner.Usage{InputTokens: 10, CacheReadInputTokens: 100, CacheCreationInputTokens: 4, OutputTokens: 13},
		},
		{
			"nulls replace nothing",
			[]string{start(nine), end(`,"usage":{"output_tokens":12,"input_tokens":null,"cache_read_input_tokens":null}`)},
			toolrunner.Usage{InputTokens: 9, CacheReadInputTokens: 100, CacheCreationInputTokens: 4, OutputTokens: 12},
		},
		{"a zero is a count", []string{start(nine), end(`,"usage":{"cache_read_input_tokens":0}`)}, toolrunner.Usage{InputTokens: 9, CacheCreationInputTokens: 4, OutputTokens: 1}},
		{"message_delta has none", []string{start(nine), end("")}, toolrunner.Usage{InputTokens: 9, CacheReadInputTokens: 100, CacheCreationInputTokens: 4, OutputTokens: 1}},
		{"message_delta has null", []string{start(nine), end(`,"usage":null`)}, toolrunner.Usage{InputTokens: 9, CacheReadInputTokens: 100, CacheCreationInputTokens: 4, OutputTokens: 1}},
		{"message_start has none", []string{start(""), end(`,"usage":{"output_tokens":12}`)}, toolrunner.Usage{OutputTokens: 12}},
		{"message_start has null", []string{start(`,"usage":null`), end(`,"usage":{"input_tokens":3}`)}, toolrunner.Usage{InputTokens: 3}},
		{"message_start has something else", []string{start(`,"usage":[1]`), end(`,"usage":"x"`)}, toolrunner.Usage{}},
		{"there is none", []string{start(""), end("")}, toolrunner.Usage{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newTaped(t, frames(append(tt.events, evStop)...))
			if _, err := drain(r.Runner); err != nil {
				t.Fatalf("AllStreaming() = %v", err)
			}
			tt.want.Replies = 1
			if diff := cmp.Diff(tt.want, r.Usage()); diff != "" {
				t.Errorf("Usage() (-want +got):\n%s", diff)
			}
			if u := r.LastMessage().Usage; u.InputTokens != tt.want.InputTokens || u.OutputTokens != tt.want.OutputTokens {
				t.Errorf("LastMessage().Usage = %+v, want %+v", u, tt.want)
			}
		})
	}
}
