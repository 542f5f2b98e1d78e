// Package wire reads and writes JSON as bytes: it walks objects and arrays
// without decoding them, so that what it does not understand stays as it came.
//
// Everything it accepts is valid JSON by RFC 8259, and it checks all of what it
// walks over. It keeps no state, and none of its functions keep their arguments.
package wire

import (
	"errors"
	"fmt"
)

// maxDepth is the nesting at which a document is refused, as in encoding/json.
const maxDepth = 10000

var errShort = errors.New("unexpected end of JSON")

// Valid reports whether data is one JSON value with nothing but space around it.
func Valid(data []byte) bool {
	i, err := skipValue(data, skipSpace(data, 0), 0)
	return err == nil && skipSpace(data, i) == len(data)
}

// Members calls visit for each member of the object that is all of data, in
// order, and stops at the first error. The key is unquoted, the value is a part
// of data. A key that occurs twice is visited twice.
func Members(data []byte, visit func(key, value []byte) error) error {
	return members(data, skipValue, visit)
}

// KnownMembers is [Members] for an object that is known to be valid, such as one that
// Members or [Elements] has visited. It does not check it again, and is faster.
func KnownMembers(data []byte, visit func(key, value []byte) error) error {
	return members(data, passValue, visit)
}

func members(data []byte, skip skipper, visit func(key, value []byte) error) error {
	i, err := open(data, '{')
	if err != nil {
		return err
	}
	for first := true; ; first = false {
		var done bool
		if i, done, err = next(data, i, '}', first); done || err != nil {
			return err
		}
		start := i
		if i, err = SkipString(data, i); err != nil {
			return err
		}
		key := data[start+1 : i-1]
		if needsUnquote(key) {
			key = AppendUnquoted(nil, key)
		}
		if i = skipSpace(data, i); i >= len(data) {
			return errShort
		}
		if data[i] != ':' {
			return unexpected(data, i, "':'")
		}
		start = skipSpace(data, i+1)
		if i, err = skip(data, start, 1); err != nil {
			return err
		}
		if err := visit(key, data[start:i]); err != nil {
			return err
		}
	}
}

// Elements calls visit for each element of the array that is all of data, in
// order, and stops at the first error. The value is a part of data.
func Elements(data []byte, visit func(value []byte) error) error {
	return elements(data, skipValue, visit)
}

// KnownElements is [Elements] for an array that is known to be valid.
func KnownElements(data []byte, visit func(value []byte) error) error {
	return elements(data, passValue, visit)
}

func elements(data []byte, skip skipper, visit func(value []byte) error) error {
	i, err := open(data, '[')
	if err != nil {
		return err
	}
	for first := true; ; first = false {
		var done bool
		if i, done, err = next(data, i, ']', first); done || err != nil {
			return err
		}
		start := i
		if i, err = skip(data, i, 1); err != nil {
			return err
		}
		if err := visit(data[start:i]); err != nil {
			return err
		}
	}
}

// open returns the index after the bracket that data must begin with.
func open(data []byte, bracket byte) (int, error) {
	i := skipSpace(data, 0)
	if i >= len(data) {
		return 0, errShort
	}
	if data[i] != bracket {
		return 0, unexpected(data, i, fmt.Sprintf("%q", bracket))
	}
	return i + 1, nil
}

// next moves from the end of one item to the start of the following one. It
// reports done at the closing bracket, after which data must end.
func next(data []byte, i int, closing byte, first bool) (start int, done bool, err error) {
	if i, done, err = separator(data, i, closing, first); !done || err != nil {
		return i, false, err
	}
	if i = skipSpace(data, i); i < len(data) {
		return 0, false, unexpected(data, i, "the end")
	}
	return i, true, nil
}

// separator passes the comma before an item, or the closing bracket, where it
// reports done.
func separator(data []byte, i int, closing byte, first bool) (start int, done bool, err error) {
	if i = skipSpace(data, i); i >= len(data) {
		return 0, false, errShort
	}
	if data[i] == closing {
		return i + 1, true, nil
	}
	if !first {
		if data[i] != ',' {
			return 0, false, unexpected(data, i, fmt.Sprintf("',' or %q", closing))
		}
		i = skipSpace(data, i+1)
	}
	return i, false, nil
}

// skipper returns the index after the value that begins at data[i], at a depth.
type skipper func(data []byte, i, depth int) (int, error)

// skipValue is the skipper that checks the value.
func skipValue(data []byte, i, depth int) (int, error) {
	if i >= len(data) {
		return 0, errShort
	}
	switch c := data[i]; {
	case c == '"':
		return SkipString(data, i)
	case c == '{' || c == '[':
		return skipComposite(data, i, depth)
	case c == '-' || c >= '0' && c <= '9':
		return skipNumber(data, i)
	case c == 't':
		return skipWord(data, i, "true")
	case c == 'f':
		return skipWord(data, i, "false")
	case c == 'n':
		return skipWord(data, i, "null")
	}
	return 0, unexpected(data, i, "a value")
}

func skipComposite(data []byte, i, depth int) (int, error) {
	if depth >= maxDepth {
		return 0, fmt.Errorf("JSON is nested deeper than %d", maxDepth)
	}
	object := data[i] == '{'
	closing := byte(']')
	if object {
		closing = '}'
	}
	i++
	for first := true; ; first = false {
		var done bool
		var err error
		if i, done, err = separator(data, i, closing, first); done || err != nil {
			return i, err
		}
		if object {
			if i, err = SkipString(data, i); err != nil {
				return 0, err
			}
			if i = skipSpace(data, i); i >= len(data) {
				return 0, errShort
			}
			if data[i] != ':' {
				return 0, unexpected(data, i, "':'")
			}
			i = skipSpace(data, i+1)
		}
		if i, err = skipValue(data, i, depth+1); err != nil {
			return 0, err
		}
	}
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\r' || data[i] == '\t') {
		i++
	}
	return i
}

func skipWord(data []byte, i int, word string) (int, error) {
	for k := range len(word) {
		if i+k >= len(data) {
			return 0, errShort
		}
		if data[i+k] != word[k] {
			return 0, unexpected(data, i+k, "the rest of "+word)
		}
	}
	return i + len(word), nil
}

func skipNumber(data []byte, i int) (int, error) {
	if data[i] == '-' {
		i++
	}
	digits := func() error {
		start := i
		for i < len(data) && data[i] >= '0' && data[i] <= '9' {
			i++
		}
		if i == start {
			return unexpected(data, i, "a digit")
		}
		return nil
	}
	if i < len(data) && data[i] == '0' {
		i++
	} else if err := digits(); err != nil {
		return 0, err
	}
	if i < len(data) && data[i] == '.' {
		i++
		if err := digits(); err != nil {
			return 0, err
		}
	}
	if i < len(data) && (data[i] == 'e' || data[i] == 'E') {
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		if err := digits(); err != nil {
			return 0, err
		}
	}
	return i, nil
}

func unexpected(data []byte, i int, want string) error {
	if i >= len(data) {
		return errShort
	}
	return fmt.Errorf("JSON has %q at offset %d, want %s", data[i], i, want)
}
