package toolrunner

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"reflect"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/toolrunner/toolrunner/internal/request"
)

// Params is what a runner is to do. The runner reads it at each request, except
// where a field says otherwise, so that a loop body can change it between turns;
// a change is no takeover. The zero value of each field of ours is a default.
type Params struct { //nolint:recvcheck // it is printed by value, and too large to pass around so
	// The request. Messages is read by [New] only: setting it later is an error,
	// as the runner owns the history. Thread and Compaction must not be set.
	//
	// Tools holds definitions that are sent as given, such as those of server
	// tools. One that has the name of a tool of the runner is sent in its place.
	//
	// A ToolChoice that forces a call (any, tool) is sent until the model has
	// called a tool in this run, as it would never come to an end otherwise; see
	// KeepToolChoice. A new value that is set during the run forces again.
	//
	// If the schema of OutputConfig.Format is a pointer to a struct, a reply that
	// completes the run is parsed into it, and no other. If that fails for the last,
	// the run ends with an error that wraps [anthropic.ErrStructuredOutputParse],
	// after its last turn.
	anthropic.BetaMessageNewParams

	// ConversationID names the conversation, in calls and checkpoints. It is read by
	// [New]; empty: a random one. [Resume] refuses a snapshot of another conversation,
	// if it is set.
	ConversationID string

	// MaxIterations is how many replies a run may have. Zero or less: no limit.
	// A request that fails does not count, nor does a compaction; a turn that was
	// taken over does. The tools of the last turn are run.
	MaxIterations int

	// Limits bounds what a run may use: tokens, time, calls. Zero: no limits.
	Limits Limits

	// MaxConcurrency is how many calls of one turn run at once. Zero: 8. One: one
	// by one, in the model's order.
	MaxConcurrency int

	// EagerTools starts calls of ReadOnly tools while the reply still streams, under
	// [Runner.AllStreaming]: each as soon as the model has moved on from it and the
	// body has handled the event that says so; see [Turn.Defer]. What they come
	// back with is used once the reply has stopped for its calls, and dropped if it
	// stops for anything else, fails, or is taken over. Exclusive tools, and the
	// calls after theirs, wait for the reply; so do those after any call that waits
	// if MaxConcurrency is one. Runs that do not stream are not affected, nor are
	// those with Approve: it is asked once the reply is there.
	EagerTools bool

	// AutoCompact shortens the history when it has grown. Zero: never.
	AutoCompact AutoCompact

	// Middleware goes around the handler of every call that is run; the first is
	// outermost. It is applied anew for each call, so what a middleware remembers
	// must live outside the handler that it returns.
	Middleware []Middleware

	// Approve is asked before a call runs. Nil: every call runs.
	Approve Approver

	// Checkpoint keeps what has changed in the run, so that it survives a crash of
	// the process. It is read by [New] and [Resume]. Nil: nothing is kept.
	Checkpoint Checkpoint

	// SnapshotKey seals snapshots and what Checkpoint gets, with HMAC-SHA256: only
	// those that a holder of the key has written can be resumed. At least 16 bytes.
	// It is read by [New] and [Resume]. Nil: no seal.
	SnapshotKey []byte

	// KeepToolChoice sends a forced ToolChoice with every request.
	KeepToolChoice bool

	// Validate says whether input is checked before a handler runs.
	Validate Validation

	// Logger gets the records of the run: requests, replies, calls, and what goes
	// wrong beside them. It is read by [New]. Nil: they go to standard error at the
	// level that the environment variable ANTHROPIC_LOG names, info or debug, and
	// nowhere without it. Contents are in records at debug level only; keys are in
	// none.
	Logger *slog.Logger

	// RequestOptions go on every request of the runner, after those of the
	// client. They may change anything but the body's messages, system, tools and
	// thinking.
	RequestOptions []option.RequestOption
}

// Validation says whether the input of calls is checked against the schema of
// their tool.
type Validation uint8

