package schema

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
)

// plan says how parsed JSON gets into values of one Go type. It is made once for a type and does not change.
type plan struct {
	typ  reflect.Type
	fill func(f filler, p *plan, v *jsonValue, into reflect.Value) bool
	// null says what null does: mostly, it leaves the value as it is.
	null nullMeaning
	elem *plan // of what the type holds
	// fields of a struct, in the order of the declaration and by their names.
	fields []planField
	byName map[string]*planField
	// decodesItself is set for a type that encoding/json asks to decode itself, so that no number gets into an interface
	// by other ways than its own.
	decodesItself bool
}

type nullMeaning int

const (
	nullStays  nullMeaning = iota
	nullClears             // the zero value
	nullFills              // as any other value
)

// planField is a field of a struct.
type planField struct {
	plan   *plan
	name   string
	number int // of the field in the struct
	index  []int
	hidden bool
}

// newPlan makes the plan of a type, and adds to known the structs that it lacks. The plan is nil for a type that
// encoding/json has to decode as a whole.
func newPlan(t reflect.Type, known fieldTable) *plan {
	b := planBuilder{known: known, plans: map[reflect.Type]*plan{}}
	p := b.plan(t)
	if b.failed {
		return nil
	}
	return p
}

type planBuilder struct {
	known  fieldTable
	plans  map[reflect.Type]*plan
	failed bool
}

func (b *planBuilder) plan(t reflect.Type) *plan {
	if p, ok := b.plans[t]; ok {
		return p
	}
	p := &plan{typ: t, fill: filler.standard, null: nullFills}
	b.plans[t] = p
	switch {
	case t.Kind() == reflect.Pointer:
		p.fill, p.null, p.elem = filler.pointer, nullClears, b.plan(t.Elem())
	case t == reflect.TypeFor[json.RawMessage]():
		p.fill = filler.raw
	case t.Kind() == reflect.Interface:
		if t.NumMethod() == 0 {
			p.fill = filler.anything
		}
	case hasOwnJSON(t) || implements[encoding.TextUnmarshaler](t):
		p.decodesItself = implements[json.Unmarshaler](t) || implements[encoding.TextUnmarshaler](t)
		// Inside of another value, encoding/json does not see methods that a struct without a name has.
		b.failed = b.failed || t.Name() == ""
	default:
		b.kind(p)
	}
	return p
}

// kind plans a type without methods that matter.
func (b *planBuilder) kind(p *plan) {
	switch k := p.typ.Kind(); {
	case p.typ == reflect.TypeFor[json.Number]():
		p.fill, p.null = filler.number, nullStays
	case k == reflect.String:
		p.fill, p.null = filler.chars, nullStays
	case k == reflect.Bool:
		p.fill, p.null = filler.boolean, nullStays
	case k >= reflect.Int && k <= reflect.Int64:
		p.fill, p.null = filler.signed, nullStays
	case k >= reflect.Uint && k <= reflect.Uintptr:
		p.fill, p.null = filler.unsigned, nullStays
	case k == reflect.Float32 || k == reflect.Float64:
		p.fill, p.null = filler.float, nullStays
	case k == reflect.Array:
		p.fill, p.null, p.elem = filler.array, nullStays, b.plan(p.typ.Elem())
	case k == reflect.Slice && p.typ.Elem().Kind() == reflect.Uint8: // from base64
		p.decodesItself = true
	case k == reflect.Slice:
		p.fill, p.null, p.elem = filler.slice, nullClears, b.plan(p.typ.Elem())
	case k == reflect.Map && p.typ.Key().Kind() == reflect.String && !implements[encoding.TextUnmarshaler](p.typ.Key()):
		p.fill, p.null, p.elem = filler.mapping, nullClears, b.plan(p.typ.Elem())
	case k == reflect.Struct:
		b.object(p)
	}
}

func (b *planBuilder) object(p *plan) {
	if _, ok := b.known[p.typ]; !ok {
		b.known.add(p.typ)
	}
	set := b.known[p.typ]
	p.fields = make([]planField, len(set.all))
	p.byName = make(map[string]*planField, len(set.all))
	quoted := false
	for i, f := range set.all {
		quoted = quoted || f.quoted
		p.fields[i] = planField{plan: b.plan(f.typ), name: f.name, number: i, index: f.index, hidden: f.hidden()}
		p.byName[f.name] = &p.fields[i]
	}
	if !quoted {
		p.fill, p.null = filler.object, nullStays
	}
}

// field finds the field for a key as encoding/json does. It may be nil.
func (p *plan) field(key string, keys keyPolicy) (field *planField, exact bool) {
	field = p.byName[key]
	if field != nil || keys != matchKeys {
		return field, field != nil
	}
	for i := range p.fields {
		if strings.EqualFold(p.fields[i].name, key) {
			return &p.fields[i], false
		}
	}
	return nil, false
}

// in returns the field of a struct, through embedded structs, which are made where they are missing. It reports false for
// one that cannot be made.
func (f *planField) in(value reflect.Value) (field reflect.Value, ok bool) {
	for _, i := range f.index {
		if value.Kind() == reflect.Pointer {
			if value.IsNil() {
				if !value.CanSet() {
					return value, false
				}
				value.Set(reflect.New(value.Type().Elem()))
			}
			value = value.Elem()
		}
		value = value.Field(i)
	}
	return value, true
}
