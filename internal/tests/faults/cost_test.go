package faults_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// costs are what is to be linear in a number of events: bytes, allocated or saved.
var costs = map[string]struct {
	n    int
	cost func(tb testing.TB, n int) uint64
}{
	"messages that are appended to an open turn": {1000, costOfFollowUps},
	"deltas of a turn with many calls":           {250, costOfDeltas},
	"another input of many keys":                 {5000, costOfKeys},
	"content that is nested":                     {2000, costOfNesting},
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// plainStart is start for benchmarks as well.
func plainStart(tb testing.TB, params toolrunner.Params, tool *toolrunner.Tool, replies ...toolrunnertest.Reply) *toolrunner.Runner {
	tb.Helper()
	client := toolrunnertest.NewServer(tb, replies...).Client()
	params.Model, params.MaxTokens = "m", 100
	params.Messages = []anthropic.BetaMessageParam{runtest.User("hi")}
	r, err := toolrunner.New(&client.Beta.Messages, runtest.Tools(tool), params)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func breakOff(tb testing.TB, r *toolrunner.Runner) {
	tb.Helper()
	for _, err := range r.All(tb.Context()) {
		if err != nil {
			tb.Fatal(err)
		}
		return
	}
}

func costOfFollowUps(tb testing.TB, n int) uint64 {
	r := plainStart(tb, toolrunner.Params{}, runtest.Says("work", "x"), callOf("a"))
	breakOff(tb, r)
	return allocated(func() {
		for i := range n {
			if err := r.AppendMessages(runtest.User(fmt.Sprintf("message %d", i))); err != nil {
				tb.Fatal(err)
			}
		}
	})
}

// costOfDeltas returns how many bytes the checkpoint of a turn with n calls gets.
func costOfDeltas(tb testing.TB, n int) uint64 {
	saved := 0
	params := toolrunner.Params{Checkpoint: func(_ context.Context, d toolrunner.Delta) error { saved += len(d.Data); return nil }}
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("toolu_%d", i)
	}
	r := plainStart(tb, params, runtest.Says("work", "x"), callOf(ids...), toolrunnertest.Text("done"))
	if _, err := r.RunToCompletion(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return uint64(saved)
}

func manyKeys(n int, last string) json.RawMessage {
	var b strings.Builder
	b.WriteString(`{`)
	for i := range n {
		fmt.Fprintf(&b, `"key %d":%d,`, i, i)
	}
	return json.RawMessage(b.String() + last + `}`)
}

// suspendedCall is a run that waits for a decision on a call whose tool takes keys of
// any name, and n, which is an integer.
func suspendedCall(tb testing.TB) *toolrunner.Runner {
	type input struct {
		N    int            `json:"n"`
		More map[string]int `json:"more,omitempty"`
	}
	tool := toolrunner.NewTool("work", "", func(_ context.Context, in input) (int, error) { return in.N, nil })
	r := plainStart(tb, toolrunner.Params{}, tool, runtest.Blocks(`a work {"n":1}`))
	breakOff(tb, r)
	return r
}

func costOfKeys(tb testing.TB, n int) uint64 {
	r := suspendedCall(tb)
	input := json.RawMessage(`{"n":2,"more":` + string(manyKeys(n, `"last":1`)) + `}`)
	return allocated(func() {
		if err := r.Decide("a", toolrunner.AllowInput(input)); err != nil {
			tb.Fatal(err)
		}
	})
}

func costOfNesting(tb testing.TB, n int) uint64 {
	r := plainStart(tb, toolrunner.Params{}, runtest.Says("work", "x"))
	block := `{"type":"text","text":"x","citations":` + strings.Repeat(`[{"content":`, n) + `1` + strings.Repeat(`}]`, n) + `}`
	message := runtest.Verbatim(`{"role":"user","content":[` + block + `]}`)
	return allocated(func() {
		if err := r.AppendMessages(message); err != nil {
			tb.Fatal(err)
		}
	})
}

// F20: twice the events cost about twice as much.
func TestCostIsLinearInEvents(t *testing.T) {
	for name, c := range costs {
		t.Run(name, func(t *testing.T) {
			c.cost(t, c.n) // what is made once
			once, twice := c.cost(t, c.n), c.cost(t, 2*c.n)
			if ratio := float64(twice) / float64(once); ratio > 2.5 {
				t.Errorf("%d events cost %d bytes, and twice as many %d: %.1f times as much", c.n, once, twice, ratio)
			}
		})
	}
}

// F20: how long it takes, for benchstat.
func BenchmarkEvents(b *testing.B) {
	for name, c := range costs {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.cost(b, c.n)
			}
		})
	}
}

// F20: a large input is checked while others go on: the lock is not held. Of the rounds
// that race, a lock that is held lets nobody through in any.
func TestLargeInputIsCheckedWithoutTheLock(t *testing.T) {
	r := suspendedCall(t)
	input := json.RawMessage(`{"n":"no integer","more":` + string(manyKeys(40_000, `"last":1`)) + `}`)
	through := 0
	for range 10 {
		var deciding, done atomic.Bool
		go func() {
			defer done.Store(true)
			deciding.Store(true)
			if err := r.Decide("a", toolrunner.AllowInput(input)); err == nil {
				t.Error("Decide() error = nil, want one: the input does not fit")
			}
		}()
		calls := 0
		for !done.Load() {
			if deciding.Load() {
				_ = r.Pending()
				calls++
			}
			runtime.Gosched()
		}
		if calls > 20 {
			through++
		}
	}
	if through < 5 {
		t.Errorf("others got through in %d of 10 rounds, want in most", through)
	}
}
