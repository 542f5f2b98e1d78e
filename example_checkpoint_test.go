package toolrunner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// runStore keeps runs in memory. One in a database does the same in a transaction.
type runStore struct {
	mu   sync.Mutex
	runs map[string]keptRun
}

type keptRun struct {
	sequence int64
	snapshot []byte
}

// keep is a toolrunner.Checkpoint that compares and swaps: a delta is kept only if
// it comes after the state that is there.
func (s *runStore) keep(_ context.Context, delta toolrunner.Delta) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	run := s.runs[delta.ConversationID]
	if run.sequence != delta.After {
		return errors.New("somebody else has gone on with it")
	}
	if delta.Full {
		run.snapshot = nil
	}
	run.snapshot = append(run.snapshot, delta.Data...)
	run.sequence = delta.Sequence
	s.runs[delta.ConversationID] = run
	return nil
}

// snapshot returns what Resume takes.
func (s *runStore) snapshot(run string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs[run].snapshot
}

// Two processes take up the same run. The store lets the first one go on, and the
// other one runs nothing.
func ExampleCheckpoint() {
	_, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "pay", `{"to":"landlord","amount":900}`)),
		toolrunnertest.Text("The rent is paid."),
	)

	store := &runStore{runs: make(map[string]keptRun)}
	params := toolrunner.Params{BetaMessageNewParams: ask("Pay the rent."), Checkpoint: store.keep}
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{paymentTool()}, params)
	if err != nil {
		fmt.Println(err)
		return
	}
	turn, err := runner.Next(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	run := turn.Calls()[0].ConversationID // and then the process dies

	params.Messages = nil
	var both []*toolrunner.Runner
	for range 2 {
		runner, err := toolrunner.Resume(&client.Beta.Messages, []anthropic.BetaTool{paymentTool()}, params, store.snapshot(run))
		if err != nil {
			fmt.Println(err)
			return
		}
		both = append(both, runner)
	}
	for _, runner := range both {
		message, err := runner.RunToCompletion(context.Background())
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(message.Content[0].Text)
	}
	// Output:
	// (paying 900 to landlord)
	// The rent is paid.
	// toolrunner: the checkpoint failed, and the run does not go on without it: somebody else has gone on with it
}

// newOrResumed returns a runner for the task that file keeps, wherever that was
// left.
func newOrResumed(client anthropic.Client, file *toolrunner.FileCheckpoint, task string) (*toolrunner.Runner, error) {
	tools := []anthropic.BetaTool{weatherTool()}
	params := toolrunner.Params{BetaMessageNewParams: ask(task), Checkpoint: file.Append}
	if snapshot := file.Snapshot(); snapshot != nil {
		params.Messages = nil // they are in the snapshot
		runner, err := toolrunner.Resume(&client.Beta.Messages, tools, params, snapshot)
		if err != nil || runner.Outcome() == toolrunner.OutcomeStopped {
			return runner, err // it goes on where it was left
		}
		// The run has ended: the task is the next thing that the user says.
		return runner, runner.AppendMessages(ask(task).Messages...)
	}
	return toolrunner.New(&client.Beta.Messages, tools, params)
}

// A program that dies takes its run up when it is started again: what has run does
// not run again.
func ExampleOpenFileCheckpoint() {
	srv := toolrunnertest.NewServer(nil,
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

// The process dies after a payment, before its result is safe. The call runs again,
// and the bank tells by the key that it has seen it.
func ExampleCall_IdempotencyKey() {
	_, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "pay", `{"amount":900}`)),
		toolrunnertest.Text("The rent is paid."),
	)

	type input struct {
		Amount int `json:"amount"`
	}
	died := false
	seen := make(map[string]bool) // at the bank
	pay := toolrunner.NewTool("pay", "Pay the rent.", func(ctx context.Context, in input) (string, error) {
		call, _ := toolrunner.CallFrom(ctx)
		key := call.IdempotencyKey()
		if seen[key] {
			fmt.Println("the bank has seen this payment")
			return "paid", nil
		}
		fmt.Println("the bank pays", in.Amount)
		seen[key], died = true, true
		return "paid", nil
	})
	pay.Idempotent = true

	var kept []byte
	params := toolrunner.Params{BetaMessageNewParams: ask("Pay the rent.")}
	params.Checkpoint = func(_ context.Context, delta toolrunner.Delta) error {
		if died {
			return errors.New("the process has died")
		}
		kept = append(kept, delta.Data...)
		return nil
	}
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{pay}, params)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); !died {
		fmt.Println(err)
		return
	}

	params.Messages, params.Checkpoint = nil, nil
	runner, err = toolrunner.Resume(&client.Beta.Messages, []anthropic.BetaTool{pay}, params, kept)
	if err != nil {
		fmt.Println(err)
		return
	}
	message, err := runner.RunToCompletion(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(message.Content[0].Text)
	// Output:
	// the bank pays 900
	// the bank has seen this payment
	// The rent is paid.
}
