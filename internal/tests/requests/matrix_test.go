package requests_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
)

// scene is a cell of the matrix, as it plays.
type scene struct {
	t        *testing.T
	api      *api
	client   anthropic.Client
	runner   *toolrunner.Runner
	params   toolrunner.Params
	tools    []anthropic.BetaTool
	streamed bool
	said     []string // what must reach the model
	acted    bool
	moment   string
	act      func(*scene, *toolrunner.Turn)
	cancel   context.CancelFunc
	leave    bool
	problems []string
}

func (s *scene) problem(format string, args ...any) {
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
}

var moments = []string{"body", "body after Results", "handler", "after the end", "after MaxIterations", "after Abort", "after a break", "after a cancel", "approver", "after a failed request", "twice"}

// concurrent are the acts that use only what other goroutines may call: under EagerTools, a
// handler runs beside the loop.
var concurrent = []string{
	"nothing", "user", "user user", "system", "user system", "system user", "add tool", "add, user", "remove tool", "remove work",
	"effort", "assistant", "user assistant",
}

// acts are what the program does at the moment.
var acts = map[string]func(*scene, *toolrunner.Turn){
	"nothing":       func(*scene, *toolrunner.Turn) {},
	"user":          func(s *scene, _ *toolrunner.Turn) { s.append("u1") },
	"user user":     func(s *scene, _ *toolrunner.Turn) { s.append("u1"); s.append("u2") },
	"system":        func(s *scene, _ *toolrunner.Turn) { s.system("s1") },
	"user system":   func(s *scene, _ *toolrunner.Turn) { s.append("u1"); s.system("s1") },
	"system user":   func(s *scene, _ *toolrunner.Turn) { s.system("s1"); s.append("u1") },
	"add tool":      func(s *scene, _ *toolrunner.Turn) { s.addTool() },
	"add, user":     func(s *scene, _ *toolrunner.Turn) { s.addTool(); s.append("u1") },
	"remove tool":   func(s *scene, _ *toolrunner.Turn) { s.runner.RemoveToolsByNames("spare") },
	"remove work":   func(s *scene, _ *toolrunner.Turn) { s.runner.RemoveToolsByNames("work"); s.append("u1") },
	"compact":       func(s *scene, _ *toolrunner.Turn) { s.compact() },
	"compact, user": func(s *scene, _ *toolrunner.Turn) { s.compact(); s.append("u1") },
	"effort": func(s *scene, _ *toolrunner.Turn) {
		s.raw(`{"role":"system","content":[],"output_config":{"effort":"low"}}`)
	},
	"auto client": func(s *scene, _ *toolrunner.Turn) {
		s.runner.Params.AutoCompact = toolrunner.AutoCompact{Threshold: 1, Client: &toolrunner.ClientCompaction{Prompt: summarize}}
		s.append("u1")
	},
	"auto api": func(s *scene, _ *toolrunner.Turn) { s.runner.Params.AutoCompact = toolrunner.AutoCompact{Threshold: 1} },
	"retry": func(s *scene, turn *toolrunner.Turn) {
		if turn != nil {
			s.do("Retry", turn.Retry())
		}
	},
	"replace": func(s *scene, turn *toolrunner.Turn) {
		if turn != nil && s.do("Replace", turn.Replace(runtest.User("u1"))) {
			s.said = append(s.said, "u1")
		}
	},
	"replace reply": func(s *scene, turn *toolrunner.Turn) {
		if turn != nil && len(turn.Content) > 0 {
			_ = turn.Replace(turn.ToParam())
		}
	},
	"set": func(s *scene, _ *toolrunner.Turn) {
		s.do("SetMessages(Messages())", s.runner.SetMessages(s.runner.Messages()...))
	},
	"set, user": func(s *scene, _ *toolrunner.Turn) { s.set(); s.append("u1") },
	"set user": func(s *scene, _ *toolrunner.Turn) {
		_ = s.runner.SetMessages(append(s.runner.Messages(), runtest.User("u1"))...)
	},
	"user, set": func(s *scene, _ *toolrunner.Turn) { s.append("u1"); s.said = nil; s.set() },
	"resume":    func(s *scene, _ *toolrunner.Turn) { s.resume() },
	"user, resume": func(s *scene, _ *toolrunner.Turn) {
		s.append("u1")
		s.resume()
	},
	"add, resume":           func(s *scene, _ *toolrunner.Turn) { s.addTool(); s.resume() },
	"new":                   func(s *scene, _ *toolrunner.Turn) { s.renew() },
	"user, new":             func(s *scene, _ *toolrunner.Turn) { s.append("u1"); s.said = nil; s.renew() },
	"compact, user, resume": func(s *scene, _ *toolrunner.Turn) { s.compact(); s.append("u1"); s.resume() },
	"add, set":              func(s *scene, _ *toolrunner.Turn) { s.addTool(); s.set() },
	"add, retry": func(s *scene, turn *toolrunner.Turn) {
		s.addTool()
		if turn != nil {
			s.do("Retry", turn.Retry())
		}
	},
	"assistant": func(s *scene, _ *toolrunner.Turn) {
		_ = s.runner.AppendMessages(runtest.Verbatim(`{"role":"assistant","content":"prefill"}`))
	},
	"user assistant": func(s *scene, _ *toolrunner.Turn) {
		_ = s.runner.AppendMessages(runtest.User("u9"), runtest.Verbatim(`{"role":"assistant","content":"prefill"}`))
	},
}

