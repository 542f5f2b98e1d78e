package model

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
)

// operations are what the steps of a program do, by their first word. The table
// dimensions says where each may stand.
var operations map[string]func(w *world, at *moment, words []string)

func init() { //nolint:gochecknoinits // some of them run others
	operations = map[string]func(w *world, at *moment, words []string){
		"all": (*world).loop, "stream": (*world).loop, "next": (*world).loop, "complete": (*world).loop,
		"twin": (*world).look, "resume": (*world).reload, "crash": (*world).crash,
		"append": func(w *world, at *moment, words []string) { w.add(at, words[1:]) },
		"set":    (*world).takeOver, "replace": (*world).takeOver, "retry": (*world).takeOver,
		"read": (*world).read, "text": func(_ *world, at *moment, _ []string) { at.turn.Text() },
		"results": (*world).results, "edit": (*world).results, "late-edit": (*world).lateEdit, "defer": (*world).hold,
		"decide": (*world).decideOn, "add": (*world).changeTools, "remove": (*world).changeTools,
		"compact": (*world).compact, "iterations": (*world).limit,
		"break":  func(_ *world, at *moment, _ []string) { at.stop = true },
		"cancel": (*world).end,
		"panic":  func(w *world, _ *moment, _ []string) { w.excuse(); panic(errPanic) },
		"error":  (*world).answerBy, "abort": (*world).answerBy, "wait": (*world).answerBy, "nothing": (*world).answerBy,
		"allow": decideNow, "deny": decideNow, "suspend": decideNow, "change": decideNow,
		"fail":  (*world).failNow,
		"eager": (*world).configure, "approve": (*world).configure, "checkpoint": (*world).configure, "serial": (*world).configure,
		"given": (*world).configure, "compaction": (*world).configure, "limit": (*world).configure,
	}
}

func word(words []string, i int) string {
	if i < len(words) {
		return words[i]
	}
	return ""
}

// excuse: something happens now that may make the loop fail.
func (w *world) excuse() { w.locked(func() { w.excused = true }) }

func (w *world) unrest() { w.locked(func() { w.restless = true }) }

// compose makes messages. It reports whether they must be taken.
func (w *world) compose(at *moment, words []string) (messages []anthropic.BetaMessageParam, legal bool) {
	legal = true
	for _, kind := range words {
		token := ""
		w.locked(func() { token = w.token(kind[:1]) })
		switch kind {
		case "user":
			messages = append(messages, userSays(token))
		case "system":
			messages, legal = append(messages, systemSays(token)), false
		case "assistant":
			messages, legal = append(messages, assistantSays(token)), false
		case "orphan": // the result of a server's call that is nowhere
			messages, legal = append(messages, verbatim(`{"role":"assistant","content":[`+serverResult("srvtoolu_none")+`]}`), userSays(token)), false
		case "reply":
			if at.turn != nil && len(at.turn.ToParam().OfAssistant.Content) > 0 {
				messages, legal = append(messages, at.turn.ToParam()), false
			}
		case "same":
			messages = append(messages, w.runner.Messages()...)
			legal = legal && len(words) == 1
		case "first":
			messages = append(messages, w.runner.Messages()[:1]...)
		case "trim":
			messages = append(messages, trimmed(w.runner.Messages())...)
			legal = false
		}
	}
	return messages, legal
}

// trimmed begins with the last message of the user that is no result.
func trimmed(messages []anthropic.BetaMessageParam) []anthropic.BetaMessageParam {
	for i, m := range slices.Backward(read(messages)) {
		if m.Role == "user" && len(itemsOf([]message{m})) > 0 && !slices.ContainsFunc(m.Blocks, func(b block) bool { return b.Type == "tool_result" }) {
			return messages[i:]
		}
	}
	return messages[:1]
}

// add appends messages: "append user system", or "append result 0" for an open call.
func (w *world) add(at *moment, words []string) {
	if word(words, 0) == "result" {
		w.answerByHand(at, word(words, 1))
		return
	}
	messages, legal := w.compose(at, words)
	items := itemsOf(read(messages))
	err := w.runner.AppendMessages(messages...)
	w.locked(func() {
		w.note("append: %v", err)
		if err == nil {
			w.history.tail = append(w.history.tail, items...)
		} else if legal {
			w.fail("append/refused", "%v", err)
		}
	})
}

// openCalls are the calls that the program could answer or decide on.
func (w *world) openCalls(at *moment) []*toolrunner.Call {
	if at.turn != nil {
		return at.turn.Calls()
	}
	if strings.HasPrefix(at.site, "ask") {
		return []*toolrunner.Call{at.call}
	}
	return w.runner.Pending()
}

func (w *world) openCall(at *moment, index string) *toolrunner.Call {
	calls := w.openCalls(at)
	if i, _ := strconv.Atoi(index); i < len(calls) {
		return calls[i]
	}
	return nil
}

func (w *world) modelOf(public *toolrunner.Call) *call {
	if c := w.calls.get(number(public.Input)); c != nil {
		return c
	}
	return &call{}
}

