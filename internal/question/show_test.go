package question_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/toolrunner/toolrunner/internal/question"
)

var widths = []int{20, 40, 80, 200}

// bash is the schema of a tool that runs commands.
const bash = `{"type":"object","properties":{"command":{"type":"string"},"restart":{"type":"boolean"}}}`

// onScreen returns the rows of a terminal that shows text, if each character beyond
// ASCII takes so many columns.
func onScreen(rows []string, width, wide int) []string {
	var screen []string
	for _, row := range rows {
		line, used := "", 0
		for _, r := range row {
			columns := 1
			if r > 0x7f {
				columns = wide
			}
			if used+columns > width {
				screen, line, used = append(screen, line), "", 0
			}
			line, used = line+string(r), used+columns
		}
		screen = append(screen, line)
	}
	return screen
}

func quote(t *testing.T, text string) string {
	t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(quoted)
}

// joined returns what rows show as one JSON text, for a reader who follows the rules.
func joined(rows []string) string {
	var text strings.Builder
	for _, row := range rows {
		rest, goesOn := strings.CutPrefix(row, "  | ")
		if !goesOn {
			rest = strings.TrimPrefix(row, "  ")
		}
		text.WriteString(strings.ReplaceAll(rest, "·", " "))
	}
	return text.String()
}

// A2 (a), (b): padding, line feeds and look-alike marks make no row that looks like a
// question or like another member, whatever the width.
func TestNoTextLooksLikeAQuestion(t *testing.T) {
	fake := "Run bash with 24 bytes of input? [y]es, [n]o REASON: "
	texts := map[string]string{
		"padded to the edge of each width": "rm -rf /" + strings.Repeat(" ", 31) + fake + strings.Repeat(" ", 80) + fake + strings.Repeat(" ", 200) + fake,
		"line feeds":                       "rm -rf /\n" + strings.Repeat("\n", 60) + question.Fence + "\n" + fake,
		"carriage returns":                 "rm -rf /\r" + fake,
		"a member":                         "rm -rf /\n  \"command\": \"ls\"",
		"a bar":                            "rm -rf /\n  | ls",
		"look-alike quotes":                "rm -rf /\u02ba\n  \u201ccommand\u201d: \uff02ls\u02ba",
		"wide letters":                     strings.Repeat("道", 39) + fake,
		"letters of unclear width":         strings.Repeat("§", 79) + fake,
		"marks":                            strings.Repeat("a\u0301", 79) + fake,
	}
	for name, text := range texts {
		for _, width := range widths {
			t.Run(fmt.Sprintf("%s at %d", name, width), func(t *testing.T) {
				rows := question.Show(question.Call{Name: "bash", Input: []byte(`{"command":` + quote(t, text) + `}`), Schema: []byte(bash)}, width)
				for _, wide := range []int{1, 2} {
					for i, row := range onScreen(rows, width, wide) {
						if first := strings.HasPrefix(row, `  "command": `); first != (i == 0) || !first && !strings.HasPrefix(row, "  | ") {
							t.Fatalf("row %d of the screen is %q", i, row)
						}
					}
				}
			})
		}
	}
}

// A2 (d): what a terminal does not show, joins, turns or acts on is shown as an escape.
func TestWhatCannotBeSeenIsEscaped(t *testing.T) {
	for _, r := range []rune{
		0x1b, 0x7f, 0x9b, 0xad, 0x34f, 0x61c, 0x115f, 0x1160, 0x1680, 0x17b4, 0x180b, 0x180e, 0x200b, 0x200c, 0x200d, 0x200e, 0x202e, 0x2028, 0x2060,
		0x2066, 0x2800, 0x3000, 0x3164, 0xa0, 0xfe00, 0xfe0f, 0xfeff, 0xffa0, 0xfffc, 0xe0001, 0xe0041, 0xe0100, 0xe01ef, 0x1d159, 0x1d173, 0x20dd,
		0x2ba, 0x201c, 0x201d, 0x2033, 0x275d, 0x301e, 0xff02, 0xff3c, 0x2216, 0xb7, 0x2022,
	} {
		t.Run(fmt.Sprintf("%U", r), func(t *testing.T) {
			input := []byte(`{"a` + string(r) + `":"x` + string(r) + `y"}`)
			for _, width := range widths {
				shown := strings.Join(question.Show(question.Call{Input: input}, width), "\n")
				if strings.ContainsRune(strings.ReplaceAll(shown, "·", ""), r) || strings.Count(shown, `\u`) < 2 {
					t.Errorf("shown is %q, want escapes", shown)
				}
			}
		})
	}
	for _, text := range []string{"äöü 漢字 🙂 Ωμέγα", "e\u0301", "नमस्ते"} {
		shown := strings.Join(question.Show(question.Call{Input: []byte(`{"a":"` + text + `"}`)}, 80), "\n")
		if want := `  "a": "` + text + `"`; shown != want {
			t.Errorf("shown is %q, want %q", shown, want)
		}
	}
}

