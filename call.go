package toolrunner

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/toolrunner/toolrunner/internal/dispatch"
	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/machine"
	"github.com/toolrunner/toolrunner/internal/media"
	"github.com/toolrunner/toolrunner/internal/request"
	"github.com/toolrunner/toolrunner/internal/schema"
	"github.com/toolrunner/toolrunner/internal/wire"
)

// Call is a tool call that the runner answers. Each handler receives its own copy, which
// it may modify and retain.
type Call struct { //nolint:recvcheck // it is encoded and printed by value as well
	// ID is the id of the tool_use block. It is unique in the conversation.
	ID string
	// Name is the name of the tool that the model asks for.
	Name string
	// Input is the input that runs: the bytes that the API sent, with numbers of any size
	// and the order of keys. It is valid JSON. Only [ValidateLenient] and [AllowInput]
	// change it.
	Input json.RawMessage
	// Block is the tool_use block as the model wrote it. Its Input is decoded, so large
	// numbers are rounded and keys have no order.
	Block anthropic.BetaToolUseBlock
	// Iteration is the number of the turn in its run, from 1. It is 0 for a call in the
	// messages that the runner began with.
	Iteration int

	// ReadOnly reports whether the call's tool is a [Tool] with ReadOnly set.
	ReadOnly bool

	// ConversationID is the id of the conversation; see [Runner.ConversationID].
	ConversationID string

	key        string                   // the idempotency key, of a call that was decoded; empty: it is derived
	reply      int                      // how many replies the conversation had had
	original   []byte                   // the input as the model wrote it; nil: Input is
	repeatable bool                     // its tool is ReadOnly or Idempotent
	read       *schema.Document         // the input as its check has parsed it; nil: it was not
	unchecked  bool                     // the input was not checked, and is decoded leniently
	block      *lateBlock               // what Block is decoded from
	decided    bool                     // a decision had been made when Input was
	refusal    func(input []byte) error // why the call cannot have another input; nil: it can have any
	definition []byte                   // of its tool, as sent; nil: there is none
}

