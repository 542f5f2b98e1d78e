package schema

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The steps that the comparison of one input may take: some, and more for each byte of it. A schema whose references
// multiply the work asks for more; its input is refused, as nobody can tell whether it fits.
const (
	maxSteps     = 1_000_000
	stepsPerByte = 50
	// stepsToRemember keep what is remembered of an input in its size too.
	stepsToRemember = 8
)

func stepsFor(input string) int { return maxSteps + stepsPerByte*len(input) }

// checker compares one input with rules and collects what is wrong.
type checker struct {
	// nullIsAbsent accepts null for a property that is not required, and for an element of a list or a map that can be nil,
	// as decoding does.
	nullIsAbsent bool
	path         []pathStep
	faults       []string
	fields       []string // of the faults
	unlisted     int      // faults beyond maxFaults
	steps        int      // that are left
	digits       int      // that integers of any size may still take; see expand

	quiet  bool // only whether there is a fault counts, which failed then says
	failed bool
	// done has the results of rules that may be asked twice about one value.
	done map[question]bool
}

// question is whether a value passes a rule. quiet says who asks: others want to hear why not.
type question struct {
	rule  *rule
	value *jsonValue
	quiet bool
}

// spend takes steps. Once there are none left, nothing is compared any more.
func (c *checker) spend(steps int) bool {
	c.steps -= steps
	if c.steps < 0 {
		c.failed = true
	}
	return c.steps >= 0 && (!c.quiet || !c.failed)
}

// err is what is wrong with the input.
func (c *checker) err() error {
	if c.steps < 0 {
		return &Error{faults: []string{"too complex to check against its schema: give a smaller or a simpler input"}}
	}
	if len(c.faults) == 0 {
		return nil
	}
	return &Error{faults: c.faults, fields: c.fields, unlisted: c.unlisted}
}

func (c *checker) value(r *rule, v *jsonValue) {
	if r == nil || c.quiet && c.failed {
		return
	}
	if c.steps--; c.steps < 0 {
		c.failed = true
		return
	}
	if !r.shared {
		c.compare(r, v)
		return
	}
	q := question{rule: r, value: v, quiet: c.quiet}
	if accepted, ok := c.done[q]; ok {
		c.failed = c.failed || !accepted
		return
	}
	if !c.spend(stepsToRemember) {
		return
	}
	if c.done == nil {
		c.done = map[question]bool{}
	}
	c.done[q] = true // nobody hears the same twice
	if c.compare(r, v); c.quiet {
		c.done[q] = !c.failed
	}
}

