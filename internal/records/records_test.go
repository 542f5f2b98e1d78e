package records_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/dispatch"
	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/machine"
	"github.com/toolrunner/toolrunner/internal/records"
	"github.com/toolrunner/toolrunner/internal/request"
)

// nowhere takes the bytes of records, which must be written to be measured.
type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }

// briefless keeps errors as they are.
func briefless(err error) error { return err }

// turnRecords returns what writes the records of a turn with one call.
func turnRecords(tb testing.TB) func(l records.Recorder) {
	tb.Helper()
	ctx := tb.Context()
	in := request.Input{
		Params:   anthropic.BetaMessageNewParams{Model: "m", MaxTokens: 1},
		Messages: []history.Message{history.TextMessage("hi")},
	}
	head, err := in.Head()
	if err != nil {
		tb.Fatal(err)
	}
	r, err := request.New(in, head)
	if err != nil {
		tb.Fatal(err)
	}
	reply := &history.Reply{Raw: []byte(`{"content":[]}`), StopReason: "tool_use", Usage: []byte(`{"input_tokens":5}`)}
	call := openCall(tb)
	done := dispatch.Completion{}
	fresh := []history.Message{{Role: history.RoleUser, Raw: []byte(`{"role":"user"}`)}}
	return func(l records.Recorder) {
		l.Hide(ctx, r)
		l.Request(ctx, 1, r, false, fresh)
		l.Reply(ctx, 1, reply, time.Second, nil)
		l.Started(ctx, call, false)
		l.Finished(ctx, call, false, nil, done)
	}
}

// openCall returns a call that waits.
func openCall(tb testing.TB) *machine.Call {
	tb.Helper()
	draft, _, err := history.ReadMessage([]byte(`{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"look","input":{}}]}`))
	if err != nil {
		tb.Fatal(err)
	}
	m, err := machine.New("conversation", &machine.Tools{}, []history.Draft{draft})
	if err != nil {
		tb.Fatal(err)
	}
	return m.Open()[0]
}

// S19: who asks for no records pays for none.
func TestRecordsThatNobodyWantsCostNothing(t *testing.T) {
	write := turnRecords(t)
	for name, h := range map[string]slog.Handler{
		"none":  slog.DiscardHandler,
		"error": slog.NewTextHandler(nowhere{}, &slog.HandlerOptions{Level: slog.LevelError + 1}),
	} {
		l := records.New(slog.New(h), briefless)
		if n := testing.AllocsPerRun(100, func() { write(l) }); n > 0 {
			t.Errorf("%s: the records of a turn cost %v allocations, want none", name, n)
		}
	}
}

func BenchmarkRecordsOfATurn(b *testing.B) {
	for name, h := range map[string]slog.Handler{
		"disabled": slog.DiscardHandler,
		"info":     slog.NewTextHandler(nowhere{}, nil),
		"debug":    slog.NewTextHandler(nowhere{}, &slog.HandlerOptions{Level: slog.LevelDebug}),
	} {
		b.Run(name, func(b *testing.B) {
			write, l := turnRecords(b), records.New(slog.New(h), briefless)
			b.ReportAllocs()
			for b.Loop() {
				write(l)
			}
		})
	}
}
