package wire

import "bytes"

// EnterDepth is the nesting at which JSON is refused that enters the conversation. It
// leaves room for the request and the record around it, which may be nested as deep as
// encoding/json reads.
const EnterDepth = maxDepth - 100

// IsTooDeep reports whether valid JSON is nested deeper than what may enter, within so
// many levels of something else.
func IsTooDeep(data []byte, around int) bool {
	limit := EnterDepth - around
	if len(data) <= 2*limit || bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) <= limit {
		return false
	}
	depth, deepest := 0, 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		}
	}
	return deepest > limit
}
