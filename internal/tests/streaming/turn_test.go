// Package streaming_test tests turns whose body sees the reply while it streams.
package streaming_test

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A body under AllStreaming may run the rest of the loop before it has read its reply;
// the turn is complete all the same.
func TestTurnIsCompleteAfterRunToCompletionInItsBody(t *testing.T) {
	c := runtest.New(t, toolrunnertest.Message(toolrunnertest.Say("one moment"), toolrunnertest.Call("a", "look", `{}`)).StopReason("tool_use"), toolrunnertest.Text("done"))
	c.Runner = c.NewRunner(t, runtest.Asking("hi"), runtest.Says("look", "seen"))
	c.MustStream(t, func(turn *toolrunner.Turn) {
		message, err := c.RunToCompletion(t.Context())
		if err != nil || toolrunner.Text(message) != "done" {
			t.Errorf("RunToCompletion() = %q, %v", toolrunner.Text(message), err)
		}
		if got := turn.Text(); got != "one moment" || len(turn.Content) != 2 {
			t.Errorf("the turn has the text %q and %d blocks, want %q and 2", got, len(turn.Content), "one moment")
		}
	})
}

// wantRun checks that a run made the two requests of callStream and completed.
func wantRun(t *testing.T, r *runtest.Taped) {
	t.Helper()
	whole := runtest.NewTaped(t, runtest.CallStream)
	if _, err := runtest.Drain(whole.Runner); err != nil {
		t.Fatalf("AllStreaming() = %v", err)
	}
	if !slices.EqualFunc(r.Requests, whole.Requests, bytes.Equal) {
		t.Errorf("requests = %s, want %s", r.Requests, whole.Requests)
	}
	if diff := cmp.Diff([]string{runtest.CallInput}, r.Inputs); diff != "" {
		t.Errorf("inputs of the tool (-want +got):\n%s", diff)
	}
	if r.Outcome() != toolrunner.OutcomeCompleted || r.IterationCount() != 2 || r.Open != 0 {
		t.Errorf("Outcome() = %v after %d replies with %d bodies open, want completed, 2 and none", r.Outcome(), r.IterationCount(), r.Open)
	}
	if last := r.LastMessage(); last == nil || len(last.Content) != 1 || last.Content[0].Text != "Bye." {
		t.Errorf("LastMessage() = %+v, want the last one, E145", last)
	}
}

