package history

import "fmt"

// Error reports a message that the Messages API would refuse.
type Error struct {
	Index  int    // of the message among those given
	Reason string // what is wrong, and what to do about it
}

// Error says which message is wrong, and why.
func (e *Error) Error() string { return fmt.Sprintf("message %d: %s", e.Index, e.Reason) }

// ReplyError reports a reply that cannot be used.
type ReplyError struct {
	Reason string
	Body   []byte // the reply as it came
	Err    error  // what decoding it failed with; may be nil
}

// Error says what is wrong.
func (e *ReplyError) Error() string {
	if e.Err != nil {
		return e.Reason + ": " + e.Err.Error()
	}
	return e.Reason
}

// Unwrap returns what decoding failed with, or nil.
func (e *ReplyError) Unwrap() error { return e.Err }

// PanicError is the private cause of a call whose handler, or result, panicked.
type PanicError struct {
	Value any
	Stack []byte
}

// Error names what the code panicked with.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }
