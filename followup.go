package toolrunner

import (
	"fmt"
	"slices"

	"github.com/anthropics/anthropic-sdk-go/v2"
)

// Follow-ups reach the loop at any time, and the history when it can take them.

// follow adds messages after everything else, as soon as the open turn allows.
// On an error nothing has changed.
//
// Results in them answer open calls in place of the calls' handlers.
func (l *loop) follow(messages []anthropic.BetaMessageParam) error {
	queue := l.queue.clone()
	claims := make(map[*openCall][]byte)
	for i, p := range messages {
		m, ok, err := encodeMessage(p)
		if err == nil && ok {
			if m, ok, err = l.claim(m, &queue, claims); err == nil && ok {
				err = queue.append(m, func(use toolUse) []byte { return ErrorResult(unrunGiven).encode(use) })
			}
		}
		if err != nil {
			return &HistoryError{Index: i, Reason: err.Error()}
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
func (l *loop) claim(m draft, queue *history, claims map[*openCall][]byte) (draft, bool, error) {
	if len(m.results) == 0 || len(l.open) == 0 || len(queue.open) > 0 {
		return m, true, nil
	}
	blocks, err := m.blocks()
	if err != nil {
		return m, false, err
	}
	for _, b := range blocks[:m.lead] {
		call := l.openCall(b.toolUseID)
		switch {
		case call == nil || claims[call] != nil || call.state == callAnswered:
			return m, false, fmt.Errorf("the tool_result for %q answers no open call: each call is answered once", b.toolUseID)
		case call.state == callStarted:
			return m, false, fmt.Errorf("the tool_result for %q comes too late: the call has started", b.toolUseID)
		}
		claims[call] = b.raw
	}
	if m.lead == len(blocks) {
		return m, false, nil
	}
	return readMessage(joinMessage(m.role, rawsOf(blocks[m.lead:])).raw)
}

// flushable reports whether follow-ups can go into the history: some wait, and
// not only system messages, which the API takes after a user message alone.
func (l *loop) flushable() bool {
	if len(l.queue.messages) == 0 || l.held() || l.rule.code {
		return false
	}
	afterReply := l.history.lastReply() != nil && len(l.open) == 0
	return !afterReply || slices.ContainsFunc(l.queue.messages, func(m message) bool { return m.role != roleSystem })
}

// follows returns the follow-ups in the order in which they come after messages. A
// system message cannot follow a reply: the first other one goes in front of it.
func (l *loop) follows(messages []message) []draft {
	queue := l.queue.drafts
	if len(messages) == 0 || messages[len(messages)-1].role != roleAssistant {
		return queue
	}
	if at := slices.IndexFunc(queue, func(m draft) bool { return m.role != roleSystem }); at > 0 {
		return slices.Concat(queue[at:at+1], queue[:at], queue[at+1:])
	}
	return queue
}

// flush moves the follow-ups into the history.
func (l *loop) flush() {
	if len(l.queue.messages) > 0 {
		l.prune()
		l.sequence++
	}
	for _, m := range l.follows(l.history.messages) {
		l.history.push(m)
		l.news = true
	}
	l.queue = history{base: &l.history}
	l.openCalls(callWaiting, unrunGiven)
}