func (s *scene) do(what string, err error) bool {
	if err != nil && !errors.Is(err, toolrunner.ErrTurnOver) {
		s.problem("%s: %v", what, err)
	}
	return err == nil
}

func (s *scene) append(text string) {
	if s.do("AppendMessages", s.runner.AppendMessages(runtest.User(text))) {
		s.said = append(s.said, text)
	}
}

func (s *scene) raw(m string) { _ = s.runner.AppendMessages(runtest.Verbatim(m)) }

func (s *scene) system(text string) {
	if s.runner.AppendMessages(runtest.Verbatim(fmt.Sprintf(`{"role":"system","content":%q}`, text))) == nil {
		s.said = append(s.said, text)
	}
}

func (s *scene) addTool() { s.do("AddTools", s.runner.AddTools(s.tool("late"))) }

func (s *scene) compact() {
	s.do("CompactBeforeNextTurn", s.runner.CompactBeforeNextTurn(anthropic.BetaCompactionConfigUnionParam{}))
}

func (s *scene) set() { s.do("SetMessages(Messages())", s.runner.SetMessages(s.runner.Messages()...)) }

// resume goes on with a runner of the snapshot, in another process.
func (s *scene) resume() {
	snapshot, err := s.runner.Snapshot()
	if !s.do("Snapshot", err) {
		return
	}
	params := s.params
	params.Messages = nil
	params.MaxIterations = 0
	r, err := toolrunner.Resume(&s.client.Beta.Messages, append(s.tools, s.tool("late")), params, snapshot)
	if s.do("Resume", err) {
		s.runner, s.leave = r, true
	}
}

// renew goes on with a conversation that begins with the messages of this one.
func (s *scene) renew() {
	params := s.params
	params.Messages = s.runner.Messages()
	params.MaxIterations = 0
	r, err := toolrunner.New(&s.client.Beta.Messages, s.tools, params)
	if s.do("New(Messages())", err) {
		s.runner, s.leave = r, true
	}
}

func (s *scene) tool(name string) anthropic.BetaTool {
	return runtest.Raw(name, func(ctx context.Context, _ *toolrunner.Call) (*toolrunner.Result, error) {
		if s.moment == "handler" {
			s.now(nil)
		}
		if s.moment == "after Abort" && !s.acted {
			return nil, toolrunner.Abort(errors.New("enough"))
		}
		return toolrunner.TextResult("ran"), nil
	})
}

// now does what the scene is about, once.
func (s *scene) now(turn *toolrunner.Turn) {
	if !s.acted {
		s.acted = true
		s.act(s, turn)
	}
}

