package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// How long parts of a line may be, in characters.
const (
	longInput = 100
	longText  = 300
	longError = 2000
)

// callLabel says what a call is.
func callLabel(name string, input json.RawMessage) string {
	return clean(name) + " " + cleanLine(compactJSON(input), longInput)
}

// said takes note of what a tool says about its call.
func (p *people) said(e callProgress) {
	for i := range p.running {
		if p.running[i].id == e.ID {
			p.running[i].said = cleanLine(strings.TrimSpace(progressOf(e)+" "+e.Message), longInput)
		}
	}
}

func progressOf(e callProgress) string {
	if e.Total > 0 {
		return fmt.Sprintf("%g of %g", e.Progress, e.Total)
	}
	return ""
}

// ended takes note that a call is over.
func (p *people) ended(e callEnded) {
	p.running = slices.DeleteFunc(p.running, func(r running) bool { return r.id == e.ID })
	p.noted = noteAt
}

// callLine is the line for a call that is over: what became of it, how long it
// took, what it was, and what went wrong.
func (p *people) callLine(e callEnded) string {
	look := red
	switch e.Outcome {
	case callOK:
		look = green
	case callCancelled, callSuspended:
		look = dim
	default:
	}
	status := p.status(spaced(string(e.Outcome)), time.Duration(e.Duration))
	line := p.paint(look, status) + p.paint(cyan, clean(e.Name)) + " " + cleanLine(compactJSON(e.Input), longInput)
	if text := strings.TrimPrefix(cleanLine(e.Text, longText), "Error: "); e.Outcome != callOK && text != "" {
		line += ": " + text
	}
	return line
}

// status is the first columns of a line.
func (p *people) status(word string, took time.Duration) string {
	return fmt.Sprintf("%-9s %7s  ", word, seconds(took))
}

// close prints how the run ended, and what it cost.
func (p *people) close(e runEnded) error {
	if err := p.endText(); err != nil {
		return err
	}
	if e.Error != "" {
		if err := p.line(p.paint(red, "toolrunner run: ") + cleanError(e.Error)); err != nil {
			return err
		}
	}
	return p.line(p.paint(dim, summary(e)))
}

// summary says how a run ended and what it cost.
func summary(e runEnded) string {
	line := fmt.Sprintf("%s: %s, %s", spaced(e.Outcome), count(e.Turns, "turn"), count(e.Calls, "call"))
	var parts []string
	if e.FailedCalls > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", e.FailedCalls))
	}
	if e.DeniedCalls > 0 {
		parts = append(parts, fmt.Sprintf("%d denied", e.DeniedCalls))
	}
	if len(parts) > 0 {
		line += " (" + strings.Join(parts, ", ") + ")"
	}
	line += fmt.Sprintf(", %d tokens in", e.InputTokens+e.CacheReadInputTokens+e.CacheCreationInputTokens)
	if e.CacheReadInputTokens > 0 {
		line += fmt.Sprintf(" (%d cached)", e.CacheReadInputTokens)
	}
	return line + fmt.Sprintf(", %d out, %s", e.OutputTokens, seconds(time.Duration(e.Duration)))
}

// spaced returns an outcome as people write it.
func spaced(outcome string) string { return strings.ReplaceAll(outcome, "_", " ") }

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// cleanError returns the text of an error, of which lines after the first are
// indented.
func cleanError(text string) string {
	return cut(strings.ReplaceAll(clean(text), "\n", "\n  "), longError)
}