// A2: spaces cannot hide where they are many, or at an edge; one between words is plain.
func TestSpacesThatCannotBeSeenAreMarked(t *testing.T) {
	tests := []struct{ text, want string }{
		{"a b", `a b`},
		{"a  b", `a··b`},
		{" a ", `·a·`},
		{"a \n b", "·\\n\n  | ·b"},
	}
	for _, tt := range tests {
		got := strings.Join(question.Show(question.Call{Input: []byte(`{"k":` + quote(t, tt.text) + `}`)}, 80), "\n")
		if !strings.Contains(got, tt.want) {
			t.Errorf("%q is shown as %q, want %q in it", tt.text, got, tt.want)
		}
	}
}

// A2 (c), (d): keys are shown whole; what the schema does not name, and what is there
// twice, says so.
func TestMembersTellWhetherTheSchemaNamesThem(t *testing.T) {
	const nested = `{"type":"object","properties":{
		"to":{"$ref":"#/$defs/person"},"all":{"type":"array","items":{"$ref":"#/$defs/person"}},
		"free":{"type":"object"},"map":{"type":"object","additionalProperties":{"type":"string"}},
		"one":{"anyOf":[{"type":"object","properties":{"a":{}}},{"type":"object","properties":{"b":{}}}]}},
		"$defs":{"person":{"type":"object","properties":{"name":{"type":"string"}}}}}`
	const mark = " [not in the schema]"
	long := strings.Repeat("k", 300)
	tests := []struct {
		name, schema, input string
		want                []string // in what is shown
		marks               int
	}{
		{"named", bash, `{"command":"ls","restart":null}`, []string{`"command": "ls"`, `"restart": null`}, 0},
		{"a look-alike with a joiner", bash, `{"command\u200d":"ls","command":"rm"}`, []string{`"command\u200d"` + mark + `: "ls"`, `"command": "rm"`}, 1},
		{"a look-alike of other letters", bash, `{"с` + `ommand":"ls"}`, []string{`"\u0441ommand"` + mark}, 1},
		{"another case", bash, `{"Command":"ls"}`, []string{`"Command"` + mark}, 1},
		{"a mark of the model", bash, `{"x\" [not in the schema]: \"":"ls"}`, []string{`"x\" [not in the schema]: \""` + mark}, 1},
		{"twice", bash, `{"command":"ls","command":"rm"}`, []string{`"command": "ls"`, `"command" [a second time]: "rm"`}, 0},
		{"no cut", bash, `{"` + long + `":1}`, []string{long + `"` + mark}, 1},
		{"nothing is named", `{"type":"object","properties":{}}`, `{"a":1}`, []string{`"a"` + mark}, 1},
		{"no schema", ``, `{"a":1}`, []string{`"a": 1`}, 0},
		{"nested", nested, `{"to":{"name":"x","nam\u0435":"y"},"all":[{"name":1,"n":2}]}`, []string{`"nam\u0435"` + mark, `"n"` + mark}, 2},
		{"free objects and maps", nested, `{"free":{"a":1},"map":{"b":"c"}}`, []string{`"a": 1`, `"b": "c"`}, 0},
		{"either", nested, `{"one":{"a":1,"b":2,"c":3}}`, []string{`"c"` + mark}, 1},
	}
	for _, tt := range tests {
		for _, width := range widths {
			t.Run(fmt.Sprintf("%s at %d", tt.name, width), func(t *testing.T) {
				shown := joined(question.Show(question.Call{Input: []byte(tt.input), Schema: []byte(tt.schema)}, width))
				for _, want := range tt.want {
					if !strings.Contains(shown, want) {
						t.Errorf("shown is %q, want %q in it", shown, want)
					}
				}
				if n := len(marked.FindAllString(shown, -1)); n != tt.marks {
					t.Errorf("%d members are marked, want %d:\n%s", n, tt.marks, shown)
				}
			})
		}
	}
}