const (
	// ValidateInput, the default, checks input against the schema. A call that
	// fails it is not run; the model reads what is wrong. Raw tools ([NewRawTool])
	// are not checked. A tool that is not ours is checked against the schema that
	// it gives, of which only what is known to refuse input does; null is accepted
	// for any property that may be missing.
	ValidateInput Validation = iota
	// ValidateOff runs every call whose input is a JSON object. Typed tools
	// decode it as far as their type goes: properties that may not be missing are
	// zero, unknown ones are dropped, and bounds do not count. What does not fit
	// the Go type, such as text for a number, still fails the call.
	ValidateOff
	// ValidateLenient is ValidateInput for models that write JSON into strings:
	// where the schema wants an object, an array, a number or a boolean, and
	// accepts no string, a string inside of the input that holds one is taken for
	// it. The call gets the input without the strings; the history keeps what the
	// model wrote.
	ValidateLenient
)

const (
	defaultConcurrency = 8
	minSnapshotKey     = 16
)

func (p *Params) concurrency() int { return cmp.Or(p.MaxConcurrency, defaultConcurrency) }

// validate names the first field whose value makes no sense.
func (p *Params) validate() error {
	switch {
	case p.Model == "":
		return errors.New("Params.Model is empty; set one, such as anthropic.ModelClaudeSonnet5_5")
	case p.MaxTokens <= 0:
		return fmt.Errorf("Params.MaxTokens is %d; set how many tokens a reply may have, such as 4096", p.MaxTokens)
	case p.MaxConcurrency < 0:
		return fmt.Errorf("Params.MaxConcurrency is %d; use 0 for the default, or a positive number", p.MaxConcurrency)
	case p.Validate > ValidateLenient:
		return fmt.Errorf("Params.Validate is %d; use ValidateInput, ValidateOff or ValidateLenient", p.Validate)
	case p.Thread.OfCreate != nil || p.Thread.OfContinue != nil:
		return errors.New("Params.Thread is set; the runner sends the whole history, so leave it out")
	case !reflect.ValueOf(p.Compaction).IsZero():
		return errors.New("Params.Compaction is set; a request that compacts is not a turn, so leave it out")
	case len(p.SnapshotKey) > 0 && len(p.SnapshotKey) < minSnapshotKey:
		return fmt.Errorf("Params.SnapshotKey has %d bytes; use at least %d, from crypto/rand", len(p.SnapshotKey), minSnapshotKey)
	case p.AutoCompact.Threshold < 0:
		return fmt.Errorf("Params.AutoCompact.Threshold is %d; use 0 for none, or a positive number", p.AutoCompact.Threshold)
	case p.AutoCompact.Threshold == 0 && p.AutoCompact.Client != nil:
		return errors.New("Params.AutoCompact.Client is set but Threshold is 0, so it would never compact; set Threshold")
	}
	for i, m := range p.Middleware {
		if m == nil {
			return fmt.Errorf("Params.Middleware[%d] is nil", i)
		}
	}
	if err := p.Limits.validate(); err != nil {
		return err
	}
	if p.AutoCompact.Threshold > 0 && p.AutoCompact.Client == nil {
		return request.CheckCompactable(&p.BetaMessageNewParams)
	}
	return nil
}

// current is validate for parameters that the caller may have changed since New.
// No call is run beside parameters whose request cannot go out.
func (p *Params) current() error {
	if len(p.Messages) > 0 {
		return errors.New("Params.Messages was set after New; the runner owns the history, so add to it with AppendMessages")
	}
	return p.validate()
}

// forced returns the tool choice that forces a call, or nil.
func (p *Params) forced() any {
	switch c := p.ToolChoice; {
	case c.OfAny != nil:
		return c.OfAny
	case c.OfTool != nil:
		return c.OfTool
	}
	return nil
}

// parseOutput parses the final reply into the struct that the schema of the
// output format points to, if it does.
func (p *Params) parseOutput(message *anthropic.BetaMessage) error {
	for _, schema := range []any{p.OutputConfig.Format.Schema, p.OutputFormat.Schema} { //nolint:staticcheck // callers may still set it
		if v := reflect.ValueOf(schema); v.Kind() == reflect.Pointer && !v.IsNil() {
			return message.ParseOutput(schema)
		}
	}
	return nil
}
