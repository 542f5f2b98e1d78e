package toolrunner

import (
	"fmt"
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

// inputError says what is wrong with the input of a call. Its text is written for the model.
type inputError struct {
	faults   []string
	unlisted int
	cause    error // of a decoder; may be nil
}

func (e *inputError) Error() string {
	if len(e.faults) == 1 && e.unlisted == 0 {
		return "invalid input: " + e.faults[0]
	}
	text := "invalid input:\n- " + strings.Join(e.faults, "\n- ")
	if e.unlisted > 0 {
		text += fmt.Sprintf("\n- and %d more", e.unlisted)
	}
	return text
}

func (e *inputError) Unwrap() error { return e.cause }

// pathStep is the key of a member or the index of an item.
type pathStep struct {
	key     string
	index   int
	isIndex bool
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

// expected says in a few words what a rule accepts.
func (r *rule) expected() string {
	for hops := 0; r != nil && r.ref != nil && r.types == 0 && hops < 10; hops++ {
		r = r.ref
	}
	switch {
	case r == nil:
		return "any value"
	case r.enum != nil:
		return enumText(r.enum)
	case r.types == 0 && len(r.anyOf)+len(r.oneOf) > 0:
		var branches []string
		for _, branch := range append(r.anyOf[:len(r.anyOf):len(r.anyOf)], r.oneOf...) {
			branches = append(branches, branch.expected())
		}
		return abbreviate(strings.Join(branches, "; or "), 200)
	case r.types == 0:
		return "another value"
	}
	text := r.types.String()
	if r.types&^typesOf("null") == typesOf("array") && r.items != nil && r.items.types != 0 {
		text += " of " + r.items.types.String()
	}
	return text + r.rangeText()
}

func (r *rule) rangeText() string {
	low, high := r.minimum.unlessWide(), r.maximum.unlessWide()
	switch {
	case low == nil && high == nil:
		return ""
	case low == nil:
		return high.words(" below ", " of at most ")
	case high == nil:
		return low.words(" above ", " of at least ")
	}
	return low.words(" above ", " from ") + high.words(" and below ", " to ")
}

// unlessWide drops a bound that comes from a 64-bit type and would only confuse.
func (b *bound) unlessWide() *bound {
	if b != nil && isWideBound(b.text) {
		return nil
	}
	return b
}

func (b *bound) words(exclusive, inclusive string) string {
	if b.exclusive {
		return exclusive + b.text
	}
	return inclusive + b.text
}

func enumText(values []jsonValue) string {
	const shown = 12
	var texts []string
	for i := range values {
		if i == shown {
			texts = append(texts, fmt.Sprintf("... (%d in all)", len(values)))
			break
		}
		texts = append(texts, abbreviate(string(values[i].appendTo(nil)), maxValueText))
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return "one of " + strings.Join(texts, ", ")
}

// known lists the properties of an object for somebody who wrote another one.
func (r *rule) known(key string) string {
	const shown = 12
	if len(r.properties) == 0 {
		return "there are none"
	}
	var names []string
	for i, p := range r.properties {
		if strings.EqualFold(p.name, key) {
			return fmt.Sprintf("it is written %s", p.name)
		}
		if i < shown {
			names = append(names, abbreviate(p.name, maxKeyText))
		}
	}
	if len(r.properties) > shown {
		names = append(names, "...")
	}
	return "known: " + strings.Join(names, ", ")
}

// summary names a value in a few words.
func summary(v *jsonValue) string {
	switch v.kind {
	case kindObject:
		return abbreviate("object "+string(v.appendTo(nil)), maxValueText)
	case kindArray:
		return abbreviate("array "+string(v.appendTo(nil)), maxValueText)
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
