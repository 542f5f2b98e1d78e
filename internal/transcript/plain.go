package transcript

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

const margin = "  "

// plain writes a message as text: who speaks, and below that what is said.
func (o Options) plain(to *strings.Builder, m message) {
	to.WriteString(printable(m.role) + "\n")
	for _, p := range m.parts {
		switch p.kind {
		case words:
			for _, line := range wrap(printable(p.text), o.Width-len(margin)) {
				to.WriteString(strings.TrimRight(margin+line, " ") + "\n")
			}
		case thoughts:
			o.block(to, "~ ", folded(p.text))
		case call:
			o.block(to, "> ", p.name+" "+p.text)
			o.answer(to, p.answer)
		case result:
			o.block(to, "> ", "("+p.name+")")
			o.answer(to, p.answer)
		case note:
			o.block(to, "", p.text)
		}
	}
}

func (o Options) answer(to *strings.Builder, a *answer) {
	switch {
	case a == nil:
		o.block(to, "< ", "(no result)")
	case a.failed:
		o.block(to, "! ", a.text)
	case a.text == "":
		o.block(to, "< ", "(empty)")
	default:
		o.block(to, "< ", a.text)
	}
}

// folded returns the first line of a text, and how much there is besides.
func folded(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) == 1 {
		return lines[0]
	}
	return fmt.Sprintf("%s (%d more lines)", lines[0], len(lines)-1)
}

// block writes text behind a mark, each line cut to the width, and no more than the lines
// that there may be.
func (o Options) block(to *strings.Builder, mark, text string) {
	lead := margin + mark
	for _, line := range o.some(printable(text)) {
		to.WriteString(strings.TrimRight(lead+cut(line, o.Width-len(lead)), " ") + "\n")
		lead = margin + strings.Repeat(" ", len(mark))
	}
}

// some returns the lines of a text, up to those that there may be, and says how many are
// left out.
func (o Options) some(text string) []string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if o.Lines <= 0 || len(lines) <= o.Lines {
		return lines
	}
	more := len(lines) - o.Lines
	return append(lines[:o.Lines:o.Lines], fmt.Sprintf("(%d more lines)", more))
}

// printable returns text with escapes for what a terminal would act on, or not show.
func printable(text string) string {
	var b strings.Builder
	for _, r := range strings.ReplaceAll(text, "\r\n", "\n") {
		switch {
		case r == '\t':
			b.WriteString("    ")
		case r == '\n' || unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}

// cut returns a line that is no longer than width, if that is above zero.
func cut(line string, width int) string {
	if width <= 0 || columns(line) <= width {
		return line
	}
	used := 0
	for i, r := range line {
		if used += columnsOf(r); used > width-1 {
			return line[:i] + "…"
		}
	}
	return line
}

// wrap breaks the lines of a text between words, so that they are no longer than width, if
// that is above zero. A longer word stays whole.
func wrap(text string, width int) []string {
	var lines []string
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		if width <= 0 || columns(line) <= width {
			lines = append(lines, line)
			continue
		}
		row, used := "", 0
		for word := range strings.SplitSeq(line, " ") {
			size := columns(word)
			if used > 0 && used+1+size > width {
				lines = append(lines, row)
				row, used = "", 0
			}
			if used > 0 || row != "" {
				row += " "
				used++
			}
			row += word
			used += size
		}
		lines = append(lines, row)
	}
	return lines
}

func columns(line string) int {
	n := 0
	for _, r := range line {
		n += columnsOf(r)
	}
	return n
}

// columnsOf returns how many columns a character takes: wide ones of East Asia and pictures
// two, marks on a letter none.
func columnsOf(r rune) int {
	switch {
	case unicode.Is(unicode.Mn, r):
		return 0
	case r >= 0x1100 && (r <= 0x115f || r >= 0x2e80 && r <= 0xa4cf || r >= 0xac00 && r <= 0xd7a3 || r >= 0xf900 && r <= 0xfaff ||
		r >= 0xfe30 && r <= 0xfe6f || r >= 0xff00 && r <= 0xff60 || r >= 0xffe0 && r <= 0xffe6 || r >= 0x1f300 && r <= 0x1faff || r >= 0x20000 && r <= 0x3fffd):
		return 2
	}
	return 1
}
