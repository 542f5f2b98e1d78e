package survive_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

var errDead = errors.New("the process is dead")

// process is a process that dies at a moment, after which nothing that it does has an
// effect any more. What it has kept stays.
type process struct {
	mu     sync.Mutex
	moment int // of its death; 0: never
	lived  int
	kept   []byte
}

// live goes on to the next moment.
func (m *process) live() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lived++; m.moment > 0 && m.lived >= m.moment {
		return errDead
	}
	return nil
}

func (m *process) keep(_ context.Context, delta toolrunner.Delta) error {
	if err := m.live(); err != nil {
		return err
	}
	m.kept = append(m.kept, delta.Data...)
	return m.live()
}

func (m *process) around(effect func() error) error {
	if err := m.live(); err != nil {
		return err
	}
	return errors.Join(effect(), m.live())
}

// runThroughDeaths plays a run, in one process after the other, that die at these moments, and
// returns the last one, which does not.
func runThroughDeaths(t *testing.T, plan runtest.TaskModel, l runtest.EffectLog, params toolrunner.Params, moments ...int) (last *toolrunner.Runner, lived int) {
	t.Helper()
	var m *process
	srv := toolrunnertest.NewServer(t, runtest.Repeated(toolrunnertest.Func(func(q *toolrunnertest.Request) toolrunnertest.Reply {
		if m.live() != nil {
			return toolrunnertest.Status(500, "api_error", "nobody is there")
		}
		return plan.Reply(q)
	}), (len(moments)+1)*(plan.Turns+2))...)
	srv.Ignore("reply-unused") // how often the dead asked differs
	client := srv.Client()
	var kept []byte
	for _, moment := range append(moments, 0) {
		m = &process{moment: moment, kept: kept}
		params.Checkpoint = m.keep
		r, err := runtest.StartOrResume(&client, l.Tools(m.around), params, kept)
		if err != nil {
			t.Fatalf("begin after death at %v: %v", moments, err)
		}
		_, err = r.RunToCompletion(t.Context())
		if err != nil && (moment == 0 || m.lived < moment) {
			t.Fatalf("after death at %v: RunToCompletion() error = %v", moments, err)
		}
		if err == nil {
			return r, m.lived
		}
		kept = m.kept
	}
	return nil, 0
}

// B049, B124, E224: wherever a process dies, the next one brings the run to its end,
// and the history is that of a run that was not interrupted if its calls can be
// repeated.
func TestRunSurvivesDeathAtAnyMoment(t *testing.T) {
	for name, params := range map[string]toolrunner.Params{
		"one by one": {MaxConcurrency: 1},
		"at once":    {},
		"sealed":     {MaxConcurrency: 1, SnapshotKey: []byte("0123456789abcdef")},
	} {
		t.Run(name, func(t *testing.T) {
			plan := runtest.TaskModel{Turns: 2, Tools: []string{"book", "look"}}
			r, moments := runThroughDeaths(t, plan, runtest.EffectLog(t.TempDir()), params)
			want, usage := string(runtest.HistoryOf(t, r).Body), r.Usage()
			for moment := 1; moment <= moments; moment++ {
				l := runtest.EffectLog(t.TempDir())
				r, _ := runThroughDeaths(t, plan, l, params, moment)
				if diff := cmp.Diff(want, string(runtest.HistoryOf(t, r).Body)); diff != "" {
					t.Fatalf("death at %d: history (-want +got):\n%s", moment, diff)
				}
				if got := r.Usage(); got != usage {
					t.Errorf("death at %d: Usage() = %+v, want %+v", moment, got, usage)
				}
				if r.Outcome() != toolrunner.OutcomeCompleted || r.IterationCount() != plan.Turns+1 {
					t.Errorf("death at %d: Outcome() = %v, IterationCount() = %d", moment, r.Outcome(), r.IterationCount())
				}
				wantOnce(t, plan, l, runtest.HistoryOf(t, r), 0)
			}
		})
	}
}

// A call that must not run twice does not: if its result was lost, the model reads
// that its outcome is unknown.
func TestLostCallsAreOfUnknownOutcome(t *testing.T) {
	plan := runtest.TaskModel{Turns: 2, Tools: []string{"pay", "book", "look"}}
	for name, concurrency := range map[string]int{"one by one": 1, "at once": 8} {
		t.Run(name, func(t *testing.T) {
			params := toolrunner.Params{MaxConcurrency: concurrency}
			_, moments := runThroughDeaths(t, plan, runtest.EffectLog(t.TempDir()), params)
			for first := 1; first <= moments; first++ {
				for _, second := range []int{0, 1, 4} {
					deaths := []int{first, second}
					if second == 0 {
						deaths = deaths[:1]
					}
					l := runtest.EffectLog(t.TempDir())
					r, _ := runThroughDeaths(t, plan, l, params, deaths...)
					wantOnce(t, plan, l, runtest.HistoryOf(t, r), len(deaths))
				}
			}
		})
	}
}

// wantOnce checks that each effect was had once, but for calls whose outcome is
// unknown, of which there may be so many.
func wantOnce(t *testing.T, plan runtest.TaskModel, l runtest.EffectLog, messages *toolrunnertest.Request, unknown int) {
	t.Helper()
	effects := l.Effects(t)
	for turn := range plan.Turns {
		for _, tool := range plan.Tools {
			id := plan.Id(turn, tool)
			text, n := messages.ToolResultText(id), effects[id]
			switch {
			case tool == "look" && n == 0 || n == 1:
				if text == tool+" is done for "+id {
					continue
				}
				fallthrough
			case n == 0:
				if unknown--; unknown >= 0 && tool == "pay" && strings.Contains(text, "Whether it took effect is unknown") {
					continue
				}
			}
			t.Errorf("the call %s had %d effects, and the model reads %q", id, n, text)
		}
	}
}
