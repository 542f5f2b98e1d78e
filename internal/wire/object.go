package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// Member is a member of an object.
type Member struct {
	Key   string
	Value []byte
}

// Object is a JSON object whose members keep their order and whose values keep
// their encoding.
type Object []Member

// ReadObject reads an object. If a key occurs more than once, the last value
// counts, as in encoding/json. The values are parts of data, not copies.
func ReadObject(data []byte) (Object, error) {
	const long = 64 // members, beyond which a map costs less than looking through them
	var o Object
	var places map[string]int // of the members of a long object
	err := Members(data, func(key, value []byte) error {
		if places == nil {
			for i := range o {
				if o[i].Key == string(key) {
					o[i].Value = value
					return nil
				}
			}
		} else if i, ok := places[string(key)]; ok {
			o[i].Value = value
			return nil
		}
		o = append(o, Member{string(key), value})
		switch {
		case places != nil:
			places[o[len(o)-1].Key] = len(o) - 1
		case len(o) == long:
			places = make(map[string]int, 2*long)
			for i := range o {
				places[o[i].Key] = i
			}
		}
		return nil
	})
	return o, err
}

// Get returns the value of a member, or nil if there is none.
func (o *Object) Get(key string) []byte {
	for _, m := range *o {
		if m.Key == key {
			return m.Value
		}
	}
	return nil
}

// Set adds a member, or replaces the value of the one that has the key. A null
// replaces nothing.
func (o *Object) Set(key string, value []byte) {
	for i, m := range *o {
		if m.Key == key {
			if string(value) != "null" {
				(*o)[i].Value = value
			}
			return
		}
	}
	*o = append(*o, Member{key, value})
}

// Size returns an upper bound of the length of the object in JSON, provided that
// no key needs an escape.
func (o *Object) Size() int {
	size := len("{}")
	for _, m := range *o {
		size += len(m.Key) + len(m.Value) + len(`"":,`)
	}
	return size
}

// AppendTo appends the object in JSON to dst.
func (o *Object) AppendTo(dst []byte) []byte {
	return o.AppendWith(dst, func(dst []byte, m Member) []byte { return append(dst, m.Value...) })
}

// AppendWith appends the object to dst, with the values that value appends.
func (o *Object) AppendWith(dst []byte, value func(dst []byte, m Member) []byte) []byte {
	dst = append(dst, '{')
	for i, m := range *o {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = value(append(AppendString(dst, m.Key), ':'), m)
	}
	return append(dst, '}')
}

// StringMember returns the text of a member of a valid object. It returns "" if
// there is no such member, or if it is not a string.
func StringMember(object []byte, name string) string {
	var text string
	_ = Members(object, func(key, value []byte) error {
		if string(key) == name {
			text, _ = Unquote(value)
		}
		return nil
	})
	return text
}

// ObjectMember is StringMember for a valid value of any type. It returns "" if
// value is not an object.
func ObjectMember(value []byte, name string) string {
	if len(value) == 0 || value[0] != '{' {
		return ""
	}
	return StringMember(value, name)
}

// SetMember returns a copy of a valid object in which the named member has
// another value. Without such a member it is an unchanged copy.
func SetMember(object []byte, name string, value []byte) []byte {
	out := append(make([]byte, 0, len(object)+len(value)), '{')
	_ = Members(object, func(key, old []byte) error {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(AppendString(out, string(key)), ':')
		if string(key) == name {
			old = value
		}
		out = append(out, old...)
		return nil
	})
	return append(out, '}')
}

// Same reports whether two documents are equal apart from white space, the order
// of members, and escapes. Numbers are compared as text.
func Same(a, b []byte) bool {
	x, errX := decodeAny(a)
	y, errY := decodeAny(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

func decodeAny(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}
