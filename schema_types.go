package toolrunner

import "strings"

// typeSet is a set of JSON Schema types. The empty set stands for no restriction.
type typeSet uint8

var typeNames = [...]string{"object", "array", "string", "number", "integer", "boolean", "null"}

// typesOf is the set of one type, empty for a name that JSON Schema does not have.
func typesOf(name string) typeSet {
	for i, known := range typeNames {
		if known == name {
			return 1 << i
		}
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

func (s typeSet) has(name string) bool { return s&typesOf(name) != 0 }

// allow reports whether a value is of one of the types.
func (s typeSet) allow(v *jsonValue) bool {
	switch v.kind {
	case kindObject:
		return s.has("object")
	case kindArray:
		return s.has("array")
	case kindString:
		return s.has("string")
	case kindNumber:
		return s.has("number") || s.has("integer") && parseDecimal(v.raw).isInteger()
	case kindNull:
		return s.has("null")
	}
	return s.has("boolean")
}

func (s typeSet) String() string {
	var names []string
	for _, name := range typeNames {
		if s.has(name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}
