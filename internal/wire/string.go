package wire

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// skipString returns the index after the string literal that begins at data[i].
func skipString(data []byte, i int) (int, error) {
	if i >= len(data) {
		return 0, errShort
	}
	if data[i] != '"' {
		return 0, unexpected(data, i, "a string")
	}
	for i++; i < len(data); i++ {
		c := data[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		if c == '"' {
			return i + 1, nil
		}
		if c < ' ' {
			return 0, unexpected(data, i, "no control character in a string")
		}
		var err error
		if i, err = skipEscape(data, i+1); err != nil {
			return 0, err
		}
	}
	return 0, errShort
}

// skipEscape returns the index of the last byte of the escape whose first byte
// after the backslash is data[i].
func skipEscape(data []byte, i int) (int, error) {
	if i >= len(data) {
		return 0, errShort
	}
	switch data[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i, nil
	case 'u':
		for k := 1; k <= 4; k++ {
			if i+k >= len(data) {
				return 0, errShort
			}
			if _, ok := hexValue(data[i+k]); !ok {
				return 0, unexpected(data, i+k, "a hexadecimal digit")
			}
		}
		return i + 4, nil
	}
	return 0, unexpected(data, i, "an escape")
}

// Content returns what stands between the quotes of the string literal that is
// all of value, escapes and all. It reports false for anything but a string.
func Content(value []byte) ([]byte, bool) {
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return nil, false
	}
	return value[1 : len(value)-1], true
}

// Unquote returns the text of the valid string literal that is all of value. It
// reports false for anything but a string.
func Unquote(value []byte) (string, bool) {
	content, ok := Content(value)
	if !ok {
		return "", false
	}
	return UnquoteContent(content), true
}

// UnquoteContent returns the text of content, which is what stands between the
// quotes of a valid string literal. As in encoding/json, invalid UTF-8 and
// halves of surrogate pairs become U+FFFD.
func UnquoteContent(content []byte) string {
	if !needsUnquote(content) {
		return string(content)
	}
	return string(appendUnquoted(make([]byte, 0, len(content)), content))
}

func needsUnquote(content []byte) bool {
	return bytes.IndexByte(content, '\\') >= 0 || !utf8.Valid(content)
}

func appendUnquoted(dst, content []byte) []byte {
	for i := 0; i < len(content); {
		c := content[i]
		if c != '\\' {
			r, size := utf8.DecodeRune(content[i:])
			dst = utf8.AppendRune(dst, r)
			i += size
			continue
		}
		if content[i+1] != 'u' {
			dst = append(dst, unescape(content[i+1]))
			i += 2
			continue
		}
		r := codeUnit(content, i)
		i += 6
		if utf16.IsSurrogate(r) {
			pair := utf16.DecodeRune(r, codeUnit(content, i))
			if pair != utf8.RuneError {
				i += 6
			}
			r = pair
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

func unescape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

// codeUnit returns the code unit of the \uXXXX at content[i], or U+FFFD where
// there is none.
func codeUnit(content []byte, i int) rune {
	if i+6 > len(content) || content[i] != '\\' || content[i+1] != 'u' {
		return utf8.RuneError
	}
	var r rune
	for _, c := range content[i+2 : i+6] {
		d, _ := hexValue(c)
		r = r<<4 | rune(d)
	}
	return r
}

func hexValue(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// AppendString appends text as a JSON string literal. Invalid UTF-8 becomes
// U+FFFD; nothing is escaped that JSON does not require.
func AppendString(dst []byte, text string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(text); {
		c := text[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(text[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(dst, text[start:i]...)
				dst = append(dst, "\uFFFD"...)
				start = i + 1
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, text[start:i]...)
		dst = appendEscaped(dst, c)
		i++
		start = i
	}
	dst = append(dst, text[start:]...)
	return append(dst, '"')
}

func appendEscaped(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xF])
}
