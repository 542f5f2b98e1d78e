package toolrunnertest

import (
	"fmt"
	"net/http"
	"slices"
)

// RunOption loosens [CheckRun] where the program under test had leave to depart from the rules, or tightens it.
type RunOption func(*runChecker)

// Takeover allows the messages of the requests that meet all the conditions to be other than a continuation of what came
// before: the history was replaced or compacted there. Without conditions that is every request. What the replies said is
// not to be changed even so: thinking that is kept has to be as it came, and a call that is kept has its bytes.
func Takeover(conditions ...Condition) RunOption {
	return func(c *runChecker) { c.takeovers = append(c.takeovers, conditions) }
}

// Reconfigured allows the tools and the system prompt to change at the requests that meet all the conditions, or at every
// one if there are none.
func Reconfigured(conditions ...Condition) RunOption {
	return func(c *runChecker) { c.reconfigured = append(c.reconfigured, conditions) }
}

// ValuesOnly compares replayed blocks as JSON values. Without it their bytes are compared wherever the client knows them:
// all of a plain reply, and of a stream the inputs of calls and the blocks that come whole.
func ValuesOnly() RunOption {
	return func(c *runChecker) { c.valuesOnly = true }
}

// OneRun says that the requests are all of one conversation: one that begins anew has lost it.
func OneRun() RunOption {
	return func(c *runChecker) { c.oneRun = true }
}

// Ignore switches rules of CheckRun off. It panics on one that is none of them.
func Ignore(rules ...Rule) RunOption {
	if err := checkNames(rules, runRules()); err != nil {
		panic("toolrunnertest: " + err.Error())
	}
	return func(c *runChecker) { c.ignored = append(c.ignored, rules...) }
}

// CheckRun reports whether requests carry their conversations faithfully: the rules are those of [RuleHistoryChanged] to
// [RuleThreadParameters]. The API does not enforce this, but prompt caches, signatures and containers depend on it. The error
// is a [*BreachError] that holds every breach; their paths begin with the request's number, counted from 0.
//
// The requests may be those of several agents: each is compared with the one before it whose thread or history it continues,
// and one that begins a conversation with none; see [OneRun].
//
// A request to compact is a turn like any other, but if its reply has a summary, that reply is the history from then on,
// and otherwise it is not part of it.
//
// Requests that were refused as invalid are left out.
func CheckRun(requests []*Request, options ...RunOption) error {
	c := &runChecker{}
	for _, option := range options {
		option(c)
	}
	var numbers []int
	for i, q := range requests {
		if q.refused || q.Status == http.StatusBadRequest {
			continue
		}
		accepted := *q
		accepted.position = len(c.requests)
		c.requests = append(c.requests, &accepted)
		numbers = append(numbers, i)
	}
	for i, q := range c.requests {
		c.check(numbers[i], q)
	}
	c.breaches = slices.DeleteFunc(c.breaches, func(b Breach) bool { return slices.Contains(c.ignored, b.Rule) })
	return c.err()
}

type runChecker struct {
	checker
	takeovers, reconfigured [][]Condition
	ignored                 []Rule
	valuesOnly, oneRun      bool

	requests []*Request // those that were accepted
	runs     []*run     // the last one that was continued comes last
}

// run is the requests of one conversation.
type run struct {
	requests  []*Request
	container string // that requests have to carry
}

func (r *run) last() *Request { return r.requests[len(r.requests)-1] }

// allows reports whether an option is for this request.
func allows(options [][]Condition, q *Request) bool {
	return slices.ContainsFunc(options, func(conditions []Condition) bool { return met(conditions, q) == nil })
}

