package toolrunner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/toolrunnertest"

	"github.com/toolrunner/toolrunner/internal/history"
)

// FuzzLoop is in the package, as the loop is: it has no exported form, and a
// driver of it needs all of it.
func FuzzLoop(f *testing.F) {
	f.Add([]byte{})
	for seed := range 60 {
		source := rand.NewChaCha8([32]byte{byte(seed)})
		input := make([]byte, 10+seed)
		_, _ = source.Read(input)
		f.Add(input)
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) > 150 {
			return // what must hold is checked so often that more takes long
		}
		d := newDrive(input)
		if err := d.run(); err != nil {
			t.Fatalf("%v\nafter:\n%s", err, strings.Join(d.log, "\n"))
		}
	})
}

// drive takes a loop through the events of a script and checks after each what
// must hold then.
type drive struct {
	script *script
	loop   *loop
	limit  int

	log     []string
	kept    [][]byte             // the history as it was, message by message
	sent    [][]byte             // the last request's messages
	calls   map[string]*openCall // all that were handed out, by id
	settled map[string]string    // by id: why a call must not be handed out again
	waiting map[*openCall]bool   // that were suspended

	saved    *saved // where the reader of the deltas is
	deltas   []byte // all of them
	sequence int64  // when the state was last looked at
	whole    []byte // what it was then
	forked   bool   // another drive has gone on with the state as it was reloaded
}

func newDrive(input []byte) *drive {
	return &drive{
		script: &script{entropy: &entropy{input}},
		calls:  make(map[string]*openCall), settled: make(map[string]string), waiting: make(map[*openCall]bool),
	}
}

// fuzzTools returns the tools that the loop begins with.
func fuzzTools() *toolset {
	answer := func(context.Context, *Call) (*Result, error) { return nil, nil }
	pure := NewRawTool(anthropic.BetaToolParam{Name: "pure"}, answer)
	pure.ReadOnly = true
	tools, err := newToolset([]anthropic.BetaTool{
		pure, NewRawTool(anthropic.BetaToolParam{Name: "impure"}, answer),
	})
	if err != nil {
		panic(err) // program text
	}
	return tools
}

func (d *drive) note(format string, args ...any) { d.log = append(d.log, fmt.Sprintf(format, args...)) }

// run goes through the script, and then brings the run to its end.
func (d *drive) run() error {
	var err error
	if d.loop, err = newLoop(fuzzTools(), []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("begin"))}); err != nil {
		return err
	}
	return d.goOn()
}

// event makes one thing happen.
func (d *drive) event() error {
	switch d.script.below(9) {
	case 0:
		return d.follow()
	case 8:
		return d.decideOnOne(d.loop.open)
	case 1:
		d.changeTools()
		return nil
	case 2:
		d.limit = []int{0, d.loop.iteration, d.loop.iteration + 1, d.loop.iteration + 3}[d.script.below(4)]
		d.note("limit %d", d.limit)
		return nil
	default:
		_, err := d.step()
		return err
	}
}

// follow adds follow-ups, which change nothing if one of them is refused.
func (d *drive) follow() error {
	before := d.state()
	messages := d.script.followUp(d.loop.open)
	err := d.loop.follow(messages)
	d.note("follow %s: %v", encodeAll(messages), err)
	if after := d.state(); err != nil && after != before {
		return fmt.Errorf("refused messages changed the loop from\n%s\nto\n%s", before, after)
	}
	if refused := (*history.Error)(nil); err != nil && !errors.As(err, &refused) {
		return fmt.Errorf("messages are refused with %w, want a *Error", err)
	}
	return nil
}

// state describes the loop.
func (d *drive) state() string {
	var b strings.Builder
	for _, m := range slices.Concat(d.loop.history.Messages, d.loop.queue.Messages) {
		fmt.Fprintf(&b, "%s\n", m.Raw)
	}
	for _, call := range d.loop.open {
		fmt.Fprintf(&b, "%s %d %v %s\n", call.use.ID, call.state, call.decided, call.block)
	}
	fmt.Fprint(&b, d.loop.news, d.loop.ended, d.loop.inFlight, d.loop.iteration, len(d.loop.history.Open), len(d.loop.queue.Open))
	return b.String()
}

func (d *drive) changeTools() {
	d.loop.sequence++ // as the driver does
	name := d.script.toolName()
	if d.script.below(2) == 0 {
		d.note("remove %s", name)
		d.loop.tools.remove([]string{name})
		return
	}
	d.note("add %s", name)
	d.loop.tools.add(&registered{name: name, repeatable: name == "pure", definition: []byte(`{"name":"` + name + `","input_schema":{"type":"object"}}`)})
}

// step takes the next step.
func (d *drive) step() (step, error) {
	finished := d.loop.finished()
	s := d.loop.step(limits{iterations: d.limit})
	d.note("step %d, %d calls, %v", s.kind, len(s.calls), s.outcome)
	if finished && s.kind != stepEnd {
		return s, errors.New("the loop was finished and goes on")
	}
	switch s.kind { //nolint:exhaustive // the generator plans no compaction
	case stepRun:
		return s, d.runCalls(s.calls)
	case stepSend:
		if d.limit > 0 && d.loop.iteration >= d.limit {
			return s, fmt.Errorf("request %d of a run with the limit %d", d.loop.iteration+1, d.limit)
		}
		return s, d.send()
	}
	before := d.state()
	if again := d.loop.step(limits{iterations: d.limit}); again.kind != stepEnd || again.outcome != s.outcome {
		return s, fmt.Errorf("after the end (%v) comes step %d (%v)", s.outcome, again.kind, again.outcome)
	}
	if after := d.state(); after != before {
		return s, fmt.Errorf("a step after the end changed the loop from\n%s\nto\n%s", before, after)
	}
	return s, nil
}

