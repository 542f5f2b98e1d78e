package schema

import (
	"fmt"
	"strings"
)

// choice is a list of alternatives, of which one at least must accept a value.
type choice struct {
	branches []*rule
	// key is a property that each branch for objects requires to be another constant, empty if there is none. byName has
	// those branches by their constants, in the order of names.
	key    string
	byName map[string]*rule
	names  []jsonValue
}

func (c *schemaCompiler) choice(k *jsonValue) (*choice, error) {
	branches, err := c.list(k)
	if err != nil {
		return nil, err
	}
	alternatives := &choice{branches: branches}
	c.choices = append(c.choices, alternatives)
	return alternatives, nil
}

// findKey looks for a property that tells the branches apart.
func (ch *choice) findKey() {
	var objects []*rule
	for _, branch := range ch.branches {
		switch r := branch.behindRef(); {
		case r.types == typeObject:
			objects = append(objects, branch)
		case r.admitsKind(kindObject):
			return
		}
	}
	if len(objects) < 2 {
		return
	}
	for _, p := range objects[0].behindRef().properties {
		byName, names := map[string]*rule{}, []jsonValue{}
		for _, branch := range objects {
			if name := branch.behindRef().constant(p.name); name != nil && byName[name.text()] == nil {
				byName[name.text()] = branch
				names = append(names, *name)
			}
		}
		if len(byName) == len(objects) {
			ch.key, ch.byName, ch.names = p.name, byName, names
			return
		}
	}
}

// constant is the only text that a required property may be, or nil.
func (r *rule) constant(property string) *jsonValue {
	i, ok := r.index[property]
	if !ok || !r.properties[i].required || r.properties[i].rule == nil {
		return nil
	}
	enum := r.properties[i].rule.behindRef().enum
	if len(enum) != 1 || enum[0].kind != kindString {
		return nil
	}
	return &enum[0]
}

// choice wants one of several rules to accept the value. Where a property names the rule, that one alone is asked.
// If none accepts it, the model hears what the only rule for values of that type has against it, or else what is accepted
// in general.
func (c *checker) choice(ch *choice, v *jsonValue) {
	if ch == nil {
		return
	}
	if ch.key != "" && v.kind == kindObject {
		c.named(ch, v)
		return
	}
	outer := *c
	var likely []string
	candidates, unlisted := 0, 0
	for _, r := range ch.branches {
		c.faults, c.unlisted = nil, 0
		c.value(r, v)
		if len(c.faults) == 0 {
			c.faults, c.unlisted = outer.faults, outer.unlisted
			return
		}
		if t := r.behindRef().types; t == 0 || t.allow(v) {
			candidates++
			likely, unlisted = c.faults, c.unlisted
		}
	}
	c.faults, c.unlisted = outer.faults, outer.unlisted
	if candidates != 1 {
		c.fault("expected %s, got %s%s", ch.expected((*rule).expected), summary(v), hint(&rule{anyOf: ch}, v))
		return
	}
	for _, fault := range likely {
		if len(c.faults) < maxFaults {
			c.faults = append(c.faults, fault)
		} else {
			c.unlisted++
		}
	}
	c.unlisted += unlisted
}

func (c *checker) named(ch *choice, v *jsonValue) {
	name := v.get(ch.key)
	if name == nil {
		c.faultAt(ch.key, "missing; expected %s", enumText(ch.names))
		return
	}
	branch := ch.byName[name.text()]
	if branch == nil || name.kind != kindString {
		c.faultAt(ch.key, "expected %s, got %s", enumText(ch.names), summary(name))
		return
	}
	c.value(branch, v)
}

// expected lists what the branches accept, each in the words of say.
func (ch *choice) expected(say func(*rule) string) string {
	var texts []string
	if ch.key != "" {
		texts = append(texts, fmt.Sprintf("object whose %s is %s", abbreviate(ch.key, maxKeyText), enumText(ch.names)))
	}
	for _, branch := range ch.branches {
		if r := branch.behindRef(); ch.key == "" || r.types != typeObject {
			texts = append(texts, say(r))
		}
	}
	return abbreviate(strings.Join(texts, "; or "), 200)
}

// admitsKind reports whether the rule could accept some value of that kind.
func (r *rule) admitsKind(kind byte) bool { return r.admits(&jsonValue{kind: kind, raw: "0"}) }

// admits reports whether the rule could accept some value that is of the type of v.
func (r *rule) admits(v *jsonValue) bool {
	if r == nil {
		return true
	}
	if r.never || r.types != 0 && !r.types.allow(v) || r.enum != nil && !hasKind(r.enum, v.kind) {
		return false
	}
	if r.ref != nil && !r.ref.admits(v) {
		return false
	}
	for _, part := range r.allOf {
		if !part.admits(v) {
			return false
		}
	}
	return r.anyOf.admits(v) && r.oneOf.admits(v)
}

func (ch *choice) admits(v *jsonValue) bool {
	if ch == nil {
		return true
	}
	for _, branch := range ch.branches {
		if branch.admits(v) {
			return true
		}
	}
	return false
}

func hasKind(values []jsonValue, kind byte) bool {
	for i := range values {
		if values[i].kind == kind {
			return true
		}
	}
	return false
}
