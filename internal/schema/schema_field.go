package schema

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// structField is a field of a struct as encoding/json sees it: under its JSON name, promoted from wherever it is.
type structField struct {
	name   string // in JSON
	goName string
	typ    reflect.Type
	tag    reflect.StructTag
	tagged bool  // the name comes from the tag
	quoted bool  // the string option applies
	index  []int // the path through embedded structs
	// unsettable: reached through an embedded pointer to an unexported struct, which a decoder cannot allocate.
	unsettable bool
	outerTag   string // the jsonschema tag of an embedded struct that the field is in
}

// hidden reports whether the field is kept out of the schema, and so out of the input, by jsonschema:"-" at itself or at
// an embedded struct around it.
func (f structField) hidden() bool { return f.tag.Get("jsonschema") == "-" || f.outerTag == "-" }

// embedded is a struct whose fields are still to be collected.
type embedded struct {
	typ        reflect.Type
	index      []int
	unsettable bool
	tag        string // jsonschema, at this struct or one around it
}

// structFields lists the fields that encoding/json reads and writes, in the order of the declaration.
//
// Structs are visited level by level, each type once. Two fields with one name: the shallower wins; at equal depth
// the one with a name in its tag; if that leaves more than one, none of them exists.
func structFields(t reflect.Type) []structField {
	var all []structField
	visited := map[reflect.Type]bool{}
	for level := []embedded{{typ: t}}; len(level) > 0; {
		times := map[reflect.Type]int{}
		for _, e := range level {
			times[e.typ]++
		}
		var next []embedded
		for _, e := range level {
			if visited[e.typ] {
				continue
			}
			visited[e.typ] = true
			fields, inner := ownFields(e)
			all = append(all, fields...)
			next = append(next, inner...)
			if times[e.typ] > 1 { // embedded twice at this depth: its fields hide each other
				all = append(all, fields...)
			}
		}
		level = next
	}
	return dominantFields(all)
}

// ownFields splits the fields of one struct into named ones and embedded structs.
func ownFields(e embedded) (fields []structField, inner []embedded) {
	for i := range e.typ.NumField() {
		sf := e.typ.Field(i)
		elem := sf.Type
		if sf.Anonymous && elem.Kind() == reflect.Pointer {
			elem = elem.Elem()
		}
		if !sf.IsExported() && (!sf.Anonymous || elem.Kind() != reflect.Struct) {
			continue
		}
		tag := sf.Tag.Get("json")
		if tag == "-" {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if !isJSONName(name) {
			name = ""
		}
		index := append(slices.Clone(e.index), i)
		if name == "" && sf.Anonymous && elem.Kind() == reflect.Struct {
			unsettable := e.unsettable || sf.Type.Kind() == reflect.Pointer && !sf.IsExported()
			tag := cmp.Or(e.tag, sf.Tag.Get("jsonschema"))
			inner = append(inner, embedded{typ: elem, index: index, unsettable: unsettable, tag: tag})
			continue
		}
		f := structField{
			name: name, goName: sf.Name, typ: sf.Type, tag: sf.Tag, index: index,
			tagged: name != "", unsettable: e.unsettable, outerTag: e.tag,
			quoted: slices.Contains(strings.Split(options, ","), "string") && isQuotable(sf.Type),
		}
		if !f.tagged {
			f.name = sf.Name
		}
		fields = append(fields, f)
	}
	return fields, inner
}

func dominantFields(all []structField) []structField {
	byName := map[string][]structField{}
	for _, f := range all {
		byName[f.name] = append(byName[f.name], f)
	}
	var fields []structField
	for _, rivals := range byName {
		slices.SortStableFunc(rivals, func(a, b structField) int { return a.rank() - b.rank() })
		if len(rivals) == 1 || rivals[0].rank() != rivals[1].rank() {
			fields = append(fields, rivals[0])
		}
	}
	slices.SortFunc(fields, func(a, b structField) int { return slices.Compare(a.index, b.index) })
	return fields
}

// rank orders fields of one name: the lowest is the one that encoding/json takes.
func (f structField) rank() int {
	rank := 2 * len(f.index)
	if !f.tagged {
		rank++
	}
	return rank
}

// isQuotable reports whether encoding/json heeds the string option on a field of that type.
func isQuotable(t reflect.Type) bool {
	if t.Name() == "" && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64:
		return true
	default:
		return isIntegerKind(t.Kind())
	}
}

func isIntegerKind(k reflect.Kind) bool { return k >= reflect.Int && k <= reflect.Uintptr }

// isJSONName reports whether encoding/json takes the name in a tag; it ignores others.
func isJSONName(name string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool {
		return !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) < 0
}
