package toolrunner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/toolrunner/toolrunner/internal/machine"
)

// The steps of a run are taken here: the machine decides what is next, and the runner
// does it.

// advance finishes the last turn and takes steps until the next one begins.
func (r *Runner) advance(ctx context.Context, streaming bool, level int) (*Turn, error) {
	if err := r.enterStep(level); err != nil {
		return nil, err
	}
	defer r.leaveStep()
	ctx = r.beginTrace(ctx)
	returned := false
	defer func() {
		if !returned {
			r.outcome, r.err = OutcomeFailed, errPanicked
			r.endTrace(ctx, end{outcome: OutcomeFailed}, errPanicked)
		}
	}()
	turn, ended, err := r.steps(ctx, streaming)
	returned = true
	if ended.outcome == OutcomeFailed && errors.Is(err, ErrDone) { // of another runner, by way of the caller's code
		err = fmt.Errorf("toolrunner: the run failed: %v", err) //nolint:errorlint // this one has not ended so
	}
	r.outcome, r.err = ended.outcome, err
	if errors.Is(err, ErrDone) {
		r.err = endError(ended.outcome, ended.limit)
	}
	if err != nil {
		r.pause()
		if failed := (*checkpointError)(nil); !errors.As(err, &failed) {
			r.saveEnd(ctx)
		}
		r.log.Ended(ctx, ended.outcome, r.IterationCount(), machine.Usage(r.Usage()))
		r.endTrace(ctx, ended, err)
	}
	return turn, err
}

var errPanicked = errors.New("toolrunner: the caller's code panicked")

// end is how a run has ended, and the limit that it has reached.
type end struct {
	outcome Outcome
	limit   string
}

// pause takes note that nobody loops over the run.
func (r *Runner) pause() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.machine.Pause(time.Now())
}

// steps returns the next turn, or an error and how the run has ended.
func (r *Runner) steps(ctx context.Context, streaming bool) (turn *Turn, ended end, err error) {
	defer func() {
		if turn == nil {
			r.closeEager()
		}
	}()
	failed := end{outcome: OutcomeFailed}
	if err := r.finishTurn(); err != nil {
		return nil, failed, err
	}
	for {
		s := r.nextStep()
		if s.Skipped {
			r.log.Skipped(ctx)
		}
		if err := r.save(ctx); err != nil {
			return nil, failed, err
		}
		if s.Kind == machine.End {
			return r.finishRun(s)
		}
		if err := contextError(ctx); err != nil {
			return nil, failed, err
		}
		turn, err := r.take(ctx, s, streaming)
		if err != nil {
			return nil, failed, err
		}
		if turn != nil {
			return turn, end{}, nil
		}
	}
}

// nextStep returns the next step that is more than a change of the state.
func (r *Runner) nextStep() machine.Step {
	limits := machine.StepLimits{
		MaxIterations: r.Params.MaxIterations, Limits: r.Params.Limits.inside(), AutoCompact: r.Params.AutoCompact.inside(),
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.validate, r.given = r.Params.Validate, r.Params.Tools
	for {
		limits.Now = time.Now()
		s := r.machine.Next(limits)
		switch s.Kind {
		case machine.Settle:
			r.machine.Settle(limits.Limits.FailedCalls > 0, limits.Now)
			continue
		case machine.End:
			r.machine.Finalize(s)
			r.machine.Pause(limits.Now)
		default:
		}
		return s
	}
}

// finishTurn reads what is left of the last turn, and ends it.
func (r *Runner) finishTurn() error {
	turn := r.turn
	var err error
	if turn != nil {
		r.turn = nil
		err = turn.finish()
		turn.over = true
		r.amend(turn)
		err = cmp.Or(err, r.eager.err())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.machine.Enter(time.Now())
	return err
}

// take takes a step, and returns the turn that it begins, if it does.
func (r *Runner) take(ctx context.Context, s machine.Step, streaming bool) (*Turn, error) {
	if err := r.Params.current(); err != nil {
		return nil, prefixed(err)
	}
	if s.Kind == machine.Run {
		return nil, r.runCalls(ctx, s.Calls)
	}
	r.closeEager() // no call of the turn before runs beside the next one
	if s.Kind == machine.Summarize {
		return nil, r.summarize(ctx, s)
	}
	turn, err := r.send(ctx, s, streaming)
	if err == nil && turn.reply != nil {
		err = r.save(ctx)
	}
	if err != nil {
		return nil, err
	}
	return turn, nil
}

// finishRun returns how a run has ended, and its error.
func (r *Runner) finishRun(s machine.Step) (*Turn, end, error) {
	if err := r.Params.current(); err != nil {
		return nil, end{outcome: OutcomeFailed}, prefixed(err)
	}
	ended := end{Outcome(s.Outcome), s.Limit}
	if ended.outcome == OutcomeSuspended {
		r.mu.Lock()
		defer r.mu.Unlock()
		return nil, ended, &SuspendedError{r.publicAll(s.Calls)}
	}
	return nil, ended, cmp.Or(r.takeOutputError(ended.outcome), ErrDone)
}

var errTwoLoops = errors.New("toolrunner: two loops at once over one Runner: a Runner serves one loop at a time, so use a Runner for each conversation")

// enterLoop takes note of a loop, and returns its level: a loop body may hold another
// loop, which ends before the outer one goes on.
func (r *Runner) enterLoop() (level int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loops++
	return r.loops
}

func (r *Runner) leaveLoop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loops--
}

// enterStep takes note of a step of a loop. It returns an error if another goroutine
// takes one, or has a loop of its own.
func (r *Runner) enterStep(level int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stepping || level > 0 && level != r.loops {
		return errTwoLoops
	}
	r.stepping = true
	return nil
}

func (r *Runner) leaveStep() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stepping = false
}

// endError returns the error of a run that has ended in an outcome, or nil.
func endError(o Outcome, limit string) error {
	err := o.err()
	if o == OutcomeLimitReached {
		return fmt.Errorf("%w: %s", err, limit)
	}
	return err
}
