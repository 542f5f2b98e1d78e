package corpus_test

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// sentOtherwise are replies that do not go back as they were recorded, with the
// reason.
var sentOtherwise = map[string]string{
	"llama-server-0.7.0/sse-17/001.response.sse":                                                   "the input of its last call is cut off; the API takes {}",
	"llama-server-0.7.0/sse-23/003.response.sse":                                                   "the input of its last call is cut off; the API takes {}",
	"rig/opus_4_8__web_search_with_dynamic_filtering_succeeds/001.response.json":                   "ids were removed from the recording, so that server calls lack their results; they are left out",
	"rig/streamed_server_tools__streamed_web_search_preserves_server_tool_blocks/001.response.sse": "ids were removed from the recording, so that server calls lack their results; they are left out",
}

// followedUp has a conversation of a reply and a follow-up. It returns the
// message that the reply is, as the test server reads it, which shares no code
// with the runner; and the messages of the request that the follow-up is in.
func followedUp(t *testing.T, reply toolrunnertest.Reply, stream bool) (message json.RawMessage, sent []json.RawMessage) {
	t.Helper()
	c := runtest.New(t, reply)
	c.Server.Ignore(runtest.RulesOfReplies...) // what a recording breaks, it breaks as well on the way back
	c.Server.Otherwise(toolrunnertest.Text("Bye."))
	c.Runner = c.NewRunner(t, runtest.Asking("hi"))
	c.Params.MaxIterations = 1
	run := func() {
		turns := c.All
		if stream {
			turns = c.AllStreaming
		}
		if err := runtest.Exhaust(turns(t.Context())); err != nil {
			t.Fatalf("the run failed: %v", err)
		}
	}
	run()
	c.Params.MaxIterations = 0
	if c.Outcome() == toolrunner.OutcomeCompleted || c.Outcome() == toolrunner.OutcomeTruncated || c.Outcome() == toolrunner.OutcomeRefused {
		c.MustAppend(t, runtest.User("go on"))
	}
	run()
	requests := c.Server.Requests()
	if len(requests) < 2 {
		t.Fatalf("%d requests, want 2; the run is %v", len(requests), c.Outcome())
	}
	return requests[0].Reply, requests[1].Messages()
}

// Rows E56, E85-E90, E96-E98, E144: what the API said goes back as it came.
func TestRecordedRepliesGoBackAsTheyCame(t *testing.T) {
	for _, body := range runtest.RecordedBodies(t) {
		t.Run(body.Name, func(t *testing.T) {
			message, sent := followedUp(t, body.Reply(), body.Stream)
			want := keptBlocks(t, runtest.Object(message)["content"])
			var got []json.RawMessage
			if len(sent) > 1 && runtest.Decoded(runtest.Object(sent[1])["role"]) == "assistant" {
				got = elements(t, runtest.Object(sent[1])["content"])
			}
			if why := sentOtherwise[body.Name]; why != "" {
				if cmp.Equal(want, got) {
					t.Errorf("the reply goes back as it came, although %s", why)
				}
				return
			}
			if len(got) != len(want) {
				t.Fatalf("the reply goes back with %d blocks, want %d of %s", len(got), len(want), message)
			}
			for i := range want {
				compareBlock(t, i, want[i], got[i], body)
			}
		})
	}
}

// keptBlocks returns the blocks of a reply that go back: all but empty texts,
// and none of a reply that says nothing.
func keptBlocks(t *testing.T, content json.RawMessage) []json.RawMessage {
	t.Helper()
	blank := true
	kept := slices.DeleteFunc(elements(t, content), func(raw json.RawMessage) bool {
		text, _ := runtest.Decoded(runtest.Object(raw)["text"]).(string)
		isText := runtest.Decoded(runtest.Object(raw)["type"]) == "text"
		blank = blank && isText && strings.TrimSpace(text) == ""
		return isText && text == ""
	})
	if blank {
		return nil
	}
	return kept
}

// compareBlock compares a block that was sent with the one that was received.
func compareBlock(t *testing.T, i int, want, got json.RawMessage, body runtest.RecordedBody) {
	t.Helper()
	if !json.Valid(want) || runtest.Decoded(runtest.Object(want)["input"]) == nil && runtest.Object(want)["input"] != nil {
		t.Errorf("block %d: the server read %s", i, want)
	}
	if diff := cmp.Diff(tokens(t, want), tokens(t, got)); diff != "" {
		t.Errorf("block %d: values and order of keys (-received +sent):\n%s", i, diff)
	}
	if !body.Stream && !bytes.Equal(want, got) {
		t.Errorf("block %d was received as\n%s\nand sent as\n%s", i, want, got)
	}
	// Of a stream, the blocks that come whole and the inputs have their bytes.
	if whole := []byte(`"content_block":` + string(want)); bytes.Contains([]byte(body.Text), whole) && !bytes.Equal(want, got) {
		t.Errorf("block %d came whole, as\n%s\nand was sent as\n%s", i, want, got)
	}
	if w, g := runtest.Object(want)["input"], runtest.Object(got)["input"]; !bytes.Equal(w, g) {
		t.Errorf("block %d: the input is %s, was sent as %s", i, w, g)
	}
}

func elements(t *testing.T, list json.RawMessage) []json.RawMessage {
	t.Helper()
	var all []json.RawMessage
	if err := json.Unmarshal(list, &all); err != nil {
		t.Fatalf("%s is no list: %v", list, err)
	}
	return all
}

// tokens returns the keys and values of JSON in their order.
func tokens(t *testing.T, raw json.RawMessage) []json.Token {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var all []json.Token
	for {
		token, err := d.Token()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		all = append(all, token)
	}
}

// Rows E144-E150: a message that was recorded in one form makes the same
// conversation in the other.
func TestRecordedRepliesMakeTheSameConversationInBothForms(t *testing.T) {
	for _, body := range runtest.RecordedBodies(t) {
		t.Run(body.Name, func(t *testing.T) {
			_, plain := followedUp(t, toolrunnertest.File(body.Path), false)
			_, streamed := followedUp(t, toolrunnertest.File(body.Path), true)
			compareMessages(t, plain, streamed)
		})
	}
}

// Some messages were recorded in both forms.
func TestRepliesRecordedInBothFormsMakeTheSameConversation(t *testing.T) {
	forms := map[string]runtest.RecordedBody{}
	for _, body := range runtest.RecordedBodies(t) {
		forms[body.Name] = body
	}
	pairs := 0
	for name, plain := range forms {
		streamed, ok := forms[strings.Replace(name, "/001.response.json", ".chunks/001.response.sse", 1)]
		if !ok || plain.Stream {
			continue
		}
		plainMessage, plainSent := followedUp(t, plain.Reply(), false)
		streamedMessage, streamedSent := followedUp(t, streamed.Reply(), true)
		if id := string(runtest.Object(plainMessage)["id"]); id != string(runtest.Object(streamedMessage)["id"]) {
			continue // two messages that answer the same question
		}
		pairs++
		compareMessages(t, plainSent, streamedSent)
	}
	if pairs == 0 {
		t.Error("the corpus has no message in both forms, want one or more")
	}
}

func compareMessages(t *testing.T, plain, streamed []json.RawMessage) {
	t.Helper()
	if len(plain) != len(streamed) {
		t.Fatalf("%d messages go out after the plain reply, %d after the streamed one", len(plain), len(streamed))
	}
	for i := range plain {
		if diff := cmp.Diff(tokens(t, plain[i]), tokens(t, streamed[i])); diff != "" {
			t.Errorf("message %d (-plain +streamed):\n%s", i, diff)
		}
	}
}
