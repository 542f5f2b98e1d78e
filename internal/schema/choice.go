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

// findKey looks for a property that tells the branches apart.
func (ch *choice) findKey() {
	var objects []*rule
	for _, branch := range ch.branches {
		switch r := branch.behindRef(); {
		case r.types == typeObject:
			objects = append(objects, branch)
		case r.kinds.has(typeObject):
			return
		}
	}
	if len(objects) < 2 {
		return
	}
	for _, p := range objects[0].behindRef().properties {
		byName, names := map[string]*rule{}, []jsonValue{}
		for _, branch := range objects {
			name := branch.behindRef().constant(p.name)
			if name == nil || byName[name.text()] != nil {
				break
			}
			byName[name.text()] = branch
			names = append(names, *name)
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
	if !ok || r.properties[i].required == 0 || r.properties[i].rule == nil {
		return nil
	}
	enum := r.properties[i].rule.behindRef().enum
	if len(enum) != 1 || enum[0].kind != kindString {
		return nil
	}
	return &enum[0]
}

// one wants one of several rules to accept the value. Where a property names the rule, that one alone is asked.
// If none accepts it, the model hears what the only rule for values of that type has against it, or else what is accepted
// in general.
func (c *checker) one(ch *choice, v *jsonValue) {
	if ch.key != "" && v.kind == kindObject {
		c.named(ch, v)
		return
	}
	var only *rule
	candidates := 0
	for _, r := range ch.branches {
		if t := r.behindRef().types; t == 0 || t.allow(v) {
			candidates++
			only = r
		}
	}
	if c.spend(len(ch.branches)); candidates == 1 {
		c.value(only, v)
		return
	}
	for _, r := range ch.branches {
		if r.admits(v) && c.accepts(r, v) {
			return
		}
	}
	c.fault(func() string {
		return fmt.Sprintf("expected %s, got %s%s", ch.expected((*rule).expected), summary(v), hint(ch.admits, v))
	})
}

// accepts asks whether a rule has anything against a value.
func (c *checker) accepts(r *rule, v *jsonValue) bool {
	quiet, failed := c.quiet, c.failed
	c.quiet, c.failed = true, false
	c.value(r, v)
	accepted := !c.failed
	c.quiet, c.failed = quiet, failed
	return accepted
}

func (c *checker) named(ch *choice, v *jsonValue) {
	name := v.get(ch.key)
	if name == nil {
		c.faultAt(ch.key, func() string { return "missing; expected " + enumText(ch.names) })
		return
	}
	branch := ch.byName[name.text()]
	if branch == nil || name.kind != kindString {
		c.faultAt(ch.key, func() string { return fmt.Sprintf("expected %s, got %s", enumText(ch.names), summary(name)) })
		return
	}
	c.value(branch, v)
}

// expected lists what the branches accept, each in the words of say.
func (ch *choice) expected(say func(*rule) string) string {
	const most = 200
	var texts []string
	if ch.key != "" {
		texts = append(texts, fmt.Sprintf("object whose %s is %s", abbreviate(ch.key, maxKeyText), enumText(ch.names)))
	}
	for i, branch := range ch.branches {
		if i == most {
			break // each says something
		}
		if r := branch.behindRef(); ch.key == "" || r.types != typeObject {
			texts = append(texts, say(r))
		}
	}
	return abbreviate(strings.Join(texts, "; or "), most)
}

// admits reports whether the rule could accept some value that is of the type of v.
func (r *rule) admits(v *jsonValue) bool { return r == nil || r.kinds.allow(v) }

func (ch *choice) admits(v *jsonValue) bool {
	for _, branch := range ch.branches {
		if branch.admits(v) {
			return true
		}
	}
	return false
}
