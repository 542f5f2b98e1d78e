package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
)

// twin is the next request of a runner that goes on from where the world's stands.
type twin struct{ next *request }

// look compares what would go on from here: the run, a runner of its snapshot, and a
// conversation that begins with its messages.
func (w *world) look(at *moment, _ []string) {
	if at.turn != nil {
		at.turn.Text() // the reply is complete
	}
	if w.open { // a snapshot has results as they came, until the body is over
		return
	}
	snapshot, err := w.runner.Snapshot()
	if err != nil {
		w.flunk("twin/snapshot", "%v", err)
		return
	}
	resumed := w.peek("twin", func(p toolrunner.Params, service *anthropic.BetaMessageService) (*toolrunner.Runner, error) {
		return toolrunner.Resume(service, w.toolset(w.peeked("twin")), p, snapshot)
	})
	if resumed == nil {
		return
	}
	messages := w.runner.Messages()
	if len(messages) == 0 {
		w.flunk("continued/empty", "Messages is empty")
		return
	}
	continued := w.peek("continued", func(p toolrunner.Params, service *anthropic.BetaMessageService) (*toolrunner.Runner, error) {
		p.Messages = messages
		return toolrunner.New(service, w.toolset(w.peeked("continued")), p)
	})
	w.locked(func() {
		w.twin = resumed
		if continued == nil || !w.quiet() || resumed.next == nil {
			return
		}
		if continued.next == nil {
			w.fail("continued/silent", "New(Messages()) sends nothing, and the run sends %s", outline(resumed.next.Messages))
		} else if !alike(continued.next.body, resumed.next.body) {
			w.fail("continued/other", "New(Messages()) sends\n%s\nand the run\n%s", outline(continued.next.Messages), outline(resumed.next.Messages))
		}
	})
}

// quiet reports whether Messages has all that the next request depends on.
func (w *world) quiet() bool {
	if w.restless || w.excused || w.pauses || w.cut || w.compacting || w.history.loose || len(w.history.tail) > 0 {
		return false
	}
	for _, c := range w.calls {
		if !c.whole {
			return false // it is answered at once, and the others are told that they were not run
		}
		if !w.history.has(fmt.Sprint("c", c.n)) {
			continue
		}
		if c.decision != "" || c.hand != "" || c.edited || c.started > 0 {
			return false
		}
	}
	return true
}

func same[S ~[]byte](a, b []S) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

// alike reports whether two bodies have the same messages, as JSON values.
func alike(a, b []byte) bool {
	var x, y struct{ Messages any }
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

var errPeeked = errors.New("one request is enough")

// peek returns the first request of a runner that the world does not know of; nil if
// there is something wrong with it.
func (w *world) peek(kind string, open func(toolrunner.Params, *anthropic.BetaMessageService) (*toolrunner.Runner, error)) *twin {
	first := &twin{}
	client := clientOf(func(r *http.Request) (*http.Response, error) {
		if q, err := readBody(r); err == nil && first.next == nil {
			first.next = q
		}
		return nil, errPeeked
	})
	r, err := open(w.peekParams(), &client.Beta.Messages)
	if err != nil {
		w.flunk(kind+"/refused", "%v", err)
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	for _, err = range r.All(ctx) {
		break
	}
	if err != nil && first.next == nil && !isSuspended(err) {
		w.flunk(kind+"/error", "%v", err)
		return nil
	}
	if first.next != nil {
		if rule, detail := first.next.breach(); rule != "" {
			w.flunk(strings.Replace(rule, "request", kind, 1), "%s\n%s", detail, first.next.body)
			return nil
		}
	}
	return first
}

// peeked is the handler of a runner that the world does not know of: a call that must
// not start must not start there either.
func (w *world) peeked(kind string) toolrunner.Handler {
	return func(_ context.Context, public *toolrunner.Call) (*toolrunner.Result, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		c := w.calls.get(number(public.Input))
		if c == nil {
			w.fail(kind+"/invented", "a handler gets the input %s, which nobody wrote", public.Input)
			return nil, errOver
		}
		reason := c.refusal(false)
		if reason != "" {
			what, detail, _ := strings.Cut(reason, ": ")
			w.fail(strings.Replace(what, "call", kind, 1), "call %d (%s %s) starts there: %s", c.n, c.id, c.tool, detail)
		}
		return toolrunner.TextResult(fmt.Sprintf("r%d.", c.n)), nil
	}
}

// checkTwin checks that the run sends what its twin would. w is locked.
func (w *world) checkTwin(q *request) {
	twin := w.twin
	w.twin = nil
	switch {
	case twin == nil:
	case twin.next == nil:
		w.fail("twin/silent", "the run sends a request, and what is resumed from its snapshot does not")
	case !same(twin.next.raws, q.raws):
		w.fail("twin/other", "resumed from its snapshot it would send\n%s\nand it sends\n%s", outline(twin.next.Messages), outline(q.Messages))
	case !same(twin.next.Tools, q.Tools):
		w.fail("twin/tools", "resumed from its snapshot it would send the tools\n%s\nand it sends\n%s", twin.next.Tools, q.Tools)
	}
}
