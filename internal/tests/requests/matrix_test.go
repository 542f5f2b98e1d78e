package requests_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
)

var (
	whole = flag.Bool("requests.all", false, "try each cell of the matrix, not one of many")
	cells = flag.Int("requests.cells", 40, "try one cell of so many")
)

// serverTools are the tools that the API runs, by the type of their use.
var serverTools = []string{"web_search", "web_fetch", "code_execution", "bash_code_execution", "text_editor_code_execution", "mcp", "tool_search_tool_regex"}

func useOf(tool, id string) string {
	if tool == "mcp" {
		return fmt.Sprintf(`{"type":"mcp_tool_use","id":%q,"name":"x","server_name":"s","input":{}}`, id)
	}
	return fmt.Sprintf(`{"type":"server_tool_use","id":%q,"name":%q,"input":{}}`, id, tool)
}

func foundBy(tool, id string) string {
	kind := "server_tool_use"
	if tool == "mcp" {
		kind = "mcp_tool_use"
	}
	return resultOf(object{"type": kind, "id": id, "name": tool})
}

func callBlock(id string) string {
	return fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"work","input":{}}`, id)
}

func codeCall(id, by string) string {
	return fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"work","input":{},"caller":{"type":"code_execution_20250825","tool_id":%q}}`, id, by)
}

const (
	thought    = `{"type":"thinking","thinking":"hm","signature":"c2ln"}`
	unsigned   = `{"type":"thinking","thinking":"hm","signature":""}`
	redacted   = `{"type":"redacted_thinking","data":"ZA=="}`
	fellBack   = `{"type":"fallback","from":{"model":"a"},"to":{"model":"b"}}`
	emptyText  = `{"type":"text","text":""}`
	blankText  = `{"type":"text","text":"\n\n"}`
	brokenText = `{"type":"text","text":"a \ud83d b"}`
)

