package machine

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// FuzzMachine takes a machine through random events, as any driver may, and checks
// after each what must hold then.
func FuzzMachine(f *testing.F) {
	f.Add([]byte{})
	for seed := range 120 {
		f.Add(randomBytes(byte(seed), 10+seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) > 150 {
			return // what must hold is checked so often that more takes long
		}
		d := newDrive(t, input)
		if err := d.run(); err != nil {
			t.Fatalf("%v\nafter:\n%s", err, strings.Join(d.log, "\n"))
		}
	})
}

// randomBytes returns bytes that a seed determines.
func randomBytes(seed byte, n int) []byte {
	source := rand.NewChaCha8([32]byte{seed})
	input := make([]byte, n)
	_, _ = source.Read(input)
	return input
}

// drive takes a machine through the events of a script.
type drive struct {
	tb     testing.TB
	script *script
	m      *Machine
	limits StepLimits

	log     []string
	kept    [][]byte          // the history as it was, message by message
	sent    [][]byte          // the last request's messages
	calls   map[string]*Call  // all that were handed out, by use
	settled map[string]string // by use: why a call must not be handed out again
	waiting map[*Call]bool    // that were suspended

	saved    *Saved // where the reader of the deltas is
	deltas   []byte // all of them
	sequence int64  // when the state was last looked at
	whole    []byte // what it was then
	body     bool   // the loop body has the last reply
	forked   bool   // another drive has gone on with the state as it was reloaded
}

func newDrive(tb testing.TB, input []byte) *drive {
	tb.Helper()
	return &drive{
		tb: tb, script: &script{entropy: &entropy{input}}, limits: StepLimits{Now: now},
		calls: make(map[string]*Call), settled: make(map[string]string), waiting: make(map[*Call]bool),
	}
}

func (d *drive) note(format string, args ...any) { d.log = append(d.log, fmt.Sprintf(format, args...)) }

// run goes through the script, and then brings the run to its end.
func (d *drive) run() error {
	d.m = newMachine(d.tb, `{"role":"user","content":[{"type":"text","text":"begin"}]}`)
	return d.goOn()
}

// goOn goes through the rest of the script.
func (d *drive) goOn() error {
	for !d.script.empty() {
		if err := d.event(); err != nil {
			return err
		}
		if err := d.check(); err != nil {
			return err
		}
		if !d.forked && d.script.below(12) == 11 {
			return d.fork()
		}
	}
	return d.end()
}

// event makes one thing happen.
func (d *drive) event() error {
	switch d.script.below(12) {
	case 0:
		return d.follow()
	case 1:
		d.changeTools()
		return nil
	case 2:
		i := d.m.Iteration()
		d.limits.MaxIterations = []int{0, i, i + 1, i + 3}[d.script.below(4)]
		d.note("limit %d", d.limits.MaxIterations)
		return nil
	case 8:
		return d.decideOnOne(d.m.Open())
	case 9:
		return d.takeOver()
	case 10:
		return d.changeClock()
	case 11:
		d.changeCompaction()
		return nil
	default:
		_, err := d.step()
		return err
	}
}

// changeClock has the caller enter, pause or leave the loop.
func (d *drive) changeClock() error {
	switch d.script.below(3) {
	case 0:
		d.note("enter")
		d.m.Enter(now)
	case 1:
		d.note("pause")
		d.m.Pause(now)
	default:
		d.note("leave")
		finished := d.m.Finished()
		d.m.Leave(now)
		if finished && (len(d.m.Open()) > 0 || d.m.s.standing != finalized) {
			return errors.New("the body broke off at the last turn, and the run is not over")
		}
	}
	return nil
}

// changeCompaction has the history compacted at some time.
func (d *drive) changeCompaction() {
	switch d.script.below(4) {
	case 0:
		d.note("schedule")
		d.m.Schedule([]byte(`{"type":"summarize"}`))
	case 1:
		d.note("compact never")
		d.limits.AutoCompact = AutoCompact{}
	case 2:
		d.note("compact from 3 tokens")
		d.limits.AutoCompact = AutoCompact{Threshold: 3}
	default:
		d.note("summarize from 3 tokens")
		d.limits.AutoCompact = AutoCompact{Threshold: 3, Summarize: true}
	}
}

// follow adds follow-ups, which change nothing if one of them is refused.
func (d *drive) follow() error {
	before := d.state()
	messages := d.script.followUp(d.m.Open())
	drafts, err := history.EncodeAll(messages, nil, false)
	if err == nil {
		err = d.m.Follow(drafts)
	}
	d.note("follow %s: %v", encodeAll(messages), err)
	return d.refused(before, err)
}

// refused checks that what is refused has changed nothing.
func (d *drive) refused(before string, err error) error {
	if after := d.state(); err != nil && after != before {
		return fmt.Errorf("what was refused (%w) changed the machine from\n%s\nto\n%s", err, before, after)
	}
	if refused := (*history.Error)(nil); err != nil && !errors.As(err, &refused) && !errors.Is(err, ErrCompacting) && !errors.Is(err, ErrNoMessages) {
		return fmt.Errorf("messages are refused with %w, want a *Error", err)
	}
	return nil
}

