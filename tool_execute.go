package toolrunner

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/dispatch"
	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/schema"
)

// Tools are called here by others than a Runner of ours: by another runner, and by
// handlers of other tools.

// Execute answers one call with input, so that the tool works with any runner that
// takes an [anthropic.BetaTool], and handlers of other tools may call it. The input is
// checked, Timeout applies, and a panic becomes an error; what else a [Runner] does
// around a call, such as middleware and approval, it does not.
//
// A failed call returns an error. Its text is what the model is to read, valid UTF-8 of at
// most 4,096 characters; it wraps the cause. A runner of ours that gets it from a
// handler sends all of its content.
//
// Within a handler, the call has the ID of the handler's call. Under another runner it has
// none. Its IdempotencyKey differs from that of every other call: under another runner it
// is random.
func (t *Tool) Execute(ctx context.Context, input json.RawMessage) (content []anthropic.BetaToolResultBlockParamContentUnion, err error) {
	defer catchExecute(&content, &err)
	if t.Handler == nil {
		return nil, fmt.Errorf("toolrunner: tool %q has no Handler", t.Name())
	}
	var read *schema.Document
	if t.schema != nil {
		if read, err = t.schema.Read(input); err != nil {
			return nil, executeError(nil, err)
		}
	}
	call := innerCall(ctx, t.Name(), input)
	call.read, call.ReadOnly, call.repeatable = read, t.ReadOnly, t.ReadOnly || t.Idempotent
	ctx = context.WithValue(ctx, callKey{}, call)
	var result *Result
	if t.Timeout > 0 {
		result, err = within(ctx, t.Timeout, t.Handler, call)
	} else {
		result, err = invoke(ctx, t.Handler, call)
	}
	switch {
	case err != nil:
		return nil, executeError(result, err)
	case result == nil:
		return nil, nil
	case result.IsError:
		return nil, executeError(nil, &ToolError{Content: result.Content, Err: result.Err})
	}
	return sendable(result.Content)
}

// invoke calls a handler and turns a panic into an error.
func invoke(ctx context.Context, handler Handler, call *Call) (result *Result, err error) {
	defer catch(&err)
	return handler(ctx, call)
}

// within calls a handler with a context that ends after a time. A handler that does not
// return soon after that is abandoned: what it returns is discarded.
func within(ctx context.Context, after time.Duration, handler Handler, call *Call) (*Result, error) {
	return dispatch.Within(ctx, after, func(ctx context.Context) (*Result, error) { return invoke(ctx, handler, call) })
}

// sendable returns content without what Result.encode leaves out, or why it cannot be sent.
func sendable(content []anthropic.BetaToolResultBlockParamContentUnion) ([]anthropic.BetaToolResultBlockParamContentUnion, error) {
	kept := make([]anthropic.BetaToolResultBlockParamContentUnion, 0, len(content))
	for _, c := range content {
		block, err := appendContent(nil, c)
		if err != nil {
			return nil, executeError(nil, unsendable(err))
		}
		if len(block) > 0 {
			kept = append(kept, c)
		}
	}
	return kept, nil
}

// executedError is the error of Execute: it says what the model is to read.
type executedError struct {
	text string
	err  error
}

func (e *executedError) Error() string { return e.text }
func (e *executedError) Unwrap() error { return e.err }

// executeError returns the error for a runner that sends the text of it alone.
func executeError(r *Result, err error) error {
	failed := failedResult(r, err)
	var texts []string
	for _, c := range failed.Content {
		if c.OfText != nil && c.OfText.Text != "" {
			texts = append(texts, c.OfText.Text)
		}
	}
	text := cmp.Or(strings.Join(texts, "\n"), emptyErrorText)
	text = boundText(strings.TrimPrefix(text, errorPrefix)) // the runner has a prefix of its own
	if text == err.Error() {
		return err
	}
	if !errors.As(err, new(*ToolError)) && len(failed.Content) > 1 {
		err = &ToolError{Content: failed.Content, Err: err}
	}
	return &executedError{text, err}
}

// catchExecute, when it is deferred, turns a panic of an error or of content into an
// error for the model.
func catchExecute(content *[]anthropic.BetaToolResultBlockParamContentUnion, err *error) {
	if value := recover(); value != nil {
		*content, *err = nil, executeError(nil, &history.PanicError{Value: value, Stack: debug.Stack()})
	}
}

// innerCall returns the call that Tool.Execute makes, within the call of ctx if there is
// one. It shares no key with another call, but is the same again when a handler runs
// again.
func innerCall(ctx context.Context, name string, input []byte) *Call {
	outer, ok := CallFrom(ctx)
	if !ok {
		return &Call{Name: name, Input: input, key: rand.Text(), block: &lateBlock{}}
	}
	call := &Call{
		ID: outer.ID, Name: name, Input: input, Block: outer.Block, Iteration: outer.Iteration,
		ConversationID: outer.ConversationID, reply: outer.reply, block: &lateBlock{},
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s", name, input))
	keys, again := ctx.Value(attemptKey{}).(*innerKeys)
	switch {
	case again:
	case outer.block == nil: // a middleware has put another call in its place
		keys = &innerKeys{}
	default:
		keys = &outer.block.inner
	}
	call.key = keys.next(fmt.Sprintf("%s-%x", outer.IdempotencyKey(), sum[:8]))
	return call
}

// innerKeys counts the calls that a handler makes with the same name and input, each
// time that it runs.
type innerKeys struct {
	mu    sync.Mutex // guards what follows
	count map[string]int
}

// attemptKey is the key of the innerKeys of a handler's further attempt.
type attemptKey struct{}

// next returns a key that no call before has had.
func (k *innerKeys) next(key string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.count == nil {
		k.count = make(map[string]int)
	}
	k.count[key]++
	return fmt.Sprintf("%s-%d", key, k.count[key])
}
