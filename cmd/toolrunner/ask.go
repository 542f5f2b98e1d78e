package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/toolrunner/toolrunner"
)

// A call comes to the user of a terminal; a decision leaves. It differs from
// [toolrunner.AskTerminal] in that texts of several lines are shown as such, and
// that a tool can be let run for good.

// asker asks the user of a terminal.
type asker struct {
	w      io.Writer
	paint  func(style, string) string
	typed  func() <-chan string // lines; closed when there will be none any more
	report *reporter
	always func(tool string) // takes note of a tool that is to run for good
	later  bool              // a call may wait
}

// ask shows all of a call and waits for what the user says to it.
func (a *asker) ask(ctx context.Context, call *toolrunner.Call) (d toolrunner.Decision, err error) {
	a.report.alone(asked{}, func() {
		name := cleanLine(call.Name, longInput)
		choices := "[y]es, [n]o REASON, [a]lways " + name
		if a.later {
			choices += ", [s]uspend"
		}
		note(a.w, "%s\n%s", a.paint(bold, "Run "+name+"?"), showInput(call.Input))
		for understood := false; !understood && err == nil; {
			note(a.w, "%s: ", choices)
			var line string
			if line, err = a.line(ctx); err == nil {
				d, understood = a.understand(call.Name, line)
			}
		}
	})
	return d, err
}

var errNoAnswer = errors.New("the terminal has closed before it had an answer")

// line waits for a line to be typed.
func (a *asker) line(ctx context.Context) (string, error) {
	select {
	case line, ok := <-a.typed():
		if !ok {
			return "", errNoAnswer
		}
		return line, nil
	case <-ctx.Done():
		note(a.w, "\n")
		return "", context.Cause(ctx)
	}
}

// understand returns what a line means, and false if that is not clear.
func (a *asker) understand(tool, line string) (toolrunner.Decision, bool) {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch strings.TrimSuffix(strings.ToLower(word), ",") {
	case "n", "no":
		return toolrunner.Deny(strings.TrimSpace(rest)), true
	case "y", "yes":
		return toolrunner.Allow(), rest == ""
	case "s", "suspend":
		return toolrunner.Suspend(), rest == "" && a.later
	case "a", "always":
		if rest == "" || rest == tool {
			a.always(tool)
			return toolrunner.Allow(), true
		}
	}
	return toolrunner.Decision{}, false
}

// lines returns what is typed, once it is called for. Reading cannot be broken
// off, so it goes on until the process ends.
func lines(r io.Reader) func() <-chan string {
	return sync.OnceValue(func() <-chan string {
		typed := make(chan string)
		go func() {
			defer close(typed)
			for scanner := bufio.NewScanner(r); scanner.Scan(); {
				typed <- scanner.Text()
			}
		}()
		return typed
	})
}

// showInput shows all of the input, a line or more for each member. What is
// within a text cannot look like what is outside of it.
func showInput(input json.RawMessage) string {
	whole := "  " + cleanLine(compactJSON(input), len(input)) + "\n"
	decoder := json.NewDecoder(bytes.NewReader(input))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return whole
	}
	var shown strings.Builder
	for decoder.More() {
		key, err := decoder.Token()
		var value json.RawMessage
		if err != nil || decoder.Decode(&value) != nil {
			return whole
		}
		fmt.Fprintf(&shown, "  %s:%s\n", cleanLine(fmt.Sprint(key), longInput), showValue(value))
	}
	return shown.String()
}

// showValue shows a value behind its key.
func showValue(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) != nil {
		text = compactJSON(value)
	}
	text = clean(text)
	if strings.Contains(text, "\n") {
		return "\n  | " + strings.ReplaceAll(text, "\n", "\n  | ")
	}
	return " " + text
}

const nobodyThere = "no user is there to ask in this run; go on without it"

// askNobody denies calls where there is no terminal, and says so once for a tool.
func askNobody(r *reporter) toolrunner.Approver {
	noted := make(map[string]bool)
	return func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
		if noted[call.Name] {
			return toolrunner.Deny(nobodyThere), nil
		}
		noted[call.Name] = true
		r.report(warned{fmt.Sprintf("%s is denied, as there is no terminal to ask at; -yes or -allow %s runs it", call.Name, call.Name)})
		return toolrunner.Deny(nobodyThere), nil
	}
}
