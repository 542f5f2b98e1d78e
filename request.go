package toolrunner

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/machine"
	"github.com/toolrunner/toolrunner/internal/wire"
)

// A request body is put together here: the SDK encodes the parameters, and the rest is
// joined to them as it is on the way out.

// request is one request.
type request struct {
	params anthropic.BetaMessageNewParams // what the SDK encodes
	rest   wire.Body                      // what follows it, up to the end of the object

	messages int
	attempts int
	attempt  func(before *http.Response) // called before each attempt but the first
	secret   func(http.Header)           // called with the headers that were sent
	begin    func()                      // called once, when they are known
	sent     *wire.Body                  // by the last attempt
	response *http.Response              // to it
}

// requestState is what a request is made of beside the parameters.
type requestState struct {
	system     *systemPrompt
	tools      []*machine.Tool
	messages   []history.Message
	container  string       // of the last reply that had one
	dropChoice bool         // a forced tool choice has done its work
	step       machine.Step // what the request is for
}

// newRequest puts a request together.
func newRequest(p *Params, s requestState) (*request, error) {
	if err := p.current(); err != nil {
		return nil, err
	}
	r := &request{params: p.BetaMessageNewParams, secret: func(http.Header) {}, begin: func() {}}
	if s.dropChoice {
		r.params.ToolChoice = anthropic.BetaToolChoiceUnionParam{}
	}
	r.rest.Grow(2*len(p.Tools) + 11)
	if err := r.shape(p, s); err != nil {
		return nil, err
	}
	if err := r.appendSystem(cmp.Or(s.system, &systemPrompt{})); err != nil {
		return nil, fmt.Errorf("Params.System: %w", err)
	}
	r.params.Tools = nil
	r.params.Thinking = anthropic.BetaThinkingConfigParamUnion{} // the SDK writes warnings about it to stderr
	r.adoptContainer(s.container)
	var err error
	if r.params.OutputConfig.Format, err = withoutDestination(r.params.OutputConfig.Format); err == nil {
		r.params.OutputFormat, err = withoutDestination(r.params.OutputFormat) //nolint:staticcheck // callers may still set it
	}
	if err != nil {
		return nil, fmt.Errorf("the schema of the output format: %w", err)
	}
	if s.step.Kind != machine.Summarize && !param.IsOmitted(p.Thinking) {
		thinking, err := history.EncodeJSON(p.Thinking)
		if err != nil {
			return nil, fmt.Errorf("Params.Thinking: %w", err)
		}
		if string(thinking) != "null" {
			r.rest.Append([]byte(`,"thinking":`), thinking)
		}
	}
	if err := r.appendTools(p.Tools, s.tools); err != nil {
		return nil, err
	}
	return r, r.appendMessages(s.messages)
}

// shape gives the request the parameters that its step asks for.
func (r *request) shape(p *Params, s requestState) error {
	switch s.step.Kind {
	case machine.Compact:
		if err := checkCompactable(&r.params); err != nil {
			return err
		}
		r.params = compactParams(r.params)
		r.params.Compaction = configOr(p.AutoCompact.Config)
		if s.step.Config != nil {
			r.params.Compaction = param.Override[anthropic.BetaCompactionConfigUnionParam](json.RawMessage(s.step.Config))
		}
	case machine.Summarize:
		r.params = p.AutoCompact.Client.summaryParams(r.params, len(s.tools)+len(p.Tools) > 0)
	default:
	}
	return nil
}

// adoptContainer has the request run where the last one did, unless the caller
// chose a container: server tools that are bound to one refuse to go on elsewhere.
func (r *request) adoptContainer(id string) {
	c := &r.params.Container
	switch {
	case id == "":
	case c.OfContainers != nil:
		if !c.OfContainers.ID.Valid() {
			pinned := *c.OfContainers
			pinned.ID = anthropic.String(id)
			c.OfContainers = &pinned
		}
	case !c.OfString.Valid():
		c.OfString = anthropic.String(id)
	}
}

// appendSystem moves the system prompt from the parameters to what follows them.
func (r *request) appendSystem(s *systemPrompt) error {
	if r.params.System == nil {
		return nil
	}
	if err := s.set(r.params.System); err != nil {
		return err
	}
	r.rest.Append([]byte(`,"system":`), s.raw)
	r.params.System = nil
	return nil
}

