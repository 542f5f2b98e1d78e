package model

import (
	"context"
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
		"given": (*world).configure, "compaction": (*world).configure, "limit": (*world).configure, "threads": (*world).configure,
		"prompt": (*world).prompt,
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

// results runs the calls in the body: "results", "edit 0" to change a result, and
// "edit 0 nil" to leave it.
func (w *world) results(at *moment, words []string) {
	ctx, cancel := context.WithTimeout(at.ctx, time.Minute)
	defer cancel()
	results, err := at.turn.Results(ctx)
	w.checkResultsErr(err)
	w.held = results
	i, _ := strconv.Atoi(word(words, 1))
	w.open = w.open || words[0] == "edit"
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
		if w.note("results: %v", err); err != nil && !w.excused && !isSuspended(err) && !errors.Is(err, context.DeadlineExceeded) {
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
		at.result = func() (*toolrunner.Result, error) { return nil, nil }
	case "wait": // until somebody ends it
		select {
		case <-at.ctx.Done():
		case <-time.After(30 * time.Second):
		}
	}
}
