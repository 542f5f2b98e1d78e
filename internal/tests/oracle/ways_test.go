package oracle_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// otherWays gives the messages of params to SetMessages, and to Resume in a snapshot: that
// of a runner which takes them, or one that was made by hand of what it does not take.
func otherWays(t *testing.T, client anthropic.Client, tool anthropic.BetaTool, params toolrunner.Params) (set, resumed error) {
	t.Helper()
	given, tools := params.Messages, []anthropic.BetaTool{tool}
	params.Messages = []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("hi"))}
	runner, err := toolrunner.New(&client.Beta.Messages, tools, params)
	if err != nil {
		t.Fatal(err)
	}
	before := string(snapshotOf(t, runner))
	set = runner.SetMessages(given...)
	snapshot := snapshotOf(t, runner)
	if set != nil {
		if after := string(snapshot); after != before {
			t.Errorf("SetMessages has refused the messages, and changed\n%s\nto\n%s", before, after)
		}
		snapshot = withMessages(t, snapshot, given)
	}
	params.Messages = nil
	_, resumed = toolrunner.Resume(&client.Beta.Messages, tools, params, snapshot)
	return set, resumed
}

func snapshotOf(t *testing.T, runner *toolrunner.Runner) []byte {
	t.Helper()
	snapshot, err := runner.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return snapshot
}

// withMessages returns a snapshot that has other messages, with the calls that they leave
// open, and the checksum of that.
func withMessages(t *testing.T, snapshot []byte, given []anthropic.BetaMessageParam) []byte {
	t.Helper()
	var record map[string]json.RawMessage
	if err := json.Unmarshal(snapshot, &record); err != nil {
		t.Fatal(err)
	}
	delete(record, "sum")
	list := []byte("[")
	var calls []map[string]any
	for i, m := range given {
		raw, ok := m.Overrides()
		if !ok {
			t.Fatal("the message is not raw JSON")
		}
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, raw.(json.RawMessage)...)
		var message struct {
			Role    string
			Content json.RawMessage
		}
		_ = json.Unmarshal(raw.(json.RawMessage), &message)
		var blocks []struct{ Type, ID string }
		if _ = json.Unmarshal(message.Content, &blocks); message.Role != "assistant" {
			calls = nil
		}
		for _, b := range blocks {
			if b.Type == "tool_use" && message.Role == "assistant" {
				calls = append(calls, map[string]any{"id": b.ID, "state": "waiting"})
			}
		}
	}
	var content bytes.Buffer
	content.WriteString(`{"toolrunner":2`)
	for _, name := range []string{"run", "sequence", "state", "tools"} {
		fmt.Fprintf(&content, ",%q:%s", name, record[name])
	}
	open, err := json.Marshal(calls)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&content, `,"calls":%s,"messages":%s]`, open, list)
	return fmt.Appendf(nil, "%s,\n\"sum\":\"%08x\"}\n", content.Bytes(), crc32.Checksum(content.Bytes(), crc32.MakeTable(crc32.Castagnoli)))
}

// sameVerdict reports whether another way into a conversation says the same as New, with
// the error that is its own.
func sameVerdict(created, other error) bool {
	var history *toolrunner.HistoryError
	var snapshot *toolrunner.SnapshotError
	return (created == nil) == (other == nil) && (other == nil || errors.As(other, &history) || errors.As(other, &snapshot))
}

// A snapshot that was made by hand of messages which are fine is resumed: what the tests
// see refused is refused for its messages.
func TestSnapshotsMadeByHandAreResumed(t *testing.T) {
	srv := toolrunnertest.NewServer(t)
	client := srv.Client()
	for _, messages := range [][]string{
		{`{"role":"user","content":"q"}`},
		{`{"role":"user","content":"q"}`, `{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{}}]}`},
	} {
		params := toolrunner.Params{BetaMessageNewParams: anthropic.BetaMessageNewParams{Model: "m", MaxTokens: 1}}
		var given []anthropic.BetaMessageParam
		for _, m := range messages {
			given = append(given, verbatim(m))
		}
		params.Messages = given[:1]
		runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{toolF()}, params)
		if err != nil {
			t.Fatal(err)
		}
		params.Messages = nil
		if _, err := toolrunner.Resume(&client.Beta.Messages, []anthropic.BetaTool{toolF()}, params, withMessages(t, snapshotOf(t, runner), given)); err != nil {
			t.Error(err)
		}
	}
}
