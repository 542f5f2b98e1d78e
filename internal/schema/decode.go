package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Decoder decodes the input of calls into values of one Go type. It does not change and may be used by several
// goroutines.
type Decoder struct {
	plan *plan
	keys keyPolicy
	// whole has encoding/json decode the type; big is set if it holds integers of any size.
	whole, big bool
}

// keyPolicy says what becomes of keys that have no field of exactly that name.
type keyPolicy uint8

const (
	refuseKeys keyPolicy = iota // and keys that come twice
	matchKeys                   // as encoding/json does, to the field whose name differs in case only, or to nowhere
	dropKeys
)

// Decoder returns a decoder for the type that the schema was made from. It decodes as encoding/json does, with these
// differences: keys must match exactly; a key that the struct does not have, or one given twice, is an error; 1.0 and 1e3
// are integers; a number that lands in an interface is a json.Number, so that it keeps its digits; and a property that is
// missing, or null where null stands for that, gets the default of its tag.
//
// What the schema accepts, it decodes; only the methods of types that decode themselves can refuse more.
func (s *Input) Decoder() *Decoder { return s.decoder }

// Unchecked returns d for input that was not checked: keys that have no field of exactly that name are dropped, and of a
// key given twice the last one counts.
func (d *Decoder) Unchecked() *Decoder {
	unchecked := *d
	unchecked.keys = dropKeys
	return &unchecked
}

// OpenDecoder returns a decoder for values of type t beside a schema that somebody else wrote: which keys there may be, the
// schema says, and as in encoding/json, a key goes to the field whose name it has but for case, or nowhere, and of a key
// given twice the last one counts.
func OpenDecoder(t reflect.Type) *Decoder { return newDecoder(t, matchKeys) }

func newDecoder(t reflect.Type, keys keyPolicy) *Decoder {
	w := newWalker()
	return w.decoder(w.plan(t), keys)
}

func (w *walker) decoder(p *plan, keys keyPolicy) *Decoder {
	return &Decoder{plan: p, keys: keys, whole: w.whole, big: w.big}
}

// Distinct parses input that is not checked. The error is an *Error that lists the keys that come twice, at any depth.
func Distinct(input json.RawMessage) (*Document, error) {
	read, err := readDocument(input)
	if err != nil {
		return nil, err
	}
	c := checker{}
	if c.doubles(read); c.faults != nil {
		return nil, c.err()
	}
	return read, nil
}

// DecodeExact decodes input into what into points to, for who looks at input that others will read as well: a key counts
// only for the field of exactly that name, and input with a key twice is refused, at any depth.
func DecodeExact(input json.RawMessage, into any) error {
	read, err := Distinct(input)
	if err != nil {
		return err
	}
	return newDecoder(reflect.TypeOf(into).Elem(), dropKeys).Decode(input, read, into)
}

// Decode decodes input into what into points to, a value of the decoder's type. read is input as it was parsed before: if
// it is nil, or input has changed since, input is parsed. The error is an *Error, and what is decoded until then stays.
func (d *Decoder) Decode(input json.RawMessage, read *Document, into any) error {
	if read == nil || read.text != string(input) {
		return d.anew(input, into)
	}
	if d.big || d.whole {
		return d.slowly(read, into)
	}
	f := filler{keys: d.keys}
	if f.value(d.plan, &read.root, reflect.ValueOf(into).Elem()) {
		return nil
	}
	return d.fill(&read.root, reflect.ValueOf(into).Elem())
}

// anew decodes input that was not parsed, apart from Decode: a handler begins with a small stack.
func (d *Decoder) anew(input json.RawMessage, into any) error {
	read, err := readDocument(input)
	if err != nil {
		return err
	}
	return d.slowly(read, into)
}

func (d *Decoder) slowly(read *Document, into any) error {
	if !d.whole {
		return d.fill(&read.root, reflect.ValueOf(into).Elem())
	}
	if err := unmarshal([]byte(read.text), into); err != nil {
		return &Error{faults: []string{failure(nil, err)}, cause: err}
	}
	return nil
}

// fill decodes twice where the value does not fit: the second time, to say what is wrong. To decode it once more leaves
// what was decoded before as it is.
func (d *Decoder) fill(v *jsonValue, into reflect.Value) error {
	f := filler{keys: d.keys, notes: &notes{checker: checker{digits: digitsFor(v.raw)}}}
	if f.value(d.plan, v, into) {
		return nil
	}
	f.notes, f.reporting = &notes{checker: checker{digits: digitsFor(v.raw)}}, true
	f.value(d.plan, v, into)
	if f.notes.faults == nil {
		f.notes.faults, f.notes.fields = []string{f.notes.first}, []string{f.notes.firstField}
	}
	return &Error{faults: f.notes.faults, fields: f.notes.fields, unlisted: f.notes.unlisted, cause: f.notes.cause}
}

func readDocument(input json.RawMessage) (*Document, error) {
	read, err := parseDocument(input)
	if err != nil {
		return nil, invalidJSON(err)
	}
	return &read, nil
}

// unmarshal is json.Unmarshal for values that may hold numbers in interfaces.
func unmarshal(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	return decoder.Decode(into)
}

// failure says what an error of encoding/json about a value means, in the words of JSON.
func failure(path []pathStep, err error) string {
	own := (*Error)(nil)
	wrong := (*json.UnmarshalTypeError)(nil)
	switch {
	case errors.As(err, &own) && len(own.faults) > 0:
		return own.faults[0]
	case !errors.As(err, &wrong):
		return describeFault(path, abbreviate(err.Error(), maxFaultText))
	}
	path = slices.Clone(path)
	for name := range strings.SplitSeq(wrong.Field, ".") {
		if name != "" {
			path = append(path, pathStep{key: name})
		}
	}
	return describeFault(path, fmt.Sprintf("expected %s, got %s", newWalker().plan(wrong.Type).words(), abbreviate(wrong.Value, maxValueText)))
}

// words says what a Go type takes, in the words of JSON.
func (p *plan) words() string {
	b := newSchemaBuilder()
	tree, err := b.schema(p)
	if err != nil || len(b.defs.elems) > 0 {
		return "another value"
	}
	rules, err := compileSchema(tree)
	if err != nil {
		return "another value"
	}
	return rules.expected()
}
