package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// selfDescribed asks a type for its schema: a method JSONSchema without arguments whose result is JSON or encodes to
// it. json.RawMessage is what new code returns; a schema struct of a library, as the official runner knows it, works
// too.
func selfDescribed(p *plan) (schema jsonValue, ok bool, err error) {
	t := p.typ
	if t.Kind() == reflect.Pointer || isUnion(t) {
		return schema, false, nil
	}
	text, ok, err := ownSchema(t)
	if !ok || err != nil || promotesSchema(t, text) {
		return schema, false, err
	}
	if schema, err = parseJSON(text); err != nil {
		return schema, false, fmt.Errorf("JSONSchema of %s: %w", t, err)
	}
	if schema.kind != kindObject {
		return schema, false, fmt.Errorf("JSONSchema of %s: not a JSON object", t)
	}
	schema.remove("$schema")
	tidyForeign(&schema)
	if err := eachSchema(&schema, func(s *jsonValue) error {
		if s.get("$ref") != nil {
			return fmt.Errorf("JSONSchema of %s: $ref does not work inside another schema", t)
		}
		return nil
	}); err != nil {
		return schema, false, err
	}
	if _, err = compileSchema(schema); err != nil {
		return schema, false, fmt.Errorf("JSONSchema of %s: %w", t, err)
	}
	return schema, true, nil
}

// ownSchema calls the method on a zero value. One that panics there, such as a method promoted through an embedded nil
// pointer, is reported like any other type without a schema.
func ownSchema(t reflect.Type) (text json.RawMessage, ok bool, err error) {
	if t.Kind() == reflect.Interface {
		return nil, false, nil
	}
	defer func() {
		if r := recover(); r != nil {
			text, ok, err = nil, false, fmt.Errorf("JSONSchema of %s panics for its zero value: %v", t, r)
		}
	}()
	method := reflect.New(t).MethodByName("JSONSchema")
	if !method.IsValid() || method.Type().NumIn() != 0 || method.Type().NumOut() != 1 {
		return nil, false, nil
	}
	if text, err = json.Marshal(method.Call(nil)[0].Interface()); err != nil {
		return nil, false, fmt.Errorf("JSONSchema of %s: %w", t, err)
	}
	return text, true, nil
}

// promotesSchema reports whether the method comes from an embedded struct and describes only that one, while
// encoding/json writes the outer struct field by field.
func promotesSchema(t reflect.Type, text json.RawMessage) bool {
	if t.Kind() != reflect.Struct || hasOwnJSON(t) {
		return false
	}
	for i := range t.NumField() {
		f := t.Field(i)
		elem := f.Type
		if elem.Kind() == reflect.Pointer {
			elem = elem.Elem()
		}
		if !f.Anonymous {
			continue
		}
		if inner, ok, err := ownSchema(elem); ok && err == nil && string(inner) == string(text) {
			return true
		}
	}
	return false
}

// hasOwnJSON reports whether a type or a pointer to it reads or writes its own JSON.
func hasOwnJSON(t reflect.Type) bool {
	return t.Kind() != reflect.Interface && (implements[json.Marshaler](t) || implements[json.Unmarshaler](t))
}

// implements reports whether t or a pointer to it has the methods of an interface.
func implements[Methods any](t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface, reflect.Pointer, reflect.Struct:
	default:
		if t.PkgPath() == "" { // it has no name, or a predeclared one, and so no methods
			return false
		}
	}
	methods := reflect.TypeFor[Methods]()
	return t.Implements(methods) || reflect.PointerTo(t).Implements(methods)
}
