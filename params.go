package toolrunner

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"reflect"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolrunner/toolrunner/internal/request"
)

// Params configures a run. The runner reads it before each request, except where a field
// says otherwise, so a loop body may change it between turns. Changing Params never takes
// over. The zero value of each field that the SDK does not have is a default.
type Params struct { //nolint:recvcheck // it is printed by value, and too large to pass around so
	// The request. Messages is read by [New] only: setting it later is an error,
	// as the runner owns the history. Thread and Compaction must not be set.
	//
	// Tools holds definitions that are sent as given, such as those of server
	// tools. One that has the name of a tool of the runner is sent in its place.
	//
	// A ToolChoice that forces a call (any, tool) is sent until the model has called a
	// tool in this run. After that it is left out: otherwise the run would never end. See
	// KeepToolChoice. A new value that is set during the run forces a call again.
	//
	// If the schema of OutputConfig.Format is a pointer to a struct, the runner parses the
	// reply that completes the run into it, and no other reply. If that fails, the run
	// ends after its last turn with an error that wraps
	// [anthropic.ErrStructuredOutputParse].
	anthropic.BetaMessageNewParams

	// ConversationID is the id of the conversation, in calls and checkpoints. [New] reads
	// it; empty means a random id. If it is set, [Resume] returns a *[SnapshotError] for a
	// snapshot of another conversation.
	ConversationID string

	// MaxIterations limits the replies in a run. Zero or negative means no limit. Failed
	// requests and compactions do not count; replies that Retry, Replace or SetMessages
	// discard do. The tools of the last turn run.
	MaxIterations int

	// Limits limits the tokens, time and calls of a run. Zero means no limits.
	Limits Limits

	// MaxConcurrency limits the calls of one turn that run at once. Zero means 8. One runs
	// them one by one, in the model's order.
	MaxConcurrency int

	// EagerTools starts calls of ReadOnly tools while their reply streams, under
	// [Runner.AllStreaming]. A call starts when the body asks for another event
	// after the one that shows that the model has moved on from the call; see
	// [Turn.Defer]. Its result is used if the reply stops for its calls. It is
	// discarded if the reply stops for anything else, fails, or the body takes over.
	// Calls of Exclusive tools, and the calls after them, wait for the complete
	// reply. If MaxConcurrency is one, so do the calls after any call that waits.
	// EagerTools has no effect without streaming, or with Approve, which is asked
	// once the reply is complete.
	EagerTools bool

	// AutoCompact shortens the history when it has grown. Zero means never.
	AutoCompact AutoCompact

	// Middleware wraps the handler of every call that runs; the first is outermost. A
	// Middleware is applied once per call: keep its state outside the Middleware function,
	// such as in the constructor that returns it.
	Middleware []Middleware

	// Approve decides on each call before it runs. Nil means that every call runs.
	Approve Approver

	// Checkpoint saves each change of the run, so that the run survives a crash of the
	// process. [New] and [Resume] read it. Nil means that nothing is saved.
	Checkpoint Checkpoint

	// SnapshotKey seals snapshots and deltas with HMAC-SHA256: only a snapshot that a
	// holder of the key has written can be resumed. It needs at least 16 bytes. [New] and
	// [Resume] read it. Nil means no seal.
	SnapshotKey []byte

	// KeepUnsignedThinking keeps thinking that has no signature, for hosts other than
	// Anthropic's that write none and want it back. [New] and [Resume] read it. False means
	// that such thinking is left out of replies, with a record, and refused in messages: the
	// Messages API would refuse it.
	KeepUnsignedThinking bool

	// MessageThread keeps the conversation at the API, so that a request holds only the
	// messages that are new to it. The API keeps them in memory for minutes, which rules out
	// zero data retention; the prices are the same. What the API has forgotten or refuses to
	// continue goes out whole, in the same turn. Clients without message threads (Bedrock,
	// Vertex AI) and Resume begin with the whole history. False means that each request holds
	// the whole history. Source: the API's page on message threads.
	MessageThread bool

	// KeepToolChoice sends a forced ToolChoice with every request.
	KeepToolChoice bool

	// Validate says whether input is checked before a handler runs.
	Validate Validation

	// Logger receives the records of the run: requests, replies, calls and faults. [New]
	// reads it. Nil means standard error if the environment variable ANTHROPIC_LOG is info
	// or debug, and nothing otherwise. Records hold contents at debug level only, and keys
	// at no level.
	Logger *slog.Logger

	// TracerProvider makes the spans of runs and calls, and those of the SDK for requests.
	// Nil means the one that is registered with OpenTelemetry when a run begins. The
	// environment variable ANTHROPIC_OPEN_TELEMETRY=false turns spans and metrics off. A
	// provider that panics or blocks does not end a run.
	TracerProvider trace.TracerProvider

	// MeterProvider makes the metrics of runs, requests and calls. Nil means the one that is
	// registered with OpenTelemetry when a run begins.
	MeterProvider metric.MeterProvider

	// RequestOptions apply to every request of the runner, after those of the client. They
	// may change anything but messages, system, thread, tools and thinking in the body.
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
	// the Go type, such as text for a number, still fails the call, and so does a key
	// that comes twice.
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
		return errors.New("Params.Thread is set; the runner sets it where Params.MessageThread is true, so leave it out")
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