func (w *world) answerByHand(at *moment, index string) {
	public := w.openCall(at, index)
	if public == nil {
		return
	}
	text := ""
	w.locked(func() { text = w.token("h") + "." })
	err := w.runner.AppendMessages(resultFor(public.ID, text))
	w.locked(func() {
		w.note("append result: %v", err)
		c := w.modelOf(public)
		if err != nil {
			return
		}
		if c.started > 0 && !c.early {
			w.fail("append/answered-twice", "the result of call %d is taken, and it has started", c.n)
		}
		c.hand, c.texts, c.failed = text, []string{text}, false
	})
}

// takeOver puts another history in place: "set PARTS", "replace PARTS" and "retry".
func (w *world) takeOver(at *moment, words []string) {
	messages, legal := w.compose(at, words[1:])
	if len(messages) == 0 && words[0] != "retry" {
		return
	}
	items := itemsOf(read(messages))
	var err error
	switch {
	case words[0] == "set":
		err = w.runner.SetMessages(messages...)
	case at.turn == nil:
		return
	case words[0] == "replace":
		err, legal = at.turn.Replace(messages...), false // what is before them may not take them
	default:
		err, legal = at.turn.Retry(), true
	}
	w.locked(func() {
		w.note("%s: %v", words[0], err)
		if err != nil {
			if legal && !w.compacting {
				w.fail("takeover/refused", "%v", err)
			}
			return
		}
		switch words[0] {
		case "set":
			w.history.set(items)
		case "replace":
			w.history.replace(items)
		default:
			w.history.retry()
		}
		w.paused = false
		w.calls.takenOver(&w.history)
	})
}

// reload goes on in another process, with a snapshot.
func (w *world) reload(_ *moment, _ []string) {
	snapshot, err := w.runner.Snapshot()
	var r *toolrunner.Runner
	if err == nil {
		r, err = w.resume(snapshot)
	}
	if err != nil {
		w.flunk("resume/refused", "%v", err)
		return
	}
	w.runner = r
}

// kept is the model when the checkpoint had everything.
type kept struct {
	data    []byte
	history history
	calls   calls
	tools   map[string]bool
}

// keep is the checkpoint.
func (w *world) keep(_ context.Context, delta toolrunner.Delta) error {
	w.saves++
	at := &moment{site: "checkpoint " + strconv.Itoa(w.saves)}
	if do := w.step(at.site); do != "" {
		w.exec(at, do)
	}
	if at.err != nil {
		return at.err
	}
	w.locked(func() {
		var before []byte
		if w.kept != nil && !delta.Full {
			before = w.kept.data
		}
		tools := map[string]bool{}
		for name, there := range w.tools {
			tools[name] = there
		}
		w.kept = &kept{slices.Concat(before, delta.Data), w.history.clone(), w.calls.clone(), tools}
	})
	return nil
}

// crash goes on in another process, with what the checkpoint has.
func (w *world) crash(_ *moment, _ []string) {
	k := w.kept
	if k == nil {
		return
	}
	r, err := w.resume(k.data)
	if err != nil {
		w.flunk("crash/refused", "%v", err)
		return
	}
	w.runner = r
	w.locked(func() {
		w.history, w.tools, w.restless, w.excused = k.history.clone(), k.tools, true, true
		w.history.loose = true // a takeover or a follow-up may be younger than what is kept
		for _, then := range k.calls {
			c := w.calls.get(then.n)
			c.decision, c.hand, c.given, c.dropped = then.decision, then.hand, then.given, then.dropped
			c.blurred = true // its result may have been lost
		}
	})
}

// results runs the calls in the body: "results", "edit 0" to change a result, and
// "edit 0 nil" to leave it.
func (w *world) results(at *moment, words []string) {
	ctx, cancel := context.WithTimeout(at.ctx, time.Minute)
	defer cancel()
	results, err := at.turn.Results(ctx)
	w.checkResultsErr(err)
	w.held = results
	i, _ := strconv.Atoi(word(words, 1))
	if words[0] != "edit" || err != nil || i >= len(results) || results[i] == nil {
		return
	}
	if word(words, 2) == "nil" {
		results[i] = nil
		return
	}
	public := at.turn.Calls()[i]
	w.locked(func() {
		text := w.token("x") + "."
		*results[i] = *toolrunner.TextResult(text)
		w.modelOf(public).edit(text)
	})
}

func (w *world) checkResultsErr(err error) {
	w.locked(func() {
		if w.note("results: %v", err); err != nil && !w.excused && !isSuspended(err) {
			w.fail("results/error", "%v", err)
		}
	})
}

// lateEdit changes results when the body is over: that is too late.
func (w *world) lateEdit(_ *moment, _ []string) {
	for _, result := range w.held {
		if result != nil {
			*result = *toolrunner.TextResult("too late")
		}
	}
}

// hold defers a call that the reply makes, if it is eager.
func (w *world) hold(at *moment, _ []string) {
	for _, b := range at.turn.Content {
		if b.Type == "tool_use" {
			_ = at.turn.Defer(b.ID) // an error says that it has started
		}
	}
}