func (s *scene) loop(body func(*toolrunner.Turn)) error {
	s.leave = false
	all := s.runner.All
	if s.streamed {
		all = s.runner.AllStreaming
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	s.cancel = cancel
	turns := 0
	for turn, err := range all(ctx) {
		if err != nil {
			return err
		}
		if turns++; turns > 30 {
			s.problem("the loop does not end")
			return nil
		}
		if body != nil {
			turn.Text()
			if body(turn); s.leave {
				return nil
			}
		}
	}
	return nil
}

// play plays a scene, and returns what went wrong.
func play(t *testing.T, reply []string, moment, act string, mode string) []string {
	t.Helper()
	if mode == "eager" && moment == "handler" && !slices.Contains(concurrent, act) {
		mode = "streamed"
	}
	s := &scene{t: t, api: &api{script: reply}, streamed: mode != "plain", moment: moment, act: acts[act]}
	s.client = s.api.client()
	s.params = runtest.Asking("u0")
	s.params.EagerTools = mode == "eager"
	s.tools = []anthropic.BetaTool{s.tool("work"), s.tool("spare")}
	if moment == "handler" || moment == "after Abort" {
		s.params.MaxConcurrency = 1
	}
	if s.params.EagerTools {
		for _, tool := range s.tools {
			tool.(*toolrunner.Tool).ReadOnly = true
		}
	}
	if moment == "after MaxIterations" {
		s.params.MaxIterations = 1
	}
	if moment == "approver" {
		s.params.Approve = func(context.Context, *toolrunner.Call) (toolrunner.Decision, error) {
			if s.acted {
				return toolrunner.Allow(), nil
			}
			return toolrunner.Suspend(), nil
		}
	}
	if moment == "after a failed request" {
		s.api.fail = map[int]int{1: 500}
	}
	r, err := toolrunner.New(&s.client.Beta.Messages, s.tools, s.params)
	if err != nil {
		t.Fatal(err)
	}
	s.runner = r
	err = s.loop(func(turn *toolrunner.Turn) {
		switch moment {
		case "body":
			s.now(turn)
		case "body after Results":
			_, _ = turn.Results(t.Context())
			s.now(turn)
		case "after a break":
			s.leave = true
		case "after a cancel":
			s.cancel()
		case "twice":
			if s.acted = true; turn.Iteration() <= 2 {
				s.act(s, turn)
			}
		}
	})
	r = s.runner
	r.Params.MaxIterations = 0
	_ = err
	s.now(nil)
	for _, call := range s.runner.Pending() {
		_ = s.runner.Decide(call.ID, toolrunner.Allow())
	}
	if err := s.loop(func(*toolrunner.Turn) {}); err != nil {
		for _, call := range s.runner.Pending() {
			_ = s.runner.Decide(call.ID, toolrunner.Allow())
		}
		err = s.loop(func(*toolrunner.Turn) {})
		if err != nil {
			s.problem("going on: %v", err)
		}
	}
	s.append("last")
	if err := s.loop(func(*toolrunner.Turn) {}); err != nil {
		if err = s.loop(func(*toolrunner.Turn) {}); err != nil {
			s.problem("the last loop: %v", err)
		}
	}
	if out := s.runner.Outcome(); out != toolrunner.OutcomeCompleted && len(s.api.script) == 0 && len(reply) == 1 {
		s.problem("the run is %v", out)
	}
	if len(s.api.requests) > 40 {
		s.problem("%d requests", len(s.api.requests))
	}
	all := strings.Builder{}
	for _, body := range s.api.requests {
		all.Write(body)
	}
	for _, text := range s.said {
		if !strings.Contains(all.String(), `"`+text+`"`) {
			s.problem("%s never reached the model", text)
		}
	}
	return append(s.api.faults, s.problems...)
}

// R, W: whatever a reply holds and however it stops, and whatever the program does about
// it: each request is one that the API takes, what was said reaches the model, and the run
// comes to its end. .ci/search tries other cells of the matrix.
func TestRandomRepliesMakeRequestsThatTheAPITakes(t *testing.T) {
	for _, seed := range runtest.Seeds(t, 2500) {
		rng := rand.New(rand.NewPCG(seed, 13))
		tool := pick(rng, serverTools)
		shape, stop := pickKey(rng, shapes(tool)), pick(rng, stops)
		then, moment, act := pickKey(rng, seconds(tool)), pick(rng, moments), pickKey(rng, acts)
		mode := pick(rng, []string{"plain", "streamed", "eager"})
		script := []string{message(stop, shapes(tool)[shape]...)}
		if second := seconds(tool)[then]; second != "" {
			script = append(script, second)
		}
		if problems := play(t, script, moment, act, mode); len(problems) > 0 {
			t.Errorf("seed %d: %s, %q stopped for %q, then %q; %s: %s; %s\n\t%s", seed, tool, shape, stop, then, moment, act, mode, strings.Join(problems, "\n\t"))
		}
	}
}

func pick[T any](rng *rand.Rand, list []T) T { return list[rng.IntN(len(list))] }

func pickKey[V any](rng *rand.Rand, m map[string]V) string {
	return pick(rng, slices.Sorted(maps.Keys(m)))
}
