package model

import (
	"strconv"
	"strings"

	"github.com/toolrunner/toolrunner"
)

// configure changes the parameters before the runner is made.
func (w *world) configure(_ *moment, words []string) {
	p := &w.params
	switch words[0] {
	case "eager":
		w.eager, p.EagerTools = true, true
	case "approve":
		w.asks, p.Approve = true, w.ask
	case "checkpoint":
		p.Checkpoint = w.keep
	case "serial":
		p.MaxConcurrency = 1
	case "compaction":
		w.restless = true
		p.AutoCompact.Threshold = 1000
		if word(words, 1) == "client" {
			p.AutoCompact.Client = &toolrunner.ClientCompaction{Prompt: summaryPrompt}
		}
	case "threads":
		w.memory.on, p.MessageThread = true, true
	case "limit":
		w.restless = true
		limitCalls(p, 1)
	case "given":
		w.give(words[1:])
	}
}

// give begins with a history: "given call hang".
func (w *world) give(words []string) {
	var parts []string
	if len(w.params.Messages) > 1 {
		return // once is enough
	}
	for _, kind := range words {
		switch kind {
		case "call":
			c := w.calls.add(call{id: "g", tool: "pay", whole: true, given: true})
			w.history.base = append(w.history.base, item{"c" + strconv.Itoa(c.n), "assistant"})
			parts = append(parts, callPart(`{"type":"tool_use","id":"g","name":"pay"`, c.input, false).whole)
		case "hang":
			parts = append(parts, `{"type":"server_tool_use","id":"srvtoolu_given","name":"web_search","input":{}}`)
		}
	}
	if len(parts) > 0 {
		w.params.Messages = append(w.params.Messages, verbatim(`{"role":"assistant","content":[`+strings.Join(parts, ",")+`]}`))
	}
}
