package model

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// dimension is a capability that programs use: the steps that it is made of, and the
// sites where they may stand. A capability that is new is an entry here, an entry in
// operations, and, if it changes what must hold, a line in the model.
type dimension struct {
	name   string
	sites  string // "main body call ask checkpoint setup summary"
	weight int
	steps  []string
}

var dimensions = []dimension{
	{"append", "main body call ask", 6, []string{
		"append user", "append user", "append system", "append assistant", "append system user", "append system assistant user",
		"append assistant user", "append user system",
	}},
	{"answer by hand", "main body call ask", 2, []string{"append result 0", "append result 1"}},
	{"results", "body", 6, []string{"results", "results", "edit 0", "edit 1", "edit 0 nil"}},
	{"late edit", "main", 6, []string{"late-edit"}},
	{"takeover by turn", "body", 4, []string{"retry", "replace user", "replace reply", "replace reply user", "replace user reply", "replace system"}},
	{"takeover by runner", "main body ask", 4, []string{"set same", "set first", "set trim", "set user", "set same user", "set user reply", "set first reply"}},
	{"server results without calls", "main body", 1, []string{"append orphan", "set orphan", "replace orphan"}},
	{"break", "body", 3, []string{"break"}},
	{"twin", "main body", 5, []string{"twin"}},
	{"snapshot", "main", 2, []string{"resume"}},
	{"crash", "main", 1, []string{"crash"}},
	{"events", "body", 2, []string{"read 1", "read 4", "read", "text"}},
	{"defer", "body", 1, []string{"defer"}},
	{"decide", "main body call ask", 3, []string{"decide 0 allow", "decide 0 deny", "decide 1 suspend", "decide 0 change", "decide 0 allow json", "decide 1 allow"}},
	{"tools", "main body call ask", 3, []string{"add late", "add pay", "remove pay", "remove look", "remove late", "add look"}},
	{"compact on demand", "main body call", 2, []string{"compact"}},
	{"iterations", "main body", 1, []string{"iterations 1", "iterations 2", "iterations 0"}},
	{"cancel", "body call ask checkpoint", 2, []string{"cancel"}},
	{"panic", "body call ask checkpoint", 1, []string{"panic"}},
	{"handlers", "call", 3, []string{"error", "abort", "wait", "nothing"}},
	{"approver", "ask", 6, []string{"deny", "suspend", "change", "allow", "fail"}},
	{"approver that decides from elsewhere", "ask", 4, []string{"decide 0 allow", "decide 0 deny", "decide 0 change"}},
	{"checkpoint", "checkpoint", 2, []string{"fail"}},
	{"configuration", "setup", 6, []string{
		"eager", "eager", "approve", "approve", "checkpoint", "checkpoint", "serial", "given call", "compaction",
		"compaction client", "limit", "threads", "threads",
	}},
	{"memory of threads", "thread", 4, []string{"keep", "forget", "forget", "busy", "spent", "differs", "unsupported"}},
	{"system prompt", "body", 1, []string{"prompt a", "prompt b"}},
	{"given histories", "setup", 1, []string{"given hang", "given call", "given hang", "given call", "given call hang"}},
	{"summaries", "summary", 1, []string{"none", "http 500"}},
}

// What replies are made of. A reply with calls stops for them more often than not.
var (
	stopReasons = []string{"end_turn", "pause_turn", "max_tokens", "refusal", "stop_sequence", "model_context_window_exceeded", "compaction", "something_new", "null", "tool_use"}
	replyFlags  = []string{"+split", "+ping", "+short", "+nostop", "+big"}
	replyBlocks = []string{"text", "text", "call", "call", "call", "call", "srv", "hang", "code", "think", "fallback", "novel", "blank", "cut"}
	callIDs     = []string{"a", "a", "b", "c"}
	callTools   = []string{"pay", "pay", "look", "look", "again", "alone", "late", "missing"}
)

// generator makes programs. Each has its own weights: one that mixes everything a
// little shows less than many that mix a few things much.
type generator struct {
	*rand.Rand

	weights []int // of the dimensions
	blocks  []string
}