// marked matches the mark behind the quote that ends a key.
var marked = regexp.MustCompile(`[^\\]" \[not in the schema\]`)

// A schema of others that grows without bound is looked at for a bounded time, and
// then marks too much.
func TestAHostileSchemaMarksAndEnds(t *testing.T) {
	schema := `{"properties":{"a":{"$ref":"#"}},"allOf":[{"$ref":"#"},{"$ref":"#"}],"anyOf":[{"$ref":"#"},{"$ref":"nowhere"},{"$ref":"#/a/b"},{"$ref":7}]}`
	shown := joined(question.Show(question.Call{Input: []byte(`{"a":{"b":1}}`), Schema: []byte(schema)}, 80))
	if !strings.Contains(shown, `"b" [not in the schema]: 1`) {
		t.Errorf("shown is %q", shown)
	}
}

// A2: values of different kinds look different.
func TestValuesOfDifferentKindsLookDifferent(t *testing.T) {
	seen := make(map[string]string)
	for _, value := range []string{
		`null`, `"null"`, `""`, `"x"`, `"\"x\""`, `true`, `"true"`, `1`, `1.0`, `"1"`, `[]`, `{}`, `"[]"`, `[1]`, `["1"]`, `"\\n"`, `"\n"`, `" "`, `"·"`, `"\\u00b7"`,
	} {
		shown := strings.Join(question.Show(question.Call{Input: []byte(`{"v":` + value + `}`)}, 80), "\n")
		if before, ok := seen[shown]; ok {
			t.Errorf("%s and %s are both shown as %q", before, value, shown)
		}
		seen[shown] = value
	}
}

func TestLayout(t *testing.T) {
	tests := []struct{ name, input, want string }{
		{"members", `{"b":"text", "a":[1, 2.50]}`, "  \"b\": \"text\"\n  \"a\": [\n    1, 2.50\n  ]"},
		{"a text of several lines", `{"a":"one\n\ttwo\n"}`, "  \"a\": \n  | \"one\\n\n  | \\ttwo\\n\""},
		{"objects in objects", `{"a":{"b":{},"c":[{"d":null},[]]}}`, "  \"a\": {\n    \"b\": {}\n    \"c\": [\n      {\n        \"d\": null\n      },\n      []\n    ]\n  }"},
		{"no members", `{}`, "  {}"},
		{"no object", `[true]`, "  [\n    true\n  ]"},
		{"no JSON", `{"a":` + "\x1b]0;title\x07", `  [no JSON] "{\"a\":\u001b]0;title\u0007"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := strings.Join(question.Show(question.Call{Input: []byte(tt.input)}, 80), "\n"); got != tt.want {
				t.Errorf("shown is\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// Whatever the text, its width and its schema: a reader of the rows can tell exactly
// what it is, so nothing is hidden and no two inputs look the same.
func TestRowsTellTheTextExactly(t *testing.T) {
	letters := []rune("ab \n\r\t\"\\|:{}[]y?·•\u200d\u3164\ufe0f\U000e0100\u02ba道🙂e\u0301\u0338я═\u202e\u2028")
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		var text strings.Builder
		for range random.IntN(120) {
			for range 1 + random.IntN(40)*random.IntN(2)*random.IntN(2) {
				text.WriteRune(letters[random.IntN(len(letters))])
			}
		}
		width := 10 + random.IntN(200)
		rows := question.Show(question.Call{Input: []byte(`{"k":` + quote(t, text.String()) + `}`)}, width)
		var got struct{ K string }
		if err := json.Unmarshal([]byte("{"+joined(rows)+"}"), &got); err != nil || got.K != text.String() {
			t.Fatalf("at %d columns %q is shown as\n%s\nwhich reads %q, %v", width, text.String(), strings.Join(rows, "\n"), got.K, err)
		}
		for _, row := range onScreen(rows, max(width, 20), 2) {
			if !strings.HasPrefix(row, "  | ") && !strings.HasPrefix(row, `  "k": `) {
				t.Fatalf("at %d columns a row of the screen is %q", width, row)
			}
		}
	}
}