// shapes are the contents of a reply, in which S is a server tool's use and s its result.
func shapes(tool string) map[string][]string {
	use, found := useOf(tool, "srvtoolu_1"), foundBy(tool, "srvtoolu_1")
	other, call := useOf(tool, "srvtoolu_2"), callBlock("a")
	return map[string][]string{
		"S":                    {use},
		"S call":               {use, call},
		"call S":               {call, use},
		"text S call call":     {say("so"), use, call, callBlock("b")},
		"S s call":             {use, found, call},
		"S s S call":           {use, found, other, call},
		"S s text":             {use, found, say("so")},
		"S s":                  {use, found},
		"S S call":             {use, other, call},
		"S S s":                {use, other, foundBy(tool, "srvtoolu_2")},
		"S code call":          {use, codeCall("a", "srvtoolu_1")},
		"S code call call":     {use, codeCall("a", "srvtoolu_1"), callBlock("b")},
		"S code call S":        {use, codeCall("a", "srvtoolu_1"), other},
		"thinking S":           {thought, use},
		"thinking S call":      {thought, use, call},
		"thinking call":        {thought, call},
		"thinking":             {thought},
		"unsigned":             {unsigned},
		"unsigned call":        {unsigned, call},
		"call thinking":        {call, thought},
		"text thinking":        {say("so"), thought},
		"S thinking":           {use, thought},
		"redacted":             {redacted},
		"call":                 {call},
		"call call":            {call, callBlock("b")},
		"empty call":           {emptyText, call},
		"blank":                {blankText},
		"blank call":           {blankText, call},
		"text":                 {say("so")},
		"text trailing":        {say("so \n")},
		"nothing":              {},
		"S fallback text":      {use, fellBack, say("so")},
		"call fallback call":   {call, fellBack, callBlock("b")},
		"S call fallback S":    {use, call, fellBack, other},
		"broken":               {brokenText, call},
		"S text":               {use, say("so")},
		"S text trailing":      {use, say("so ")},
		"S s thinking S":       {use, found, thought, other},
		"call twice":           {call, call},
		"S call, another name": {use, fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"nobody","input":{}}`, "a")},
		"S twice":              {use, use, call},
		"S illegal":            {useOf(tool, "srv:1"), call},
		"S illegal s":          {useOf(tool, "srv:1"), foundBy(tool, "srv:1"), call},
		"S ids meet":           {useOf(tool, "a"), call},
		"S of no object":       {strings.Replace(use, `"input":{}`, `"input":"x"`, 1), call},
		"S without input":      {strings.Replace(use, `,"input":{}`, ``, 1), found, call},
		"s S":                  {found, use, call},
		"S s s":                {use, found, found, call},
		"result":               {say("so"), `{"type":"tool_result","tool_use_id":"a","content":"x"}`},
		"image":                {say("so"), `{"type":"image","source":{"type":"url","url":"u"}}`},
		"hollow redacted":      {`{"type":"redacted_thinking","data":""}`, call},
		"hollow text":          {`{"type":"text","text":null}`, call},
		"hollow thinking":      {`{"type":"thinking","thinking":null,"signature":"c2ln"}`, call},
		"nothing but hollow":   {`{"type":"redacted_thinking","data":""}`},
		"novelty":              {`{"type":"novelty","n":1}`, call},
		"novelty alone":        {`{"type":"novelty","tool_use_id":"srvtoolu_0"}`},
		"cited":                {`{"type":"text","text":"so","citations":[{"type":"char_location","cited_text":"x","document_index":0,"document_title":null,"start_char_index":0,"end_char_index":1}]}`, call},
		"compacted":            {`{"type":"compaction","content":"so far"}`, say("so"), call},
		"compacted S":          {`{"type":"compaction","content":"so far"}`, use, call},
		"id of its server":     {use, callBlock("srvtoolu_1")},
		"no input":             {`{"type":"tool_use","id":"a","name":"work"}`, use},
		"input of blanks":      {`{"type":"tool_use","id":"a","name":"work","input":"  "}`},
		"input of a list":      {`{"type":"tool_use","id":"a","name":"work","input":[]}`, use},
		"no name":              {`{"type":"tool_use","id":"a","name":"","input":{}}`, use},
		"illegal name":         {`{"type":"tool_use","id":"a","name":"a.b","input":{}}`, use},
		"redacted thinking":    {redacted, thought},
		"thinking blank":       {thought, blankText},
		"call blank":           {call, blankText},
		"S blank":              {use, blankText},
		"no id":                {say("so"), `{"type":"tool_use","id":"x:1","name":"work","input":{}}`},
	}
}

var stops = []string{"tool_use", "pause_turn", "end_turn", "max_tokens", "refusal", "stop_sequence", "model_context_window_exceeded", "compaction", "novel", ""}

// seconds are replies that come after the first, which may go on with its work.
func seconds(tool string) map[string]string {
	found := foundBy(tool, "srvtoolu_1")
	return map[string]string{
		"":              "",
		"call":          message("tool_use", callBlock("a")),
		"s call":        message("tool_use", found, callBlock("a")),
		"s S call":      message("tool_use", found, useOf(tool, "srvtoolu_2"), callBlock("a")),
		"call before s": message("tool_use", callBlock("c")),
		"pause":         message("pause_turn", say("wait")),
		"s pause":       message("pause_turn", found, useOf(tool, "srvtoolu_2")),
		"S same":        message("tool_use", found, useOf(tool, "srvtoolu_1"), callBlock("b")),
		"text":          message("end_turn", say("so")),
		"cut":           message("max_tokens", found, callBlock("d")),
		"empty":         message("end_turn"),
		"thinking":      message("end_turn", thought),
		"refusal":       message("refusal"),
		"code":          message("tool_use", found, useOf("code_execution", "srvtoolu_3"), codeCall("e", "srvtoolu_3")),
	}
}

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
	ctx      context.Context
	cancel   context.CancelFunc
	leave    bool
	problems []string
}

func (s *scene) problem(format string, args ...any) {
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
}

var moments = []string{"body", "body after Results", "handler", "after the end", "after MaxIterations", "after Abort", "after a break", "after a cancel", "approver", "after a failed request", "twice"}

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
func play(t *testing.T, reply []string, moment, act string, streaming, eager bool, config func(*toolrunner.Params)) []string {
	t.Helper()
	s := &scene{t: t, api: &api{script: reply}, streamed: streaming, moment: moment, act: acts[act]}
	s.client = s.api.client()
	s.params = runtest.Asking("u0")
	s.params.EagerTools = eager
	s.tools = []anthropic.BetaTool{s.tool("work"), s.tool("spare")}
	if moment == "handler" || moment == "after Abort" {
		s.params.MaxConcurrency = 1
	}
	if eager {
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
	if config != nil {
		config(&s.params)
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

func TestMatrix(t *testing.T) {
	failures := map[string]int{}
	n, bad := 0, 0
	for _, tool := range serverTools {
		for shape, blocks := range shapes(tool) {
			for _, stop := range stops {
				for _, moment := range moments {
					for act := range acts {
						for then, second := range seconds(tool) {
							for _, mode := range []string{"plain", "streamed", "eager"} {
								name := strings.Join([]string{tool, shape, stop, moment, act, then, mode}, "/")
								h := fnv.New32a()
								h.Write([]byte(name))
								if !*whole && h.Sum32()%uint32(*cells) != 0 {
									continue
								}
								n++
								script := []string{message(stop, blocks...)}
								if second != "" {
									script = append(script, second)
								}
								problems := play(t, script, moment, act, mode != "plain", mode == "eager", nil)
								if len(problems) > 0 {
									bad++
									key := strings.Join([]string{shape, stop, problems[0][:min(70, len(problems[0]))]}, " | ")
									if failures[key]++; failures[key] == 1 && len(failures) < 25 {
										t.Errorf("%s: %s", name, strings.Join(problems, "\n\t"))
									}
								}
							}
						}
					}
				}
			}
		}
	}
	t.Logf("%d cells, %d bad", n, bad)
	for k, c := range failures {
		t.Logf("%d x %s", c, k)
	}
}
