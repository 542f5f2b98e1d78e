package toolrunnertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// scriptTurn is a paragraph of a script.
type scriptTurn struct {
	path         string
	when, expect []Condition
	blocks       []Block
	whole        *Reply // given as a whole, in place of blocks
	changes      []func(Reply) Reply
}

// open reports whether the turn has no reply yet.
func (t *scriptTurn) open() bool { return t.whole == nil && len(t.blocks) == 0 }

func (t *scriptTurn) reply() Reply {
	r := Message(t.blocks...)
	if t.whole != nil {
		r = *t.whole
	}
	for _, change := range t.changes {
		r = change(r)
	}
	return r.When(t.when...).Expect(t.expect...)
}

// scriptCondition is what a line says about the request.
func scriptCondition(keyword, rest string) (Condition, error) {
	a := arguments{rest: rest}
	var condition Condition
	switch keyword {
	case "user":
		condition = HasText(a.text())
	case "result":
		condition = HasResult(a.id(), a.text())
	case "error":
		condition = hasError(a.id(), a.text())
	case "model":
		condition = HasModel(a.word())
	case "tool":
		condition = HasTool(a.name())
	case "body":
		condition = hasBody(a.text())
	default:
		return nil, fmt.Errorf("a request has no %q: it is user, result, error, model, tool or body", keyword)
	}
	return condition, a.end()
}

func hasError(callID, text string) Condition {
	return func(q *Request) error {
		if err := HasResult(callID, text)(q); err != nil {
			return err
		}
		if string(asObject(q.ToolResult(callID))["is_error"]) != "true" {
			return fmt.Errorf("the result of %s is no error", callID)
		}
		return nil
	}
}

func hasBody(text string) Condition {
	return func(q *Request) error { return contains("the body", string(q.Body), text) }
}

// answer adds what a line says about the reply.
func (t *scriptTurn) answer(keyword, rest string) error {
	a := &arguments{rest: rest}
	if change := scriptChange(keyword, a); change != nil {
		t.changes = append(t.changes, change)
		return a.end()
	}
	if block, ok := scriptBlock(keyword, a); ok {
		if t.whole != nil {
			return errors.New("the turn has a reply that is whole already")
		}
		t.blocks = append(t.blocks, block)
		return a.end()
	}
	whole, err := t.wholeReply(keyword, a)
	if err != nil {
		return err
	}
	if !t.open() {
		return errors.New("the turn has a reply already")
	}
	t.whole = &whole
	return a.end()
}

func scriptBlock(keyword string, a *arguments) (Block, bool) {
	switch keyword {
	case "text":
		return Say(a.text()), true
	case "thinking":
		signature := a.word()
		return Thinking(a.text(), signature), true
	case "call":
		return Call(a.id(), a.name(), a.input()), true
	case "server-call":
		return ServerToolUse(a.id(), a.name(), a.input()), true
	case "block":
		return RawBlock(a.json()), true
	}
	return Block{}, false
}

func (t *scriptTurn) wholeReply(keyword string, a *arguments) (Reply, error) {
	switch keyword {
	case "file":
		path := a.text()
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(t.path), filepath.FromSlash(path))
		}
		r := File(path)
		return r, r.spec.broken
	case "json":
		return recorded(a.json(), false)
	case "status":
		return Status(a.status(), a.word(), a.text()), nil
	}
	return Reply{}, fmt.Errorf("a reply has no %q", keyword)
}

// scriptChange is what a line says about how a reply is or is sent, nil if it says something else.
func scriptChange(keyword string, a *arguments) func(Reply) Reply {
	switch keyword {
	case "stop":
		reason := a.word()
		return func(r Reply) Reply { return r.StopReason(reason) }
	case "stop-sequence":
		sequence := a.text()
		return func(r Reply) Reply { return r.StopSequence(sequence) }
	case "usage":
		input, output := a.number(), a.number()
		return func(r Reply) Reply { return r.Usage(input, output) }
	case "id":
		id := a.word()
		return func(r Reply) Reply { return r.ID(id) }
	case "model":
		model := a.word()
		return func(r Reply) Reply { return r.Model(model) }
	case "container":
		id := a.word()
		return func(r Reply) Reply { return r.Container(id) }
	case "header":
		name, value := a.word(), a.text()
		return func(r Reply) Reply { return r.Header(name, value) }
	}
	return scriptFault(keyword, a)
}

