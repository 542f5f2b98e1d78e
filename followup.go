package toolrunner

import (
	"fmt"
	"slices"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/history"
)

// Follow-ups reach the loop at any time, and the history when it can take them.

// follow adds messages after everything else, as soon as the open turn allows.
// On an error nothing has changed.
//
// Results in them answer open calls in place of the calls' handlers.
func (l *loop) follow(messages []anthropic.BetaMessageParam) error {
	queue := l.queue.Clone()
	claims := make(map[*openCall][]byte)
	for i, p := range messages {
		m, ok, err := history.EncodeMessage(p)
		if err == nil && ok {
			if m, ok, err = l.claim(m, &queue, claims); err == nil && ok {
				err = queue.Append(m, func(use history.Use) []byte { return history.ResultBlock(use, history.UnrunGiven, true) })
			}
		}
		if err != nil {
			return &history.Error{Index: i, Reason: err.Error()}
		}
	}
	for call, block := range claims {
		l.answer(call, block, nil)
	}
	l.queue = queue
	l.sequence++
	return nil
}

// claim takes the results out of m that answer calls of the open turn. It
// reports false if nothing else is in m.
func (l *loop) claim(m history.Draft, queue *history.History, claims map[*openCall][]byte) (history.Draft, bool, error) {
	if len(m.Results) == 0 || len(l.open) == 0 || len(queue.Open) > 0 {
		return m, true, nil
	}
	blocks, err := m.Blocks()
	if err != nil {
		return m, false, err
	}
	for _, b := range blocks[:m.Lead] {
		call := l.openCall(b.ToolUseID)
		switch {
		case call == nil || claims[call] != nil || call.state == callAnswered:
			return m, false, fmt.Errorf("the tool_result for %q answers no open call: each call is answered once", b.ToolUseID)
		case call.state == callStarted:
			return m, false, fmt.Errorf("the tool_result for %q comes too late: the call has started", b.ToolUseID)
		}
		claims[call] = b.Raw
	}
	if m.Lead == len(blocks) {
		return m, false, nil
	}
	return history.ReadMessage(history.JoinMessage(m.Role, history.RawsOf(blocks[m.Lead:])).Raw)
}

// flushable reports whether follow-ups can go into the history: some wait, and
// not only system messages, which the API takes after a user message alone.
func (l *loop) flushable() bool {
	if len(l.queue.Messages) == 0 || l.held() || l.rule.Code {
		return false
	}
	afterReply := l.history.LastReply() != nil && len(l.open) == 0
	return !afterReply || slices.ContainsFunc(l.queue.Messages, func(m history.Message) bool { return m.Role != history.RoleSystem })
}

// follows returns the follow-ups in the order in which they come after messages. A
// system message cannot follow a reply: the first other one goes in front of it.
func (l *loop) follows(messages []history.Message) []history.Draft {
	queue := l.queue.Drafts
	if len(messages) == 0 || messages[len(messages)-1].Role != history.RoleAssistant {
		return queue
	}
	if at := slices.IndexFunc(queue, func(m history.Draft) bool { return m.Role != history.RoleSystem }); at > 0 {
		return slices.Concat(queue[at:at+1], queue[:at], queue[at+1:])
	}
	return queue
}

// flush moves the follow-ups into the history.
func (l *loop) flush() {
	if len(l.queue.Messages) > 0 {
		l.prune()
		l.sequence++
	}
	for _, m := range l.follows(l.history.Messages) {
		l.history.Push(m)
		l.news = true
	}
	l.queue = history.History{Base: &l.history}
	l.openCalls(callWaiting, history.UnrunGiven)
}
