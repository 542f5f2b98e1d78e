package toolrunnertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

const (
	diffContext = 2   // lines that are shown around a change
	diffCells   = 4e6 // above this size the middle is not aligned
	diffLine    = 400 // bytes of a line that are shown
)

// diffLines shows how got differs from want, line by line; "" if it does not.
func diffLines(want, got []string, same func(want, got string) bool) string {
	var edits []string // each a line with its mark in front
	start, end := 0, 0
	for start < min(len(want), len(got)) && same(want[start], got[start]) {
		start++
	}
	for end < min(len(want), len(got))-start && same(want[len(want)-1-end], got[len(got)-1-end]) {
		end++
	}
	if start+end == len(want) && len(want) == len(got) {
		return ""
	}
	for _, line := range got[:start] {
		edits = append(edits, "  "+line)
	}
	edits = append(edits, align(want[start:len(want)-end], got[start:len(got)-end], same)...)
	for _, line := range got[len(got)-end:] {
		edits = append(edits, "  "+line)
	}
	return excerpt(edits)
}

// align marks the lines that are only in want, only in got, and in both, so that most are in both.
func align(want, got []string, same func(want, got string) bool) []string {
	var edits []string
	mark := func(sign string, lines ...string) {
		for _, line := range lines {
			edits = append(edits, sign+line)
		}
	}
	if float64(len(want))*float64(len(got)) > diffCells {
		mark("- ", want...)
		mark("+ ", got...)
		return edits
	}
	common := make([][]int, len(want)+1) // [i][j]: how many lines want[i:] and got[j:] have in common
	for i := range common {
		common[i] = make([]int, len(got)+1)
	}
	for i, line := range slices.Backward(want) {
		for j := len(got) - 1; j >= 0; j-- {
			if same(line, got[j]) {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(want) && j < len(got) {
		switch {
		case same(want[i], got[j]):
			mark("  ", got[j])
			i, j = i+1, j+1
		case common[i+1][j] >= common[i][j+1]:
			mark("- ", want[i])
			i++
		default:
			mark("+ ", got[j])
			j++
		}
	}
	mark("- ", want[i:]...)
	mark("+ ", got[j:]...)
	return edits
}

// excerpt leaves out the lines that are far from any change.
func excerpt(edits []string) string {
	near := make([]bool, len(edits))
	for i, edit := range edits {
		if edit[0] == ' ' {
			continue
		}
		for k := max(0, i-diffContext); k <= min(len(edits)-1, i+diffContext); k++ {
			near[k] = true
		}
	}
	var b strings.Builder
	for i := 0; i < len(edits); i++ {
		if near[i] {
			b.WriteString(window(edits, i) + "\n")
			continue
		}
		skipped := 0
		for ; i < len(edits) && !near[i]; i++ {
			skipped++
		}
		i--
		fmt.Fprintf(&b, "  ... %d more\n", skipped)
	}
	return b.String()
}

// window returns line i; of a long one the part where it begins to differ from its neighbour that it may stand for.
func window(edits []string, i int) string {
	mark, line := edits[i][:2], edits[i][2:]
	if len(line) <= diffLine {
		return mark + line
	}
	from := 0
	for _, k := range []int{i - 1, i + 1} {
		if k < 0 || k >= len(edits) || edits[k][0] == ' ' || edits[k][0] == mark[0] {
			continue
		}
		other := edits[k][2:]
		for from < min(len(line), len(other)) && line[from] == other[from] {
			from++
		}
		break
	}
	from = max(0, from-diffLine/4)
	to := min(len(line), from+diffLine)
	cut := strings.ToValidUTF8(line[from:to], "")
	if from > 0 {
		cut = "..." + cut
	}
	if to < len(line) {
		cut += "..."
	}
	return fmt.Sprintf("%s%s (%d bytes)", mark, cut, len(line))
}

// diffJSON shows how two JSON values differ, "" if they do not. The order of keys and the white space do not matter.
func diffJSON(want, got json.RawMessage) string {
	if sameValue(want, got) {
		return ""
	}
	return diffLines(indented(want), indented(got), func(want, got string) bool { return want == got })
}

// indented returns the lines of a JSON value, its keys sorted.
func indented(raw json.RawMessage) []string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if enc.Encode(value(raw)) != nil {
		return []string{string(raw)}
	}
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

// sameValue compares JSON values. Numbers are the same if their texts are; the order of keys does not matter.
func sameValue(a, b json.RawMessage) bool {
	return reflect.DeepEqual(value(a), value(b))
}

func value(raw json.RawMessage) any {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return string(raw)
	}
	return v
}
