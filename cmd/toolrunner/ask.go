package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/dispatch"
	"github.com/toolrunner/toolrunner/internal/question"
	"github.com/toolrunner/toolrunner/internal/tty"
)

// A call comes to the user of a terminal; a decision leaves.

// asker asks the user of a terminal.
type asker struct {
	terminal question.Asker
	report   *reporter
	schema   func(tool string) []byte // of the input of a tool; nil: unknown
	always   func(tool string)        // takes note of a tool that is to run for good
	later    bool                     // a call may wait
}

// ask shows all of a call and waits for what the user says to it.
func (a *asker) ask(ctx context.Context, call *toolrunner.Call) (d toolrunner.Decision, err error) {
	asks := question.Call{Name: call.Name, Input: call.Input, Schema: a.schema(call.Name)}
	a.report.alone(asked{}, func() {
		var answer question.Answer
		answer, err = a.terminal.Ask(ctx, asks, question.Offer{Suspend: a.later, Always: !runsCode(asks)})
		switch answer.Kind {
		case question.Allow:
			d = toolrunner.Allow()
		case question.Always:
			a.always(call.Name)
			d = toolrunner.Allow()
		case question.Deny:
			d = toolrunner.Deny(answer.Reason)
		default:
			d = toolrunner.Suspend()
		}
		if ctx.Err() != nil {
			note(a.terminal.Out, "\n")
		}
	})
	if errors.Is(err, io.EOF) {
		err = errNoAnswer
	}
	return d, err
}

var errNoAnswer = errors.New("the terminal has closed before it had an answer")

// runners are words in the names of tools that run whatever their input says: one
// call of theirs says nothing about the next.
//
//nolint:gochecknoglobals // a constant
var runners = strings.Fields("ash awk bash cmd code command commands console csh dash deno env eval exec execute find fish git interpreter " +
	"invoke javascript js ksh lua node npm npx perl php powershell process program pwsh py python repl ruby run script sh shell spawn ssh sudo " +
	"terminal tmux xargs zsh")

// commands are the names of members that hold a command or a program.
var commands = strings.Fields("argv bash cmd code command commands commandline exec executable expression program script shell source") //nolint:gochecknoglobals // a constant

// runsCode reports whether a call is one of a shell or an interpreter, as far as its
// name and its members tell.
func runsCode(call question.Call) bool {
	_, tool, ofServer := strings.Cut(call.Name, "__")
	if !ofServer {
		tool = call.Name
	}
	if slices.ContainsFunc(words(tool), func(word string) bool { return slices.Contains(runners, word) }) {
		return true
	}
	var schema struct{ Properties map[string]any }
	var input map[string]any
	_ = json.Unmarshal(call.Schema, &schema)
	_ = json.Unmarshal(call.Input, &input)
	for _, members := range []map[string]any{schema.Properties, input} {
		for name := range members {
			if slices.Contains(commands, strings.Join(words(name), "")) {
				return true
			}
		}
	}
	return false
}

// words returns the words of a name such as run_command or runCommand, in lower case.
func words(name string) []string {
	var spaced strings.Builder
	for _, r := range name {
		switch {
		case 'A' <= r && r <= 'Z':
			spaced.WriteString(" " + strings.ToLower(string(r)))
		case 'a' <= r && r <= 'z':
			spaced.WriteRune(r)
		default:
			spaced.WriteByte(' ')
		}
	}
	return strings.Fields(spaced.String())
}

// typing is what is typed at a terminal. Nothing is read while no question is open,
// so that what was typed before can be dropped.
type typing struct {
	*dispatch.Lines

	terminal *os.File
}

func newTyping(terminal *os.File) *typing {
	return &typing{dispatch.NewLines(terminal, readLine), terminal}
}

// Drop implements [question.Lines].
func (t *typing) Drop() {
	tty.Drop(t.terminal)
	t.Fresh()
	t.Discard()
}

// readLine reads up to the end of a line, which is a carriage return where something has
// left the terminal in raw mode.
func readLine(in *bufio.Reader) (string, error) {
	var line strings.Builder
	for {
		c, err := in.ReadByte()
		if err != nil || c == '\n' || c == '\r' {
			return line.String(), err
		}
		line.WriteByte(c)
	}
}

const nobodyThere = "nobody is there to be asked in this run; go on without it"

// askNobody denies calls where there is no terminal, and says so once for a tool.
func askNobody(r *reporter) toolrunner.Approver {
	noted := make(map[string]bool)
	return func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
		if noted[call.Name] {
			return toolrunner.Forbid(nobodyThere), nil
		}
		noted[call.Name] = true
		r.report(warned{fmt.Sprintf("%s is denied, as there is no terminal to ask at; -yes or -allow %s runs it", call.Name, call.Name)})
		return toolrunner.Forbid(nobodyThere), nil
	}
}
