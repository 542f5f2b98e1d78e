package machine

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// checkExact says which member of raw is not one of the type t by its exact name, or is
// there twice. encoding/json ignores the case of names, and takes the last of two members:
// others who read the same bytes would see another state.
func checkExact(raw []byte, t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[json.RawMessage]() || len(raw) == 0 {
		return nil // of the API; its bytes are the truth
	}
	switch {
	case raw[0] == '[' && t.Kind() == reflect.Slice:
		return wire.KnownElements(raw, func(element []byte) error { return checkExact(element, t.Elem()) })
	case raw[0] == '{' && t.Kind() == reflect.Struct:
		return checkMembers(raw, membersOf(t))
	case raw[0] == '{' && t.Kind() == reflect.Map:
		return checkMembers(raw, nil)
	}
	return nil
}

// checkMembers says which member of an object is none of the known ones, or is there
// twice. If known is nil, all are.
func checkMembers(object []byte, known map[string]reflect.Type) error {
	seen := make(map[string]bool)
	return wire.KnownMembers(object, func(key, value []byte) error {
		name := string(key)
		t, ok := known[name]
		switch {
		case known != nil && !ok:
			return fmt.Errorf("it has an unknown member %q", name)
		case seen[name]:
			return fmt.Errorf("it has the member %q twice", name)
		}
		seen[name] = true
		if known == nil {
			return nil
		}
		return checkExact(value, t)
	})
}

// membersOf returns the types of the members that a struct has as JSON.
func membersOf(t reflect.Type) map[string]reflect.Type {
	members := make(map[string]reflect.Type, t.NumField())
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" {
			members[name] = t.Field(i).Type
		}
	}
	return members
}
