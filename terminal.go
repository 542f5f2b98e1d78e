package toolrunner

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/toolrunner/toolrunner/internal/dispatch"
	"github.com/toolrunner/toolrunner/internal/question"
	"github.com/toolrunner/toolrunner/internal/tty"
	"github.com/toolrunner/toolrunner/internal/wire"
)

// AskTerminal asks a person: it writes the call to out and reads the answer from in,
// such as os.Stderr and os.Stdin. The answer is a line:
//
//	y              allow
//	n, n REASON    deny, with a reason for the model
//	e {"a": 1}     allow with another input
//	s              suspend
//
// Anything else is asked again, and so is input that the tool would not take. The end of
// in is an error, so nothing runs that nobody has seen.
//
// All of the input is shown, so that the model cannot disguise it: broken into rows
// at the width of the terminal, with characters that cannot be seen or that look
// like others as escapes, and with members marked that the tool's schema does not
// name. Input with more rows than the terminal is shown in pages, and can be
// allowed after the last one only. Where in is a terminal, what was typed before
// the prompt is discarded.
//
// One approver may serve several runners, which take turns. A read that is under
// way when the context ends is abandoned, as reads cannot be interrupted; what it
// returns before the next question is discarded.
func AskTerminal(in io.Reader, out io.Writer) Approver {
	typed := &typedLines{Lines: dispatch.NewLines(in, dispatch.ReadLine), terminal: terminalOf(in)}
	t := &terminal{turn: make(chan struct{}, 1), asker: question.Asker{Out: out, Typed: typed}}
	if screen := terminalOf(out); screen != nil {
		t.asker.Size = func() (columns, rows int) {
			columns, rows, _ = tty.Size(screen)
			return columns, rows
		}
	}
	return t.ask
}

// terminalOf returns the terminal that a stream is, or nil if it is none.
func terminalOf(stream any) *os.File {
	if file, ok := stream.(*os.File); ok && file != nil {
		if _, _, err := tty.Size(file); err == nil {
			return file
		}
	}
	return nil
}

type terminal struct {
	turn  chan struct{} // holds an element while a question is open
	asker question.Asker
}

func (t *terminal) ask(ctx context.Context, call *Call) (Decision, error) {
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return Decision{}, context.Cause(ctx)
	}
	answer, err := t.asker.Ask(ctx, question.Call{Name: call.Name, Input: call.Input, Schema: inputSchema(call.definition)}, question.Offer{
		Suspend: true,
		Edit:    func(input []byte) error { return call.refuse(input) },
	})
	if err != nil {
		return Decision{}, err
	}
	switch answer.Kind {
	case question.Allow:
		return Allow(), nil
	case question.Edit:
		return AllowInput(answer.Input), nil
	case question.Deny:
		return Deny(answer.Reason), nil
	default:
		return Suspend(), nil
	}
}

// refuse says why the call cannot have another input, or returns nil.
func (c *Call) refuse(input []byte) error {
	if _, err := wire.ReadObject(input); err != nil {
		return fmt.Errorf("That is not a JSON object: %w", err) //nolint:staticcheck // a sentence for a person
	}
	if c.refusal == nil {
		return nil
	}
	if err := c.refusal(input); err != nil {
		return fmt.Errorf("The tool does not take that: %w", err) //nolint:staticcheck // a sentence for a person
	}
	return nil
}

// inputSchema returns the schema in the definition of a tool, or nil.
func inputSchema(definition []byte) []byte {
	var d struct {
		Schema json.RawMessage `json:"input_schema"`
	}
	if json.Unmarshal(definition, &d) != nil {
		return nil
	}
	return d.Schema
}

// typedLines are what is typed at a terminal, or read from something else.
type typedLines struct {
	*dispatch.Lines

	terminal *os.File // nil if it is none
}

// Drop discards what was typed at the terminal before, and a line that was meant for
// a question which is gone.
func (l *typedLines) Drop() {
	l.Fresh()
	if l.terminal == nil {
		return
	}
	tty.Drop(l.terminal)
	l.Discard()
}
