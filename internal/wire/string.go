package wire

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// SkipString returns the index after the string literal that begins at data[i].
func SkipString(data []byte, i int) (int, error) {
	if i >= len(data) {
		return 0, errShort
	}
	if data[i] != '"' {
		return 0, unexpected(data, i, "a string")
	}
	for i = skipPlain(data, i+1); i < len(data); i = skipPlain(data, i+1) {
		switch data[i] {
		case '"':
			return i + 1, nil
		case '\\':
			var err error
			if i, err = skipEscape(data, i+1); err != nil {
				return 0, err
			}
		default:
			return 0, unexpected(data, i, "no control character in a string")
		}
	}
	return 0, errShort
}

// skipPlain is [SkipPlain] for bytes, of which it loads eight at once: a quarter
// faster where the text is long.
func skipPlain(data []byte, i int) int {
	for ; i+8 <= len(data); i += 8 {
		if found := special(binary.LittleEndian.Uint64(data[i:])); found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	return SkipPlain(data, i)
}

// SkipPlain returns the index of the first byte from text[i] on that does not
// stand for itself in a string literal: a quote, a backslash or a control
// character. It looks at eight bytes at a time.
func SkipPlain[T string | []byte](text T, i int) int {
	for ; i+8 <= len(text); i += 8 {
		s := text[i : i+8]
		w := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		if found := special(w); found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(text); i++ {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' {
			break
		}
	}
	return i
}

// special returns the high bit of the first of eight bytes that does not stand for
// itself, or 0. What is set beside it is above.
func special(w uint64) uint64 {
	const (
		ones = 0x0101010101010101
		high = 0x80 * ones
	)
	quote, slash := w^'"'*ones, w^'\\'*ones
	return ((w - ' '*ones) | (quote - ones) | (slash - ones)) &^ w & high
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
	var short [128]byte
	dst := short[:0]
	if len(content) > len(short) {
		dst = make([]byte, 0, len(content))
	}
	return string(AppendUnquoted(dst, content))
}

func needsUnquote(content []byte) bool {
	return bytes.IndexByte(content, '\\') >= 0 || !utf8.Valid(content)
}

// AppendUnquoted appends what [UnquoteContent] returns. The content may be what
// follows dst in its array: it is then written over.
func AppendUnquoted(dst, content []byte) []byte {
	if !utf8.Valid(content) {
		content = []byte(string([]rune(string(content))))
	}
	for {
		at := bytes.IndexByte(content, '\\')
		if at < 0 {
			return append(dst, content...)
		}
		dst = append(dst, content[:at]...)
		if content[at+1] != 'u' {
			dst = append(dst, unescape(content[at+1]))
			content = content[at+2:]
			continue
		}
		r := codeUnit(content, at)
		content = content[at+6:]
		if utf16.IsSurrogate(r) {
			pair := utf16.DecodeRune(r, codeUnit(content, 0))
			if pair != utf8.RuneError {
				content = content[6:]
			}
			r = pair
		}
		dst = utf8.AppendRune(dst, r)
	}
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
	if !utf8.ValidString(text) {
		text = string([]rune(text))
	}
	dst = append(dst, '"')
	for start := 0; ; {
		end := SkipPlain(text, start)
		dst = append(dst, text[start:end]...)
		if end == len(text) {
			return append(dst, '"')
		}
		dst = appendEscaped(dst, text[end])
		start = end + 1
	}
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
