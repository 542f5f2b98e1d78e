package wire

import "bytes"

// What is known to be valid is passed over in large steps.

// SkipKnown returns the index after the value that begins at data[i], which is known
// to be valid. Of anything else it returns the end.
func SkipKnown(data []byte, i int) int {
	end, err := passValue(data, i, 0)
	if err != nil {
		return len(data)
	}
	return end
}

// SkipSpace returns the index of the first byte from data[i] on that is not space.
func SkipSpace(data []byte, i int) int { return skipSpace(data, i) }

// passValue is the skipper for values that are known to be valid. Any others end
// somewhere.
func passValue(data []byte, i, _ int) (int, error) {
	if i >= len(data) {
		return 0, errShort
	}
	switch data[i] {
	case '"':
		return passString(data, i), nil
	case '{', '[':
		return passComposite(data, i), nil
	}
	start := i
	for i < len(data) && data[i] != ',' && data[i] != ']' && data[i] != '}' && data[i] > ' ' {
		i++
	}
	if i == start {
		return 0, unexpected(data, i, "a value")
	}
	return i, nil
}

func passString(data []byte, i int) int {
	start := i + 1
	for i = start; ; i++ {
		n := bytes.IndexByte(data[i:], '"')
		if n < 0 {
			return len(data)
		}
		i += n
		escapes := i
		for escapes > start && data[escapes-1] == '\\' {
			escapes--
		}
		if (i-escapes)%2 == 0 {
			return i + 1
		}
	}
}

func passComposite(data []byte, i int) int {
	for depth := 0; i < len(data); {
		switch data[i] {
		case '"':
			i = passString(data, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		i++
		if depth == 0 {
			return i
		}
	}
	return len(data)
}
