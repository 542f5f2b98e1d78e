package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

// What models and tools write must not command the terminal that shows it.

// clean returns text in which every control character but line feeds and tabs has
// become a visible one: escape sequences, carriage returns that overwrite what
// was there, characters that turn the direction of writing.
func clean(text string) string {
	const pictures = 0x2400 // of the control characters of ASCII
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < ' ':
			return pictures + r
		case r == 0x7f:
			return pictures + 0x21
		case obeyed(r):
			return unicode.ReplacementChar
		}
		return r
	}, strings.ReplaceAll(text, "\r\n", "\n"))
}

// obeyed reports whether a character beyond ASCII is one that a terminal does
// something about. Joiners do not: emoji consist of them.
func obeyed(r rune) bool {
	const nonJoiner, joiner = 0x200c, 0x200d
	return r > unicode.MaxASCII && r != nonJoiner && r != joiner &&
		unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// cleanLine returns text as one clean line of at most this many columns.
func cleanLine(text string, most int) string {
	return cut(strings.Join(strings.Fields(clean(text)), " "), most)
}

// cut shortens a line to at most this many columns.
func cut(line string, most int) string {
	used, end := 0, 0
	for i, r := range line {
		if used < most { // there is room for the dots
			end = i
		}
		if used += columnsOf(r); used > most {
			return line[:end] + "…"
		}
	}
	return line
}

// columnsOf returns how wide a character may be: those of East Asia, and those that
// come after them, may take two columns.
func columnsOf(r rune) int {
	const eastAsia = 0x2e80
	if r < eastAsia {
		return 1
	}
	return 2
}

// cleanJSON returns JSON in which characters that a terminal would obey are
// escaped. It means the same.
func cleanJSON(data []byte) []byte {
	var safe bytes.Buffer
	for _, r := range string(data) {
		switch {
		case r != 0x7f && !obeyed(r):
			safe.WriteRune(r)
		case r > 0xffff: // a surrogate pair, which Quote does not write
			r -= 0x10000
			fmt.Fprintf(&safe, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&safe, `\u%04x`, r)
		}
	}
	return safe.Bytes()
}

// compactJSON returns JSON on one line, or as it is if it is none.
func compactJSON(data json.RawMessage) string {
	var line bytes.Buffer
	if err := json.Compact(&line, data); err != nil {
		return string(data)
	}
	return line.String()
}
