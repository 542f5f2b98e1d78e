package toolrunner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/request"
	"github.com/toolrunner/toolrunner/internal/schema"
)

// Handler answers a call. Handlers of one turn run concurrently, each on its own
// goroutine. ctx ends when the run is cancelled or the tool's timeout expires, and carries
// the call for [CallFrom].
//
// An error becomes a failed result with the text "Error: " and the error's text. Content
// that is returned with the error goes before that. A nil Result without an error is an
// empty success.
type Handler func(ctx context.Context, call *Call) (*Result, error)

// Tool is a tool that the runner runs: its definition for the model, and the handler of
// its calls. It implements [anthropic.BetaTool].
//
// A Tool must not be modified after it was given to a runner. Any number of runners may
// share it.
type Tool struct {
	// Definition is sent as given: cache_control, defer_loading, input_examples
	// and the rest are set here. If Strict is set, a schema that was derived from
	// a Go type takes the form that strict mode asks for.
	Definition anthropic.BetaToolParam
	// Native is the definition of one of the API's own client tools (memory, bash, text
	// editor, computer use), whose schema the model knows. It is sent in place of Definition,
	// which must be empty; its name is the tool's. Input is not checked. [New] returns an error
	// for a tool that the API runs itself.
	Native anthropic.BetaToolUnionParam
	// Handler answers the calls. It must not be nil.
	Handler Handler
	// Timeout cancels the context of a call after this time; the call fails. Zero means no
	// timeout.
	Timeout time.Duration
	// ReadOnly promises that calls have no side effects. An interrupted call may run
	// again, and a call may start while its reply streams ([Params].EagerTools).
	ReadOnly bool
	// Idempotent promises that a call which runs twice takes effect once: the handler
	// passes [Call.IdempotencyKey] to whatever has the effect. A call that was
	// interrupted may then run again, as a ReadOnly one may.
	Idempotent bool
	// Exclusive runs each call alone: the calls before it have ended, and the calls after
	// it have not started.
	Exclusive bool
	// Owner is who provides the tool, for [Runner.SetToolsOf]: a pointer, or another
	// value that can be compared. Nil means the program.
	Owner any

	schema *schema.Input                 // what input is checked against; nil: nothing
	strict func() (*schema.Input, error) // derives it for Definition.Strict; nil: it is not derived
	err    error                         // why there is no schema, for a constructor that returns no error
	sent   *sentTool                     // nil: nothing is kept
	typed  Handler                       // what Handler was at first, if it decodes the input; nil for other tools
}

// isTyped reports whether the tool's handler takes nothing of a call but its input.
func (t *Tool) isTyped() bool {
	return t.typed != nil && reflect.ValueOf(t.Handler).Pointer() == reflect.ValueOf(t.typed).Pointer()
}

// sentTool is what a tool is sent as. It is made for the first runner that the
// tool is given, after which the tool does not change, and kept for the next.
type sentTool struct {
	once       sync.Once
	of         *Tool // a copy of the tool may be changed
	definition []byte
	schema     *schema.Input
	err        error
}

var _ anthropic.BetaTool = (*Tool)(nil)

// NewTool returns a tool whose input schema is derived from In, and whose input
// is checked against it before run is called with it decoded.
//
// What run returns becomes the result:
//   - a string is a text block;
//   - a content block of the SDK, a pointer to one, a
//     [anthropic.BetaToolResultBlockParamContentUnion], a slice of those, and a
//     [Result] or a pointer to one go as they are; nil has nothing to say;
//   - []byte is told from its content: JPEG, PNG, GIF and WebP are an image, a PDF
//     is a document, UTF-8 is text, and any other data fails the call;
//   - an error fails the call, as if it had been returned as one;
//   - anything else is JSON in a text block, with null for nil. Methods that
//     encoding/json does not know, such as String, do not count. What has no JSON
//     form (NaN, a value that contains itself) fails the call.
//
// NewTool panics if In has no schema, or run is nil: that is a fault of the program
// text. For
// what In can be, see the guide docs/guide/typed-tools.md; for interfaces in it,
// see [OneOf].
func NewTool[In, Out any](name, description string, run func(ctx context.Context, input In) (Out, error)) *Tool {
	tool, err := derivedTool(name, description, run)
	if err != nil {
		panic(err.Error())
	}
	return tool
}

