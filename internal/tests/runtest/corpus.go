package runtest

import (
	"cmp"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

var nameOfATool = regexp.MustCompile(`"name":\s*"[^"]*"`)

// RecordedStreams returns the streams of the corpus that hold a reply, by name.
// Their client tools are called act, so that calls with cut arguments show.
func RecordedStreams(tb testing.TB) map[string]string {
	tb.Helper()
	streams := map[string]string{}
	for _, body := range RecordedBodies(tb) {
		if !body.Stream {
			continue
		}
		var b strings.Builder
		for line := range strings.Lines(strings.ReplaceAll(body.Text, "\r\n", "\n")) {
			if strings.Contains(line, "content_block_start") && strings.Contains(line, `"tool_use"`) {
				line = nameOfATool.ReplaceAllString(line, `"name":"act"`)
			}
			b.WriteString(line)
		}
		if ends, complete := EventsOf(b.String()); complete > 0 && len(ends) > 1 {
			streams[body.Name] = b.String()
		}
	}
	if len(streams) < 100 {
		tb.Errorf("the corpus has %d streams that hold a reply, want 100 or more", len(streams))
	}
	return streams
}

// Sampled returns the smallest streams of each origin, which differ in what
// recorded them: n of each, those with calls first.
func Sampled(streams map[string]string, n int) []string {
	size := func(name string) int {
		if strings.Contains(streams[name], `"name":"act"`) {
			return len(streams[name])
		}
		return len(streams[name]) + 1<<30
	}
	names := slices.SortedFunc(maps.Keys(streams), func(a, b string) int {
		return cmp.Or(size(a)-size(b), strings.Compare(a, b))
	})
	taken := map[string]int{}
	return slices.DeleteFunc(names, func(name string) bool {
		origin, _, _ := strings.Cut(name, "/")
		taken[origin]++
		return taken[origin] > n
	})
}

// EventsOf returns where each event of a stream ends, and where the reply is
// complete: after the event that brings the stop reason.
func EventsOf(stream string) (ends []int, complete int) {
	at := 0
	for event := range strings.SplitSeq(stream, "\n\n") {
		at = min(at+len(event)+2, len(stream))
		ends = append(ends, at)
		_, data, _ := strings.Cut(event, "data:")
		var e struct {
			Type  string
			Delta struct {
				StopReason string `json:"stop_reason"`
			}
		}
		if json.Unmarshal([]byte(data), &e) == nil && e.Type == "message_delta" && e.Delta.StopReason != "" && complete == 0 {
			complete = at
		}
	}
	return ends, complete
}

// spliced is a recording in which another message begins in the middle.
const spliced = "vercel-ai/spliced-message-start.chunks/001.response.sse"

// RecordedBody is the body of a response of the corpus.
type RecordedBody struct {
	Name, Path, Text string
	Stream           bool
}

// CorpusRoot returns where the corpus is, and whether it is there: beside the folder of
// this repository, or where the environment says.
func CorpusRoot() (string, bool) {
	root := os.Getenv("TOOLRUNNER_CORPUS")
	if root == "" {
		root = filepath.Join(repository(), "..", "shared", "corpus")
	}
	_, err := os.Stat(root)
	return root, err == nil
}

// repository returns the nearest folder around the working directory that holds a go.mod.
func repository() string {
	dir := "."
	for range 10 {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		dir = filepath.Join(dir, "..")
	}
	return "."
}

// RecordedBodies returns the responses of the corpus that are whole messages.
func RecordedBodies(tb testing.TB) []RecordedBody {
	tb.Helper()
	root, ok := CorpusRoot()
	if !ok {
		tb.Skipf("there is no corpus at %s; TOOLRUNNER_CORPUS says where one is", root)
	}
	var all []RecordedBody
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.Contains(entry.Name(), ".response.") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		body := RecordedBody{filepath.ToSlash(name), path, string(text), filepath.Ext(path) == ".sse"}
		if body.Name != spliced && (!body.Stream && Decoded(Object(text)["type"]) == "message" || strings.Contains(body.Text, "message_delta")) {
			all = append(all, body)
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	if len(all) < 400 {
		tb.Errorf("the corpus has %d messages, want 400 or more", len(all))
	}
	return all
}

// Reply is the response as it was recorded.
func (b RecordedBody) Reply() toolrunnertest.Reply {
	if b.Stream {
		return toolrunnertest.RawSSE(b.Text)
	}
	return toolrunnertest.RawJSON(b.Text)
}

// Object returns the members of an object.
func Object(raw json.RawMessage) map[string]json.RawMessage {
	var o map[string]json.RawMessage
	_ = json.Unmarshal(raw, &o) // what is no object has no members
	return o
}

// Decoded returns the value of JSON.
func Decoded(raw json.RawMessage) any {
	var v any
	_ = json.Unmarshal(raw, &v) // what is no JSON has no value
	return v
}

// RulesOfReplies are the rules whose breach a reply itself can bring about:
// blocks that lack what their type has go back as they came.
var RulesOfReplies = []toolrunnertest.Rule{"block-shape", "block-role", "thinking", "server-result-missing", "id-format", "cache-control-place", "cache-control-count", "server-result-unknown", "tool-reference"}
