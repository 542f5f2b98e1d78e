package toolrunner

import (
	"fmt"
	"reflect"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/machine"
	"github.com/toolrunner/toolrunner/internal/request"
)

// Messages returns the history as a deep copy, which the caller may modify and retain.
// It holds the last reply once that is complete. It does not hold follow-ups that wait
// for the results of an open turn. If some calls of the last turn have a result, or will
// not run, it holds a result for each call of that turn, so that a conversation that is
// continued from it runs none of them again. It shows results as the handlers returned
// them: what a loop body makes of them ([Turn.Results]) counts when the body returns.
// Any goroutine may call it.
//
// To save a run with what is open in it, take a [Runner.Snapshot]. To save a history
// alone, encode the messages as JSON. To load it, wrap each one's JSON in
// param.Override, which keeps it as it is: decoding it into the SDK's types would round
// the numbers of inputs above 2^53.
func (r *Runner) Messages() []anthropic.BetaMessageParam {
	r.mu.Lock()
	messages := r.machine.View()
	r.mu.Unlock()
	return history.Params(messages)
}

// AppendMessages adds messages to the end of the conversation. It never takes over: the
// reply and the results of an open turn go first. System messages go behind those of the
// user, as the API asks. Messages that are added after the run has ended begin the next
// run. Any goroutine may call it.
//
// A tool_result for a call of the open turn that has not started answers the call: its
// tool does not run.
//
// AppendMessages returns a *[HistoryError] for messages that the API would refuse. None of
// the messages has then been added. The messages are copied.
func (r *Runner) AppendMessages(messages ...anthropic.BetaMessageParam) error {
	drafts, err := history.EncodeAll(messages, nil, r.unsigned)
	if err != nil {
		return publicError(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := history.CheckReferences(drafts, r.defines); err != nil {
		return publicError(err)
	}
	return publicError(r.machine.Follow(drafts))
}

// defines reports whether requests define a tool of a name, which results may then refer
// to. The lock is held.
func (r *Runner) defines(name string) bool {
	return r.machine.Defines(name) || request.Names(r.given, name)
}

// resolved returns an encoded result, or one that says that it refers to a tool that is
// not there. The lock is held.
func (r *Runner) resolved(call *machine.Call, block []byte) []byte {
	if err := history.CheckResultReferences(block, r.defines); err != nil {
		block, _ = failedResult(nil, err).encode(call.Use())
	}
	return block
}

// SetMessages takes over: messages become the history, exactly, and the next
// request sends them. In a loop body it discards the turn, whose tools do not run,
// and follow-ups that wait. The turn counts for Params.MaxIterations. If messages
// end in calls, the runner answers those first; a call that has run keeps its
// result. Messages that came from Messages and were not changed go out with the
// bytes that they had. If the history had added or removed tools and messages leave
// that out, the model is told again.
//
// SetMessages returns a *[HistoryError] for messages that the API would refuse, and an
// error if there are none or while the history is being compacted. Nothing has then
// changed.
func (r *Runner) SetMessages(messages ...anthropic.BetaMessageParam) (err error) {
	defer r.traceTakeover(&err)
	turn := r.turn
	lost := turn != nil && turn.isLost()
	drafts, err := history.EncodeAll(messages, r.known(turn), r.unsigned)
	if err != nil {
		return publicError(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := history.CheckReferences(drafts, r.defines); err != nil {
		return publicError(err)
	}
	if err := r.machine.SetMessages(drafts, lost); err != nil {
		return publicError(err)
	}
	r.logged = 0
	if turn != nil {
		turn.drop()
	}
	return nil
}

// known returns the bytes of the present messages, by the form in which [Runner.Messages]
// has given them to the caller. What the loop body has made of results counts.
func (r *Runner) known(turn *Turn) map[string][]byte {
	view := func() []history.Message {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.machine.View()
	}
	before := view()
	if turn == nil || len(turn.exposed) == 0 {
		return history.Known(before, nil)
	}
	r.amend(turn)
	return history.Known(before, view())
}

// CompactBeforeNextTurn has the API compact the history before the next turn: once
// the open turn has its results, in a request of its own, before which a paused
// turn is resumed. The loop body receives its reply like any other; the reply does
// not count for Params.MaxIterations, and takes the place of the history unless it
// has no summary. Before the first request it is the first one; after the last
// turn, the run ends with it; a run that has reached Params.MaxIterations drops it.
// If the request fails, it is not tried again.
//
// The zero config asks for a summary. The last call before the request counts;
// one while the reply is being handled does nothing. Handlers may call it, and
// other goroutines as long as nobody changes Params, which it reads. The API asks
// for the beta
// [anthropic.AnthropicBetaCompact2026_09_04]. It returns an error if
// Params.ContextManagement has an edit that compacts, beside which the API does
// not compact on demand.
func (r *Runner) CompactBeforeNextTurn(config anthropic.BetaCompactionConfigUnionParam) error {
	if err := request.CheckCompactable(&r.Params.BetaMessageNewParams); err != nil {
		return fmt.Errorf("toolrunner: %w", err)
	}
	encoded, err := request.EncodeConfig(config)
	if err != nil {
		return prefixed(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.machine.Schedule(encoded)
	return nil
}

// LastMessage returns the last reply, or nil if there is none: one that was taken
// over counts, one to a compaction only if it has a summary. It is the message that
// its turn embeds.
func (r *Runner) LastMessage() *anthropic.BetaMessage {
	if r.last == nil {
		return nil
	}
	return r.last.get()
}

// IterationCount returns how many replies the run has had, as Params.MaxIterations
// counts them. A run that begins after another has ended for good counts from one.
func (r *Runner) IterationCount() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.machine.Iteration()
}

// Outcome returns how the run stands or has ended. While a loop body has control
// it is [OutcomeRunning], or, if the reply completes the run, was cut off or is a
// refusal, how the run will end if the body adds nothing.
func (r *Runner) Outcome() Outcome { return r.standing(r.outcome) }

// standing returns the outcome of a run that is over but for its formal end, and
// otherwise the one given.
func (r *Runner) standing(o Outcome) Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o == OutcomeRunning || o == OutcomeStopped {
		return Outcome(r.machine.Standing(history.Outcome(o)))
	}
	return o
}

// Usage returns what the replies of the runner have cost so far.
func (r *Runner) Usage() Usage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Usage(r.machine.Usage())
}

// AddTools gives the model more tools. Each runs at once, in place of an earlier
// tool of its name, even for a call of the turn that is open. The model is told
// with the next request, by a message: Params.Tools and what was sent as tools stay
// as they are, and with them the cached prefix of the prompt. A request that
// continues a paused turn cannot hold that message; the one after it does. The API
// asks for the beta [anthropic.AnthropicBetaInlineTools2026_09_15].
//
// It returns an error for a tool that is nil or has no legal name; none of the
// tools is then added.
func (r *Runner) AddTools(tools ...anthropic.BetaTool) error {
	added, err := registerAll(tools)
	if err != nil {
		return prefixed(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.machine.AddTools(added)
	return nil
}

// AddToolParams is AddTools for definitions without a handler, such as those of
// server tools. They are sent as given. A tool of the runner that has the name of
// one stops running.
func (r *Runner) AddToolParams(tools ...anthropic.BetaToolUnionParam) error {
	definitions := make([][]byte, len(tools))
	for i, tool := range tools {
		var err error
		if definitions[i], err = request.EncodeTool(tool); err != nil {
			return fmt.Errorf("toolrunner: tools[%d]: %w", i, err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.machine.AddDefinitions(definitions)
	return nil
}

// RemoveTools takes tools away from the model, by their names; a nil one has none. They stop running
// at once, even for a call of the turn that is open, until they are added again.
// The model is told with the next request.
func (r *Runner) RemoveTools(tools ...anthropic.BetaTool) {
	names := make([]string, 0, len(tools))
	for _, tool := range tools {
		if !isNil(tool) {
			names = append(names, tool.Name())
		}
	}
	r.RemoveToolsByNames(names...)
}

// RemoveToolsByNames is RemoveTools for a caller that has names.
func (r *Runner) RemoveToolsByNames(names ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.machine.RemoveTools(names)
}

// SetToolsOf makes tools the only ones that owner has in the runner. Tools that owner does
// not have yet are added, as by [Runner.AddTools], those that have changed are replaced,
// and its other ones are removed. A tool that is in place already, or a copy of it, stays.
// A tool of owner that the program has removed stays removed. The model is told of what
// differs, with the next request.
//
// The [Tool].Owner of each tool is owner, which must not be nil; tools that were passed to
// [New] or [Resume] with that Owner count as its own. So a program, and several providers
// of tools, can share a runner without taking names from each other: a name that anybody
// else has, or had before, is taken. SetToolsOf then changes nothing and returns the taken
// names. It is one step: no other change of the tools comes in between. An owner whose type cannot be compared,
// tools of another owner, two of one name, and what AddTools refuses, are an error.
func (r *Runner) SetToolsOf(owner any, tools ...*Tool) (taken []string, err error) {
	if owner == nil || !reflect.ValueOf(owner).Comparable() {
		return nil, fmt.Errorf("toolrunner: the owner of tools is a %T; use a pointer", owner)
	}
	all := make([]anthropic.BetaTool, len(tools))
	names := make(map[string]bool, len(tools))
	for i, tool := range tools {
		all[i] = tool
		switch {
		case tool == nil: // registerAll says so
		case tool.Owner != owner:
			return nil, fmt.Errorf("toolrunner: tools[%d]: the Owner of tool %q is not the owner that is given", i, tool.Name())
		case names[tool.Name()]:
			return nil, fmt.Errorf("toolrunner: tools[%d]: the name %q is taken by an earlier tool; names must be unique", i, tool.Name())
		default:
			names[tool.Name()] = true
		}
	}
	provided, err := registerAll(all)
	if err != nil {
		return nil, prefixed(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.machine.Provide(owner, provided), nil
}
