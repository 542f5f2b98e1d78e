package toolrunner

import (
	"encoding/json"
	"fmt"
	"runtime/debug"
)

// encodeJSON calls v.MarshalJSON, which may run the caller's code. It returns a
// panic of that code as an error.
func encodeJSON(v json.Marshaler) (data []byte, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("MarshalJSON: %w", &panicError{value, debug.Stack()})
		}
	}()
	return v.MarshalJSON()
}
