package toolrunner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// newOrResumed returns a runner for the task that file keeps, wherever that was
// left.
func newOrResumed(client anthropic.Client, file *toolrunner.FileCheckpoint, task string) (*toolrunner.Runner, error) {
	tools := []anthropic.BetaTool{weatherTool()}
	params := toolrunner.Params{BetaMessageNewParams: ask(task), Checkpoint: file.Append}
	if snapshot := file.Snapshot(); snapshot != nil {
		params.Messages = nil // they are in the snapshot
		runner, err := toolrunner.Resume(&client.Beta.Messages, tools, params, snapshot)
		if err != nil || runner.Outcome() == toolrunner.OutcomeRunning {
			return runner, err
		}
		// The run has ended: the task is the next thing that the user says.
		return runner, runner.AppendMessages(ask(task).Messages...)
	}
	return toolrunner.New(&client.Beta.Messages, tools, params)
}

// A program that dies takes its run up when it is started again: what has run does
// not run again.
func ExampleOpenFileCheckpoint() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)),
		toolrunnertest.Message(toolrunnertest.Call("toolu_2", "get_weather", `{"city":"Rome"}`)),
		toolrunnertest.Text("Both are mild."),
	)
	defer srv.Close()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	program := func(dies bool) error {
		file, err := toolrunner.OpenFileCheckpoint(filepath.Join(dir, "weather.run"))
		if err != nil {
			return err
		}
		defer file.Close()
		runner, err := newOrResumed(srv.Client(), file, "Compare the weather in Paris and Rome.")
		if err != nil {
			return err
		}
		for turn, err := range runner.All(context.Background()) {
			if err != nil {
				return err
			}
			if dies && turn.Iteration() == 2 {
				return errors.New("the machine has lost power")
			}
			fmt.Println("turn", turn.Iteration(), turn.StopReason)
		}
		return nil
	}
	fmt.Println(program(true))
	fmt.Println(program(false))
	// Output:
	// turn 1 tool_use
	// (looking at the weather in Paris)
	// the machine has lost power
	// (looking at the weather in Rome)
	// turn 3 end_turn
	// <nil>
}
