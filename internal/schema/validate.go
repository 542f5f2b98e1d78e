package schema

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// maxChecks bounds the work on one input: alternatives inside alternatives can multiply. Beyond it the input passes.
const maxChecks = 100_000

// checker compares one input with rules and collects what is wrong.
type checker struct {
	// nullIsAbsent accepts null for a property that is not required, as decoding does.
	nullIsAbsent bool
	path         []pathStep
	faults       []string
	unlisted     int // faults beyond maxFaults
	checks       int
}

func (c *checker) fault(format string, args ...any) {
	if len(c.faults) == maxFaults {
		c.unlisted++
		return
	}
	c.faults = append(c.faults, describeFault(c.path, fmt.Sprintf(format, args...)))
}

// faultAt is a fault of the member with that key.
func (c *checker) faultAt(key, format string, args ...any) {
	c.path = append(c.path, pathStep{key: key})
	c.fault(format, args...)
	c.path = c.path[:len(c.path)-1]
}

func (c *checker) value(r *rule, v *jsonValue) {
	if c.checks++; r == nil || c.checks > maxChecks {
		return
	}
	if r.never {
		c.fault("no value is accepted here")
		return
	}
	if r.ref != nil {
		c.value(r.ref, v)
	}
	if r.types != 0 && !r.types.allow(v) {
		c.fault("expected %s, got %s%s", r.expected(), summary(v), hint(r, v))
		return
	}
	if r.enum != nil && !r.lists(v) {
		c.fault("expected %s, got %s", r.expected(), summary(v))
		return
	}
	switch v.kind {
	case kindNumber:
		c.number(r, v)
	case kindString:
		c.text(r, v)
	case kindArray:
		c.array(r, v)
	case kindObject:
		c.object(r, v)
	}
	for _, part := range r.allOf {
		c.value(part, v)
	}
	c.choice(r.anyOf, v)
	c.choice(r.oneOf, v)
}

func (r *rule) lists(v *jsonValue) bool {
	for i := range r.enum {
		if r.enum[i].equalTo(v) {
			return true
		}
	}
	return false
}

func (c *checker) number(r *rule, v *jsonValue) {
	if b := r.violated(v); b.unlessWide() != nil {
		c.fault("expected %s, got %s", r.expected(), summary(v))
	} else if b != nil {
		c.fault("expected a number that fits in 64 bits, got %s", summary(v))
	}
	if r.multipleOf != "" && !isMultiple(v.raw, r.multipleOf) {
		c.fault("expected a multiple of %s, got %s", r.multipleOf, summary(v))
	}
}

// violated returns the bound that a number is beyond, or nil.
func (r *rule) violated(v *jsonValue) *limit {
	if r.minimum == nil && r.maximum == nil {
		return nil
	}
	switch d := parseDecimal(v.raw); {
	case r.minimum.excludes(d, 1):
		return r.minimum
	case r.maximum.excludes(d, -1):
		return r.maximum
	}
	return nil
}

// excludes reports whether d is outside of a bound; direction is 1 for a lower bound and -1 for an upper one.
func (b *limit) excludes(d decimal, direction int) bool {
	if b == nil {
		return false
	}
	order := direction * d.compare(b.value)
	return order < 0 || order == 0 && b.exclusive
}

func (c *checker) text(r *rule, v *jsonValue) {
	if r.minLength >= 0 || r.maxLength >= 0 {
		if n := utf8.RuneCountInString(v.text()); n < r.minLength || r.maxLength >= 0 && n > r.maxLength {
			c.fault("expected %s characters, got %d: %s", countRange(r.minLength, r.maxLength), n, summary(v))
		}
	}
	if r.pattern != nil && !r.pattern.MatchString(v.text()) {
		c.fault("expected text that matches %s, got %s", r.pattern, summary(v))
		return
	}
	if r.isTime {
		// As encoding/json decodes a time: from the text as written, escapes included.
		var t time.Time
		if err := t.UnmarshalText([]byte(v.raw[1 : len(v.raw)-1])); err != nil {
			c.fault("expected a time such as 2006-01-02T15:04:05Z, got %s", summary(v))
		}
	}
	if r.isBase64 {
		if _, err := base64.StdEncoding.DecodeString(v.text()); err != nil {
			c.fault("expected base64, got %s", summary(v))
		}
	}
	if r.inner != nil {
		content := v.text()
		inner, err := parseJSON([]byte(content))
		if err != nil || strings.TrimSpace(content) != content {
			c.fault("expected a string that contains %s, got %s", r.inner.expected(), summary(v))
			return
		}
		c.value(r.inner, &inner)
	}
}

