package request

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// fixFormats puts JSON in the place of schemas that are pointers to structs.
func (r *Request) fixFormats() (err error) {
	if r.Params.OutputConfig.Format, err = withoutDestination(r.Params.OutputConfig.Format); err != nil {
		return err
	}
	r.Params.OutputFormat, err = withoutDestination(r.Params.OutputFormat) //nolint:staticcheck // callers may still set it
	return err
}

// withoutDestination returns the format with its schema as JSON: with a pointer
// to a struct, the SDK would parse each reply into it, the ones with calls too.
func withoutDestination(f anthropic.BetaJSONOutputFormatParam) (anthropic.BetaJSONOutputFormatParam, error) {
	if reflect.ValueOf(f.Schema).Kind() != reflect.Pointer {
		return f, nil
	}
	data, err := encodeFormat(f)
	if err != nil {
		return f, err
	}
	err = wire.Members(data, func(key, value []byte) error {
		if string(key) == "schema" {
			f.Schema = json.RawMessage(value)
		}
		return nil
	})
	return f, err
}

// encodeFormat is MarshalJSON, which derives the schema, without its panics: it
// has no end for a type that contains itself.
func encodeFormat(f anthropic.BetaJSONOutputFormatParam) (data []byte, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("%T has no schema: %v", f.Schema, value)
		}
	}()
	if containsItself(reflect.TypeOf(f.Schema), nil) {
		return nil, fmt.Errorf("%T contains itself, which a schema for output cannot", f.Schema)
	}
	return f.MarshalJSON()
}

// containsItself reports whether JSON of a type may hold JSON of the same type.
// outer are the types around it.
func containsItself(t reflect.Type, outer []reflect.Type) bool {
	if slices.Contains(outer, t) {
		return true
	}
	outer = append(slices.Clip(outer), t)
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return containsItself(t.Elem(), outer)
	case reflect.Struct:
	default:
		return false
	}
	if _, own := reflect.PointerTo(t).MethodByName("JSONSchema"); own {
		return false
	}
	for i := range t.NumField() {
		field := t.Field(i)
		if (field.IsExported() || field.Anonymous) && field.Tag.Get("json") != "-" && containsItself(field.Type, outer) {
			return true
		}
	}
	return false
}
