package main

import (
	"bytes"
	"fmt"
	"html"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// README.md shows docs/demo.svg: the demo as it looks on a terminal, on the clock of
// a test.
func TestPictureShowsTheDemoAsItRuns(t *testing.T) {
	const picture = "../../docs/demo.svg"
	synctest.Test(t, func(t *testing.T) {
		var out, errs bytes.Buffer
		if code := run(t.Context(), []string{"demo"}, nil, &out, &errs, noEnv("CLICOLOR_FORCE", "1")); code != exitOK {
			t.Fatalf("exit code = %d, want %d; stderr:\n%s", code, exitOK, &errs)
		}
		plain, err := os.ReadFile("testdata/demo.txt")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(plain), styled.ReplaceAllString(out.String(), "$2")); diff != "" {
			t.Errorf("text without its colours (-want +got):\n%s", diff)
		}
		drawn := drawTerminal("go run ./cmd/toolrunner demo", out.String())
		if *update {
			if err := os.WriteFile(picture, []byte(drawn), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(picture)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), drawn); diff != "" {
			t.Errorf("%s is not of this demo; go test ./cmd/toolrunner -run Picture -update draws it (-want +got):\n%s", picture, diff)
		}
	})
}

// styled is text in a style, as a paper writes it.
var styled = regexp.MustCompile("\x1b\\[(\\d+)m(.*?)\x1b\\[0m")

// A picture brings its own background, so that it reads on a light page and on a dark
// one alike.
const (
	pictureHead = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" width="%[1]d" height="%[2]d" role="img" aria-label="%[3]s">
<style>
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace; fill: #d1d7e0; white-space: pre }
.s1 { fill: #ffffff; font-weight: 700 }
.s2 { fill: #9198a1 }
.s31 { fill: #ff8078 }
.s32 { fill: #57cb6a }
.s36 { fill: #56d4dd }
</style>
<rect width="%[1]d" height="%[2]d" rx="8" fill="#151b23"/>
`
	pictureMargin = 20
	pictureLine   = 20
	pictureWidth  = 720 // of 80 columns, with room for wide fonts
)

// drawTerminal returns an SVG of what a command has written to a terminal.
func drawTerminal(command, output string) string {
	lines := append([]string{"\x1b[2m$\x1b[0m " + command, ""}, strings.Split(strings.TrimSuffix(output, "\n"), "\n")...)
	var svg strings.Builder
	fmt.Fprintf(&svg, pictureHead, pictureWidth, len(lines)*pictureLine+2*pictureMargin, html.EscapeString("Output of "+command))
	for i, line := range lines {
		if line == "" {
			continue
		}
		text := styled.ReplaceAllString(html.EscapeString(line), `<tspan class="s$1">$2</tspan>`)
		fmt.Fprintf(&svg, `<text x="%d" y="%d" xml:space="preserve">%s</text>`+"\n", pictureMargin, pictureMargin+(i+1)*pictureLine-6, text)
	}
	svg.WriteString("</svg>\n")
	return svg.String()
}
