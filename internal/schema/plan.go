package schema

import (
	"encoding"
	"encoding/json"
	"math/big"
	"reflect"
	"time"
)

// plan is what one Go type means in JSON, by the rules of encoding/json: its schema, and how parsed JSON gets into its
// values. It is made once for a type and does not change then.
type plan struct {
	typ      reflect.Type
	describe func(b *schemaBuilder, p *plan) (jsonValue, error)
	fill     func(f filler, p *plan, v *jsonValue, into reflect.Value) bool
	// null says what null does: mostly, it leaves the value as it is.
	null nullMeaning
	elem *plan                                                // of what the type holds
	key  func(f filler, text string, into reflect.Value) bool // of a map
	// fields of a struct, in the order of the declaration and by their names; fallbacks are those with a default.
	fields    []planField
	byName    map[string]*planField
	fallbacks []*planField
	// variants of a union, or why it has none.
	variants []variant
	err      error
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
	structField
	plan     *plan
	number   int        // of the field in the struct
	unseen   bool       // hidden from the model
	fallback *jsonValue // stands for the property where it is missing; may be nil
	nullable bool       // null is a value like others
}

// walker makes the plans of a type and of all types in it.
type walker struct {
	plans map[reflect.Type]*plan
	// whole is set if encoding/json has to decode the type as a whole.
	whole bool
	// big is set if there are integers of any size.
	big bool
}

func newWalker() *walker { return &walker{plans: map[reflect.Type]*plan{}} }

func (w *walker) plan(t reflect.Type) *plan {
	if p, ok := w.plans[t]; ok {
		return p
	}
	p := &plan{typ: t, fill: filler.foreign, null: nullFills}
	w.plans[t] = p
	switch own := hasOwnJSON(t); {
	case t.Kind() == reflect.Pointer:
		p.describe, p.fill, p.null, p.elem = describeElem, filler.pointer, nullClears, w.plan(t.Elem())
	case t == reflect.TypeFor[json.RawMessage]():
		p.describe, p.fill = says(), filler.raw
	case t == reflect.TypeFor[time.Time]():
		p.describe, p.decodesItself = decodedText("format", "date-time", decodesTime), true
	case t == reflect.TypeFor[big.Int]():
		p.describe = says(jsonString("integer").as("type"), jsonString(decodesBig).as(keywordDecoder))
		p.fill, p.null, w.big = filler.big, nullStays, true
	case t.Kind() == reflect.Interface && t.NumMethod() == 0:
		p.describe, p.fill = says(), filler.anything
	case t.Kind() == reflect.Interface:
		p.describe = refuse("interface type %s has no schema: a OneOf lists what it can hold")
	case isUnion(t):
		w.union(p)
	case own || implements[encoding.TextUnmarshaler](t):
		p.describe = says(jsonString("string").as("type"))
		if own {
			p.describe = describeOwn
		}
		p.decodesItself = implements[json.Unmarshaler](t) || implements[encoding.TextUnmarshaler](t)
		// Inside of another value, encoding/json does not see methods that a struct without a name has.
		w.whole = w.whole || t.Name() == ""
	default:
		w.kind(p)
		if t.Kind() != reflect.String && implements[encoding.TextMarshaler](t) {
			p.describe = refuse("type %s has MarshalText and no UnmarshalText: it cannot be decoded")
		}
	}
	return p
}

// kind plans a type without methods that matter.
func (w *walker) kind(p *plan) {
	p.null = nullStays
	switch k := p.typ.Kind(); {
	case p.typ == reflect.TypeFor[json.Number]():
		p.describe, p.fill = says(jsonString("number").as("type")), filler.number
	case k == reflect.String:
		p.describe, p.fill = says(jsonString("string").as("type")), filler.chars
	case k == reflect.Bool:
		p.describe, p.fill = says(jsonString("boolean").as("type")), filler.boolean
	case k >= reflect.Int && k <= reflect.Int64:
		p.describe, p.fill = describeInteger, filler.signed
	case k >= reflect.Uint && k <= reflect.Uintptr:
		p.describe, p.fill = describeInteger, filler.unsigned
	case k == reflect.Float32 || k == reflect.Float64:
		p.describe, p.fill = describeFloat, filler.float
	case k == reflect.Array:
		p.describe, p.fill, p.elem = describeList, filler.array, w.plan(p.typ.Elem())
	case k == reflect.Slice:
		p.describe, p.fill, p.null, p.elem = describeList, filler.slice, nullClears, w.plan(p.typ.Elem())
		if p.typ.Elem().Kind() == reflect.Uint8 { // from base64
			p.fill = filler.bytes
		}
		if isByteSlice(p.typ) {
			p.describe = decodedText("contentEncoding", "base64", decodesBase64)
		}
	case k == reflect.Map:
		p.describe, p.elem, p.key = describeMap, w.plan(p.typ.Elem()), w.key(p.typ.Key())
		if p.null = nullFills; p.key != nil {
			p.fill, p.null = filler.mapping, nullClears
		}
	case k == reflect.Struct:
		p.describe, p.fill = describeStruct, filler.object
		w.fields(p)
	default:
		p.describe, p.null = refuse("type %s has no JSON form"), nullFills
	}
}

func (w *walker) fields(p *plan) {
	all := structFields(p.typ)
	p.fields = make([]planField, len(all))
	p.byName = make(map[string]*planField, len(all))
	for i, f := range all {
		p.fields[i] = planField{structField: f, plan: w.plan(f.typ), number: i, unseen: f.hidden()}
		p.byName[f.name] = &p.fields[i]
	}
}

// union plans a type that holds one of several structs.
func (w *walker) union(p *plan) {
	p.describe, p.decodesItself = describeUnion, true
	if p.variants, p.err = variantsOf(p.typ); p.err != nil {
		return
	}
	holds := p.typ.NumField() == 1 && p.typ.Field(0).Type.Kind() == reflect.Interface && p.typ.Field(0).IsExported()
	for i := range p.variants {
		v := &p.variants[i]
		v.plan = w.plan(v.typ)
		holds = holds && v.held().AssignableTo(p.typ.Field(0).Type)
	}
	if holds {
		p.fill, p.null, p.decodesItself = filler.union, nullClears, false
	}
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
