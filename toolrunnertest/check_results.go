package toolrunnertest

import "strings"

// checkResults checks that a message begins with the results of the calls in the assistant turn before it. The API joins
// the messages of an assistant turn, but all results are in the one message right after it.
func (c *checker) checkResults(turn, blocks []block) {
	answered := map[string]bool{}
	for _, b := range turn {
		if b.kind == "tool_use" {
			answered[b.id()] = false
		}
	}
	other := false
	for _, b := range blocks {
		if b.kind != "tool_result" {
			other = true
			continue
		}
		id := asString(b.fields["tool_use_id"])
		again, known := answered[id]
		switch {
		case !known:
			c.breach(RuleToolResultUnknown, b.path, "unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", id)
			continue
		case again:
			c.breach(RuleToolResultDuplicate, b.path, "each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s", id)
		case other:
			c.breach(RuleToolResultOrder, b.path, "messages following `tool_use` blocks must begin with a matching number of `tool_result` blocks")
		}
		answered[id] = true
	}
	c.checkAnswered(turn, answered)
}

func (c *checker) checkAnswered(turn []block, answered map[string]bool) {
	var missing []string
	path := ""
	for _, b := range turn {
		id := b.id()
		if b.kind != "tool_use" || answered[id] {
			continue
		}
		answered[id] = true // it may stand there twice
		missing = append(missing, id)
		if path == "" {
			path, _, _ = strings.Cut(b.path, ".content")
		}
	}
	if len(missing) > 0 {
		c.breach(RuleToolResultMissing, path, "`tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", strings.Join(missing, ", "))
	}
}

// serverCalls are the calls of an assistant turn that the API runs, and how far the turn has come.
type serverCalls struct {
	pending map[string]bool
	order   []block // those that were pending, in order
	waits   bool    // the turn has stopped for answers to a tool_use
	resumed bool    // those answers have come, and nothing after them
}

// checkServerCalls checks that each call that the API ran itself has its result in the same assistant turn: the same
// message, or the ones that continue it after a pause. The last turn is still being continued; and a turn with a tool_use
// may wait for the answer to that before the API goes on with its own call, as code that calls tools does.
func (c *checker) checkServerCalls(messages []message) {
	turn := serverCalls{pending: map[string]bool{}}
	for i, m := range messages {
		switch {
		case m.directive():
		case m.role == "assistant":
			if i > 0 && messages[i-1].role != "assistant" {
				turn.waits = false
			}
			c.addServerCalls(&turn, m)
		case len(turn.pending) == 0:
			turn = serverCalls{pending: map[string]bool{}}
		case turn.waits && !turn.resumed:
			c.checkAlone(&turn, m)
		case turn.waits:
			c.breach(RuleToolResultAlone, m.path, "only `tool_result` blocks may follow while `%s` waits for its result", turn.order[0].id())
			turn = serverCalls{pending: map[string]bool{}}
		case m.role == "system" && !followedByUser(messages[i:]): // the API goes on with its call
		default:
			c.reportPending(&turn)
		}
	}
}

// followedByUser reports whether the next message that is none of the system's is one of the user.
func followedByUser(messages []message) bool {
	for _, m := range messages {
		if m.role != "system" {
			return m.role == "user"
		}
	}
	return false
}

// addServerCalls follows an assistant message.
func (c *checker) addServerCalls(turn *serverCalls, m message) {
	turn.resumed = false
	for _, b := range m.blocks {
		id := asString(b.fields["tool_use_id"])
		switch {
		case b.kind == "fallback": // what comes before belongs to an attempt that is over
			*turn = serverCalls{pending: map[string]bool{}}
		case b.isServerCall():
			turn.pending[b.id()] = true
			turn.order = append(turn.order, b)
		case b.isServerResult() && turn.pending[id]:
			delete(turn.pending, id)
		case b.isServerResult():
			c.breach(RuleServerResultUnknown, b.path, "unexpected `tool_use_id` found in `%s` blocks: %s. Each `%s` block must have a corresponding `server_tool_use` block before it.", b.kind, id, b.kind)
		case b.kind == "tool_use":
			turn.waits = true
		}
	}
}

// checkAlone checks the message in which the answers are that a pending call waits for.
func (c *checker) checkAlone(turn *serverCalls, m message) {
	for _, b := range m.blocks {
		if b.kind != "tool_result" {
			c.breach(RuleToolResultAlone, b.path, "only `tool_result` blocks may follow while `%s` waits for its result", turn.order[0].id())
			*turn = serverCalls{pending: map[string]bool{}}
			return
		}
	}
	turn.resumed = true
}

// reportPending reports the calls without a result, and forgets them.
func (c *checker) reportPending(turn *serverCalls) {
	for _, b := range turn.order {
		if id := b.id(); turn.pending[id] {
			name := asString(b.fields["name"])
			c.breach(RuleServerResultMissing, b.path, "`%s` tool use with id %s was found without a corresponding `%s_tool_result` block", name, id, name)
			delete(turn.pending, id)
		}
	}
	*turn = serverCalls{pending: map[string]bool{}}
}
