package schema

import (
	"fmt"
	"strings"
)

// expected says in a few words what a rule accepts.
func (r *rule) expected() string {
	r = r.behindRef()
	if r == nil {
		return "any value"
	}
	if r.types != 0 || r.enum != nil || len(r.choice) == 0 {
		return r.plainly()
	}
	return r.choice[0].expected((*rule).plainly)
}

// plainly is expected for a rule without alternatives.
func (r *rule) plainly() string {
	switch {
	case r.enum != nil:
		return enumText(r.enum)
	case r.types == 0:
		return "another value"
	}
	text := r.types.String()
	if r.types&^typeNull == typeArray && r.items != nil && r.items.types != 0 {
		text += " of " + r.items.types.String()
	}
	return text + r.rangeText()
}

// behindRef is the rule that a rule without a type of its own refers to.
func (r *rule) behindRef() *rule {
	for hops := 0; r != nil && r.ref != nil && r.types == 0 && hops < 10; hops++ {
		r = r.ref
	}
	return r
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
func (b *limit) unlessWide() *limit {
	if b != nil && isWideBound(b.text) {
		return nil
	}
	return b
}

func (b *limit) words(exclusive, inclusive string) string {
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
		texts = append(texts, abbreviate(string(values[i].appendSome(nil, maxValueText+1)), maxValueText))
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return "one of " + strings.Join(texts, ", ")
}

// known lists the properties of an object for somebody who wrote another one.
func (r *rule) known(key string) string {
	const shown = 12
	var names []string
	for _, p := range r.properties {
		switch {
		case !p.declared:
		case strings.EqualFold(p.name, key):
			return "it is written " + p.name
		case len(names) < shown:
			names = append(names, abbreviate(p.name, maxKeyText))
		case len(names) == shown:
			names = append(names, "...")
		}
	}
	if names == nil {
		return "there are none"
	}
	return "known: " + strings.Join(names, ", ")
}