// runCalls does with the calls what handlers and cancels may do.
func (d *drive) runCalls(calls []*openCall) error {
	if len(calls) == 0 {
		return errors.New("there is nothing to run")
	}
	for _, call := range calls {
		id := call.use.ID
		if why := d.settled[id]; why != "" {
			return fmt.Errorf("call %q is handed out again: it %s", id, why)
		}
		if first := d.calls[id]; first != nil && first != call {
			return fmt.Errorf("two calls have the id %q", id)
		}
		d.calls[id] = call
		if err := d.checkDecided(call); err != nil {
			return err
		}
		if public := call.public(); public.ID != id || !json.Valid(public.Input) || public.Input[0] != '{' {
			return fmt.Errorf("call %q is handed out as %+v", id, public)
		}
	}
	for _, call := range calls {
		switch d.script.below(6) {
		case 5: // cancelled before it began
			d.note("hold %s", call.use.ID)
			return nil
		case 1:
			d.note("lose %s", call.use.ID)
			repeat := call.use.Name == "pure"
			d.loop.started(call, repeat)
			if !repeat {
				d.settled[call.use.ID] = "has started and is not read-only"
			}
			continue
		case 2:
			d.loop.started(call, false)
			if err := d.follow(); err != nil {
				return err
			}
		case 3:
			d.loop.started(call, true)
			d.changeTools()
		case 4: // by an approver, or by another goroutine
			if err := d.decideOnOne(calls); err != nil {
				return err
			}
		}
		if call.state == callSuspended {
			continue
		}
		if call.state == callAnswered { // by a follow-up
			continue
		}
		d.note("answer %s", call.use.ID)
		d.loop.answer(call, d.script.result().encode(call.use), nil)
		d.settled[call.use.ID] = "was answered"
	}
	return nil
}

// send checks the request and answers it.
func (d *drive) send() error {
	if err := d.checkRequest(d.loop); err != nil {
		return err
	}
	if err := d.checkPrefix(); err != nil {
		return err
	}
	if err := d.checkNobodyWaits(); err != nil {
		return err
	}
	for d.script.below(4) == 3 {
		if err := d.follow(); err != nil {
			return err
		}
	}
	if d.script.below(8) == 7 {
		d.note("fail")
		d.loop.fail()
		return nil
	}
	return d.receive(d.script.replyBody())
}

func (d *drive) receive(body []byte) error {
	d.note("receive %s", body)
	r, err := history.ReadReply(body, d.loop.taken)
	if refused := (*history.ReplyError)(nil); errors.As(err, &refused) {
		d.note("%v", err)
		d.loop.fail()
		return nil
	} else if err != nil {
		return err
	}
	if !json.Valid(r.Raw) || !json.Valid(r.Message.Raw) {
		return fmt.Errorf("reply %s became %s", body, r.Raw)
	}
	d.loop.receive(r)
	d.script.pending = d.script.leaves
	return nil
}

// end brings the run to its end with plain replies.
func (d *drive) end() error {
	d.limit = 0
	for range 20 {
		s, err := d.step()
		if err == nil {
			err = d.check()
		}
		if err == nil && s.kind == stepEnd && s.outcome == OutcomeSuspended {
			err = d.decideOnAll(s.calls)
		} else if s.kind == stepEnd {
			return err
		}
		if err != nil {
			return err
		}
	}
	return errors.New("the loop does not come to an end")
}

// checkPrefix checks that the request goes on where the last one ended, space at
// its end aside.
func (d *drive) checkPrefix() error {
	messages := d.loop.history.Messages
	if len(messages) < len(d.sent) {
		return fmt.Errorf("a request of %d messages follows one of %d", len(messages), len(d.sent))
	}
	for i, was := range d.sent {
		if is := messages[i]; !bytes.Equal(is.Raw, was) && !bytes.Equal(trimEnd(is), was) {
			return fmt.Errorf("message %d was sent as %s and is now %s", i, was, is.Raw)
		}
	}
	d.sent = nil
	for i, m := range messages {
		raw := m.Raw
		if i == len(messages)-1 {
			raw = trimEnd(m)
		}
		d.sent = append(d.sent, bytes.Clone(raw))
	}
	return nil
}

// checkRequest checks what would be sent.
func (d *drive) checkRequest(l *loop) error {
	body, err := requestBody(l)
	if err != nil {
		return err
	}
	err = toolrunnertest.CheckRequest(withoutAbandoned(body))
	if l.rule.After == history.ResumeRun && l.history.Last().Role == history.RoleAssistant {
		err = withoutRule(err, "tool-result-missing") // a paused reply goes back as it is (E8)
	}
	if err != nil {
		return fmt.Errorf("the request is invalid: %w\n%s", err, body)
	}
	return nil
}

// requestBody returns what would be sent.
func requestBody(l *loop) ([]byte, error) {
	p := &Params{BetaMessageNewParams: anthropic.BetaMessageNewParams{Model: "m", MaxTokens: 10}}
	r, err := newRequest(p, requestState{tools: l.tools.first, messages: l.history.Messages, container: l.container})
	if err != nil {
		return nil, err
	}
	head, err := r.params.MarshalJSON()
	if err != nil {
		return nil, err
	}
	body, err := r.complete(head)
	if err != nil {
		return nil, err
	}
	return body.Bytes(), nil
}
