package schema

import (
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// filler fills Go values from parsed JSON. Its methods report false for what does not fit: at once, or if it is reporting,
// after everything that does not fit is noted.
type filler struct {
	keys      keyPolicy
	reporting bool
	notes     *notes // nil unless reporting, or there are integers of any size
}

// notes are what a filler remembers: what is wrong with the keys, or else the first value that is not of its type.
type notes struct {
	checker
	cause      error
	first      string
	firstField string
}

func (f filler) value(p *plan, v *jsonValue, into reflect.Value) bool {
	if v.kind == kindNull && p.null != nullFills {
		if p.null == nullClears {
			into.SetZero()
		}
		return true
	}
	return p.fill(f, p, v, into)
}

// inside is value for a member or an item.
func (f filler) inside(step pathStep, p *plan, v *jsonValue, into reflect.Value) bool {
	if !f.reporting {
		return f.value(p, v, into)
	}
	f.notes.path = append(f.notes.path, step)
	ok := f.value(p, v, into)
	f.notes.path = f.notes.path[:len(f.notes.path)-1]
	return ok
}

// refuse notes that a value is not what its type takes.
func (f filler) refuse(p *plan, v *jsonValue) bool {
	got := summary(v)
	if v.kind == kindNumber {
		got = "number " + got
	}
	if f.reporting && p.variants != nil {
		f.notes.fault(func() string { return "expected object, got " + summary(v) })
	}
	return f.unless(&json.UnmarshalTypeError{Value: got, Type: p.typ})
}

// unless reports whether there is no error, and notes it.
func (f filler) unless(err error) bool {
	if err != nil && f.reporting && f.notes.cause == nil {
		f.notes.cause = err
		f.notes.first, f.notes.firstField = failure(f.notes.path, err), fieldOf(f.notes.path)
	}
	return err == nil
}

// foreign has encoding/json decode a value.
func (f filler) foreign(p *plan, v *jsonValue, into reflect.Value) bool {
	if p.decodesItself {
		return f.unless(json.Unmarshal([]byte(v.raw), into.Addr().Interface()))
	}
	return f.unless(unmarshal([]byte(v.raw), into.Addr().Interface()))
}

// member has encoding/json decode one member of an object.
func (f filler) member(member *jsonValue, into reflect.Value) bool {
	text := append(append([]byte("{"), quoteJSON(member.key)...), ':')
	return f.unless(unmarshal(append(append(text, member.raw...), '}'), into.Addr().Interface()))
}

func (f filler) pointer(p *plan, v *jsonValue, into reflect.Value) bool {
	if into.IsNil() {
		into.Set(reflect.New(p.elem.typ))
	}
	return f.value(p.elem, v, into.Elem())
}

func (f filler) raw(_ *plan, v *jsonValue, into reflect.Value) bool {
	into.SetBytes(append(into.Bytes()[:0], v.raw...))
	return true
}

func (f filler) chars(p *plan, v *jsonValue, into reflect.Value) bool {
	if v.kind != kindString {
		return f.refuse(p, v)
	}
	into.SetString(ownText(v.raw))
	return true
}

func (f filler) number(p *plan, v *jsonValue, into reflect.Value) bool {
	if v.kind != kindNumber {
		return f.foreign(p, v, into)
	}
	into.SetString(strings.Clone(v.raw))
	return true
}

func (f filler) boolean(p *plan, v *jsonValue, into reflect.Value) bool {
	if v.kind != kindTrue && v.kind != kindFalse {
		return f.refuse(p, v)
	}
	into.SetBool(v.kind == kindTrue)
	return true
}

// integer is the text of an integer without fraction and exponent; empty for any other value, and for one with more digits.
func (v *jsonValue) integer(digits int) string {
	switch {
	case v.kind != kindNumber:
		return ""
	case !strings.ContainsAny(v.raw, ".eE") && v.raw != "-0":
		return v.raw
	}
	text, _ := parseDecimal(v.raw).integer(digits)
	return text
}

func (f filler) signed(p *plan, v *jsonValue, into reflect.Value) bool {
	n, err := strconv.ParseInt(v.integer(20), 10, 64)
	if err != nil || into.OverflowInt(n) {
		return f.refuse(p, v)
	}
	into.SetInt(n)
	return true
}

func (f filler) unsigned(p *plan, v *jsonValue, into reflect.Value) bool {
	n, err := strconv.ParseUint(v.integer(20), 10, 64)
	if err != nil || into.OverflowUint(n) {
		return f.refuse(p, v)
	}
	into.SetUint(n)
	return true
}

func (f filler) big(p *plan, v *jsonValue, into reflect.Value) bool {
	if v.kind != kindNumber || !f.notes.expand(parseDecimal(v.raw)) {
		return f.refuse(p, v)
	}
	text := v.integer(maxDigits)
	return text != "" && f.unless(json.Unmarshal([]byte(text), into.Addr().Interface())) || text == "" && f.refuse(p, v)
}

func (f filler) float(p *plan, v *jsonValue, into reflect.Value) bool {
	n, err := strconv.ParseFloat(v.raw, p.typ.Bits())
	if v.kind != kindNumber || err != nil {
		return f.refuse(p, v)
	}
	into.SetFloat(n)
	return true
}

// bytes are base64, or numbers.
func (f filler) bytes(p *plan, v *jsonValue, into reflect.Value) bool {
	if v.kind == kindArray {
		return f.slice(p, v, into)
	}
	return f.foreign(p, v, into)
}

// slice keeps the elements that are there, also those beyond the length, for the values to go into.
func (f filler) slice(p *plan, v *jsonValue, into reflect.Value) bool {
	if v.kind != kindArray {
		return f.refuse(p, v)
	}
	n := len(v.elems)
	if n == 0 {
		into.Set(reflect.MakeSlice(p.typ, 0, 0))
		return true
	}
	if room := into.Cap(); n > room {
		into.SetLen(room)
		into.Grow(n - room)
	}
	into.SetLen(n)
	return f.items(p, v, into, n)
}

// array drops what is too much, and clears what is not given.
func (f filler) array(p *plan, v *jsonValue, into reflect.Value) bool {
	if v.kind != kindArray {
		return f.refuse(p, v)
	}
	given := min(len(v.elems), into.Len())
	for i := given; i < into.Len(); i++ {
		into.Index(i).SetZero()
	}
	return f.items(p, v, into, given)
}

func (f filler) items(p *plan, v *jsonValue, into reflect.Value, n int) bool {
	all := true
	for i := range n {
		ok := f.inside(pathStep{index: i, isIndex: true}, p.elem, &v.elems[i], into.Index(i))
		if all = all && ok; !all && !f.reporting {
			return false
		}
	}
	return all
}

// key returns how the key of a member gets into a map's key of type t; nil: not at all.
func (w *walker) key(t reflect.Type) func(f filler, text string, into reflect.Value) bool {
	switch {
	case reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return func(f filler, text string, into reflect.Value) bool {
			into.SetZero()
			reader, _ := reflect.TypeAssert[encoding.TextUnmarshaler](into.Addr())
			return f.unless(reader.UnmarshalText([]byte(text)))
		}
	case t.Kind() == reflect.String:
		return func(_ filler, text string, into reflect.Value) bool {
			into.SetString(strings.Clone(text))
			return true
		}
	case isIntegerKind(t.Kind()):
		p := &plan{typ: t}
		w.kind(p)
		return func(f filler, text string, into reflect.Value) bool {
			v := jsonValue{kind: kindNumber, raw: text}
			if strings.ContainsAny(text, ".eE") {
				return f.refuse(p, &v)
			}
			return p.fill(f, p, &v, into)
		}
	}
	return nil
}

func (f filler) mapping(p *plan, v *jsonValue, into reflect.Value) bool {
	if v.kind != kindObject {
		return f.refuse(p, v)
	}
	if into.IsNil() {
		into.Set(reflect.MakeMapWithSize(p.typ, len(v.elems)))
	}
	key, elem := reflect.New(p.typ.Key()).Elem(), reflect.New(p.elem.typ).Elem()
	all := true
	for i := range v.elems {
		elem.SetZero()
		ok := f.inside(pathStep{key: v.elems[i].key, isOwn: true}, p.elem, &v.elems[i], elem) && p.key(f, v.elems[i].key, key)
		if all = all && ok; !all && !f.reporting {
			return false
		}
		if ok {
			into.SetMapIndex(key, elem)
		}
	}
	return all
}

func (f filler) object(p *plan, v *jsonValue, into reflect.Value) bool {
	if v.kind != kindObject {
		return f.refuse(p, v)
	}
	var few [16]bool
	seen := few[:]
	if len(p.fields) > len(few) {
		seen = make([]bool, len(p.fields))
	}
	all := true
	for i := range v.elems {
		member := &v.elems[i]
		field := p.byName[member.key]
		var ok bool
		switch {
		case field == nil || field.unseen || seen[field.number] && f.keys == refuseKeys:
			ok = f.stray(p, member, into)
		case member.kind == kindNull && field.fallback != nil && !field.nullable:
			continue
		case field.quoted:
			ok, seen[field.number] = f.member(member, into), true
		default:
			seen[field.number] = true
			if value, settable := field.in(into); !settable {
				ok = f.member(member, into) // encoding/json says why not
			} else if f.reporting {
				ok = f.inside(pathStep{key: member.key}, field.plan, member, value)
			} else {
				ok = f.value(field.plan, member, value)
			}
		}
		if all = all && ok; !all && !f.reporting {
			return false
		}
	}
	return f.fallBack(p, seen, into) && all
}

// fallBack fills the fields that are not given with their defaults.
func (f filler) fallBack(p *plan, seen []bool, into reflect.Value) bool {
	all := true
	for _, field := range p.fallbacks {
		if value, ok := field.in(into); ok && !seen[field.number] {
			all = f.inside(pathStep{key: field.name}, field.plan, field.fallback, value) && all
		}
	}
	return all
}

// stray has a member that no field is for, or none any more.
func (f filler) stray(p *plan, member *jsonValue, into reflect.Value) bool {
	switch field := p.byName[member.key]; {
	case f.keys == matchKeys:
		return f.member(member, into)
	case f.keys == dropKeys || !f.reporting:
	case field == nil || field.unseen:
		f.notes.faultIn(pathStep{key: member.key, isOwn: true}, func() string { return "unknown property; " + p.known(member.key) })
	default:
		f.notes.faultAt(member.key, func() string { return "given more than once" })
	}
	return f.keys == dropKeys
}

// known lists the properties of a struct for somebody who wrote another one.
func (p *plan) known(key string) string {
	var r rule
	for _, name := range slices.Sorted(maps.Keys(p.byName)) {
		r.property(name).declared = !p.byName[name].unseen
	}
	return r.known(key)
}

// union fills the variant that a value names.
func (f filler) union(p *plan, v *jsonValue, into reflect.Value) bool {
	if v.kind != kindObject {
		return f.refuse(p, v)
	}
	variant, fault := pickVariant(p.variants, v)
	if fault != "" {
		if f.reporting {
			f.notes.faultAt(discriminator, func() string { return fault })
		}
		return false
	}
	value := reflect.New(variant.typ)
	inner := v.withoutDiscriminator()
	if !f.object(variant.plan, &inner, value.Elem()) {
		return false
	}
	if !variant.pointer {
		value = value.Elem()
	}
	into.Field(0).Set(value)
	return true
}

func (f filler) anything(p *plan, v *jsonValue, into reflect.Value) bool {
	if !into.IsNil() && into.Elem().Kind() == reflect.Pointer {
		return f.foreign(p, v, into) // it goes to what the pointer points to
	}
	if v.kind == kindNull {
		into.SetZero()
		return true
	}
	into.Set(reflect.ValueOf(v.anything()))
	return true
}

// anything is the value as encoding/json decodes it into an interface, with all the digits of numbers.
func (v *jsonValue) anything() any {
	switch v.kind {
	case kindObject:
		members := make(map[string]any, len(v.elems))
		for i := range v.elems {
			members[strings.Clone(v.elems[i].key)] = v.elems[i].anything()
		}
		return members
	case kindArray:
		items := make([]any, len(v.elems))
		for i := range v.elems {
			items[i] = v.elems[i].anything()
		}
		return items
	case kindString:
		return ownText(v.raw)
	case kindNumber:
		return json.Number(strings.Clone(v.raw))
	case kindNull:
		return nil
	default:
		return v.kind == kindTrue
	}
}