func (c *checker) array(r *rule, v *jsonValue) {
	if n := len(v.elems); n < r.minItems || r.maxItems >= 0 && n > r.maxItems {
		c.fault("expected %s items, got %d", countRange(r.minItems, r.maxItems), n)
	}
	for i := range v.elems {
		item := r.items
		if i < len(r.prefix) {
			item = r.prefix[i]
		}
		c.at(pathStep{index: i, isIndex: true}, item, &v.elems[i])
		if r.unique && i < maxUnique && indexOf(v.elems[:i], &v.elems[i]) >= 0 {
			c.fault("expected no item twice, got %s again", summary(&v.elems[i]))
		}
	}
}

// maxUnique bounds uniqueItems, which compares each item with each other.
const maxUnique = 1_000

func indexOf(items []jsonValue, v *jsonValue) int {
	for i := range items {
		if items[i].equalTo(v) {
			return i
		}
	}
	return -1
}

func (c *checker) at(step pathStep, r *rule, v *jsonValue) {
	c.path = append(c.path, step)
	c.value(r, v)
	c.path = c.path[:len(c.path)-1]
}

func (c *checker) object(r *rule, v *jsonValue) {
	if n := len(v.elems); n < r.minProperties || r.maxProperty >= 0 && n > r.maxProperty {
		c.fault("expected %s properties, got %d", countRange(r.minProperties, r.maxProperty), n)
	}
	var few [16]bool
	seen := few[:]
	if len(r.properties) > len(few) {
		seen = make([]bool, len(r.properties))
	}
	for i := range v.elems {
		member := &v.elems[i]
		if r.names != nil {
			name := jsonString(member.key)
			c.at(pathStep{key: member.key}, r.names, &name)
		}
		known, isKnown := r.index[member.key]
		if !isKnown {
			c.unknownMember(r, member)
			continue
		}
		if seen[known] {
			c.faultAt(member.key, "given more than once")
		}
		seen[known] = true
		p := &r.properties[known]
		if member.kind == kindNull && c.nullIsAbsent && !p.required {
			continue
		}
		c.at(pathStep{key: member.key}, p.rule, member)
		c.patterned(r, member)
	}
	for i := range r.properties {
		if p := &r.properties[i]; p.required && !seen[i] {
			c.faultAt(p.name, "missing; expected %s", p.rule.expected())
		}
	}
}

func (c *checker) patterned(r *rule, member *jsonValue) (matched bool) {
	for _, p := range r.patterns {
		if p.pattern == nil {
			matched = true // not understood: it may well match
		} else if p.pattern.MatchString(member.key) {
			matched = true
			c.at(pathStep{key: member.key}, p.rule, member)
		}
	}
	return matched
}

func (c *checker) unknownMember(r *rule, member *jsonValue) {
	if c.patterned(r, member) || r.additional == nil {
		return
	}
	if !r.additional.never {
		c.at(pathStep{key: member.key}, r.additional, member)
		return
	}
	c.faultAt(member.key, "unknown property; %s", r.known(member.key))
}

func countRange(low, high int) string {
	switch {
	case low == high:
		return strconv.Itoa(low)
	case high < 0:
		return "at least " + strconv.Itoa(low)
	case low <= 0:
		return "at most " + strconv.Itoa(high)
	}
	return strconv.Itoa(low) + " to " + strconv.Itoa(high)
}
