package wire

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Sound returns JSON data with U+FFFD in place of each half of a surrogate pair
// and of each byte that is not UTF-8: encoding/json takes both, and other readers
// refuse them. It reports whether it has changed any, which it does in a copy.
func Sound(data []byte) ([]byte, bool) {
	changed := !utf8.Valid(data)
	if changed {
		data = []byte(string([]rune(string(data))))
	}
	for i := 0; ; {
		at := bytes.IndexByte(data[min(i, len(data)):], '\\')
		if i += at; at < 0 || i+1 >= len(data) {
			return data, changed
		}
		if data[i+1] != 'u' {
			i += 2
			continue
		}
		unit := codeUnit(data, i)
		switch {
		case !utf16.IsSurrogate(unit):
			i += len(`\u0000`)
		case utf16.DecodeRune(unit, codeUnit(data, i+len(`\u0000`))) != utf8.RuneError:
			i += 2 * len(`\u0000`)
		default:
			if !changed {
				data, changed = bytes.Clone(data), true
			}
			i += copy(data[i:], `\ufffd`)
		}
	}
}
