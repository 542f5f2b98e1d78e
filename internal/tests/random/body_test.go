package random_test

import (
	"context"
	"errors"
	"time"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
)

// loop goes through the loop once in one of its ways, and returns what it ended with.
func (s *randomRun) loop() error {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	if s.oneIn(4) {
		time.AfterFunc(time.Duration(s.rng.IntN(400))*time.Millisecond, func() { cancel(runtest.ErrEnough) })
	}
	turns := s.AllStreaming(ctx)
	switch s.rng.IntN(6) {
	case 0:
		_, err := s.RunToCompletion(ctx)
		return ended(err)
	case 1:
		return s.step(ctx)
	case 2:
		turns = s.All(ctx)
	}
	for turn, err := range turns {
		if err != nil {
			return err
		}
		if s.body(turn) {
			return nil
		}
	}
	return nil
}

// step is a loop over Next.
func (s *randomRun) step(ctx context.Context) error {
	for {
		turn, err := s.Next(ctx)
		if err != nil {
			return ended(err)
		}
		s.body(turn)
	}
}

// ended returns the error of a loop that is more than how a run ends.
func ended(err error) error {
	for _, end := range []error{toolrunner.ErrDone, toolrunner.ErrMaxIterations, toolrunner.ErrTruncated, toolrunner.ErrRefused} {
		if errors.Is(err, end) {
			return nil
		}
	}
	return err
}

// body reads some events and does something, and reports whether to leave.
func (s *randomRun) body(turn *toolrunner.Turn) (leave bool) {
	if s.calm {
		return false
	}
	if n := s.rng.IntN(30); n > 0 {
		for e, err := range turn.Events() {
			if err == nil && e.Type == "content_block_start" && s.oneIn(6) {
				_ = turn.Defer(stringOf(e, "id")) // of a call; anything else has none
			}
			if n--; n == 0 || err != nil {
				break
			}
		}
	}
	action := s.rng.IntN(16)
	s.note("turn %d, action %d", turn.Iteration(), action)
	var err error
	switch action {
	case 0:
		err = turn.Retry()
	case 1:
		err = turn.Replace(runtest.User("instead"))
	case 2, 3:
		if p := turn.ToParam(); len(p.OfAssistant.Content) > 0 {
			err = turn.Replace(p)
		}
	case 4:
		err = s.SetMessages(runtest.User("from the start"))
	case 5, 6:
		s.results(context.Background(), turn)
	case 7:
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(s.rng.IntN(60))*time.Millisecond)
		defer cancel()
		s.results(ctx, turn)
	case 8:
		err = s.AppendMessages(runtest.User("one more thing"))
	case 9:
		return true
	case 10:
		runtest.Pause(time.Duration(s.rng.IntN(100)) * time.Millisecond)
	case 11:
		s.Params.EagerTools, s.Params.MaxConcurrency = !s.Params.EagerTools, 1+s.rng.IntN(3)
	case 12, 13:
		s.decideSoon(turn)
	}
	if err != nil {
		s.Errorf("action %d failed: %v", action, err)
	}
	return false
}

// results runs the calls in the body, and changes some results.
func (s *randomRun) results(ctx context.Context, turn *toolrunner.Turn) {
	results, err := turn.Results(ctx)
	if err != nil {
		s.note("results: %v", err)
		return
	}
	for i, call := range turn.Calls() {
		if s.oneIn(3) {
			results[i] = toolrunner.TextResult("edited " + call.ID)
			s.mu.Lock()
			s.edited[call.ID] = s.process
			s.mu.Unlock()
		}
	}
}

// decideSoon has other goroutines decide, at once or while other calls run.
func (s *randomRun) decideSoon(turn *toolrunner.Turn) {
	if !s.approves {
		return
	}
	r := s.Runner
	for _, call := range turn.Calls() {
		if numberOf(call.ID)%2 == 0 {
			_ = r.Decide(call.ID, decision(call.ID)) // it may be of no tool
			continue
		}
		time.AfterFunc(time.Duration(s.rng.IntN(80))*time.Millisecond, func() { _ = r.Decide(call.ID, decision(call.ID)) })
	}
}

// stringOf returns a member of the content block that an event begins.
func stringOf(e toolrunner.Event, name string) string {
	union, err := e.Union()
	if err != nil || name != "id" {
		return ""
	}
	return union.AsContentBlockStart().ContentBlock.ID
}
