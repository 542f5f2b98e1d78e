package machine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/wire"
)

// AutoCompact says when a history is compacted without being asked.
type AutoCompact struct {
	Threshold int64 // tokens in the context; 0: never
	Summarize bool  // the runner asks for a summary by itself
}

// compaction is what is known about compacting.
type compaction struct {
	scheduled []byte // the encoded config of one that was asked for; nil: none
	context   int64  // tokens of the last reply
	floor     int64  // tokens that compacting has not got the context below
	fresh     bool   // the next reply is the first since a compaction
}

// measure takes note of the context of a reply. The first one after a compaction
// tells what that was good for.
func (c *compaction) measure(tokens int64) {
	c.context = tokens
	if tokens > 0 && (c.fresh || tokens < c.floor) {
		c.fresh, c.floor = false, tokens
	}
}

// due reports whether the context has grown enough to be compacted by itself. If the
// last compaction has not got it below the threshold, another is worth it only when
// twice as much has come together.
func (c *compaction) due(auto AutoCompact) bool {
	least := auto.Threshold
	if c.floor >= least {
		least = 2 * c.floor
	}
	return auto.Threshold > 0 && c.context >= least
}

// compactStep returns the step that compacts, if it is time. A turn that was paused
// goes on first, and so does code at the server that waits for results. Calls without
// results stand in the way.
func (m *Machine) compactStep(auto AutoCompact) (Step, bool) {
	s := &m.s
	resuming := s.needsReply && s.rule.After == history.ResumeRun && s.history.LastReply() != nil
	if resuming || s.rule.Code || s.history.Last() == nil {
		return Step{}, false
	}
	if config := s.compaction.scheduled; config != nil {
		if len(s.open) > 0 {
			return Step{Skipped: true}, false
		}
		return Step{Kind: Compact, Config: config}, true
	}
	if !s.needsReply || len(s.open) > 0 || !s.compaction.due(auto) {
		return Step{}, false
	}
	if auto.Summarize {
		return Step{Kind: Summarize}, true
	}
	return Step{Kind: Compact}, true
}

// Schedule has the history compacted before the next request, with an encoded config.
// It does nothing while a compaction is under way, or the loop body has its reply.
func (m *Machine) Schedule(config []byte) {
	if !m.compacting() {
		m.update(func(s *state) { s.compaction.scheduled = config })
	}
}

// Compacted takes the API's reply to a request to compact. It reports whether there is
// a summary, which is the history then. The loop body may see the reply: until Enter,
// the history cannot be replaced.
func (m *Machine) Compacted(r *history.Reply) bool {
	m.exchange.kind, m.exchange.config = End, nil
	summary := hasSummary(r)
	m.update(func(s *state) {
		s.spend(r.Usage)
		if !summary {
			s.compaction.floor = s.compaction.context
			return
		}
		s.reply = r.Raw
		s.shorten(withoutCalls(r.Message), m.tools)
	})
	return summary
}

// Unsent ends the request under way, which has not gone out: what was to be compacted
// still is.
func (m *Machine) Unsent() {
	before, config := m.s.compaction, m.exchange.config
	if m.exchange.kind == End {
		return
	}
	m.Failed()
	m.update(func(s *state) {
		s.compaction.floor = before.floor
		if s.compaction.scheduled == nil {
			s.compaction.scheduled = config
		}
	})
}

// ErrNoSummary is the error of a request for a summary that brought none.
var ErrNoSummary = errors.New("compacting brought no summary; the conversation stays as it is")

// Summarized takes the reply to the runner's own request for a summary. It returns an
// error that wraps ErrNoSummary if the reply has none; the history then stays.
func (m *Machine) Summarized(r *history.Reply) error {
	m.exchange = exchange{}
	summary, err := summaryOf(r)
	m.update(func(s *state) {
		s.spend(r.Usage)
		if err != nil {
			s.compaction.floor = s.compaction.context
			return
		}
		system := s.history.PopSystem() // the model has not answered them
		m.tools.restate(s.history.Messages, nil)
		s.shorten(history.Draft{Message: summary}, m.tools)
		for _, draft := range system {
			s.history.Push(draft)
		}
		s.mark()
	})
	return err
}

// shorten puts one message in the place of the history. Tools that the history had
// taken away stay away.
func (s *state) shorten(draft history.Draft, tools *Tools) {
	tools.forget(s.history.Changes)
	s.history = history.History{}
	s.history.Push(draft)
	s.mark()
	s.compaction.fresh, s.compaction.context = true, 0
}

const summaryHead = "This is a summary of the conversation so far, which it replaces:\n\n"

// summaryOf returns the message that stands for what was summarized in a reply to the
// runner's own request.
func summaryOf(r *history.Reply) (history.Message, error) {
	if rule := ruleFor(r.StopReason); rule.After != history.EndRun || rule.Outcome != history.OutcomeCompleted {
		return history.Message{}, fmt.Errorf("%w: it stopped for %q", ErrNoSummary, r.StopReason)
	}
	blocks, err := r.Message.Blocks()
	if err != nil {
		return history.Message{}, err
	}
	var text strings.Builder
	for _, b := range blocks {
		if b.Kind == history.TypeText {
			part, _ := wire.Unquote(b.Text)
			text.WriteString(part)
		}
	}
	if strings.TrimSpace(text.String()) == "" {
		return history.Message{}, ErrNoSummary
	}
	return history.TextMessage(summaryHead + text.String()), nil
}

// hasSummary reports whether a reply of the API to a compaction holds one.
func hasSummary(r *history.Reply) bool {
	blocks, err := r.Message.Blocks()
	return err == nil && slices.ContainsFunc(blocks, func(b history.Block) bool {
		return b.Kind == history.TypeCompaction && wire.StringMember(b.Raw, "content") != ""
	})
}

// withoutCalls returns the reply to a compaction without calls, which nobody answers.
func withoutCalls(draft history.Draft) history.Draft {
	if len(draft.Calls) == 0 {
		return draft
	}
	blocks, _ := draft.Blocks() // they were read before
	blocks = slices.DeleteFunc(blocks, func(b history.Block) bool { return b.Kind == history.TypeToolUse })
	kept, _, _ := history.ReadMessage(history.JoinMessage(draft.Role, history.RawsOf(blocks)).Raw)
	return kept
}

// WithPrompt returns the messages of the history and a last one of the user. It goes
// before system messages at the end, which have to stay there.
func (m *Machine) WithPrompt(prompt history.Message) []history.Message {
	messages := m.s.history.Messages
	end := len(messages)
	for end > 0 && messages[end-1].Role == history.RoleSystem {
		end--
	}
	return slices.Concat(messages[:end], []history.Message{prompt}, messages[end:])
}