func (c *checker) compare(r *rule, v *jsonValue) {
	if r.never {
		c.fault(func() string { return "no value is accepted here" })
		return
	}
	if r.ref != nil {
		c.value(r.ref, v)
	}
	if r.types != 0 && !r.types.allow(v) {
		c.fault(func() string {
			return fmt.Sprintf("expected %s, got %s%s", r.expected(), summary(v), hint(r.admits, v))
		})
		return
	}
	if r.enum != nil && !c.listed(r, v) {
		c.fault(func() string { return fmt.Sprintf("expected %s, got %s", r.expected(), summary(v)) })
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
	for _, alternatives := range r.choice {
		c.one(alternatives, v)
	}
}

func (c *checker) listed(r *rule, v *jsonValue) bool {
	for i := range min(len(r.enum), 8) {
		if r.enum[i].raw == v.raw && v.kind == kindString { // mostly, it is written as in the schema
			return true
		}
	}
	if !r.kinds.allow(v) || !c.spend(len(v.raw)/16) {
		return false
	}
	var short [128]byte
	_, ok := r.listed[string(v.canonical(short[:0]))]
	return ok
}

func (c *checker) number(r *rule, v *jsonValue) {
	if r.minimum == nil && r.maximum == nil && r.multipleOf == nil && r.demands == "" || !c.spend(len(v.raw)/16) {
		return
	}
	d := parseDecimal(v.raw)
	if b := r.violated(d); b.unlessWide() != nil {
		c.fault(func() string { return fmt.Sprintf("expected %s, got %s", r.expected(), summary(v)) })
	} else if b != nil {
		c.fault(func() string { return "expected a number that fits in 64 bits, got " + summary(v) })
	}
	if r.multipleOf != nil && c.spend(len(r.multipleOf.text)) && !d.isMultiple(r.multipleOf.value) {
		c.fault(func() string { return fmt.Sprintf("expected a multiple of %s, got %s", r.multipleOf.text, summary(v)) })
	}
	if r.demands == decodesBig && !c.expand(d) {
		c.fault(func() string { return "expected an integer with fewer digits, got " + summary(v) })
	}
}

// The digits that an integer of any size may have, and those of all in one input: some, and more for each byte.
const (
	maxDigits     = 10_000
	maxAllDigits  = 100_000
	digitsPerByte = 2
)

func digitsFor(input string) int { return maxAllDigits + digitsPerByte*len(input) }

// expand takes the digits of an integer from those that are left: 1e9999 has many, and is short.
func (c *checker) expand(d decimal) bool {
	c.digits -= max(0, min(d.exp, maxDigits))
	return d.exp <= maxDigits && c.digits >= 0
}

// violated returns the bound that a number is beyond, or nil.
func (r *rule) violated(d decimal) *limit {
	switch {
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
	if r.minLength < 0 && r.maxLength < 0 && r.pattern == nil && r.demands == "" && r.inner == nil || !c.spend(len(v.raw)/16) {
		return
	}
	text := v.text()
	if r.minLength >= 0 || r.maxLength >= 0 {
		if n := utf8.RuneCountInString(text); n < r.minLength || r.maxLength >= 0 && n > r.maxLength {
			c.fault(func() string {
				return fmt.Sprintf("expected %s characters, got %d: %s", countRange(r.minLength, r.maxLength), n, summary(v))
			})
		}
	}
	if r.pattern != nil && r.pattern.re != nil && !c.matches(r.pattern, text) {
		c.fault(func() string { return fmt.Sprintf("expected text that matches %s, got %s", r.pattern.text, summary(v)) })
		return
	}
	switch r.demands {
	case decodesTime: // as encoding/json does: from the text as written, escapes included
		var t time.Time
		if err := t.UnmarshalText([]byte(v.raw[1 : len(v.raw)-1])); err != nil {
			c.fault(func() string { return "expected a time such as 2006-01-02T15:04:05Z, got " + summary(v) })
		}
	case decodesBase64:
		if _, err := base64.StdEncoding.DecodeString(text); err != nil {
			c.fault(func() string { return "expected base64, got " + summary(v) })
		}
	}
	if r.inner == nil {
		return
	}
	inner, err := parseJSON([]byte(text))
	if err != nil || strings.TrimSpace(text) != text {
		c.fault(func() string {
			return fmt.Sprintf("expected a string that contains %s, got %s", r.inner.expected(), summary(v))
		})
		return
	}
	c.value(r.inner, &inner)
}

// matches reports whether a text matches, as far as Go can tell. Its cost is in the size of both.
func (c *checker) matches(p *pattern, text string) bool {
	return p.re != nil && c.spend(1+len(text)*p.size/16) && p.re.MatchString(text)
}

func (c *checker) array(r *rule, v *jsonValue) {
	if n := len(v.elems); n < r.minItems || r.maxItems >= 0 && n > r.maxItems {
		c.fault(func() string { return fmt.Sprintf("expected %s items, got %d", countRange(r.minItems, r.maxItems), n) })
	}
	if r.items != nil || r.prefix != nil {
		for i := range v.elems {
			c.element(pathStep{index: i, isIndex: true}, r.item(i), &v.elems[i])
		}
	}
	if !r.unique || len(v.elems) < 2 || !c.spend(len(v.raw)) {
		return
	}
	seen := make(map[string]struct{}, len(v.elems))
	for i := range v.elems {
		text := string(v.elems[i].canonical(nil))
		if _, ok := seen[text]; ok {
			again := &v.elems[i]
			c.fault(func() string { return fmt.Sprintf("expected no item twice, got %s again", summary(again)) })
		}
		seen[text] = struct{}{}
	}
}

func (c *checker) at(step pathStep, r *rule, v *jsonValue) {
	c.path = append(c.path, step)
	c.value(r, v)
	c.path = c.path[:len(c.path)-1]
}

// element is at for an item of a list or a member of a map, whose Go type may have a nil.
func (c *checker) element(step pathStep, r *rule, v *jsonValue) {
	if r == nil || v.kind == kindNull && r.nilable && c.nullIsAbsent {
		return
	}
	c.at(step, r, v)
}

func (c *checker) object(r *rule, v *jsonValue) {
	if n := len(v.elems); n < r.minProperties || r.maxProperty >= 0 && n > r.maxProperty {
		c.fault(func() string {
			return fmt.Sprintf("expected %s properties, got %d", countRange(r.minProperties, r.maxProperty), n)
		})
	}
	if !c.spend(len(r.required) / 2) {
		return
	}
	var few [16]bool
	seen := few[:]
	if len(r.required) >= len(few) {
		seen = make([]bool, len(r.required)+1)
	}
	for i := range v.elems {
		member := &v.elems[i]
		if r.names != nil {
			name := jsonString(member.key)
			c.at(pathStep{key: member.key, isOwn: true}, r.names, &name)
		}
		known, ok := r.index[member.key]
		if ok {
			seen[r.properties[known].required] = true
		}
		if !ok || !r.properties[known].declared {
			c.unknownMember(r, member)
			continue
		}
		p := &r.properties[known]
		if member.kind == kindNull && c.nullIsAbsent && p.required == 0 {
			continue
		}
		c.at(pathStep{key: member.key}, p.rule, member)
		c.patterned(r, member)
	}
	for i, known := range r.required {
		if p := &r.properties[known]; !seen[i+1] {
			expected := p.rule
			if !p.declared {
				expected = r.additional
			}
			c.faultAt(p.name, func() string { return "missing; expected " + expected.expected() })
		}
	}
}

func (c *checker) patterned(r *rule, member *jsonValue) (matched bool) {
	for _, p := range r.patterns {
		if p.pattern.re == nil {
			matched = true // not understood: it may well match
		} else if c.matches(p.pattern, member.key) {
			matched = true
			c.at(pathStep{key: member.key, isOwn: true}, p.rule, member)
		}
	}
	return matched
}

func (c *checker) unknownMember(r *rule, member *jsonValue) {
	if c.patterned(r, member) || r.additional == nil {
		return
	}
	if !r.additional.never {
		c.element(pathStep{key: member.key, isOwn: true}, r.additional, member)
		return
	}
	c.faultIn(pathStep{key: member.key, isOwn: true}, func() string { return "unknown property; " + r.known(member.key) })
}

// doubles lists the members of all objects whose key their object has already: who reads them takes the one or the other.
func (c *checker) doubles(read *Document) {
	if read.doubled {
		c.doubled(&read.root)
	}
}

// doubled lists the members whose key their object has already.
func (c *checker) doubled(v *jsonValue) {
	seen := map[string]struct{}{}
	for i := range v.elems {
		member := &v.elems[i]
		if _, ok := seen[member.key]; ok && v.kind == kindObject {
			c.faultIn(pathStep{key: member.key, isOwn: true}, func() string { return "given more than once" })
		}
		seen[member.key] = struct{}{}
		c.path = append(c.path, pathStep{key: member.key, index: i, isIndex: v.kind == kindArray, isOwn: true})
		c.doubled(member)
		c.path = c.path[:len(c.path)-1]
	}
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
