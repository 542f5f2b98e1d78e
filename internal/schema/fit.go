package schema

import (
	"encoding"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"
)

// edit replaces a part of the input.
type edit struct {
	start, end int
	text       string
}

// keyPolicy says what becomes of keys that have no field of exactly that name.
type keyPolicy int

const (
	refuseKeys keyPolicy = iota
	matchKeys            // as encoding/json does, to the field whose name differs in case only, or to nowhere
	dropKeys
)

// fitter compares input with a Go type before encoding/json sees it, which is lenient about keys and strict about
// numbers where JSON is the other way round.
type fitter struct {
	checker
	text  string // the input
	edits []edit
	keys  keyPolicy
	known fieldTable // shared: only read
	found fieldTable // what known lacks
}

func (f *fitter) fit(t reflect.Type, v *jsonValue) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[big.Int]() || isIntegerKind(t.Kind()) && !hasOwnJSON(t):
		f.integer(v)
	case t.Kind() == reflect.Interface:
	case hasOwnJSON(t) || implements[encoding.TextUnmarshaler](t):
		if isUnion(t) {
			f.union(t, v)
		}
	case t.Kind() == reflect.Struct && v.kind == kindObject:
		f.object(t, v)
	case t.Kind() == reflect.Map && v.kind == kindObject:
		for i := range v.elems {
			f.inside(pathStep{key: v.elems[i].key}, t.Elem(), &v.elems[i])
		}
	case (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && v.kind == kindArray:
		for i := range v.elems {
			f.inside(pathStep{index: i, isIndex: true}, t.Elem(), &v.elems[i])
		}
	}
}

func (f *fitter) inside(step pathStep, t reflect.Type, v *jsonValue) {
	f.path = append(f.path, step)
	f.fit(t, v)
	f.path = f.path[:len(f.path)-1]
}

func (f *fitter) object(t reflect.Type, v *jsonValue) {
	fields := f.fieldsOf(t)
	for i := range v.elems {
		member := &v.elems[i]
		field, ok := fields[member.key]
		switch {
		case !ok && f.keys == matchKeys:
		case !ok && f.keys == dropKeys:
			f.drop(member)
		case !ok:
			f.faultAt(member.key, "unknown property; %s", knownFields(fields, member.key))
		case f.keys != dropKeys && indexOfKey(v.elems[:i], member.key) >= 0:
			f.faultAt(member.key, "given more than once")
		case !field.quoted:
			f.inside(pathStep{key: member.key}, field.typ, member)
		}
	}
}

// drop renames a key to one that no field has, so that encoding/json leaves the member out.
func (f *fitter) drop(member *jsonValue) {
	p := jsonParser{text: f.text, pos: member.keyAt}
	f.edits = append(f.edits, edit{start: member.keyAt, end: member.keyAt + len(p.quoted()), text: `""`})
}

// union fits a value to the variant that it names.
func (f *fitter) union(t reflect.Type, v *jsonValue) {
	variants, err := variantsOf(t)
	switch {
	case err != nil || v.kind == kindNull:
		return // decoding says what is wrong
	case v.kind != kindObject:
		f.fault("expected object, got %s", summary(v))
		return
	}
	variant, fault := pickVariant(variants, v)
	if fault != "" {
		f.faultAt(discriminator, "%s", fault)
		return
	}
	inner := v.withoutDiscriminator()
	f.object(variant.typ, &inner)
}

func (f *fitter) fieldsOf(t reflect.Type) map[string]structField {
	for _, table := range []fieldTable{f.known, f.found} {
		if set, ok := table[t]; ok {
			return set.visible
		}
	}
	if f.found == nil {
		f.found = fieldTable{}
	}
	f.found.add(t)
	return f.found[t].visible
}

// integer rewrites a number that encoding/json would not take for an integer, though it is one.
func (f *fitter) integer(v *jsonValue) {
	if v.kind != kindNumber {
		return
	}
	if text := v.integer(); text != v.raw {
		f.edits = append(f.edits, edit{start: v.start, end: v.start + len(v.raw), text: text})
	}
}

// integer is the text of a number without fraction and exponent, if it is an integer.
func (v *jsonValue) integer() string {
	if !strings.ContainsAny(v.raw, ".eE") && v.raw != "-0" {
		return v.raw
	}
	if d := parseDecimal(v.raw); d.isInteger() {
		return d.integer()
	}
	return v.raw
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

func indexOfKey(members []jsonValue, key string) int {
	for i := range members {
		if members[i].key == key {
			return i
		}
	}
	return -1
}

func knownFields(fields map[string]structField, key string) string {
	r := newRule()
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		r.property(name)
	}
	return r.known(key)
}
