package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/toolrunner/toolrunner"
)

// asker asks the user of a terminal about calls.
type asker struct {
	w      io.Writer
	paint  func(style, string) string
	typed  func() <-chan string // lines; closed when there will be none any more
	report *reporter
}

// ask shows all of a call and waits for what the user says to it.
func (a *asker) ask(ctx context.Context, call *toolrunner.Call) (said verdict, err error) {
	a.report.alone(asked{}, func() {
		name := cleanLine(call.Name, longInput)
		note(a.w, "%s\n%s", a.paint(bold, "Run "+name+"?"), showInput(call.Input))
		note(a.w, "[y]es, [n]o, [a]lways %s, or what to do instead: ", name)
		select {
		case line, ok := <-a.typed():
			said = understand(line, ok)
		case <-ctx.Done():
			note(a.w, "\n")
			err = context.Cause(ctx)
		}
	})
	return said, err
}

// understand returns what a line means. What is no answer is for the model to
// read: nothing runs by mistake.
func understand(line string, ok bool) verdict {
	switch text := strings.TrimSpace(line); strings.ToLower(text) {
	case "y", "yes":
		return verdict{run: true}
	case "a", "always":
		return verdict{run: true, always: true}
	case "", "n", "no":
		if !ok {
			return verdict{reason: deniedByNobody}
		}
		return verdict{reason: deniedByUser}
	default:
		return verdict{reason: deniedByUser + " and says: " + text}
	}
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
	decoder := json.NewDecoder(bytes.NewReader(input))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return "  " + clean(compactJSON(input)) + "\n"
	}
	var shown strings.Builder
	for decoder.More() {
		key, err := decoder.Token()
		var value json.RawMessage
		if err != nil || decoder.Decode(&value) != nil {
			return "  " + clean(compactJSON(input)) + "\n"
		}
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = compactJSON(value)
		}
		text = clean(text)
		if strings.Contains(text, "\n") {
			text = "\n  | " + strings.ReplaceAll(text, "\n", "\n  | ")
		} else {
			text = " " + text
		}
		fmt.Fprintf(&shown, "  %s:%s\n", cleanLine(fmt.Sprint(key), longInput), text)
	}
	return shown.String()
}
