package toolrunnertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
)

// File is a reply that was recorded: the body of a response, as JSON in a file named *.json, or as an event stream in one
// named *.sse. To a request for the same form it is sent byte for byte; for the other form it is converted, an error of
// the API included. The methods of Reply that shape a message do not apply to it, those that say how it is sent do. A file that
// cannot be used fails the test when the reply is added to a script.
func File(path string) Reply {
	body, err := os.ReadFile(path)
	if err != nil {
		return broken(err)
	}
	reply, err := recorded(string(body), strings.HasSuffix(path, ".sse"))
	if err != nil {
		return broken(fmt.Errorf("%s: %w", path, err))
	}
	return reply
}

// broken is a reply that cannot be made.
func broken(err error) Reply { return Reply{spec: spec{broken: err}} }

// recorded is a reply with a body that came from somewhere.
func recorded(body string, stream bool) (Reply, error) {
	message := json.RawMessage(body)
	if stream {
		if message = accumulate(body); message == nil { // it fails, or is cut off
			return RawSSE(body), nil
		}
	}
	fields := asObject(message)
	switch asString(fields["type"]) {
	case "error":
		kind := asString(asObject(fields["error"])["type"])
		return RawJSON(body).Code(statusOf(kind)), nil
	case "message":
	default:
		return Reply{}, errors.New("it is neither a message nor an error of the API")
	}
	s := spec{recording: string(message)}
	if stream {
		s.recordedStream = body
	}
	for _, block := range asList(fields["content"]) {
		s.blocks = append(s.blocks, RawBlock(string(block)))
	}
	return Reply{spec: s}, nil
}

// opening is a recorded message before it has content.
func opening(message string) string {
	for _, f := range []struct{ key, value string }{{"content", "[]"}, {"stop_reason", "null"}, {"stop_sequence", "null"}} {
		message = set(message, f.key, f.value)
	}
	return message
}

// closing returns what a stream brings at the end of a recorded message.
func closing(message string) (delta, usage string) {
	fields := asObject(json.RawMessage(message))
	var parts []string
	for _, key := range []string{"stop_reason", "stop_sequence", "stop_details", "container"} {
		if value, ok := fields[key]; ok {
			parts = append(parts, quote(key)+":"+string(value))
		}
	}
	usage = "{}"
	if isObject(fields["usage"]) {
		usage = string(fields["usage"])
	}
	return "{" + strings.Join(parts, ",") + "}", usage
}

// splitEvents cuts a stream after each event.
func splitEvents(stream string) []string {
	events := strings.SplitAfter(stream, "\n\n")
	if last := len(events) - 1; events[last] == "" {
		events = events[:last]
	}
	return events
}