// appendTools adds the caller's definitions, and those of the runner's tools
// that are not among them.
func (r *request) appendTools(given []anthropic.BetaToolUnionParam, own definitions) error {
	if len(given)+len(own) == 0 {
		return nil
	}
	r.rest.Append([]byte(`,"tools":[`))
	names := make(map[string]bool, len(given))
	for i, tool := range given {
		definition, err := encodeTool(tool)
		if err != nil {
			return fmt.Errorf("Params.Tools[%d]: %w", i, err)
		}
		name := wire.StringMember(definition, "name")
		if names[name] {
			return fmt.Errorf("Params.Tools[%d]: the name %q is taken by an earlier tool; names must be unique", i, name)
		}
		names[name] = name != ""
		if i > 0 {
			r.rest.Append(comma)
		}
		r.rest.Append(definition)
	}
	if len(given) > 0 {
		own = slices.DeleteFunc(slices.Clone(own), func(tool *machine.Tool) bool { return names[tool.Name] })
		if len(own) > 0 {
			r.rest.Append(comma)
		}
	}
	r.rest.AppendList(own)
	r.rest.Append([]byte("]"))
	return nil
}

// definitions are tools as a request has them.
type definitions []*machine.Tool

func (d definitions) Len() int        { return len(d) }
func (d definitions) At(i int) []byte { return d[i].Definition }

// earlier are messages as a request has them.
type earlier []history.Message

func (e earlier) Len() int        { return len(e) }
func (e earlier) At(i int) []byte { return e[i].Raw }

var comma = []byte(",") //nolint:gochecknoglobals // a constant; slices cannot be one

func (r *request) appendMessages(messages []history.Message) error {
	r.messages = len(messages)
	if len(messages) == 0 {
		return errors.New("there are no messages; give Params.Messages to New, or call AppendMessages")
	}
	r.rest.Append([]byte(`,"messages":[`))
	last := len(messages) - 1
	if last > 0 {
		r.rest.AppendList(earlier(messages[:last]))
		r.rest.Append(comma)
	}
	r.rest.Append(trimEnd(messages[last]), []byte("]}"))
	return nil
}

// trimEnd returns the message without the space at its end if it is one that
// the model is to go on with, as the API refuses it there.
func trimEnd(m history.Message) []byte {
	if m.Role != history.RoleAssistant {
		return m.Raw
	}
	blocks, err := m.Blocks()
	if err != nil {
		return m.Raw
	}
	for trimmed := false; ; trimmed = true {
		last := len(blocks) - 1
		if last < 0 || blocks[last].Kind != history.TypeText {
			return trimmedMessage(m, blocks, trimmed)
		}
		text, _ := wire.Unquote(blocks[last].Text)
		kept := strings.TrimRightFunc(text, unicode.IsSpace)
		switch kept {
		case text:
			return trimmedMessage(m, blocks, trimmed)
		case "":
			blocks = blocks[:last]
		default:
			blocks[last].Raw = wire.SetMember(blocks[last].Raw, "text", wire.AppendString(nil, kept))
			return trimmedMessage(m, blocks, true)
		}
	}
}

func trimmedMessage(m history.Message, blocks []history.Block, trimmed bool) []byte {
	if !trimmed {
		return m.Raw
	}
	return history.JoinMessage(history.RoleAssistant, history.RawsOf(blocks)).Raw
}

// option returns the option that completes the body. It must come before all
// other options, so that middleware of the caller sees the whole body.
func (r *request) option() option.RequestOption {
	return option.WithMiddleware(func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		if req.Body == nil {
			return nil, errors.New("a request option took the body away; the runner needs it")
		}
		head, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		body, err := r.complete(head)
		if err != nil {
			return nil, err
		}
		req.Body = body.Reader()
		req.GetBody = func() (io.ReadCloser, error) { return body.Reader(), nil }
		req.ContentLength = body.Size()
		if r.attempts++; r.attempts > 1 && r.attempt != nil {
			r.attempt(r.response)
		}
		r.sent = body
		r.secret(req.Header)
		if r.attempts == 1 {
			r.begin()
		}
		r.response, err = next(req)
		if r.response != nil && r.response.Request != nil { // what signs comes after us
			r.secret(r.response.Request.Header)
		}
		return r.response, err
	})
}

// describe gives an error of the API the body that was sent, for its dumps.
func (r *request) describe(err error) error {
	if api := (*anthropic.Error)(nil); errors.As(err, &api) && api.Request != nil && r.sent != nil {
		api.Request.GetBody = func() (io.ReadCloser, error) { return r.sent.Reader(), nil }
		api.Request.ContentLength = r.sent.Size()
	}
	return err
}

// complete joins what the SDK encoded with the rest.
func (r *request) complete(head []byte) (*wire.Body, error) {
	err := wire.Members(head, func(key, _ []byte) error {
		switch string(key) {
		case "messages", "system", "tools", "thinking":
			return fmt.Errorf("a request option sets %q in the body; set it in Params", key)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	head = bytes.TrimRight(head, " \t\r\n")
	body := r.rest.Prefixed(head[:len(head)-1])
	return body, nil
}
