package toolrunnermcp

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/toolrunner/toolrunner"
)

// A server that changes its list has it read again after a while: at once, then after
// minPause, and after ever more if it goes on, up to maxPause.
const (
	minPause = 250 * time.Millisecond
	maxPause = time.Minute
)

// maxRounds is how often names are chosen anew because others have them.
const maxRounds = 10

// Follow keeps the tools of a runner in step with the server's list, in the background,
// until ctx ends or the source is closed. The runner need not have been given the tools:
// those that it lacks are added. The model is told with the next request, which needs the
// beta that [toolrunner.Runner.AddTools] names.
//
// Only tools of the source are replaced and removed. A tool whose name anybody else has in
// the runner, or had, gets another one; see [toolrunner.Runner.SetToolsOf]. A tool that the
// program has removed stays removed. When the list cannot be read, the runner keeps its tools, and the logger
// is told; from a list that is cut nothing is removed. A server that changes its list all
// the time is asked for it once a minute.
//
// Follow returns an error, and does nothing, if the runner is nil, or the source is closed
// or has no session.
func (s *Source) Follow(ctx context.Context, runner *toolrunner.Runner) error {
	if runner == nil {
		return errors.New("toolrunnermcp: the runner that is to follow a source is nil")
	}
	f := &follower{runner: runner, taken: make(map[string]bool)}
	known, err := s.add(ctx, f)
	if err != nil {
		return err
	}
	if known != nil {
		f.has = namesOf(known.tools(ctx, s, nil))
		f.update(ctx, s, known)
	}
	s.wake()
	return nil
}

// add has a runner follow. It returns the list that the source has, or nil.
func (s *Source) add(ctx context.Context, f *follower) (*list, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, errClosed
	case s.session == nil:
		return nil, errors.New("toolrunnermcp: the source has no session; call Attach")
	}
	s.followers[f] = true
	context.AfterFunc(ctx, func() { s.forget(f) })
	if s.stop == nil {
		running, stop := context.WithCancel(context.WithoutCancel(ctx))
		s.stop = stop
		s.running.Go(func() { s.run(running) })
	}
	return s.list, nil
}

// forget ends the following of a runner.
func (s *Source) forget(f *follower) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.followers, f)
	if len(s.followers) == 0 {
		s.end()
	}
}

// run tells followers of changes.
func (s *Source) run(ctx context.Context) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for wait := minPause; ; {
		select {
		case <-ctx.Done():
			return
		case <-s.changed:
		}
		s.update(ctx)
		pause.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		if len(s.changed) > 0 {
			wait = min(2*wait, maxPause)
		} else {
			wait = minPause
		}
	}
}

// update makes the tools of the followers those of the server.
func (s *Source) update(ctx context.Context) {
	l, err := s.read(ctx)
	if err != nil {
		if ctx.Err() == nil {
			s.options.Logger.WarnContext(ctx, "the changed tools of an MCP server cannot be had: the runner keeps the ones it has", slog.Any("error", err))
		}
		return
	}
	s.mu.Lock()
	followers := slices.Collect(maps.Keys(s.followers))
	s.mu.Unlock()
	for _, f := range followers {
		if ctx.Err() == nil {
			f.update(ctx, s, l)
		}
	}
}

// follower is a runner that follows a source.
type follower struct {
	runner *toolrunner.Runner
	mu     sync.Mutex      // guards the rest
	taken  map[string]bool // names that are not the source's in the runner
	has    map[string]*toolrunner.Tool
}

// update makes the runner's tools of the source those of the list.
func (f *follower) update(ctx context.Context, s *Source, l *list) {
	f.mu.Lock()
	defer f.mu.Unlock()
	log := s.options.Logger
	for range maxRounds {
		tools := l.tools(ctx, s, f.taken)
		taken, err := f.runner.SetToolsOf(s, tools...)
		if err != nil {
			log.WarnContext(ctx, "the runner refuses the tools of an MCP server", slog.Any("error", err))
			return
		}
		if len(taken) == 0 {
			f.report(ctx, log, namesOf(tools))
			return
		}
		for _, name := range taken {
			f.taken[name] = true
		}
		log.InfoContext(ctx, "tools of an MCP server get other names: somebody else has theirs", slog.Any("taken", taken))
	}
	log.WarnContext(ctx, "the tools of an MCP server stay as they are: they found no free names", slog.Int("rounds", maxRounds))
}

// report tells the logger what has changed.
func (f *follower) report(ctx context.Context, log *slog.Logger, now map[string]*toolrunner.Tool) {
	var added, removed []string
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if f.has[name] != now[name] {
			added = append(added, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.has)) {
		if now[name] == nil {
			removed = append(removed, name)
		}
	}
	if f.has = now; len(added)+len(removed) > 0 {
		log.InfoContext(ctx, "the tools of an MCP server have changed", slog.Any("added", added), slog.Any("removed", removed))
	}
}

func namesOf(tools []*toolrunner.Tool) map[string]*toolrunner.Tool {
	names := make(map[string]*toolrunner.Tool, len(tools))
	for _, tool := range tools {
		names[tool.Name()] = tool
	}
	return names
}