// check compares a request with the one before it in its conversation. What it finds says which option allows it.
func (c *runChecker) check(number int, q *Request) {
	c.checkThread(fmt.Sprintf("requests.%d", number), q)
	r := c.runOf(q)
	if r == nil {
		r = &run{}
	} else {
		c.runs = slices.DeleteFunc(c.runs, func(other *run) bool { return other == r })
		first := len(c.breaches)
		c.checkPair(fmt.Sprintf("requests.%d", number), r, q)
		for i := first; i < len(c.breaches); i++ {
			b := &c.breaches[i]
			b.Text += " (" + remedy(b.Rule, q.position) + " allows it)"
		}
	}
	r.requests = append(r.requests, q)
	if id := containerID(q.Field("container")); id != "" {
		r.container = id
	} else if id := containerID(asObject(q.Reply)["container"]); id != "" {
		r.container = id
	}
	c.runs = append(c.runs, r)
}

// remedy is the option that lets a rule be broken at a request.
func remedy(rule Rule, position int) string {
	switch rule {
	case RuleHistoryChanged, RuleReplyMissing, RuleReplyChanged:
		return fmt.Sprintf("Takeover(Nth(%d))", position)
	case RuleToolsChanged, RuleSystemChanged:
		return fmt.Sprintf("Reconfigured(Nth(%d))", position)
	case RuleReplyBytes:
		return "ValuesOnly()"
	default:
	}
	return fmt.Sprintf("Ignore(%q)", string(rule))
}

// runOf returns the conversation that a request continues, nil if it begins one.
func (c *runChecker) runOf(q *Request) *run {
	if len(c.runs) == 0 {
		return nil
	}
	if r := c.threadOf(q); r != nil {
		return r
	}
	recent := c.runs[len(c.runs)-1]
	var best *run
	var fit continuation
	for _, r := range slices.Backward(c.runs) {
		if f := continues(r.last(), q); best == nil || f.better(fit) {
			best, fit = r, f
		}
	}
	begins := !slices.ContainsFunc(q.History(), isAssistant)
	switch {
	case c.oneRun || len(q.History()) == 0:
		return recent
	case fit.replied:
		return best
	case fit.whole && fit.messages == len(q.History()): // it repeats a request that was answered
		if c.goesOn(best.last(), q) || begins && !waits(best.last()) && !allows(c.takeovers, q) {
			return nil
		}
		return best
	case fit.whole, fit.messages > 0 && (!begins || best.last().Reply == nil):
		return best
	case allows(c.takeovers, q):
		if fit.messages > 0 {
			return best
		}
		return recent
	case begins:
		return nil
	}
	for _, r := range slices.Backward(c.runs) { // its beginning is another, but it has what was said
		if r.said(q) {
			return r
		}
	}
	return nil // a conversation that was given
}

// threadOf returns the conversation whose last reply a request names as the one that it continues, nil if it names none.
func (c *runChecker) threadOf(q *Request) *run {
	if q.joined == nil {
		return nil
	}
	id := asString(asObject(q.Field("thread"))["previous_message_id"])
	for _, r := range slices.Backward(c.runs) {
		if last := r.last(); asString(asObject(last.Reply)["id"]) == id && continues(last, q).whole {
			return r
		}
	}
	return nil
}

// checkThread checks what a request that continues a thread sends.
func (c *runChecker) checkThread(path string, q *Request) {
	if q.joined == nil {
		return
	}
	for _, name := range []string{"system", "tools"} {
		if !absent(q.Field(name)) {
			c.breach(RuleThreadParameters, path+"."+name, "is sent again, though the thread has it (Ignore(%q) allows it)", string(RuleThreadParameters))
		}
	}
}

// goesOn reports whether a later request continues the reply to q, other than through the request that repeats q.
func (c *runChecker) goesOn(q, repeated *Request) bool {
	return slices.ContainsFunc(c.requests[repeated.position+1:], func(later *Request) bool {
		return continues(q, later).replied && !sameReply(q, repeated)
	}) || sameReply(q, repeated) && c.continuations(q) > 1
}

// continuations counts the requests that continue the reply to q by one turn.
func (c *runChecker) continuations(q *Request) int {
	n := 0
	for _, later := range c.requests {
		if f := continues(q, later); f.replied && len(later.History()) <= f.messages+3 {
			n++
		}
	}
	return n
}
