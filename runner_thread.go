package toolrunner

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"go.opentelemetry.io/otel/attribute"

	"github.com/toolrunner/toolrunner/internal/machine"
	"github.com/toolrunner/toolrunner/internal/request"
)

// Message threads are begun, continued and begun anew here.

// thread returns how the request under way gives the API the history. The lock is held.
func (r *Runner) thread(head *request.Head) request.Thread {
	now := r.machine.Thread()
	if request.Trims(r.machine.Messages()) {
		head = nil // the API keeps less than the history has: nothing continues that
	}
	if before, ok := now.Head.(*request.Head); ok && now.Previous != "" && before.Is(head) {
		r.machine.Via(machine.Continue, before)
		return request.Thread{Previous: now.Previous, Kept: now.Kept}
	}
	r.machine.DropKept()
	if now.Off {
		r.machine.Via(machine.Plain, nil)
		return request.Thread{}
	}
	r.machine.Via(machine.Create, head)
	return request.Thread{Create: true}
}

// threadSupport says whether a client can reach an API with message threads.
type threadSupport uint8

const (
	threadsUnknown threadSupport = iota
	threadsThere
	threadsMissing
)

// hasThreads reports whether requests go out in message threads. Clients of other clouds have
// none: the SDK says so before it sends anything.
func (r *Runner) hasThreads(ctx context.Context) bool {
	if !r.Params.MessageThread {
		return false
	}
	if r.threads == threadsUnknown {
		r.threads = threadsThere
		probe := r.messages.NewThread(anthropic.BetaMessageThreadCreateParams{}, r.Params.RequestOptions...)
		_, err := probe.Send(ctx, anthropic.BetaMessageThreadSendParams{}, option.WithoutOpenTelemetry(), option.WithRequestBody("", 0))
		if err != nil && strings.Contains(err.Error(), "message threads are not available") {
			r.threads = threadsMissing
			r.log.Threadless(ctx)
		}
	}
	return r.threads == threadsThere
}

// answered takes note that the API has begun to answer the request under way.
func (r *Runner) answered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.machine.Answered()
}

// recovers reports whether a request that the API has refused goes out at once in another
// form, because of its thread. That happens at most twice in a turn.
func (r *Runner) recovers(ctx context.Context, turn *Turn, err error) bool {
	var api *anthropic.Error
	if turn.err != nil || !errors.As(err, &api) {
		return false
	}
	code := string(api.ErrorCode())
	r.mu.Lock()
	recovers := r.machine.Recover(code)
	r.mu.Unlock()
	if recovers {
		r.log.ThreadReplayed(ctx, turn.iteration, turn.request.Thread().Previous, code, unsupportedBy(api))
		r.traceRequest(ctx, turn, nil, err)
		r.trace.Event(ctx, "thread_replayed", attribute.String("toolrunner.thread.reason", code))
	}
	return recovers
}

// unsupportedBy returns what the API does not support beside a thread, as an error says.
func unsupportedBy(err *anthropic.Error) []string {
	var body struct {
		Error struct {
			Details struct{ Unsupported []string }
		}
	}
	_ = json.Unmarshal([]byte(err.RawJSON()), &body) // a list that is missing says nothing
	return body.Error.Details.Unsupported
}