// derivedTool makes a tool whose schema is that of a Go type.
func derivedTool[In, Out any](name, description string, run func(context.Context, In) (Out, error)) (*Tool, error) {
	if run == nil {
		return nil, fmt.Errorf("toolrunner: tool %q: the function is nil", name)
	}
	derive := func(strict bool) (*schema.Input, error) { return schema.For(reflect.TypeFor[In](), strict) }
	input, err := derive(false)
	if err != nil {
		return nil, fmt.Errorf("toolrunner: tool %q: %w", name, err)
	}
	checked := input.Decoder()
	unchecked := checked.Unchecked()
	tool := newTypedTool(definition(name, description, input.Param()), run, func(call *Call, into any) error {
		if call.unchecked {
			return decodeDistinct(unchecked, call, into)
		}
		return checked.Decode(call.Input, call.read, into)
	})
	tool.schema = input
	tool.strict = func() (*schema.Input, error) { return derive(true) }
	return tool, nil
}

// newTypedTool returns a tool that decodes its input, which is checked against nothing.
func newTypedTool[In, Out any](d anthropic.BetaToolParam, run func(context.Context, In) (Out, error), decode func(*Call, any) error) *Tool {
	tool := NewRawTool(d, typedHandler(run, decode))
	tool.typed = tool.Handler
	return tool
}

// NewRawTool returns a tool with a definition that somebody else wrote. Its
// handler gets the input as the API sent it: valid JSON, but checked against
// nothing.
func NewRawTool(definition anthropic.BetaToolParam, run Handler) *Tool {
	return &Tool{Definition: definition, Handler: run, sent: &sentTool{}}
}

func definition(name, description string, input anthropic.BetaToolInputSchemaParam) anthropic.BetaToolParam {
	d := anthropic.BetaToolParam{Name: name, InputSchema: input}
	if description != "" {
		d.Description = anthropic.String(description)
	}
	return d
}

func typedHandler[In, Out any](run func(context.Context, In) (Out, error), decode func(*Call, any) error) Handler {
	return func(ctx context.Context, call *Call) (*Result, error) {
		var input In
		if err := decodeInto(call, &input, decode); err != nil {
			return nil, err
		}
		output, err := run(ctx, input)
		if err != nil {
			return contentBeside(output), err
		}
		return resultOf(output)
	}
}

// decodeInto decodes the input of a call; raw bytes get it as it is.
func decodeInto(call *Call, into any, decode func(*Call, any) error) error {
	switch into := into.(type) {
	case *json.RawMessage:
		*into = call.Input
	case *[]byte:
		*into = call.Input
	default:
		return decode(call, into)
	}
	return nil
}

// decodeDistinct decodes input that was not checked. It returns an error for input with a
// key that comes twice: an approver may have read another value of it than the tool would.
func decodeDistinct(decoder *schema.Decoder, call *Call, into any) error {
	read, err := schema.Distinct(call.Input)
	if err != nil {
		return err
	}
	return decoder.Decode(call.Input, read, into)
}

// decodeOpen decodes input whose keys somebody else's schema names.
func decodeOpen[In any]() func(*Call, any) error {
	decoder := schema.OpenDecoder(reflect.TypeFor[In]())
	return func(call *Call, into any) error {
		if call.unchecked {
			return decodeDistinct(decoder, call, into)
		}
		return decoder.Decode(call.Input, call.read, into)
	}
}

// Name returns the name of the definition.
func (t *Tool) Name() string {
	if t.isNative() {
		return nativeName(t.Native)
	}
	return t.Definition.Name
}

// Description returns the description of the definition, or "".
func (t *Tool) Description() string { return t.Definition.Description.Value }

// InputSchema returns the input schema of the definition.
func (t *Tool) InputSchema() anthropic.BetaToolInputSchemaParam { return t.Definition.InputSchema }