// Rows E141, E147, G8, G9: whatever the body reads of the events, the run is the same.
func TestBodyMayReadAnyPartOfTheEvents(t *testing.T) {
	read := func(n int) func(*testing.T, *toolrunner.Turn) {
		return func(t *testing.T, turn *toolrunner.Turn) {
			for _, err := range turn.Events() {
				if err != nil {
					t.Errorf("Events() = %v", err)
				}
				if n--; n == 0 {
					break
				}
			}
		}
	}
	tests := []struct {
		name string
		body func(*testing.T, *toolrunner.Turn)
	}{
		{"none", func(*testing.T, *toolrunner.Turn) {}},
		{"all", read(-1)},
		{"the first", read(1)},
		{"some", read(6)},
		{"message_delta", read(10)},
		{"message_stop", read(11)},
		{"all in two loops", func(t *testing.T, turn *toolrunner.Turn) { read(3)(t, turn); read(-1)(t, turn) }},
		{"all, and once more", func(t *testing.T, turn *toolrunner.Turn) {
			read(-1)(t, turn)
			for e, err := range turn.Events() {
				t.Errorf("a second Events() has %q, %v, want nothing", e.Type, err)
			}
		}},
		{"by a pull that is not stopped", func(t *testing.T, turn *toolrunner.Turn) {
			next, stop := iter.Pull2(turn.Events())
			t.Cleanup(stop)
			if e, err, ok := next(); e.Type != "message_start" || err != nil || !ok {
				t.Errorf("next() = %q, %v, %v, want message_start", e.Type, err, ok)
			}
		}},
		{"Calls before any", func(t *testing.T, turn *toolrunner.Turn) {
			if calls := turn.Calls(); len(calls) != 2-turn.Iteration() || len(calls) > 0 && string(calls[0].Input) != runtest.CallInput {
				t.Errorf("Calls() = %v in turn %d", calls, turn.Iteration())
			}
			for e, err := range turn.Events() {
				t.Errorf("Events() has %q, %v after Calls(), want nothing", e.Type, err)
			}
		}},
		{"Text before any", func(t *testing.T, turn *toolrunner.Turn) {
			if want := []string{"Täg 😀", "Bye."}[turn.Iteration()-1]; turn.Text() != want || turn.StopReason == "" {
				t.Errorf("Text() = %q with the stop reason %q, want %q", turn.Text(), turn.StopReason, want)
			}
		}},
		{"ToParam after some", func(t *testing.T, turn *toolrunner.Turn) {
			read(3)(t, turn)
			if got, want := len(turn.ToParam().OfAssistant.Content), 3-turn.Iteration(); got != want {
				t.Errorf("ToParam() has %d blocks, want %d", got, want)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := runtest.NewTaped(t, runtest.CallStream)
			turns := 0
			for turn, err := range r.AllStreaming(t.Context()) {
				if err != nil {
					t.Fatalf("AllStreaming() = %v", err)
				}
				if turns++; turn.Iteration() != turns {
					t.Errorf("Iteration() = %d, want %d", turn.Iteration(), turns)
				}
				tt.body(t, turn)
			}
			if turns != 2 {
				t.Errorf("%d turns, want 2", turns)
			}
			wantRun(t, r)
		})
	}
}

// What a body has of the events stays as it was, however much is read after it.
func TestEventsMayBeKept(t *testing.T) {
	events := []string{runtest.EvStart, runtest.EvText}
	var text strings.Builder
	for i := range 3000 {
		word := fmt.Sprintf("word %d, ", i)
		events = append(events, runtest.EvTextDelta(0, word))
		text.WriteString(word)
	}
	events = append(events, runtest.EvEnd0, runtest.EvEnded, runtest.EvStop)
	for _, n := range []int{0, 1, 2, 500, 1500, len(events)} {
		r := runtest.NewTaped(t, runtest.Frames(events...))
		var kept []toolrunner.Event
		var started anthropic.BetaMessage
		for turn, err := range r.AllStreaming(t.Context()) {
			if err != nil {
				t.Fatalf("AllStreaming() = %v", err)
			}
			started = *turn.BetaMessage
			for e, err := range turn.Events() {
				if len(kept) == n || err != nil {
					break
				}
				kept = append(kept, e)
			}
		}
		for i, e := range kept {
			if string(e.Raw()) != events[i] {
				t.Errorf("after %d events were kept, event %d is %s, want %s", n, i, e.Raw(), events[i])
			}
		}
		if len(kept) != n || started.ID != "msg_1" || !strings.Contains(runtest.EvStart, started.RawJSON()) {
			t.Errorf("%d events were kept, want %d; the message began as %s, want that of %s", len(kept), n, started.RawJSON(), runtest.EvStart)
		}
		if got := r.LastMessage().Content[0].Text; got != text.String() {
			t.Errorf("after %d events were kept, the text has %d bytes, want %d", n, len(got), text.Len())
		}
	}
}

// Row E140: each event is passed on, in order and as it came.
func TestEventsAreThoseOfTheStream(t *testing.T) {
	news := `{ "type":"news", "x":1.0 }`
	stream := strings.Replace(runtest.CallStream, "event: message_delta", "event: news\ndata: "+news+"\n\nevent: message_delta", 1)
	var want []string
	for line := range strings.Lines(stream) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			want = append(want, strings.TrimSpace(data))
		}
	}
	r := runtest.NewTaped(t, strings.ReplaceAll(stream, "\n\n", "\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n"))
	var got []string
	var kept []toolrunner.Event
	var text, partial strings.Builder
	for turn, err := range r.AllStreaming(t.Context()) {
		if err != nil {
			t.Fatalf("AllStreaming() = %v", err)
		}
		if turn.Iteration() > 1 {
			break
		}
		if turn.ID != "msg_1" || turn.StopReason != "" || len(turn.Content) != 0 {
			t.Errorf("the message is %s before it was read, want that of message_start", turn.RawJSON())
		}
		for e, err := range turn.Events() {
			if err != nil {
				t.Fatalf("Events() = %v", err)
			}
			kept = append(kept, e)
			text.WriteString(e.Text)
			partial.WriteString(e.PartialJSON)
			if turn.Text() != text.String() || len(turn.Calls()) > 0 {
				t.Errorf("Text() = %q with %d calls, want the text so far, %q, and none", turn.Text(), len(turn.Calls()), text.String())
			}
			if e.Type != "news" {
				if u, err := e.Union(); err != nil || u.Type != e.Type || u.AsAny() == nil || u.Index != int64(e.Index) {
					t.Errorf("Union() of %s = %+v, %v", e.Raw(), u, err)
				}
			}
		}
		if len(turn.Calls()) != 1 || turn.StopReason != anthropic.BetaStopReasonToolUse || turn.Usage.InputTokens != 9 || turn.Usage.CacheReadInputTokens != 100 || turn.Usage.OutputTokens != 12 {
			t.Errorf("after the events the message is %s, want it complete, B093", turn.RawJSON())
		}
	}
	for _, e := range kept { // after the stream has been read: events may be kept
		got = append(got, string(e.Raw()))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if text.String() != "Täg 😀" || partial.String() != runtest.CallInput {
		t.Errorf("text = %q, input = %q", text.String(), partial.String())
	}
}

