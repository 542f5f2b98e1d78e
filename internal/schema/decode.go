package schema

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"
)

// Decode decodes the input of a call into a Go value as encoding/json does, with these differences: keys must
// match exactly; a key that the struct does not have, or one given twice, is an error; 1.0 and 1e3 are integers; and a
// number that lands in an interface is a json.Number, so that it keeps its digits.
//
// What a schema made from the same type accepts, it decodes; only the methods of types that decode themselves can
// refuse more. The error is an *Error.
func Decode(input json.RawMessage, into any) error {
	return decodeWith(fitter{}, input, into)
}

// Open returns Decode for values of type t beside a schema that somebody else wrote: which keys there may be, the schema
// says, and as in encoding/json, a key goes to the field whose name it has but for case, or nowhere.
func Open(t reflect.Type) func(input json.RawMessage, into any) error {
	known := fieldTable{}
	known.addAll(t)
	return func(input json.RawMessage, into any) error {
		return decodeWith(fitter{known: known, keys: matchKeys}, input, into)
	}
}

func decodeWith(f fitter, input json.RawMessage, into any) error {
	v, err := parseJSON(input)
	if err != nil {
		return invalidJSON(err)
	}
	f.input = input
	f.fit(reflect.TypeOf(into), &v)
	if len(f.faults) > 0 {
		return &Error{faults: f.faults, unlisted: f.unlisted}
	}
	decoder := json.NewDecoder(bytes.NewReader(applyEdits(input, f.edits)))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return decodeError(err)
	}
	return nil
}

func decodeError(err error) error {
	fault := abbreviate(err.Error(), maxFaultText)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		fault = fmt.Sprintf("expected %s, got %s", goTypeWords(wrong.Type), abbreviate(wrong.Value, maxValueText))
		var path []pathStep
		for name := range strings.SplitSeq(wrong.Field, ".") {
			if name != "" {
				path = append(path, pathStep{key: name})
			}
		}
		fault = describeFault(path, fault)
	}
	return &Error{faults: []string{fault}, cause: err}
}

// goTypeWords says what a Go type takes, in the words of JSON.
func goTypeWords(t reflect.Type) string {
	b := newSchemaBuilder()
	tree, err := b.schema(t)
	if err != nil || len(b.defs.elems) > 0 {
		return "another value"
	}
	rules, err := compileSchema(tree, false)
	if err != nil {
		return "another value"
	}
	return rules.expected()
}

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
	input []byte
	text  string // the input, once it is needed
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
	if f.text == "" {
		f.text = string(f.input)
	}
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
		if fields, ok := table[t]; ok {
			return fields
		}
	}
	if f.found == nil {
		f.found = fieldTable{}
	}
	f.found.add(t)
	return f.found[t]
}

// integer rewrites a number that encoding/json would not take for an integer, though it is one.
func (f *fitter) integer(v *jsonValue) {
	if v.kind != kindNumber || !strings.ContainsAny(v.raw, ".eE") && v.raw != "-0" {
		return
	}
	if d := parseDecimal(v.raw); d.isInteger() {
		f.edits = append(f.edits, edit{start: v.start, end: v.start + len(v.raw), text: d.integer()})
	}
}

// applyEdits makes edits that are in the order of the input.
func applyEdits(input []byte, edits []edit) []byte {
	if len(edits) == 0 {
		return input
	}
	var out []byte
	done := 0
	for _, e := range edits {
		out = append(append(out, input[done:e.start]...), e.text...)
		done = e.end
	}
	return append(out, input[done:]...)
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
