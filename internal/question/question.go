// Package question asks a person at a terminal whether a call is to run. What it
// shows cannot be disguised by what the model wrote, and what was typed before a
// question opened does not answer it.
package question

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
)

// Call is what a person is asked about.
type Call struct {
	Name   string
	Input  []byte // JSON
	Schema []byte // that of the tool's input; nil: it is not known
}

// Lines are what a person types.
type Lines interface {
	// Drop discards what was typed before.
	Drop()
	// Next returns the next line without its end, or an error once ctx has ended.
	Next(ctx context.Context) (string, error)
}

// Asker asks at one terminal. It is not safe for concurrent use.
type Asker struct {
	Out   io.Writer
	Typed Lines
	// Size returns the columns and rows of the terminal; one that does not know them
	// returns 0, and counts as 80 columns and 24 rows. Input that takes more rows is shown
	// in pages. Nil: there is no terminal, and no page.
	Size func() (columns, rows int)
	// Paint marks the line that separates a question from the text before. Nil: it is
	// not marked.
	Paint func(string) string
}

const standardHeight = 24 // rows of a terminal that does not know them

// Fence begins each question. [Unfence] keeps it out of other text.
const Fence = "═══ toolrunner asks ═══"

// Unfence returns text that cannot hold [Fence].
func Unfence(text string) string { return strings.ReplaceAll(text, "═", "=") }

// Ask shows all of a call and waits for an answer.
func (a *Asker) Ask(ctx context.Context, call Call, offer Offer) (Answer, error) {
	columns, height := 0, 0
	if a.Size != nil {
		columns, height = a.Size()
		height = cmp.Or(height, standardHeight)
	}
	what := fmt.Sprintf("%s with %d bytes of input", Line(call.Name), len(call.Input))
	fence := Fence
	if a.Paint != nil {
		fence = a.Paint(fence)
	}
	if err := a.write("\n" + fence + "\n" + what + ":\n"); err != nil {
		return Answer{}, err
	}
	if answer, err := a.pages(ctx, Show(call, columns), height); err != nil || answer.Kind != 0 {
		return answer, err
	}
	prompt := "Run " + what + "? " + offer.choices(Line(call.Name)) + ": "
	for {
		a.Typed.Drop()
		if err := a.write(prompt); err != nil {
			return Answer{}, err
		}
		line, err := a.next(ctx)
		if err != nil {
			return Answer{}, err
		}
		answer, complaint := offer.parse(call.Name, line)
		if complaint == "" {
			return answer, nil
		}
		if err := a.write(complaint + "\n"); err != nil {
			return Answer{}, err
		}
	}
}

// pages shows rows, and waits after each page that is not the last. A call can be
// denied at any page; it can run after the last one only.
func (a *Asker) pages(ctx context.Context, rows []string, height int) (Answer, error) {
	const taken = 4 // by the fence, the name and the prompt
	page := len(rows)
	if height > 0 {
		page = max(height-taken, 1)
	}
	for from := 0; from < len(rows); {
		to := min(from+page, len(rows))
		if err := a.write(strings.Join(rows[from:to], "\n") + "\n"); err != nil {
			return Answer{}, err
		}
		if from = to; from == len(rows) {
			break
		}
		a.Typed.Drop()
		if err := a.write(fmt.Sprintf("Rows up to %d of %d. Enter: more, [n]o REASON: ", to, len(rows))); err != nil {
			return Answer{}, err
		}
		line, err := a.next(ctx)
		if err != nil {
			return Answer{}, err
		}
		if answer, complaint := (Offer{}).parse("", line); complaint == "" && answer.Kind == Deny {
			return answer, nil
		}
	}
	return Answer{}, nil
}

func (a *Asker) next(ctx context.Context) (string, error) {
	line, err := a.Typed.Next(ctx)
	if err != nil {
		return "", fmt.Errorf("no answer could be read: %w", err)
	}
	return line, nil
}

func (a *Asker) write(text string) error {
	if _, err := io.WriteString(a.Out, text); err != nil {
		return fmt.Errorf("the question could not be written: %w", err)
	}
	return nil
}