func scriptFault(keyword string, a *arguments) func(Reply) Reply {
	switch keyword {
	case "retry-after":
		d := a.duration()
		return func(r Reply) Reply { return r.RetryAfter(d) }
	case "delay":
		d := a.duration()
		return func(r Reply) Reply { return r.Delay(d) }
	case "trickle":
		d := a.duration()
		return func(r Reply) Reply { return r.Trickle(d) }
	case "chunk":
		n := a.number()
		return func(r Reply) Reply { return r.Chunk(n) }
	case "cut":
		n := a.number()
		return func(r Reply) Reply { return r.CutAt(n) }
	case "end-after":
		n := a.number()
		return func(r Reply) Reply { return r.EndAfter(n) }
	case "error-after":
		n, kind, text := a.number(), a.word(), a.text()
		return func(r Reply) Reply { return r.ErrorEvent(n, kind, text) }
	}
	return nil
}

// arguments are what follows the keyword of a line. It keeps the first error.
type arguments struct {
	rest string
	err  error
}

func (a *arguments) fail(format string, args ...any) {
	if a.err == nil {
		a.err = fmt.Errorf(format, args...)
	}
}

// end returns the error, which may be that something is left.
func (a *arguments) end() error {
	if a.rest != "" {
		a.fail("there is something left: %q", a.rest)
	}
	return a.err
}

// word is what is left up to white space, a line break included: input may stand on a line of its own.
func (a *arguments) word() string {
	word, rest := cutWord(a.rest)
	a.rest = rest
	if word == "" {
		a.fail("an argument is missing")
	}
	return word
}

// cutWord returns the text up to white space, and what comes after that.
func cutWord(text string) (word, rest string) {
	end := strings.IndexFunc(text, unicode.IsSpace)
	if end < 0 {
		return text, ""
	}
	return text[:end], strings.TrimLeftFunc(text[end:], unicode.IsSpace)
}

// id is the id of a call; any other is told with block.
func (a *arguments) id() string {
	id := a.word()
	if id != "" && !legalID(id) {
		a.fail("%q is not the id of a call: letters, digits, _ and -", id)
	}
	return id
}

// name is the name of a tool.
func (a *arguments) name() string {
	name := a.word()
	if name != "" && (!legalID(name) || len(name) > maxToolName) {
		a.fail("%q is not the name of a tool: at most %d letters, digits, _ and -", name, maxToolName)
	}
	return name
}

// text is all that is left; it may be a JSON string.
func (a *arguments) text() string {
	text := a.rest
	a.rest = ""
	if strings.HasPrefix(text, `"`) {
		var decoded string
		if json.Unmarshal([]byte(text), &decoded) == nil {
			return decoded
		}
	}
	return text
}

func (a *arguments) json() string {
	text := a.rest
	a.rest = ""
	if !json.Valid([]byte(text)) {
		a.fail("%q is not JSON", text)
	}
	return text
}

// input is the input of a call. It need not be JSON: a model may be cut off.
func (a *arguments) input() string {
	input := a.rest
	a.rest = ""
	if input == "" {
		return "{}"
	}
	return input
}

func (a *arguments) number() int {
	word := a.word()
	n, err := strconv.Atoi(word)
	if err != nil || n < 0 {
		a.fail("%q is not a number of 0 or more", word)
	}
	return n
}

func (a *arguments) status() int {
	n := a.number()
	if n < 400 || n > 599 {
		a.fail("%d is not the status of an error: 400 to 599", n)
	}
	return n
}

func (a *arguments) duration() time.Duration {
	word := a.word()
	d, err := time.ParseDuration(word)
	if err != nil || d < 0 {
		a.fail("%q is not a duration such as 200ms or 2s", word)
	}
	return d
}
