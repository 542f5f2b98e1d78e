package toolrunner

import (
	"errors"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/history"
)

// The loop's part in compacting: when it is time, and what takes the place of
// the history.

var errCompacting = errors.New("toolrunner: the history cannot be replaced while it is being compacted")

// compaction is the state of it.
type compaction struct {
	scheduled *anthropic.BetaCompactionConfigUnionParam
	sending   *anthropic.BetaCompactionConfigUnionParam // was scheduled, and its request is under way
	turn      bool                                      // a request to compact is under way, or the body has its reply
	context   int64                                     // tokens of the last reply
	floor     int64                                     // tokens that compacting has not got the context below
	fresh     bool                                      // the next reply is the first since a compaction
}

// measure takes note of the context of a reply. The first one after a compaction
// tells what that was good for.
func (c *compaction) measure(tokens int64) {
	c.context = tokens
	if tokens > 0 && (c.fresh || tokens < c.floor) {
		c.fresh, c.floor = false, tokens
	}
}

// due reports whether the context has grown enough to be compacted by itself. If
// the last compaction has not got it below the threshold, another is worth it
// only when twice as much has come together.
func (c *compaction) due(auto AutoCompact) bool {
	least := auto.Threshold
	if c.floor >= least {
		least = 2 * c.floor
	}
	return auto.Threshold > 0 && c.context >= least
}

// fail ends a request to compact that brought nothing.
func (c *compaction) fail() {
	if c.turn {
		c.turn, c.sending, c.floor = false, nil, c.context
	}
}

// compactStep returns the step that compacts, if it is time. A turn that was
// paused goes on first. Calls without results stand in the way.
func (l *loop) compactStep(auto AutoCompact) (step, bool) {
	resuming := l.news && l.rule.After == history.ResumeRun && l.history.LastReply() != nil
	if resuming || l.history.Last() == nil {
		return step{}, false
	}
	if config := l.compact.scheduled; config != nil {
		l.compact.scheduled = nil
		l.sequence++
		if len(l.open) > 0 {
			return step{skipped: true}, false
		}
		l.compact.turn, l.compact.sending = true, config
		return step{kind: stepCompact, config: *config}, true
	}
	if !l.news || len(l.open) > 0 || !l.compact.due(auto) {
		return step{}, false
	}
	l.compact.turn = true
	if auto.Client != nil {
		return step{kind: stepSummarize}, true
	}
	return step{kind: stepCompact, config: configOr(auto.Config)}, true
}

// configOr returns the config, or the default one in place of none.
func configOr(config anthropic.BetaCompactionConfigUnionParam) anthropic.BetaCompactionConfigUnionParam {
	if _, raw := config.Overrides(); config.OfSummarize == nil && !raw {
		return defaultCompaction()
	}
	return config
}

// compacted takes the API's reply to a request to compact. It reports whether
// there is a summary, which then is the history.
func (l *loop) compacted(r *history.Reply) bool {
	l.inFlight, l.compact.sending = false, nil
	l.sequence++
	l.spend(r.Usage)
	if !isSummary(r) {
		l.compact.floor = l.compact.context
		return false
	}
	l.reply = r.Raw
	l.shorten(r.Message)
	return true
}

// summarized takes the reply to the runner's own request for a summary.
func (l *loop) summarized(r *history.Reply) error {
	l.inFlight = false
	l.sequence++
	l.spend(r.Usage)
	m, err := summaryOf(r)
	if err != nil {
		l.compact.fail()
		return err
	}
	l.compact.turn = false
	l.tools.requeue(l.history.ToolChanges())
	l.shorten(history.Draft{Message: m})
	return nil
}

// shorten puts one message in the place of the history. Tools that the history
// had taken away stay away.
func (l *loop) shorten(m history.Draft) {
	for name := range l.tools.byName {
		if l.tools.lookup(name, l.history.Changes) == nil {
			l.tools.drop(name)
		}
	}
	l.history = history.History{}
	l.history.Push(m)
	l.mark()
	l.compact.fresh, l.compact.context = true, 0
}

// schedule has the history compacted before the next request. It does nothing
// while the reply to such a request is being handled.
func (l *loop) schedule(config anthropic.BetaCompactionConfigUnionParam) {
	if !l.compact.turn {
		config = configOr(config)
		l.compact.scheduled = &config
		l.sequence++
	}
}
