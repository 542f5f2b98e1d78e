package toolrunner

import "github.com/toolrunner/toolrunner/internal/schema"

// Interfaces in the input of a typed tool: the model says which type it gives.

// OneOf is a field of a tool's input that holds one of several structs. I is
// the interface that they implement; V lists them, each by the name that the
// model knows it by:
//
//	type shapes struct{}
//
//	func (shapes) Variants() map[string]Shape {
//		return map[string]Shape{"circle": Circle{}, "square": &Square{}}
//	}
//
//	type drawing struct {
//		Shapes []toolrunner.OneOf[Shape, shapes] `json:"shapes"`
//	}
//
// The schema is an anyOf of the structs, each with a property "type" that has
// the name as its only value. Decoding reads "type" and fills Value with exactly
// the type that is listed under it: here a Circle, or a pointer to a Square.
// Encoding is the reverse, so that what json.Marshal writes fits the schema.
//
// Only the types of the listed values count. Each must be a struct, or a pointer
// to one, that encoding/json reads field by field; it must be listed once, and
// have no property "type" of its own. A struct may contain the OneOf again, but
// not in strict mode. [NewTool] panics on a list that breaks these rules.
//
// A Value of nil is null in JSON. It is what is left of a property that was not
// given; tag the field as required if there must be one.
type OneOf[I any, V interface{ Variants() map[string]I }] struct {
	Value I
}

// JSONVariants returns a value of each variant, for the schema of a tool.
func (OneOf[I, V]) JSONVariants() map[string]any {
	var v V
	variants := make(map[string]any)
	for name, value := range v.Variants() {
		variants[name] = value
	}
	return variants
}

// MarshalJSON encodes the value with its name as the property "type". It returns
// an error for a value whose type is not listed.
func (o OneOf[I, V]) MarshalJSON() ([]byte, error) {
	return schema.EncodeVariant(o.Value, o.JSONVariants())
}

// UnmarshalJSON decodes an object into a value of the type that its property
// "type" names. Apart from that it is as lenient as encoding/json; what a tool
// refuses beyond that, its schema says.
func (o *OneOf[I, V]) UnmarshalJSON(data []byte) error {
	var none I
	if string(data) == "null" {
		o.Value = none
		return nil
	}
	value, err := schema.DecodeVariant(data, o.JSONVariants())
	if err != nil {
		return err
	}
	o.Value, _ = value.(I) // of the type of a value that is an I
	return nil
}
