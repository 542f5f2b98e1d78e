package schema

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// filler fills Go values from parsed input, as encoding/json does after a fitter has been at the input. Its methods report
// false for what either of them refuses; what is wrong then is theirs to say.
type filler struct {
	decoder *Decoder
	text    string // the input
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

// standard has encoding/json decode a value.
func (f filler) standard(p *plan, v *jsonValue, into reflect.Value) bool {
	fit := f.decoder.fitter(f.text)
	fit.fit(p.typ, v)
	if len(fit.faults) > 0 {
		return false
	}
	data := applyEdits(v.raw, v.start, fit.edits)
	if p.decodesItself {
		return json.Unmarshal(data, into.Addr().Interface()) == nil
	}
	return unmarshal(data, into.Addr().Interface()) == nil
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

func (f filler) chars(_ *plan, v *jsonValue, into reflect.Value) bool {
	if v.kind != kindString {
		return false
	}
	into.SetString(ownText(v.raw))
	return true
}

func (f filler) number(p *plan, v *jsonValue, into reflect.Value) bool {
	if v.kind != kindNumber {
		return f.standard(p, v, into)
	}
	into.SetString(strings.Clone(v.raw))
	return true
}

func (f filler) boolean(_ *plan, v *jsonValue, into reflect.Value) bool {
	if v.kind != kindTrue && v.kind != kindFalse {
		return false
	}
	into.SetBool(v.kind == kindTrue)
	return true
}

func (f filler) signed(_ *plan, v *jsonValue, into reflect.Value) bool {
	if v.kind != kindNumber {
		return false
	}
	n, err := strconv.ParseInt(v.integer(), 10, 64)
	if err != nil || into.OverflowInt(n) {
		return false
	}
	into.SetInt(n)
	return true
}

func (f filler) unsigned(_ *plan, v *jsonValue, into reflect.Value) bool {
	if v.kind != kindNumber {
		return false
	}
	n, err := strconv.ParseUint(v.integer(), 10, 64)
	if err != nil || into.OverflowUint(n) {
		return false
	}
	into.SetUint(n)
	return true
}

func (f filler) float(p *plan, v *jsonValue, into reflect.Value) bool {
	if v.kind != kindNumber {
		return false
	}
	n, err := strconv.ParseFloat(v.raw, p.typ.Bits())
	if err != nil {
		return false
	}
	into.SetFloat(n)
	return true
}

// slice keeps the elements that are there, also those beyond the length, for the values to go into.
func (f filler) slice(p *plan, v *jsonValue, into reflect.Value) bool {
	if v.kind != kindArray {
		return false
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
	for i := range v.elems {
		if !f.value(p.elem, &v.elems[i], into.Index(i)) {
			return false
		}
	}
	return true
}

// array drops what is too much, and clears what is not given.
func (f filler) array(p *plan, v *jsonValue, into reflect.Value) bool {
	if v.kind != kindArray {
		return false
	}
	given := min(len(v.elems), into.Len())
	for i := range given {
		if !f.value(p.elem, &v.elems[i], into.Index(i)) {
			return false
		}
	}
	for i := given; i < into.Len(); i++ {
		into.Index(i).SetZero()
	}
	fit := f.decoder.fitter(f.text)
	for i := given; i < len(v.elems); i++ {
		fit.fit(p.elem.typ, &v.elems[i])
	}
	return len(fit.faults) == 0
}

func (f filler) mapping(p *plan, v *jsonValue, into reflect.Value) bool {
	if v.kind != kindObject {
		return false
	}
	if into.IsNil() {
		into.Set(reflect.MakeMapWithSize(p.typ, len(v.elems)))
	}
	key, elem := reflect.New(p.typ.Key()).Elem(), reflect.New(p.elem.typ).Elem()
	for i := range v.elems {
		elem.SetZero()
		if !f.value(p.elem, &v.elems[i], elem) {
			return false
		}
		key.SetString(strings.Clone(v.elems[i].key))
		into.SetMapIndex(key, elem)
	}
	return true
}

func (f filler) object(p *plan, v *jsonValue, into reflect.Value) bool {
	if v.kind != kindObject {
		return false
	}
	var few [16]bool
	seen := few[:]
	if len(p.fields) > len(few) {
		seen = make([]bool, len(p.fields))
	}
	for i := range v.elems {
		member := &v.elems[i]
		field, exact := p.field(member.key, f.decoder.keys)
		if field == nil || field.hidden && f.decoder.keys != matchKeys {
			if f.decoder.keys == refuseKeys {
				return false
			}
			continue
		}
		value, ok := field.in(into)
		switch {
		case !ok:
			return false
		case !exact || field.hidden: // these are not fitted
			if unmarshal([]byte(member.raw), value.Addr().Interface()) != nil {
				return false
			}
			continue
		case seen[field.number] && f.decoder.keys != dropKeys:
			return false
		case !f.value(field.plan, member, value):
			return false
		}
		seen[field.number] = true
	}
	return true
}

func (f filler) anything(p *plan, v *jsonValue, into reflect.Value) bool {
	if !into.IsNil() && into.Elem().Kind() == reflect.Pointer {
		return f.standard(p, v, into) // it goes to what the pointer points to
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
