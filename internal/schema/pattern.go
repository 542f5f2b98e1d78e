package schema

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// pattern is a regular expression of a schema. One that Go does not understand matches nothing and is not checked.
type pattern struct {
	text string
	re   *regexp.Regexp // nil: not understood
	size int            // how large it is, its repetitions written out
}

// maxPatterns bounds the size of all patterns in a schema. A few letters can stand for a thousand, as in a{1000}.
const maxPatterns = 300_000

func (c *schemaCompiler) pattern(text string) (*pattern, error) {
	p := &pattern{text: text}
	goText, ok := goPattern(text)
	if !ok {
		return p, nil
	}
	tree, err := syntax.Parse(goText, syntax.Perl)
	if err != nil {
		return p, nil //nolint:nilerr // patterns are written for ECMAScript
	}
	p.size = patternSize(tree)
	if c.patterns += p.size; c.patterns > maxPatterns {
		return nil, fmt.Errorf("the patterns of the schema are too large to check: %s", abbreviate(text, maxValueText))
	}
	p.re, _ = regexp.Compile(goText)
	return p, nil
}

func patternSize(tree *syntax.Regexp) int {
	size := 1 + len(tree.Rune)
	for _, sub := range tree.Sub {
		size += patternSize(sub)
	}
	if tree.Op == syntax.OpRepeat {
		size *= max(1, tree.Min, tree.Max)
	}
	return min(size, maxPatterns+1)
}

// ecmaSpace is what \s stands for in ECMAScript; in Go it is ASCII alone.
const ecmaSpace = `\s\x0b\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`

// goPattern writes a pattern of ECMAScript, which schemas are written in, so that Go reads the same. It reports false for
// what Go cannot say.
func goPattern(text string) (string, bool) {
	var b strings.Builder
	for i, class := 0, false; i < len(text); i++ {
		switch rest := text[i:]; {
		case strings.HasPrefix(rest, `\s`) && class:
			b.WriteString(ecmaSpace)
			i++
		case strings.HasPrefix(rest, `\s`):
			b.WriteString("[" + ecmaSpace + "]")
			i++
		case strings.HasPrefix(rest, `\S`) && class:
			return "", false
		case strings.HasPrefix(rest, `\S`):
			b.WriteString("[^" + ecmaSpace + "]")
			i++
		case rest[0] == '\\' && len(rest) > 1:
			b.WriteString(rest[:2])
			i++
		case class && rest[0] == '[':
			b.WriteString(`\[`) // not the beginning of [:alpha:]
		case class:
			class = rest[0] != ']'
			b.WriteByte(rest[0])
		case strings.HasPrefix(rest, "[]") || strings.HasPrefix(rest, "[^]"): // nothing, and anything
			return "", false
		default:
			class = rest[0] == '['
			b.WriteByte(rest[0])
		}
	}
	return b.String(), true
}