func newGenerator(seed uint64) generator {
	g := generator{Rand: rand.New(rand.NewPCG(seed, 12))}
	for _, d := range dimensions {
		g.weights = append(g.weights, d.weight*pick(g, []int{0, 1, 1, 4}))
	}
	for _, block := range replyBlocks {
		if g.IntN(3) > 0 {
			g.blocks = append(g.blocks, block)
		}
	}
	g.blocks = append(g.blocks, "call")
	return g
}

func pick[T any](g generator, from []T) T { return from[g.IntN(len(from))] }

// generate makes the program of a seed.
func generate(seed uint64) program {
	g := newGenerator(seed)
	var p program
	for range g.IntN(4) {
		if do, ok := g.stepAt("setup"); ok {
			p = append(p, step{"setup", do})
		}
	}
	for range 1 + g.IntN(5) {
		p = append(p, step{"reply", g.reply()})
	}
	bodies := 1 + g.IntN(4)
	for range g.IntN(6) {
		p = append(p, g.burst(bodies)...)
	}
	for range 1 + g.IntN(3) {
		if at := g.IntN(3); at == 0 {
			p = append(p, step{"main", "twin"})
		}
		p = append(p, step{"main", pick(g, []string{"all", "all", "all", "stream", "stream", "next", "complete"})})
		for g.IntN(3) == 0 {
			if do, ok := g.stepAt("main"); ok {
				p = append(p, step{"main", do})
			}
		}
	}
	return concat(g.needed(p), p)
}

// needs are the settings without which a step does nothing.
var needs = map[string]string{"ask": "approve", "checkpoint": "checkpoint", "defer": "eager", "crash": "checkpoint", "thread": "threads"}

// needed returns settings for the steps of a program, more often than not.
func (g generator) needed(p program) (settings program) {
	for _, s := range p {
		for _, name := range []string{strings.Fields(s.at)[0], s.do} {
			if setting := needs[name]; setting != "" && g.IntN(4) > 0 {
				settings = append(settings, step{"setup", setting})
			}
		}
	}
	return settings
}

// burst makes one to three steps of a site that is not main.
func (g generator) burst(bodies int) (steps program) {
	kind := pick(g, []string{"body", "body", "body", "call", "ask", "ask", "checkpoint", "summary", "thread"})
	site := kind
	switch kind {
	case "body":
		site = fmt.Sprint("body ", 1+g.IntN(bodies))
	case "call", "ask":
		site += " " + pick(g, callIDs)
	case "checkpoint":
		site = fmt.Sprint("checkpoint ", 1+g.IntN(10))
	}
	for range 1 + g.IntN(3) {
		do, ok := g.stepAt(kind)
		if !ok {
			return steps
		}
		if kind == "ask" && g.IntN(2) == 0 { // an approver does something, and decides
			more, _ := g.stepAt(kind)
			do += "; " + more
		}
		steps = append(steps, step{site, do})
	}
	return steps
}

func (g generator) stepAt(site string) (string, bool) {
	total := 0
	for i, d := range dimensions {
		if strings.Contains(d.sites, site) {
			total += g.weights[i]
		}
	}
	if total == 0 {
		return "", false
	}
	at := g.IntN(total)
	for i, d := range dimensions {
		if !strings.Contains(d.sites, site) {
			continue
		}
		if at -= g.weights[i]; at < 0 {
			return pick(g, d.steps), true
		}
	}
	return "", false
}

// reply makes what a step of the site "reply" says.
func (g generator) reply() string {
	if g.IntN(12) == 0 {
		return "http 529"
	}
	r := reply{stop: "end_turn"}
	calls := false
	for range g.IntN(4) {
		block := pick(g, g.blocks)
		switch block {
		case "call", "code", "cut":
			block = block + " " + pick(g, callIDs) + " " + pick(g, callTools)
			calls = true
		}
		r.blocks = append(r.blocks, block)
	}
	if calls && g.IntN(4) > 0 {
		r.stop = "tool_use"
	} else if g.IntN(2) == 0 {
		r.stop = pick(g, stopReasons)
	}
	for g.IntN(4) == 0 {
		r.flags = append(r.flags, pick(g, replyFlags))
	}
	return r.String()
}