// decideOn decides from elsewhere: "decide 0 allow json".
func (w *world) decideOn(at *moment, words []string) {
	if public := w.openCall(at, word(words, 1)); public != nil {
		w.decide(public, word(words, 2), word(words, 3) == "json")
	}
}

// decide decides on a call. With json, the call has been shown to somebody else.
func (w *world) decide(public *toolrunner.Call, decision string, asJSON bool) {
	d := decisionOf(decision, number(public.Input))
	if asJSON {
		var shown toolrunner.Call
		data, err := json.Marshal(public)
		if err == nil {
			err = json.Unmarshal(data, &shown)
		}
		if err != nil {
			w.flunk("decide/json", "%v", err)
			return
		}
		if shown.IdempotencyKey() != public.IdempotencyKey() {
			w.flunk("decide/key", "a call has another key once it has been JSON")
		}
		d = d.For(&shown)
	}
	err := w.runner.Decide(public.ID, d)
	w.locked(func() {
		w.note("decide on %s: %v", public.ID, err)
		c := w.modelOf(public)
		if err == nil {
			c.decide(decision)
		} else if c.decision == "suspend" && c.hand == "" && !c.dropped && !w.excused {
			w.fail("decide/refused", "%v", err)
		}
	})
}

func isSuspended(err error) bool {
	var suspended *toolrunner.SuspendedError
	return errors.As(err, &suspended)
}

// decideNow is what an approver says.
func decideNow(_ *world, at *moment, words []string) { at.decision = words[0] }

// failNow has the approver or the checkpoint fail.
func (w *world) failNow(at *moment, _ []string) {
	w.excuse()
	at.err = errors.New("failure of the program")
}

// changeTools adds or removes one.
func (w *world) changeTools(_ *moment, words []string) {
	name := word(words, 1)
	if name == "" {
		return
	}
	w.unrest()
	if words[0] == "remove" {
		if _, known := w.tools[name]; known {
			w.runner.RemoveToolsByNames(name)
			w.locked(func() { w.tools[name] = false })
		}
		return
	}
	w.late = w.late || name == "late"
	if err := w.runner.AddTools(tool(name, w.handle)); err != nil {
		w.flunk("tools/refused", "%v", err)
	}
	w.locked(func() { w.tools[name] = true })
}

func (w *world) compact(_ *moment, _ []string) {
	w.unrest()
	if err := w.runner.CompactBeforeNextTurn(anthropic.BetaCompactionConfigUnionParam{}); err != nil {
		w.flunk("compact/refused", "%v", err)
	}
}

func (w *world) limit(_ *moment, words []string) {
	w.unrest()
	w.runner.Params.MaxIterations, _ = strconv.Atoi(word(words, 1))
}

// end cancels the loop.
func (w *world) end(_ *moment, _ []string) {
	w.locked(func() { w.excused, w.history.loose = true, true })
	if w.cancel != nil {
		w.cancel()
	}
}

// answerBy is what a handler comes back with.
func (w *world) answerBy(at *moment, words []string) {
	switch words[0] {
	case "error":
		at.result = func() (*toolrunner.Result, error) { return nil, errors.New("no luck") }
	case "abort":
		w.locked(func() { w.excused = true })
		at.result = func() (*toolrunner.Result, error) { return nil, toolrunner.Abort(errors.New("enough")) }
	case "nothing":
		at.result = func() (*toolrunner.Result, error) { return nil, nil } //nolint:nilnil // a success with nothing to say
	case "wait": // until somebody ends it
		select {
		case <-at.ctx.Done():
		case <-time.After(30 * time.Second):
		}
	}
}

// configure changes the parameters before the runner is made.
func (w *world) configure(_ *moment, words []string) {
	p := &w.params
	switch words[0] {
	case "eager":
		w.eager, p.EagerTools = true, true
	case "approve":
		w.asks, p.Approve = true, w.ask
	case "checkpoint":
		p.Checkpoint = w.keep
	case "serial":
		p.MaxConcurrency = 1
	case "compaction":
		w.restless = true
		p.AutoCompact.Threshold = 1000
		if word(words, 1) == "client" {
			p.AutoCompact.Client = &toolrunner.ClientCompaction{Prompt: summaryPrompt}
		}
	case "limit":
		w.restless = true
		limitCalls(p, 1)
	case "given":
		w.give(words[1:])
	}
}

// give begins with a history: "given call hang".
func (w *world) give(words []string) {
	var parts []string
	if len(w.params.Messages) > 1 {
		return // once is enough
	}
	for _, kind := range words {
		switch kind {
		case "call":
			c := w.calls.add(call{id: "g", tool: "pay", whole: true, given: true})
			w.history.base = append(w.history.base, item{"c" + strconv.Itoa(c.n), "assistant"})
			parts = append(parts, callPart(`{"type":"tool_use","id":"g","name":"pay"`, c.input, false).whole)
		case "hang":
			parts = append(parts, `{"type":"server_tool_use","id":"srvtoolu_given","name":"web_search","input":{}}`)
		}
	}
	if len(parts) > 0 {
		w.params.Messages = append(w.params.Messages, verbatim(`{"role":"assistant","content":[`+strings.Join(parts, ",")+`]}`))
	}
}
