package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/toolrunner/toolrunner/internal/question"
)

// people prints events for people: the model's text on out, and a line for each
// thing that happens beside it on err. A terminal also gets a line about what
// takes long, which is gone when something else is printed.
type people struct {
	out, err io.Writer
	screen   screen

	written part      // what was printed last
	inLine  bool      // the text has not ended its line
	shown   bool      // the line about what takes long is there
	waits   string    // what the run waits for; nothing while text comes
	since   time.Time // when it began to
	running []running
	noted   time.Duration // the next age of a call that is told where lines stay
}

// screen is what the streams are connected to.
type screen struct {
	out     bool // text goes to a terminal
	err     bool // lines do
	width   int  // of the terminal that the lines go to
	colours bool
}

// running is a call that is not over.
type running struct {
	id, label string
	begin     time.Time
	said      string // by its tool, in the end
}

// part is a part of the output.
type part int

const (
	nothing part = iota
	theText
	aLine
)

const (
	patience = 2 * time.Second  // after which a terminal says what takes so long
	noteAt   = 10 * time.Second // and a file does, then at twice that, and so on
)

func newPeople(term *terminal, hidden *secrets) *people {
	_, out := columns(term.out)
	width, err := columns(term.err)
	return &people{
		out: term.out, err: hidden.writer(term.err), noted: noteAt,
		screen: screen{out: out, err: err, width: width, colours: wantsColours(term.err, term.env)},
	}
}

func (p *people) print(e event) error {
	switch e := e.(type) {
	case waiting:
		p.waits, p.since = e.what, e.begin
	case thinkingAdded:
		p.waits = "the model thinks"
	case textAdded:
		return p.text(e.Text)
	case blockEnded:
		p.waits = forModel
		return p.endText()
	case replied:
		p.waits = ""
		return p.endText()
	case callStarted:
		p.running = append(p.running, running{e.ID, callLabel(e.Name, e.Input), e.Begin, ""})
	case callProgress:
		p.said(e)
	case callEnded:
		p.ended(e)
		return p.line(p.callLine(e))
	case asked:
		return p.begin(aLine)
	case warned:
		return p.line(p.paint(bold, "note") + "  " + cleanLine(e.Text, longText))
	case interrupted:
		return p.line("interrupted: ending the run; interrupt again to end at once")
	case runEnded:
		return p.close(e)
	case tick:
		return p.tick(e.now)
	}
	return nil
}

// text prints a part of the model's text. A file gets what the model wrote; a
// terminal does not obey it.
func (p *people) text(text string) error {
	if text == "" {
		return nil
	}
	p.waits = ""
	if err := p.begin(theText); err != nil {
		return err
	}
	p.inLine = !strings.HasSuffix(text, "\n")
	if p.screen.out {
		text = question.Unfence(clean(text))
	}
	_, err := io.WriteString(p.out, text)
	return err
}

// endText ends the line of the model's text.
func (p *people) endText() error {
	if !p.inLine {
		return nil
	}
	p.inLine = false
	_, err := io.WriteString(p.out, "\n")
	return err
}

// line prints a line beside the text.
func (p *people) line(line string) error {
	if err := p.begin(aLine); err != nil {
		return err
	}
	_, err := io.WriteString(p.err, line+"\n")
	return err
}

// begin makes room for a part of the output. Where text and lines share a
// terminal, an empty line keeps them apart.
func (p *people) begin(next part) error {
	before := p.written
	p.written = next
	if err := p.wipe(); err != nil {
		return err
	}
	if next == aLine && p.inLine && p.screen.out {
		if err := p.endText(); err != nil {
			return err
		}
	}
	if before == nothing || before == next || !p.screen.out || !p.screen.err {
		return nil
	}
	_, err := io.WriteString(p.err, "\n")
	return err
}

func (p *people) paint(look style, text string) string {
	if !p.screen.colours {
		return text
	}
	return look.paint(text)
}

// tick says what takes long.
func (p *people) tick(now time.Time) error {
	if !p.screen.err {
		return p.noteLong(now)
	}
	label, begin := p.busy()
	age := now.Sub(begin)
	if label == "" || age < patience || p.inLine && p.screen.out {
		return nil
	}
	wait := fmt.Sprintf("  %ds", int(age.Seconds()))
	const margin = 3 // for the dots, and not to touch the edge
	line := "… " + cut(label, max(p.screen.width-len(wait)-margin, 1)) + wait
	p.shown = true
	_, err := io.WriteString(p.err, "\r\x1b[K"+p.paint(dim, line))
	return err
}

// busy returns what the run waits for, and since when.
func (p *people) busy() (string, time.Time) {
	if len(p.running) == 0 {
		return p.waits, p.since
	}
	first := p.running[0]
	if n := len(p.running); n > 1 {
		return fmt.Sprintf("%d calls, the first of them %s", n, first.label), first.begin
	}
	return strings.TrimSpace(first.label + "  " + first.said), first.begin
}

// noteLong is tick where lines cannot be taken back.
func (p *people) noteLong(now time.Time) error {
	if len(p.running) == 0 {
		p.noted = noteAt
		return nil
	}
	first := p.running[0]
	if now.Sub(first.begin) < p.noted {
		return nil
	}
	line := p.status("running", now.Sub(first.begin)) + first.label
	p.noted *= 2
	return p.line(line)
}

// wipe takes the line about what takes long away.
func (p *people) wipe() error {
	if !p.shown {
		return nil
	}
	p.shown = false
	_, err := io.WriteString(p.err, "\r\x1b[K")
	return err
}
