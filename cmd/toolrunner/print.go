package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// style is how text looks on a terminal: the parameters of an SGR sequence.
type style string

const (
	plain   style = ""
	bold    style = "1"
	dim     style = "2"
	reverse style = "7"
	red     style = "31"
	green   style = "32"
	cyan    style = "36"
)

// paint returns text that looks so.
func (s style) paint(text string) string {
	if s == plain || text == "" {
		return text
	}
	return fmt.Sprintf("\x1b[%sm%s\x1b[0m", s, text)
}

// paper writes text that is wrapped to the width of the terminal, and keeps no
// more of it back than a word.
type paper struct {
	w       io.Writer
	width   int
	colours bool

	indent string // of what goes under the line
	column int
	word   strings.Builder
	look   style // of the word
	space  bool  // one is due before the word
	err    error // of the first write that failed
}

func newPaper(w io.Writer, env func(string) string) *paper {
	const narrowest, standard, widest = 40, 80, 100
	width, err := strconv.Atoi(env("COLUMNS"))
	if err != nil {
		width = standard
	}
	return &paper{w: w, width: min(max(width, narrowest), widest) - 1, colours: wantsColours(w, env)}
}

// wantsColours reports whether w is a terminal whose user wants colours, or one who
// wants them in any case.
func wantsColours(w io.Writer, env func(string) string) bool {
	if env("NO_COLOR") != "" {
		return false
	}
	if force := env("CLICOLOR_FORCE"); force != "" && force != "0" {
		return true
	}
	if env("TERM") == "dumb" {
		return false
	}
	if runtime.GOOS == "windows" && cmp.Or(env("WT_SESSION"), env("TERM")) == "" {
		return false
	}
	_, ok := columns(w)
	return ok
}

// line ends the line before and begins one with lead; what does not fit goes under
// what follows it.
func (p *paper) line(look style, lead string) {
	p.end()
	p.indent = strings.Repeat(" ", utf8.RuneCountInString(lead))
	p.put(look, lead)
}

// write continues the line.
func (p *paper) write(look style, text string) {
	for _, r := range text {
		if p.look != look || r == ' ' || r == '\n' {
			p.flush()
		}
		p.look = look
		switch {
		case r == '\n':
			p.newline()
			p.put(plain, p.indent)
		case r == ' ':
			p.space = true
		case unicode.IsPrint(r):
			p.word.WriteRune(r)
			if r == ',' {
				p.flush()
			}
		}
	}
}

// flush writes the word, on a line of its own if it must be.
func (p *paper) flush() {
	word := p.word.String()
	if word == "" {
		return
	}
	p.word.Reset()
	size := utf8.RuneCountInString(word)
	margin := utf8.RuneCountInString(p.indent)
	space := p.space
	p.space = false
	if p.column > margin && p.column+size > p.width {
		p.newline()
		p.put(plain, p.indent)
	} else if space {
		p.put(plain, " ")
	}
	for room := p.width - margin; size > room; size -= room {
		head := string([]rune(word)[:room])
		p.put(p.look, head)
		p.newline()
		p.put(plain, p.indent)
		word = word[len(head):]
	}
	p.put(p.look, word)
}

func (p *paper) put(look style, text string) {
	p.column += utf8.RuneCountInString(text)
	if p.colours {
		text = look.paint(text)
	}
	if _, err := io.WriteString(p.w, text); p.err == nil {
		p.err = err
	}
}

func (p *paper) newline() {
	p.put(plain, "\n")
	p.column, p.space = 0, false
}

// end ends the line, if there is one.
func (p *paper) end() {
	p.flush()
	if p.column > 0 {
		p.newline()
	}
	p.space = false
}

// blank leaves a line free.
func (p *paper) blank() {
	p.end()
	p.newline()
}
