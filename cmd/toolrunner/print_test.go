package main

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestColoursMayBeForced(t *testing.T) {
	tests := []struct {
		name string
		env  func(string) string
		want bool
	}{
		{"forced", noEnv("CLICOLOR_FORCE", "1"), true},
		{"forced on a terminal that cannot", noEnv("CLICOLOR_FORCE", "1", "TERM", "dumb"), true},
		{"not forced", noEnv("CLICOLOR_FORCE", "0"), false},
		{"forced and forbidden", noEnv("CLICOLOR_FORCE", "1", "NO_COLOR", "1"), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := wantsColours(&bytes.Buffer{}, tt.env); got != tt.want {
				t.Errorf("wantsColours of a buffer = %t, want %t", got, tt.want)
			}
		})
	}
}

func TestPaperWrapsWithoutLosingAnything(t *testing.T) {
	const text = "Reykjavik to Tromsø is {\"distance\":996,\"unit\":\"nmi\",\"list\":[1,2,3]} and averyverylongwordthatfitsonnolineofanyterminalthatisasnarrowasthis. Done."
	for _, columns := range []int{0, 40, 57, 80, 300} {
		var out bytes.Buffer
		p := newPaper(&out, noEnv("COLUMNS", strconv.Itoa(columns)))
		p.line(plain, "  [1] ")
		for _, r := range text { // as small as a stream can be
			p.write(plain, string(r))
		}
		p.end()
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > p.width {
				t.Errorf("%d columns: a line has %d: %q", columns, n, line)
			}
		}
		squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if got, want := squeeze(out.String()), squeeze("[1] "+text); got != want {
			t.Errorf("%d columns: got %q, want %q", columns, got, want)
		}
	}
}

func TestPaperColoursWordsAndKeepsControlsOut(t *testing.T) {
	var out bytes.Buffer
	p := newPaper(&out, noEnv())
	p.colours = true
	p.line(plain, "")
	p.write(green, "ok")
	p.write(plain, " a\x1b[2Jb\r\nc")
	p.end()
	if got, want := out.String(), "\x1b[32mok\x1b[0m a[2Jb\nc\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
