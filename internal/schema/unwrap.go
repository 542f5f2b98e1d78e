package schema

import "encoding/json"

// Some models write JSON into a string where an object, a list or a number belongs.

// Unwrap replaces each string inside of input that holds an object, an array, a number or a boolean by that value,
// where the schema accepts one and no string. All else stays as it is, byte for byte; input that the schema accepts
// does not change.
func (s *Input) Unwrap(input json.RawMessage) json.RawMessage {
	v, err := parseJSON(input)
	if err != nil {
		return input
	}
	u := unwrapper{}
	u.inside([]*rule{s.rules}, &v)
	if len(u.edits) == 0 {
		return input
	}
	return applyEdits(string(input), 0, u.edits)
}

type unwrapper struct {
	edits []edit
	steps int // bounded as the checks of a checker are
}

// value looks at a value that all the rules are about.
func (u *unwrapper) value(rules []*rule, v *jsonValue) {
	if u.steps++; u.steps > maxChecks {
		return
	}
	if v.kind != kindString {
		u.inside(rules, v)
		return
	}
	inner, ok := wrapped(rules, v)
	if !ok {
		return
	}
	within := unwrapper{steps: u.steps}
	within.inside(rules, &inner)
	u.steps = within.steps
	text := applyEdits(v.text(), 0, within.edits)
	u.edits = append(u.edits, edit{start: v.start, end: v.start + len(v.raw), text: string(text)})
}

// inside goes through the members or the items of a value.
func (u *unwrapper) inside(rules []*rule, v *jsonValue) {
	var all []*rule
	for _, r := range rules {
		all = r.about(v, all)
	}
	for i := range v.elems {
		var inner []*rule
		for _, r := range all {
			if v.kind == kindArray {
				inner = append(inner, r.item(i))
			} else {
				inner = append(inner, r.member(v.elems[i].key)...)
			}
		}
		u.value(inner, &v.elems[i])
	}
}

// about appends the rule and those that it refers to which say something about v.
func (r *rule) about(v *jsonValue, rules []*rule) []*rule {
	if r == nil || len(rules) > maxChecks/100 {
		return rules
	}
	rules = append(rules, r)
	rules = r.ref.about(v, rules)
	for _, part := range r.allOf {
		rules = part.about(v, rules)
	}
	rules = r.anyOf.only(v).about(v, rules)
	return r.oneOf.only(v).about(v, rules)
}

// only is the branch that v is meant for, or nil if that is not clear.
func (ch *choice) only(v *jsonValue) *rule {
	if ch == nil {
		return nil
	}
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

// member lists the rules for the member of that key.
func (r *rule) member(key string) []*rule {
	var rules []*rule
	i, known := r.index[key]
	if known {
		rules = append(rules, r.properties[i].rule)
	}
	for _, p := range r.patterns {
		if p.pattern == nil || p.pattern.MatchString(key) {
			known = true
			rules = append(rules, p.rule)
		}
	}
	if !known {
		rules = append(rules, r.additional)
	}
	return rules
}

// wrapped returns the value in a string, if the rules accept one of its type and no string.
func wrapped(rules []*rule, v *jsonValue) (inner jsonValue, ok bool) {
	if admitted(rules, v) {
		return inner, false
	}
	inner, err := parseJSON([]byte(v.text()))
	if err != nil || inner.kind == kindString || inner.kind == kindNull {
		return inner, false
	}
	return inner, admitted(rules, &inner)
}

func admitted(rules []*rule, v *jsonValue) bool {
	for _, r := range rules {
		if !r.admits(v) {
			return false
		}
	}
	return true
}

// hint tells a model that wrote JSON into a string to give the value itself.
func hint(r *rule, v *jsonValue) string {
	if v.kind != kindString {
		return ""
	}
	if _, ok := wrapped([]*rule{r}, v); !ok {
		return ""
	}
	return "; give the value itself, not a string that contains it"
}
