package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/tools/agenttoolset"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// P1: tools that are not ours lose writes to one file when the calls of a turn run
// at the same time. Under Exclusive, 50 edits of one file in one turn all arrive.
func TestExclusiveAgentToolsetLosesNoEdit(t *testing.T) {
	const edits = 50
	dir := t.TempDir()
	var lines strings.Builder
	blocks := make([]toolrunnertest.Block, edits)
	for i := range edits {
		fmt.Fprintf(&lines, "line %03d old\n", i)
		blocks[i] = toolrunnertest.Call(fmt.Sprintf("toolu_%03d", i), "edit",
			fmt.Sprintf(`{"file_path":"notes.txt","old_string":"line %03d old","new_string":"line %03d new"}`, i, i))
	}
	path := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	all := toolrunner.Exclusive(agenttoolset.BetaAgentToolset20260401(&agenttoolset.AgentToolContext{Workdir: dir})...)
	t.Cleanup(func() { agenttoolset.CloseAll(all) })
	c := runtest.Start(t, runtest.Asking("Edit."), all, toolrunnertest.Message(blocks...), toolrunnertest.Text("done"))
	c.Run(t)
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.ReplaceAll(lines.String(), "old", "new"); string(got) != want {
		t.Errorf("%d of %d edits are in the file", strings.Count(string(got), "new"), edits)
	}
}

// P1: foreign tools and our own run alone, in the model's order, beside tools that
// still run at the same time.
func TestExclusiveCallsOfForeignToolsRunAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log runtest.Journal
		step := func(name string, took time.Duration) {
			log.Add("%s+", name)
			runtest.Pause(took)
			log.Add("%s-", name)
		}
		work := runtest.Raw("work", func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
			step(call.ID, 3*time.Second)
			return toolrunner.TextResult("ok"), nil
		})
		own := runtest.Raw("own", work.Handler)
		foreign := &slowTool{run: func(input json.RawMessage) { step(string(input), time.Second) }}
		both := toolrunner.Exclusive(own, foreign)
		call := toolrunnertest.Call
		c := runtest.Start(t, runtest.Asking("hi"), append(both, work), toolrunnertest.Message(
			call("a", "work", `{}`), call("b", "slow", `{"n":1}`), call("c", "slow", `{"n":2}`), call("d", "own", `{}`), call("e", "work", `{}`),
		), toolrunnertest.Text("done"))
		c.Run(t)
		log.Want(t, "a+", "a-", `{"n":1}+`, `{"n":1}-`, `{"n":2}+`, `{"n":2}-`, "d+", "d-", "e+", "e-")
		if own.Exclusive {
			t.Error("Exclusive has changed the tool that it was given, want a copy")
		}
	})
}

// What is wrapped is sent, and closed, as the tool itself; a nil tool is refused by New.
func TestExclusiveChangesNothingElse(t *testing.T) {
	foreign := &slowTool{run: func(json.RawMessage) {}}
	plain := runtest.Start(t, runtest.Asking("hi"), []anthropic.BetaTool{foreign}, toolrunnertest.Text("done"))
	plain.Run(t)
	wrapped := runtest.Start(t, runtest.Asking("hi"), toolrunner.Exclusive(foreign), toolrunnertest.Text("done"))
	wrapped.Run(t)
	if got, want := string(wrapped.Request(t, 0).Body), string(plain.Request(t, 0).Body); got != want {
		t.Errorf("the request is %s, want %s", got, want)
	}
	agenttoolset.CloseAll(toolrunner.Exclusive(foreign, runtest.Raw("work", nil)))
	if foreign.closed != 1 {
		t.Errorf("the tool was closed %d times, want once", foreign.closed)
	}
	var none *slowTool
	_, err := toolrunner.New(&runtest.New(t).Client.Beta.Messages, toolrunner.Exclusive(none, nil), runtest.Asking("hi"))
	if err == nil {
		t.Error("New() error = nil, want one for a nil tool")
	}
}

// slowTool is a tool that is not ours.
type slowTool struct {
	run    func(json.RawMessage)
	closed int
}

func (*slowTool) Name() string        { return "slow" }
func (*slowTool) Description() string { return "slow" }
func (*slowTool) InputSchema() anthropic.BetaToolInputSchemaParam {
	return anthropic.BetaToolInputSchemaParam{Properties: map[string]any{"n": map[string]any{"type": "integer"}}}
}

func (s *slowTool) Execute(_ context.Context, input json.RawMessage) ([]anthropic.BetaToolResultBlockParamContentUnion, error) {
	s.run(input)
	return nil, nil
}

func (s *slowTool) Close() error {
	s.closed++
	return errors.New("ignored by CloseAll")
}