func TestTurnReadsNothingWhileALoopOverEventsDoes(t *testing.T) {
	r := runtest.NewTaped(t, runtest.CallStream)
	for turn, err := range r.AllStreaming(t.Context()) {
		if err != nil {
			t.Fatalf("AllStreaming() = %v", err)
		}
		seen := 0
		for range turn.Events() {
			seen++
			for range turn.Events() { // an inner loop that takes one event
				seen++
				break
			}
			_ = turn.Text()
			_ = turn.ToParam()
		}
		if want := []int{11, 6}[turn.Iteration()-1]; seen != want {
			t.Errorf("turn %d: %d events were seen, want %d", turn.Iteration(), seen, want)
		}
	}
	wantRun(t, r)
}

func TestTurnIsOverAfterItsBody(t *testing.T) {
	r := runtest.NewTaped(t, runtest.CallStream)
	var first *toolrunner.Turn
	for turn, err := range r.AllStreaming(t.Context()) {
		if err != nil {
			t.Fatalf("AllStreaming() = %v", err)
		}
		if first == nil {
			first = turn
		}
	}
	pairs := 0
	for _, err := range first.Events() {
		if pairs++; !errors.Is(err, toolrunner.ErrTurnOver) {
			t.Errorf("Events() = %v, want ErrTurnOver", err)
		}
	}
	if pairs != 1 || first.Text() != "Täg 😀" || len(first.Calls()) != 1 || len(first.ToParam().OfAssistant.Content) != 2 {
		t.Errorf("%d pairs, text %q, %d calls, want 1 and a turn that stays readable", pairs, first.Text(), len(first.Calls()))
	}

	r = runtest.NewTaped(t, runtest.CallStream)
	for turn := range r.AllStreaming(t.Context()) {
		first = turn
		break
	}
	if first.Text() != "" || first.Calls() != nil || len(first.ToParam().OfAssistant.Content) != 0 {
		t.Errorf("a turn whose stream was closed has the text %q, want none", first.Text())
	}
}

// Row B101: a reply of which all is there is kept, however the body is left.
func TestLeavingTheLoopKeepsACompleteReply(t *testing.T) {
	for _, last := range []string{"message_delta", "message_stop"} {
		r := runtest.NewTaped(t, runtest.CallStream)
		for turn := range r.AllStreaming(t.Context()) {
			for e := range turn.Events() {
				if e.Type == last {
					break
				}
			}
			break
		}
		if r.Outcome() != toolrunner.OutcomeStopped || len(r.Messages()) != 2 || len(r.Inputs) != 0 || r.Open != 0 {
			t.Errorf("after %s: Outcome() = %v with %d messages, want stopped with 2", last, r.Outcome(), len(r.Messages()))
		}
		if _, err := runtest.Drain(r.Runner); err != nil {
			t.Errorf("the next loop = %v", err)
		}
		wantRun(t, r)
	}
}

// Row E143, G9: an error in the middle comes once in each loop, and ends both.
func TestErrorInTheMiddleEndsBothLoopsOnce(t *testing.T) {
	failed := runtest.Frames(runtest.EvStart, runtest.EvText, runtest.EvTextDelta(0, "Tä"), `{"type":"error","error":{"type":"api_error","message":"No"}}`)
	r := runtest.NewTaped(t, runtest.CallStream, failed, failed)
	for range 2 {
		var inner, outer []error
		for turn, err := range r.AllStreaming(t.Context()) {
			if outer = append(outer, err); err != nil {
				continue
			}
			outer = outer[:0]
			for _, err := range turn.Events() {
				if err != nil {
					inner = append(inner, err)
				}
			}
		}
		var api *anthropic.Error
		if len(inner) != 1 || len(outer) != 1 || !errors.Is(outer[0], inner[0]) || !errors.As(inner[0], &api) {
			t.Errorf("errors inside = %v, outside = %v, want the same one of the API", inner, outer)
		}
	}
	if _, err := runtest.Drain(r.Runner); err != nil {
		t.Errorf("the last loop = %v", err)
	}
	if len(r.Requests) != 4 || !bytes.Equal(r.Requests[1], r.Requests[2]) || !bytes.Equal(r.Requests[1], r.Requests[3]) || len(r.Inputs) != 1 {
		t.Errorf("%d requests, the tool ran %d times: want 4, the last three the same, and one run", len(r.Requests), len(r.Inputs))
	}
}
