package toolrunner

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/toolrunner/toolrunner/internal/dispatch"
	"github.com/toolrunner/toolrunner/internal/machine"
	"github.com/toolrunner/toolrunner/internal/wire"
)

// A call reaches a person at a terminal; their decision leaves it.

// AskTerminal asks a person: it writes the call to out and reads the answer from in,
// such as os.Stderr and os.Stdin. The answer is a line:
//
//	y              allow
//	n, n REASON    deny, with a reason for the model
//	e {"a": 1}     allow with another input
//	s              suspend
//
// Anything else is asked again, and so is input that the tool would not take. Control characters in what the model wrote are
// shown as escapes. The end of in is an error, so nothing runs that nobody has seen.
//
// One approver may serve several runners, which take turns. A read that is under way
// when the context ends is left behind, as reads cannot be interrupted; what it
// brings before the next question is dropped.
func AskTerminal(in io.Reader, out io.Writer) Approver {
	t := &terminal{turn: make(chan struct{}, 1), lines: dispatch.NewLines(in), out: out}
	return t.ask
}

type terminal struct {
	turn  chan struct{} // holds an element while a question is open
	lines *dispatch.Lines
	out   io.Writer
}

const terminalPrompt = "Run it? [y]es, [n]o REASON, [e]dit JSON, [s]uspend: "

func (t *terminal) ask(ctx context.Context, call *Call) (Decision, error) {
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return Decision{}, context.Cause(ctx)
	}
	t.lines.Fresh()
	question := fmt.Sprintf("%s wants to run with\n%s\n%s", printable(call.Name), indented(call.Input), terminalPrompt)
	for {
		if _, err := io.WriteString(t.out, question); err != nil {
			return Decision{}, fmt.Errorf("the question could not be written: %w", err)
		}
		line, err := t.lines.Next(ctx)
		if err != nil {
			return Decision{}, fmt.Errorf("no answer could be read: %w", err)
		}
		d, complaint := parseAnswer(line)
		if d.kind == machine.AllowInput && call.refusal != nil {
			if err := call.refusal(d.input); err != nil {
				complaint = fmt.Sprintf("The tool does not take that: %s.", printable(err.Error()))
			}
		}
		if complaint == "" {
			return d, nil
		}
		question = complaint + "\n" + terminalPrompt
	}
}

// parseAnswer reads what a person has typed, or says what is wrong with it.
func parseAnswer(line string) (d Decision, complaint string) {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	rest = strings.TrimSpace(rest)
	switch strings.ToLower(word) {
	case "y", "yes":
		if rest == "" {
			return Allow(), ""
		}
	case "n", "no":
		return Deny(rest), ""
	case "s", "suspend":
		if rest == "" {
			return Suspend(), ""
		}
	case "e", "edit":
		if _, err := wire.ReadObject([]byte(rest)); err != nil {
			return d, fmt.Sprintf("That is not a JSON object: %s.", printable(err.Error()))
		}
		return AllowInput(json.RawMessage(rest)), ""
	}
	return d, "Please answer with one of these."
}

// indented returns JSON for a person to read.
func indented(input []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, input, "  ", "  ") != nil {
		return "  " + printable(string(input))
	}
	lines := strings.Split(b.String(), "\n")
	for i := range lines {
		lines[i] = printable(lines[i])
	}
	return "  " + strings.Join(lines, "\n")
}

// printable returns text with what a terminal would act on, or not show, as escapes.
func printable(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, "\\u%04x", unit)
		}
	}
	return b.String()
}
