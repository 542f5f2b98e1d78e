package toolrunner_test

import (
	"context"
	"errors"
	"fmt"
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
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "pay", `{"to":"landlord","amount":900}`)),
		toolrunnertest.Text("The rent is paid."),
	)
	defer srv.Close()
	client := srv.Client()

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
