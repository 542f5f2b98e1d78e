package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The bounds of what a model has to read about one input.
const (
	maxFaults    = 10
	maxFaultText = 300
	maxValueText = 60
	maxKeyText   = 64
)

// Error says what is wrong with the input of a call. Its text is written for the model.
type Error struct {
	faults   []string
	fields   []string // of the faults; see Fields
	unlisted int
	cause    error // of a decoder; may be nil
}

// Error lists every fault, for the model to read.
func (e *Error) Error() string {
	if len(e.faults) == 1 && e.unlisted == 0 {
		return "invalid input: " + e.faults[0]
	}
	text := "invalid input:\n- " + strings.Join(e.faults, "\n- ")
	if e.unlisted > 0 {
		text += fmt.Sprintf("\n- and %d more", e.unlisted)
	}
	return text
}

// Fields names what is wrong without what the model wrote: paths of properties that the schema has. A key of the model's own
// is a star.
func (e *Error) Fields() []string { return e.fields }

// Unwrap returns what a decoder failed with, or nil.
func (e *Error) Unwrap() error { return e.cause }

func invalidJSON(err error) error {
	return &Error{faults: []string{"not valid JSON: " + err.Error()}, cause: err}
}

// fault notes what is wrong with the value that is compared.
func (c *checker) fault(text func() string) {
	switch {
	case c.quiet:
		c.failed = true
	case len(c.faults) == maxFaults:
		c.unlisted++
	default:
		c.faults = append(c.faults, describeFault(c.path, text()))
		c.fields = append(c.fields, fieldOf(c.path))
	}
}

// faultAt is a fault of the member with that key.
func (c *checker) faultAt(key string, text func() string) { c.faultIn(pathStep{key: key}, text) }

// faultIn is a fault of what a step leads to.
func (c *checker) faultIn(step pathStep, text func() string) {
	c.path = append(c.path, step)
	c.fault(text)
	c.path = c.path[:len(c.path)-1]
}

// pathStep is the key of a member or the index of an item.
type pathStep struct {
	key     string
	index   int
	isIndex bool
	isOwn   bool // the model's own key, which no schema has
}

// fieldOf names what a path leads to, for a record.
func fieldOf(path []pathStep) string {
	declared := slices.Clone(path)
	for i := range declared {
		if declared[i].isOwn {
			declared[i].key = "*"
		}
	}
	return strings.TrimSuffix(describeFault(declared, ""), ": ")
}

func describeFault(path []pathStep, text string) string {
	var b strings.Builder
	const shown = 12
	for i, step := range path {
		switch {
		case len(path) > shown && i == shown/2:
			b.WriteString("...")
			continue
		case len(path) > shown && i > shown/2 && i < len(path)-shown/2:
			continue
		case step.isIndex:
			b.WriteString("[" + strconv.Itoa(step.index) + "]")
			continue
		case b.Len() > 0:
			b.WriteByte('.')
		}
		b.WriteString(abbreviate(step.key, maxKeyText))
	}
	if b.Len() == 0 {
		b.WriteString("the input")
	}
	return b.String() + ": " + abbreviate(text, maxFaultText)
}

// summary names a value in a few words.
func summary(v *jsonValue) string {
	switch v.kind {
	case kindObject:
		return abbreviate(string(v.appendSome([]byte("object "), maxValueText+1)), maxValueText)
	case kindArray:
		return abbreviate(string(v.appendSome([]byte("array "), maxValueText+1)), maxValueText)
	case kindString:
		return "string " + abbreviate(v.raw, maxValueText)
	}
	return abbreviate(v.raw, maxValueText)
}

// abbreviate cuts text to at most n bytes, between characters, and makes it valid UTF-8.
func abbreviate(s string, n int) string {
	if len(s) > n {
		cut := n
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "..."
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