// IdempotencyKey returns a key of this call for a service that ignores repeated requests.
// It is the same when the call runs again after a crash, and differs for every other call
// of every conversation.
func (c *Call) IdempotencyKey() string {
	if c.key != "" {
		return c.key
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %s", c.reply, c.Name, c.written()))
	return fmt.Sprintf("%s-%s-%x", c.ConversationID, c.ID, sum[:8])
}

// written returns the input as the model wrote it.
func (c *Call) written() []byte {
	if c.original != nil {
		return c.original
	}
	return c.Input
}

// lateBlock is the block of a call that perhaps nobody will look at: typed tools
// take its input alone.
type lateBlock struct {
	raw  []byte
	once sync.Once

	inner innerKeys // of calls that its handler makes by Tool.Execute
}

// show completes the call for somebody who is to see it.
func (c *Call) show() {
	if c.block != nil {
		c.block.once.Do(func() { _ = c.Block.UnmarshalJSON(c.block.raw) }) // it was read before
	}
}

type callKey struct{}

// CallFrom returns the call of a handler's context, or of a context derived from it. It
// reports false for any other context.
func CallFrom(ctx context.Context) (*Call, bool) {
	call, ok := ctx.Value(callKey{}).(*Call)
	if ok {
		call.show()
	}
	return call, ok
}

// Result is the result of a call. A nil Result, or one without content, is an empty
// success.
//
// Encoding leaves out content that the API would refuse: unions without a value, and text
// blocks without text. A failed result without content gets a text block that says so, as
// the API requires one.
type Result struct {
	Content []anthropic.BetaToolResultBlockParamContentUnion
	// IsError tells the model that the call failed.
	IsError bool
	// CacheControl sets a cache breakpoint at the result.
	CacheControl anthropic.BetaCacheControlEphemeralParam
	// Err is the private cause of a failed call. It is never sent.
	Err error
}

// TextResult returns a result of one text block.
func TextResult(text string) *Result {
	return &Result{Content: []anthropic.BetaToolResultBlockParamContentUnion{textContent(text)}}
}

// ErrorResult returns a failed result of one text block, which is sent as given.
func ErrorResult(text string) *Result {
	r := TextResult(text)
	r.IsError = true
	return r
}

// JSONResult returns a result of one text block that holds v as JSON, without
// escapes for HTML. It returns the error of [json.Marshal].
func JSONResult(v any) (*Result, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return TextResult(strings.TrimSuffix(text.String(), "\n")), nil
}

// Param returns the result as the block that answers the call of an id, for a loop body
// that answers by hand with [Runner.AppendMessages]. It is what the runner would send:
// content that says nothing is left out, and a result that the API would refuse becomes a
// failed one that says why. Err is not in it.
func (r *Result) Param(callID string) anthropic.BetaContentBlockParamUnion {
	block, _ := r.encode(history.Use{ID: callID})
	sent := readResult(block)
	p := anthropic.BetaToolResultBlockParam{ToolUseID: callID, Content: sent.Content, CacheControl: sent.CacheControl}
	if sent.IsError {
		p.IsError = anthropic.Bool(true)
	}
	return anthropic.BetaContentBlockParamUnion{OfToolResult: &p}
}

func textContent(text string) anthropic.BetaToolResultBlockParamContentUnion {
	return anthropic.BetaToolResultBlockParamContentUnion{OfText: &anthropic.BetaTextBlockParam{Text: text}}
}

// maxErrorText is how much of an error's text the model reads, in characters,
// beside what stands before it.
const maxErrorText = 4096

const (
	errorPrefix    = "Error: "
	emptyErrorText = "Error: the tool failed without saying why."
	panicText      = "Error: the tool failed unexpectedly."
	abortText      = "Error: the tool ended the run."
)

// failedResult returns the result of a call whose handler returned err, beside
// the content it may have returned with it.
func failedResult(r *Result, err error) *Result {
	failed := &Result{IsError: true, Err: err}
	if r != nil {
		failed.CacheControl = r.CacheControl
	}
	if own := (*ToolError)(nil); errors.As(err, &own) && own != nil {
		failed.Content = own.Content
		return failed
	}
	if r != nil {
		failed.Content = append(failed.Content, r.Content...)
	}
	failed.Content = append(failed.Content, textContent(errorText(err)))
	return failed
}

// errorText returns what the model reads of an error.
func errorText(err error) string {
	if cause := (*history.PanicError)(nil); errors.As(err, &cause) || errors.Is(err, dispatch.ErrGoexit) {
		return panicText
	}
	if aborted := (*dispatch.AbortError)(nil); errors.As(err, &aborted) {
		return abortText
	}
	if text := strings.TrimSpace(err.Error()); text != "" {
		return errorPrefix + boundText(text)
	}
	return emptyErrorText
}

// boundText makes an error's text valid UTF-8 of at most maxErrorText characters.
func boundText(text string) string {
	if len(text) > utf8.UTFMax*maxErrorText {
		text = text[:utf8.UTFMax*maxErrorText]
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	runes := 0
	for i := range text {
		if runes++; runes > maxErrorText {
			return text[:i] + "..."
		}
	}
	return text
}

// encode returns the tool_result block that answers use, and the result. One that cannot
// be encoded, or that the API would refuse, becomes a failed one that says why.
func (r *Result) encode(use history.Use) ([]byte, *Result) {
	if r == nil {
		r = &Result{}
	}
	size := 256
	for _, c := range r.Content {
		if c.OfText != nil {
			size += len(c.OfText.Text) + len(c.OfText.Text)/8 // for escapes
		}
	}
	block, err := r.appendBlock(make([]byte, 0, size), use)
	if err == nil {
		block, _ = wire.Sound(block)
		err = history.CheckResult(block)
	}
	if err == nil && len(block) > media.MaxRequest {
		err = &media.Error{Reason: fmt.Sprintf("it has %d bytes: the limit of a request is %d", len(block), media.MaxRequest)}
	}
	if err != nil {
		r = failedResult(nil, unsendable(err))
		block, _ = r.appendBlock(nil, use) // one plain text block cannot fail
	}
	return block, r
}

// encodeResult encodes what a call came back with. It becomes a failed result if the API
// would refuse it, with the rest of the conversation.
func (r *Runner) encodeResult(call *machine.Call, result *Result) ([]byte, *Result) {
	block, result := result.encode(call.Use())
	r.mu.Lock()
	many, missing := r.machine.TooMany(call, block), history.CheckResultReferences(block, r.defines)
	r.mu.Unlock()
	switch {
	case many != nil:
		return failedResult(nil, unsendable(many)).encode(call.Use())
	case missing != nil:
		return failedResult(nil, missing).encode(call.Use())
	}
	return block, result
}

// readResult returns the result of an encoded tool_result block, which shares
// nothing with it.
func readResult(block []byte) *Result {
	var p anthropic.BetaToolResultBlockParam
	var content []byte
	_ = wire.Members(block, func(key, value []byte) error {
		if string(key) == "content" {
			content = value
		}
		return nil
	})
	_ = p.UnmarshalJSON(block) // it was encoded or read here before
	r := &Result{IsError: p.IsError.Value, CacheControl: p.CacheControl}
	if len(content) > 0 && content[0] == '"' {
		text, _ := wire.Unquote(content)
		r.Content = TextResult(text).Content
		return r
	}
	if len(content) == 0 || content[0] != '[' {
		return r
	}
	_ = wire.Elements(content, func(value []byte) error {
		var c anthropic.BetaToolResultBlockParamContentUnion
		if err := c.UnmarshalJSON(value); err == nil {
			if data, err := c.MarshalJSON(); err == nil && wire.Same(data, value) {
				r.Content = append(r.Content, c)
				return nil
			}
		}
		raw := json.RawMessage(bytes.Clone(value))
		r.Content = append(r.Content, param.Override[anthropic.BetaToolResultBlockParamContentUnion](raw))
		return nil
	})
	return r
}

func (r *Result) appendBlock(dst []byte, use history.Use) ([]byte, error) {
	dst = append(dst, `{"type":"tool_result","tool_use_id":`...)
	dst = wire.AppendString(dst, use.ID)
	if use.Toolset != "" {
		dst = append(dst, `,"toolset_name":`...)
		dst = wire.AppendString(dst, use.Toolset)
	}
	open := `,"content":[`
	separator := open
	for _, c := range r.Content {
		before := len(dst)
		dst = append(dst, separator...)
		begin := len(dst)
		var err error
		if dst, err = appendContent(dst, c); err != nil {
			return nil, err
		}
		if len(dst) == begin {
			dst = dst[:before]
			continue
		}
		separator = ","
	}
	if separator == open && r.IsError {
		dst = append(dst, open...)
		dst = history.AppendText(dst, emptyErrorText)
		separator = ","
	}
	if separator != open {
		dst = append(dst, ']')
	}
	if r.IsError {
		dst = append(dst, `,"is_error":true`...)
	}
	if request.HasCacheControl(r.CacheControl) {
		control, err := history.EncodeJSON(r.CacheControl)
		if err != nil {
			return nil, err
		}
		dst = append(append(dst, `,"cache_control":`...), control...)
	}
	return append(dst, '}'), nil
}

// unsendable returns the error of a call whose result has content that cannot be sent.
func unsendable(err error) error {
	if errors.As(err, new(*media.Error)) {
		return fmt.Errorf("the tool's result cannot be sent: %w", err)
	}
	return fmt.Errorf("the tool's result could not be encoded: %w", err)
}

// appendContent appends the content block c, or nothing for one that says nothing.
func appendContent(dst []byte, c anthropic.BetaToolResultBlockParamContentUnion) ([]byte, error) {
	if t := c.OfText; t != nil {
		if _, raw := t.Overrides(); !raw && len(t.ExtraFields()) == 0 {
			if t.Text == "" {
				return dst, nil
			}
			if len(t.Citations) == 0 && !request.HasCacheControl(t.CacheControl) && (t.Type == "" || t.Type == "text") {
				return history.AppendText(dst, t.Text), nil
			}
		}
	}
	block, err := history.EncodeJSON(c)
	if err != nil {
		return nil, err
	}
	if string(block) == "null" {
		return dst, nil
	}
	if !wire.Valid(block) {
		return nil, fmt.Errorf("a content block is not valid JSON: %.100q", block)
	}
	if err := cmp.Or(history.CheckDepth(block), media.Check(block)); err != nil {
		return nil, err
	}
	if history.IsEmptyText(block) {
		return dst, nil
	}
	return append(dst, block...), nil
}
