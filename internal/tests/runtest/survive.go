package runtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// EffectLog is a folder with the effects that tools have had. It outlives processes.
type EffectLog string

// add takes note of an effect, each time.
func (l EffectLog) add(effect string) error {
	file, err := os.OpenFile(filepath.Join(string(l), "effects"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(effect + "\n")
	return errors.Join(err, file.Close())
}

// once is add for a service that remembers keys. Creating the file is the effect.
func (l EffectLog) once(key, effect string) error {
	file, err := os.OpenFile(filepath.Join(string(l), effect+"~"+key), os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return file.Close()
}

// Effects returns how often each effect was had.
func (l EffectLog) Effects(t *testing.T) map[string]int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(string(l), "effects"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	counts := make(map[string]int)
	for line := range strings.Lines(string(data)) {
		counts[strings.TrimSpace(line)]++
	}
	files, err := os.ReadDir(string(l))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if effect, _, ok := strings.Cut(file.Name(), "~"); ok {
			counts[effect]++
		}
	}
	return counts
}

// Tools returns a tool that has an effect again when it is called again, one that
// has not, and one that has none; around is called around each effect.
func (l EffectLog) Tools(around func(effect func() error) error) []anthropic.BetaTool {
	tool := func(name string, effect func(call *toolrunner.Call) error) *toolrunner.Tool {
		return Raw(name, func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
			if err := around(func() error { return effect(call) }); err != nil {
				return nil, err
			}
			return toolrunner.TextResult(name + " is done for " + call.ID), nil
		})
	}
	pay := tool("pay", func(call *toolrunner.Call) error { return l.add(call.ID) })
	book := tool("book", func(call *toolrunner.Call) error { return l.once(call.IdempotencyKey(), call.ID) })
	book.Idempotent = true
	look := tool("look", func(*toolrunner.Call) error { return nil })
	look.ReadOnly = true
	return Tools(pay, book, look)
}

// TaskModel is a model that calls each tool once in each of its turns. What it replies
// depends on the request alone, so that requests may be repeated.
type TaskModel struct {
	Turns int
	Tools []string
}

func (a TaskModel) Reply(q *toolrunnertest.Request) toolrunnertest.Reply {
	turn := 0
	for _, raw := range q.Messages() {
		if strings.HasPrefix(string(raw), `{"role":"assistant"`) {
			turn++
		}
	}
	reply := toolrunnertest.Text("all done")
	if turn < a.Turns {
		blocks := []toolrunnertest.Block{toolrunnertest.Say(fmt.Sprintf("step %d", turn))}
		for _, tool := range a.Tools {
			blocks = append(blocks, toolrunnertest.Call(a.Id(turn, tool), tool, `{"n": 12345678901234567890}`))
		}
		reply = toolrunnertest.Message(blocks...)
	}
	return reply.ID(fmt.Sprintf("msg_%d", turn))
}

func (a TaskModel) Id(turn int, tool string) string { return fmt.Sprintf("toolu_%d_%s", turn, tool) }

// Replies returns that model as a script for so many requests.
func (a TaskModel) Replies(n int) []toolrunnertest.Reply {
	return Repeated(toolrunnertest.Func(a.Reply), n)
}

// StartOrResume starts a run, or goes on with the one that has left a snapshot.
func StartOrResume(client *anthropic.Client, tools []anthropic.BetaTool, params toolrunner.Params, snapshot []byte) (*toolrunner.Runner, error) {
	params.Model, params.MaxTokens = "claude-test", 100
	if len(snapshot) > 0 {
		return toolrunner.Resume(&client.Beta.Messages, tools, params, snapshot)
	}
	params.Messages = []anthropic.BetaMessageParam{User("do all of it")}
	return toolrunner.New(&client.Beta.Messages, tools, params)
}

// HistoryOf returns the messages of a run as a request would have them.
func HistoryOf(t *testing.T, r *toolrunner.Runner) *toolrunnertest.Request {
	t.Helper()
	body, err := json.Marshal(map[string]any{"messages": r.Messages()})
	if err != nil {
		t.Fatal(err)
	}
	return &toolrunnertest.Request{Body: body}
}