// encoded returns the definition as it is sent, and the schema that goes with it.
func (t *Tool) encoded() ([]byte, *schema.Input, error) {
	s := t.sent
	if s != nil {
		s.once.Do(func() { s.of = t; s.encode(t) })
	}
	if s == nil || s.of != t {
		s = &sentTool{}
		s.encode(t)
	}
	return s.definition, s.schema, s.err
}

func (s *sentTool) encode(t *Tool) {
	if t.isNative() {
		s.definition, s.err = t.encodeNative()
		return
	}
	d, input, err := t.fitted()
	if err == nil {
		s.definition, err = encodeDefinition(d, input)
	}
	s.schema, s.err = input, err
}

// fitted returns the definition and the schema as they are to be used: a derived
// schema has another form if the definition is strict.
func (t *Tool) fitted() (anthropic.BetaToolParam, *schema.Input, error) {
	if t.err != nil || t.strict == nil || !t.Definition.Strict.Value {
		return t.Definition, t.schema, t.err
	}
	input, err := t.strict()
	if err != nil {
		return t.Definition, nil, err
	}
	d := t.Definition
	d.InputSchema = input.Param()
	return d, input, nil
}

// resultError returns the error that a failed result stands for: its cause, or
// its text.
func resultError(r *Result) error {
	if r.Err != nil {
		return r.Err
	}
	for _, c := range r.Content {
		if c.OfText != nil && c.OfText.Text != "" {
			return errors.New(c.OfText.Text)
		}
	}
	return errors.New("the tool failed")
}

// NewBetaToolFromJSONSchema is the official runner's constructor of that name:
// the schema is derived from T. It returns an error if T has none.
func NewBetaToolFromJSONSchema[T any](
	name, description string,
	handler func(context.Context, T) (anthropic.BetaToolResultBlockParamContentUnion, error),
) (anthropic.BetaTool, error) {
	tool, err := derivedTool(name, description, handler)
	if err != nil {
		return nil, err // not tool, which would be a nil that is not nil
	}
	return tool, nil
}

// NewBetaToolFromBytes is the official runner's constructor of that name: the
// schema is given as JSON. Input is checked against it unless T is
// [json.RawMessage] or []byte, which get it as the API sent it. It returns an
// error for a schema that the API would refuse.
func NewBetaToolFromBytes[T any](
	name, description string,
	schemaJSON []byte,
	handler func(context.Context, T) (anthropic.BetaToolResultBlockParamContentUnion, error),
) (anthropic.BetaTool, error) {
	input, err := schema.FromJSON(schemaJSON)
	if err != nil {
		return nil, fmt.Errorf("toolrunner: tool %q: %w", name, err)
	}
	tool := newTypedTool(definition(name, description, input.Param()), handler, decodeOpen[T]())
	if !takesBytes[T]() {
		tool.schema = input
	}
	return tool, nil
}

// NewBetaTool is the official runner's constructor of that name: the schema is
// given as the SDK's value. Input is checked against it unless T is
// [json.RawMessage] or []byte. A schema that the API would refuse is reported by
// [New].
func NewBetaTool[T any](
	name, description string,
	inputSchema anthropic.BetaToolInputSchemaParam,
	handler func(context.Context, T) (anthropic.BetaToolResultBlockParamContentUnion, error),
) anthropic.BetaTool {
	tool := newTypedTool(definition(name, description, inputSchema), handler, decodeOpen[T]())
	if !takesBytes[T]() {
		tool.schema, tool.err = schema.FromParam(inputSchema)
	}
	return tool
}

func takesBytes[T any]() bool {
	switch any((*T)(nil)).(type) {
	case *json.RawMessage, *[]byte:
		return true
	}
	return false
}

// encodeDefinition encodes d with the keys of its schema in a fixed order. It
// returns an error for a schema that the API would refuse, as it would refuse the
// whole request. A schema that is known, or nil, is not read again.
func encodeDefinition(d anthropic.BetaToolParam, known *schema.Input) ([]byte, error) {
	if _, raw := d.Overrides(); !raw && !known.Is(d.InputSchema) {
		input, err := schema.FromParam(d.InputSchema)
		if err != nil {
			return nil, err
		}
		d.InputSchema = input.Param()
	}
	return request.EncodeTool(d)
}
