package schema

import (
	"encoding/json"
	"slices"
)

// Some models write JSON into a string where an object, a list or a number belongs.

// Unwrap replaces each string inside of input that holds an object, an array, a number or a boolean by that value,
// where the schema accepts one and no string. All else stays as it is, byte for byte; input that the schema accepts
// does not change.
func (s *Input) Unwrap(input json.RawMessage) json.RawMessage {
	v, err := parseJSON(input)
	if err != nil {
		return input
	}
	u := unwrapper{steps: stepsFor(string(input))}
	u.inside([]*rule{s.rules}, &v)
	if len(u.edits) == 0 || u.steps < 0 {
		return input
	}
	return applyEdits(string(input), 0, u.edits)
}

// edit replaces a part of the input.
type edit struct {
	start, end int
	text       string
}

type unwrapper struct {
	edits []edit
	steps int // that are left, as of a checker; without any, nothing changes
}

// value looks at a value that all the rules are about.
func (u *unwrapper) value(rules []*rule, v *jsonValue) {
	if v.kind != kindString {
		u.inside(rules, v)
		return
	}
	inner, ok := wrapped(func(v *jsonValue) bool { return admitted(rules, v) }, v)
	if !ok {
		return
	}
	within := unwrapper{steps: u.steps - len(v.raw)}
	within.inside(rules, &inner)
	u.steps = within.steps
	text := applyEdits(v.text(), 0, within.edits)
	u.edits = append(u.edits, edit{start: v.start, end: v.start + len(v.raw), text: string(text)})
}

// inside goes through the members or the items of a value.
func (u *unwrapper) inside(rules []*rule, v *jsonValue) {
	if len(v.elems) == 0 {
		return
	}
	var all []*rule
	for _, r := range rules {
		all = u.about(r, v, all)
	}
	for i := range v.elems {
		var inner []*rule
		for _, r := range all {
			if v.kind == kindArray {
				inner = append(inner, r.item(i))
			} else {
				inner = u.member(r, v.elems[i].key, inner)
			}
		}
		if u.steps -= 1 + len(inner); u.steps < 0 {
			return
		}
		u.value(inner, &v.elems[i])
	}
}

// about appends the rule and those that it refers to which say something about v.
func (u *unwrapper) about(r *rule, v *jsonValue, rules []*rule) []*rule {
	if u.steps -= 1 + len(rules); r == nil || u.steps < 0 || slices.Contains(rules, r) {
		return rules
	}
	rules = append(rules, r)
	for _, part := range r.parts() {
		rules = u.about(part, v, rules)
	}
	for _, alternatives := range r.choice {
		rules = u.about(alternatives.only(v), v, rules)
	}
	return rules
}

// only is the branch that v is meant for, or nil if that is not clear.
func (ch *choice) only(v *jsonValue) *rule {
	if ch.key != "" && v.kind == kindObject {
		return ch.byName[v.get(ch.key).text()]
	}
	var found *rule
	for _, branch := range ch.branches {
		if branch.admits(v) {
			if found != nil {
				return nil
			}
			found = branch
		}
	}
	return found
}

func (r *rule) item(i int) *rule {
	if i < len(r.prefix) {
		return r.prefix[i]
	}
	return r.items
}

// member appends the rules for the member of that key.
func (u *unwrapper) member(r *rule, key string, rules []*rule) []*rule {
	i, known := r.index[key]
	if known = known && r.properties[i].declared; known {
		rules = append(rules, r.properties[i].rule)
	}
	for _, p := range r.patterns {
		if u.steps -= 1 + len(key)*p.pattern.size/16; u.steps < 0 {
			return rules
		}
		if p.pattern.re == nil || p.pattern.re.MatchString(key) {
			known = true
			rules = append(rules, p.rule)
		}
	}
	if !known {
		rules = append(rules, r.additional)
	}
	return rules
}

// wrapped returns the value in a string, if one of its type is admitted and no string.
func wrapped(admits func(*jsonValue) bool, v *jsonValue) (inner jsonValue, ok bool) {
	if v.kind != kindString || admits(v) {
		return inner, false
	}
	inner, err := parseJSON([]byte(v.text()))
	if err != nil || inner.kind == kindString || inner.kind == kindNull {
		return inner, false
	}
	return inner, admits(&inner)
}

func admitted(rules []*rule, v *jsonValue) bool {
	return !slices.ContainsFunc(rules, func(r *rule) bool { return !r.admits(v) })
}

// hint tells a model that wrote JSON into a string to give the value itself.
func hint(admits func(*jsonValue) bool, v *jsonValue) string {
	if _, ok := wrapped(admits, v); !ok {
		return ""
	}
	return "; give the value itself, not a string that contains it"
}

// applyEdits makes edits that are in the order of the input in a part of it, which starts at offset.
func applyEdits(part string, offset int, edits []edit) []byte {
	var out []byte
	done := 0
	for _, e := range edits {
		out = append(append(out, part[done:e.start-offset]...), e.text...)
		done = e.end - offset
	}
	return append(out, part[done:]...)
}