// state describes the machine: what is saved, and what is not.
func (d *drive) state() string {
	whole, err := d.record(nil)
	if err != nil {
		return err.Error()
	}
	m := d.m
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nexchange %v, streaming %d, open %d, %d\n", whole, m.exchange, len(m.streaming), len(m.s.history.Open), len(m.s.queue.Open))
	for _, call := range m.s.open {
		fmt.Fprintf(&b, "%s running %v\n", call.use.ID, call.running)
	}
	return b.String()
}

func (d *drive) changeTools() {
	name := d.script.toolName()
	if d.script.below(2) == 0 {
		d.note("remove %s", name)
		d.m.RemoveTools([]string{name})
		return
	}
	d.note("add %s", name)
	d.m.AddTools([]*Tool{testTool(name)})
}

// next asks for the next step, twice: deciding has no effects.
func (d *drive) next() (Step, error) {
	before := d.state()
	s := d.m.Next(d.limits)
	if again := d.m.Next(d.limits); !reflect.DeepEqual(s, again) {
		return s, fmt.Errorf("Next() = %+v, and asked again %+v", s, again)
	}
	if after := d.state(); after != before {
		return s, fmt.Errorf("Next changed the machine from\n%s\nto\n%s", before, after)
	}
	return s, nil
}

// step takes the next step that is more than a change of the state.
func (d *drive) step() (Step, error) {
	finished := d.m.Finished()
	d.body = false
	s, err := d.next()
	for ; err == nil && s.Kind == Settle; s, err = d.next() {
		before := d.m.s.sequence
		if d.m.Settle(true, now); d.m.s.sequence == before {
			return s, errors.New("there is something to settle, and Settle changes nothing")
		}
	}
	d.note("step %d, %d calls, %v", s.Kind, len(s.Calls), s.Outcome)
	switch {
	case err != nil:
		return s, err
	case finished && s.Kind != End:
		return s, errors.New("the run was finished and goes on")
	case s.Kind == Run:
		return s, d.runCalls(s.Calls)
	case s.Kind != End:
		if limit := d.limits.MaxIterations; s.Kind == Send && limit > 0 && d.m.Iteration() >= limit {
			return s, fmt.Errorf("request %d of a run with the limit %d", d.m.Iteration()+1, limit)
		}
		return s, d.exchange(s)
	}
	d.m.Finalize(s)
	before := d.state()
	again, err := d.next()
	if err == nil && (again.Kind != End || again.Outcome != s.Outcome) {
		err = fmt.Errorf("after the end (%v) comes step %d (%v)", s.Outcome, again.Kind, again.Outcome)
	}
	if d.m.Finalize(again); err == nil && d.state() != before {
		err = fmt.Errorf("another end changed the machine from\n%s\nto\n%s", before, d.state())
	}
	return s, err
}

// end brings the run to its end with plain replies.
func (d *drive) end() error {
	d.limits = StepLimits{Now: now}
	for range 20 {
		s, err := d.step()
		if err == nil {
			err = d.check()
		}
		if err == nil && s.Kind == End && s.Outcome == history.OutcomeSuspended {
			err = d.decideOnAll(s.Calls)
		} else if s.Kind == End {
			return err
		}
		if err != nil {
			return err
		}
	}
	return errors.New("the run does not come to an end")
}

// checkPrefix checks that the request goes on where the last one ended, space at
// its end aside.
func (d *drive) checkPrefix() error {
	messages := d.m.Messages()
	if len(messages) < len(d.sent) {
		return fmt.Errorf("a request of %d messages follows one of %d", len(messages), len(d.sent))
	}
	for i, was := range d.sent {
		if is := messages[i]; !bytes.Equal(is.Raw, was) {
			return fmt.Errorf("message %d was sent as %s and is now %s", i, was, is.Raw)
		}
	}
	d.sent = nil
	for _, m := range settled(messages) {
		d.sent = append(d.sent, bytes.Clone(m.Raw))
	}
	return nil
}

// settled returns the messages that stay: system messages at the end, which the model
// has not answered, go after what the user says next.
func settled(messages []history.Message) []history.Message {
	for len(messages) > 0 && messages[len(messages)-1].Role == history.RoleSystem {
		messages = messages[:len(messages)-1]
	}
	return messages
}

// checkRequest checks what would be sent.
func checkRequest(m *Machine) error {
	body := requestBody(m, m.Messages())
	allowed := []toolrunnertest.Rule{
		toolrunnertest.RuleTrailingWhitespace, // the request trims it
		toolrunnertest.RuleThinkingFinal,      // a reply is kept as the API made it
	}
	if breaches := breachesBeside(toolrunnertest.CheckRequest(withoutAbandoned(body)), allowed...); len(breaches) > 0 {
		return fmt.Errorf("the request is invalid: %v\n%s", breaches, body)
	}
	return nil
}

// replaced takes note that the history was replaced on purpose: calls that the machine
// has forgotten may come again.
func (d *drive) replaced(known []*Call) {
	d.kept, d.sent = nil, nil
	d.calls = make(map[string]*Call)
	for k := range d.settled {
		if !slices.ContainsFunc(known, func(c *Call) bool { return key(c.use) == k }) {
			delete(d.settled, k)
		}
	}
}

// shown returns the messages as a caller gets them.
func (d *drive) shown() []anthropic.BetaMessageParam { return history.Params(d.m.View()) }
