package stream

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/ssestream"
	"github.com/google/go-cmp/cmp"
)

// streamCorpus finds the recorded streams beside the repository, or where the
// environment says.
func streamCorpus(t *testing.T) map[string][]byte {
	t.Helper()
	root := os.Getenv("TOOLRUNNER_CORPUS")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared", "corpus")
	}
	streams := map[string][]byte{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".sse" {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err == nil {
			streams[filepath.ToSlash(name)], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil || len(streams) == 0 {
		t.Skipf("there is no corpus at %s; TOOLRUNNER_CORPUS may name another place: %v", root, err)
	}
	return streams
}

// sdkAccumulate returns what the SDK's accumulator makes of a stream up to its
// message_stop: it starts anew with whatever follows, as some recordings hold
// two responses. Its blocks are complete before its message is.
func sdkAccumulate(stream []byte) (map[string]any, error) {
	var message anthropic.BetaMessage
	events := ssestream.NewStream[anthropic.BetaRawMessageStreamEventUnion](ssestream.NewDecoder(responseOf(stream)), nil)
	for events.Next() {
		if err := message.Accumulate(events.Current()); err != nil {
			return nil, err
		}
		if events.Current().Type == "message_stop" {
			break
		}
	}
	if err := events.Err(); err != nil {
		return nil, err
	}
	object, err := decodeObject([]byte(message.RawJSON()))
	if err != nil {
		return nil, err
	}
	content := []any{}
	for _, block := range message.Content {
		b, err := decodeObject([]byte(block.RawJSON()))
		if err != nil {
			return nil, err
		}
		content = append(content, b)
	}
	object["content"] = content
	return object, nil
}

// Row E144.
func TestAccumulatorAgreesWithTheSDKOnRecordedStreams(t *testing.T) {
	// Where they differ, and why ours is right.
	differ := map[string]string{
		"vercel-ai/spliced-message-start.chunks/001.response.sse": "another message begins in the middle: of which of the two its blocks are cannot be told, so there is no reply",
	}
	// A call that was cut off: the SDK hides it behind {}, which could be run.
	// Ours keeps the text, for the model to read; the runner makes it a failed call.
	cut := map[string]bool{
		"anthropic-sdk-typescript/incomplete_partial_json_response/001.response.sse": true,
		"llama-server-0.7.0/sse-17/001.response.sse":                                 true,
		"llama-server-0.7.0/sse-23/003.response.sse":                                 true,
	}
	for name, stream := range streamCorpus(t) {
		t.Run(name, func(t *testing.T) {
			ours, err := accumulate(responseOf(stream))
			theirs, sdkErr := sdkAccumulate(stream)
			if why := differ[name]; why != "" {
				if err == nil || sdkErr != nil {
					t.Errorf("the error is %v, that of the SDK %v; want one of ours alone: %s", err, sdkErr, why)
				}
				return
			}
			if (err == nil) != (sdkErr == nil) {
				t.Fatalf("the error is %v, that of the SDK %v", err, sdkErr)
			}
			if err != nil {
				return
			}
			got, err := decodeObject(ours)
			if err != nil {
				t.Fatalf("%s: %v", ours, err)
			}
			for _, message := range []map[string]any{theirs, got} {
				if message["context_management"] == nil { // the SDK leaves out a null that message_delta has
					delete(message, "context_management")
				}
			}
			if cut[name] {
				blocks, _ := got["content"].([]any)
				last, _ := blocks[len(blocks)-1].(map[string]any)
				if text, ok := last["input"].(string); !ok || json.Valid([]byte(text)) {
					t.Errorf("input of the last call = %#v, want the text that was cut off", last["input"])
				}
				last["input"] = map[string]any{}
			}
			if diff := cmp.Diff(theirs, got); diff != "" {
				t.Errorf("the message (-SDK +ours):\n%s", diff)
			}
		})
	}
}
