package history

import (
	"encoding/json"
	"fmt"
	"runtime/debug"
)

// EncodeJSON calls v.MarshalJSON, which may run the caller's code. It returns a
// panic of that code as an error.
func EncodeJSON(v json.Marshaler) (data []byte, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("MarshalJSON: %w", &PanicError{Value: value, Stack: debug.Stack()})
		}
	}()
	return v.MarshalJSON()
}
