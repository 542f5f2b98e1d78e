package telemetry

import (
	"bytes"
	"encoding/json"
	"os"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
)

// defaultMaxContent is how many bytes of content a span has, as with the official SDKs.
const defaultMaxContent = 750_000

// wantsContent reports whether spans hold what calls are about: the variable of the SDK
// asks for it.
func wantsContent() bool { return strings.EqualFold(os.Getenv(envContent), "content") }

// maxContent returns how many bytes of content one span may hold.
func maxContent() int {
	n, err := strconv.Atoi(os.Getenv(envMaxContent))
	if err != nil || n < 1 {
		return defaultMaxContent
	}
	return n
}

// contents returns the input and the result of a call, within most bytes: an input that
// is too long is left out, and blocks of the result from its end.
func contents(input, result []byte, most int) []attribute.KeyValue {
	var attributes []attribute.KeyValue
	truncated := len(input) > most
	if !truncated && input != nil {
		attributes = append(attributes, keyArguments.String(string(input)))
		most -= len(input)
	}
	if result != nil {
		text, dropped := shown(result, most)
		truncated = truncated || dropped
		attributes = append(attributes, keyResult.String(text))
	}
	if truncated {
		attributes = append(attributes, keyTruncated.Bool(true))
	}
	return attributes
}

// shown returns the content of a result as a span holds it: text and search results
// whole, any other block as its type. It reports whether blocks were dropped to keep it
// within most bytes.
func shown(content []byte, most int) (text string, dropped bool) {
	var blocks []json.RawMessage
	if json.Unmarshal(content, &blocks) != nil {
		blocks = nil
		var plain string
		if json.Unmarshal(content, &plain) == nil {
			block, _ := json.Marshal(map[string]string{"text": plain, "type": "text"})
			blocks = []json.RawMessage{block}
		}
	}
	list := []byte{'['}
	for _, block := range blocks {
		block = withoutData(block)
		if len(list)+len(block)+1 > most {
			dropped = true
			break
		}
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = append(list, block...)
	}
	return string(append(list, ']')), dropped
}

// withoutData returns a block without what is large, private or not text.
func withoutData(block json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(block, &members) != nil {
		return json.RawMessage("null")
	}
	switch string(members["type"]) {
	case `"text"`, `"search_result"`:
		for key := range members {
			if strings.HasPrefix(key, "encrypted_") {
				delete(members, key)
			}
		}
	default:
		members = map[string]json.RawMessage{"type": members["type"]}
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(members) // it was JSON before
	return bytes.TrimSpace(text.Bytes())
}
