package question

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// This file escapes what a person cannot see, or could take for something else.

const (
	spaceMark = "·" // stands for a space that the eye would pass over
	ascii     = unicode.MaxASCII
)

// confusable are printable characters that look like the marks of a question: the
// quote around a text, the backslash of an escape, the mark of a space.
const confusable = "" +
	"\u02ba\u02dd\u02ee\u02f5\u02f6\u05f4\u1cd3\u201c\u201d\u201e\u201f\u2033\u2034\u2036\u2037\u275d\u275e\u2760\u301d\u301e\u301f\u3003\uff02" +
	"\u2216\u29f5\u29f9\u2f02\u31d4\ufe68\uff3c" +
	"\u00b7\u0387\u05bc\u16eb\u2022\u2027\u2219\u22c5\u2e31\u2e33\u30fb\uff65"

// blank are printable characters that show nothing, or a place without anything.
const blank = "\u115f\u1160\u2800\u3164\uffa0\ufffc\ufffd\U0001d159"

// shown reports whether a character is shown as it is. before is the one that it
// follows, for marks that belong to a letter.
func shown(r, before rune) bool {
	switch {
	case r <= ascii:
		return unicode.IsPrint(r)
	case !unicode.IsPrint(r), strings.ContainsRune(blank, r), strings.ContainsRune(confusable, r):
		return false
	case unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Me):
		return false
	case unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Mc, r):
		return unicode.IsLetter(before)
	}
	return true
}

// escape returns the escape of JSON for a character.
func escape(r rune) string {
	switch r {
	case '"':
		return `\"`
	case '\\':
		return `\\`
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	var b strings.Builder
	for _, unit := range utf16.AppendRune(nil, r) {
		fmt.Fprintf(&b, `\u%04x`, unit)
	}
	return b.String()
}

// Line returns text on one line, with what a terminal would act on, or not show, as
// escapes. It is for short texts, such as those of errors.
func Line(text string) string {
	var b strings.Builder
	before := rune(0)
	for _, r := range text {
		if shown(r, before) {
			b.WriteRune(r)
		} else {
			b.WriteString(escape(r))
		}
		before = r
	}
	return b.String()
}

// columnsOf returns how many columns a character may take at most. Beyond ASCII,
// terminals disagree.
func columnsOf(r rune) int {
	if r <= ascii {
		return 1
	}
	return 2
}
