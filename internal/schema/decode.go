package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
)

// Decoder decodes the input of calls into values of one Go type. It does not change and may be used by several
// goroutines.
type Decoder struct {
	plan  *plan      // nil: encoding/json decodes the whole
	known fieldTable // shared: only read
	keys  keyPolicy
}

// Decoder returns a decoder for the type that the schema was made from. It decodes as encoding/json does, with these
// differences: keys must match exactly; a key that the struct does not have, or one given twice, is an error; 1.0 and 1e3
// are integers; and a number that lands in an interface is a json.Number, so that it keeps its digits.
//
// What the schema accepts, it decodes; only the methods of types that decode themselves can refuse more.
func (s *Input) Decoder() *Decoder {
	return newDecoder(s.goType, s.fields, refuseKeys)
}

// Unchecked returns d for input that was not checked: keys that have no field of exactly that name are dropped, and of a
// key given twice the last one counts.
func (d *Decoder) Unchecked() *Decoder {
	return &Decoder{plan: d.plan, known: d.known, keys: dropKeys}
}

// OpenDecoder returns a decoder for values of type t beside a schema that somebody else wrote: which keys there may be, the
// schema says, and as in encoding/json, a key goes to the field whose name it has but for case, or nowhere.
func OpenDecoder(t reflect.Type) *Decoder {
	return newDecoder(t, nil, matchKeys)
}

// Decode decodes input into what into points to, a value of the decoder's type. read is input as it was parsed before: if
// it is nil, or input has changed since, input is parsed. The error is an *Error, and what is decoded until then stays.
func (d *Decoder) Decode(input json.RawMessage, read *Document, into any) error {
	if read == nil || read.text != string(input) {
		var err error
		if read, err = readDocument(input); err != nil {
			return err
		}
	}
	if d.plan != nil {
		f := filler{d, read.text}
		if f.value(d.plan, &read.root, reflect.ValueOf(into).Elem()) {
			return nil
		}
	}
	return d.standard(read, into)
}

func newDecoder(t reflect.Type, fields fieldTable, keys keyPolicy) *Decoder {
	known := fieldTable{}
	maps.Copy(known, fields)
	return &Decoder{plan: newPlan(t, known), known: known, keys: keys}
}

func readDocument(input json.RawMessage) (*Document, error) {
	read, err := parseDocument(input)
	if err != nil {
		return nil, invalidJSON(err)
	}
	return &read, nil
}

// standard decodes by encoding/json, and says what is wrong with input that does not fit. To decode it once more leaves
// what was decoded before as it is.
func (d *Decoder) standard(read *Document, into any) error {
	f := d.fitter(read.text)
	f.fit(reflect.TypeOf(into), &read.root)
	if len(f.faults) > 0 {
		return &Error{faults: f.faults, unlisted: f.unlisted}
	}
	if err := unmarshal(applyEdits(read.text, 0, f.edits), into); err != nil {
		return decodeError(err)
	}
	return nil
}

func (d *Decoder) fitter(text string) fitter {
	return fitter{text: text, known: d.known, keys: d.keys}
}

// unmarshal is json.Unmarshal for values that may hold numbers in interfaces.
func unmarshal(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	return decoder.Decode(into)
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
