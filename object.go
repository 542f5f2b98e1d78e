package toolrunner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime/debug"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// JSON objects as lists of members: what is read of one stays as it came.

// encodeJSON is v.MarshalJSON, which may run code of the caller, without its panics.
func encodeJSON(v json.Marshaler) (data []byte, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("MarshalJSON: %w", &panicError{value, debug.Stack()})
		}
	}()
	return v.MarshalJSON()
}

// member is a member of a JSON object that is put together anew.
type member struct {
	key   string
	value []byte
}

// object is a JSON object in the order of its members.
type object []member

// readObject reads an object. Of a key that is there twice the last value
// counts, as for every other reader.
func readObject(data []byte) (object, error) {
	var o object
	err := wire.Members(data, func(key, value []byte) error {
		for i := range o {
			if o[i].key == string(key) {
				o[i].value = value
				return nil
			}
		}
		o = append(o, member{string(key), value})
		return nil
	})
	return o, err
}

func (o *object) get(key string) []byte {
	for _, m := range *o {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// set gives a member a value. A null does not replace what is there.
func (o *object) set(key string, value []byte) {
	for i, m := range *o {
		if m.key == key {
			if string(value) != "null" {
				(*o)[i].value = value
			}
			return
		}
	}
	*o = append(*o, member{key, value})
}

// size returns how long the object is, unless a key has to be escaped.
func (o *object) size() int {
	size := len("{}")
	for _, m := range *o {
		size += len(m.key) + len(m.value) + len(`"":,`)
	}
	return size
}

func (o *object) appendTo(dst []byte) []byte {
	return o.appendWith(dst, func(dst []byte, m member) []byte { return append(dst, m.value...) })
}

// appendWith appends the object with the values that value appends.
func (o *object) appendWith(dst []byte, value func(dst []byte, m member) []byte) []byte {
	dst = append(dst, '{')
	for i, m := range *o {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = value(append(wire.AppendString(dst, m.key), ':'), m)
	}
	return append(dst, '}')
}

// stringMember returns the text of a member of a valid object, or "".
func stringMember(object []byte, name string) string {
	var text string
	_ = wire.Members(object, func(key, value []byte) error {
		if string(key) == name {
			text, _ = wire.Unquote(value)
		}
		return nil
	})
	return text
}

// objectMember is stringMember for a value that need not be an object.
func objectMember(value []byte, name string) string {
	if len(value) == 0 || value[0] != '{' {
		return ""
	}
	return stringMember(value, name)
}

// setMember returns the valid object with the value of a member replaced. The
// other members stay as they are, in their order.
func setMember(object []byte, name string, value []byte) []byte {
	out := append(make([]byte, 0, len(object)+len(value)), '{')
	_ = wire.Members(object, func(key, old []byte) error {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(wire.AppendString(out, string(key)), ':')
		if string(key) == name {
			old = value
		}
		out = append(out, old...)
		return nil
	})
	return append(out, '}')
}

// sameJSON reports whether two documents are equal but for space, the order of
// keys and escapes. Numbers are compared as text.
func sameJSON(a, b []byte) bool {
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
