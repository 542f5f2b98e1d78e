package schema

import "strings"

// typeSet is a set of JSON Schema types. The empty set stands for no restriction.
type typeSet uint8

const (
	typeObject typeSet = 1 << iota
	typeArray
	typeString
	typeNumber
	typeInteger
	typeBoolean
	typeNull

	typeAny = 1<<iota - 1
)

// typesOf is the set of one type, empty for a name that JSON Schema does not have.
func typesOf(name string) typeSet {
	switch name {
	case "object":
		return typeObject
	case "array":
		return typeArray
	case "string":
		return typeString
	case "number":
		return typeNumber
	case "integer":
		return typeInteger
	case "boolean":
		return typeBoolean
	case "null":
		return typeNull
	}
	return 0
}

// typesOfValue reads the value of the keyword type: a name or a list of names. Names that do not exist are left out.
func typesOfValue(v *jsonValue) typeSet {
	if v == nil {
		return 0
	}
	set := typesOf(v.text())
	for i := range v.elems {
		set |= typesOf(v.elems[i].text())
	}
	return set
}

// kindsOf is the set of the types of some values.
func kindsOf(values []jsonValue) typeSet {
	set := typeSet(0)
	for i := range values {
		for t := typeObject; t <= typeNull; t <<= 1 {
			if t.allow(&values[i]) {
				set |= t
			}
		}
	}
	return set
}

func (s typeSet) has(t typeSet) bool { return s&t != 0 }

// widened says of numbers that they are integers too.
func (s typeSet) widened() typeSet {
	if s.has(typeNumber) {
		s |= typeInteger
	}
	return s
}

// allow reports whether a value is of one of the types.
func (s typeSet) allow(v *jsonValue) bool {
	switch v.kind {
	case kindObject:
		return s.has(typeObject)
	case kindArray:
		return s.has(typeArray)
	case kindString:
		return s.has(typeString)
	case kindNumber:
		return s.has(typeNumber) || s.has(typeInteger) && (!strings.ContainsAny(v.raw, ".eE") || parseDecimal(v.raw).isInteger())
	case kindNull:
		return s.has(typeNull)
	}
	return s.has(typeBoolean)
}

func (s typeSet) String() string {
	var names []string
	for _, name := range []string{"object", "array", "string", "number", "integer", "boolean", "null"} {
		if s.has(typesOf(name)) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}
