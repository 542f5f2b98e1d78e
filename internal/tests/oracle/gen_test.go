package oracle_test

import (
	"fmt"
	"strings"
)

// choices decides what a generator makes, from bytes. When none is left, each decision is the first.
type choices []byte

// pick returns a number below n.
func (c *choices) pick(n int) int {
	if len(*c) == 0 {
		return 0
	}
	b := int((*c)[0])
	*c = (*c)[1:]
	return b % n
}

// one returns one of the values. The first ones come more often than the last.
func (c *choices) one(values ...string) string {
	return values[min(c.pick(len(values)), c.pick(len(values)))]
}

// maxMessages bounds a history.
const maxMessages = 7

// history makes the messages of a conversation: most often ones that go well, with a slip now and then.
func (c *choices) history() []string {
	g := &generator{choices: c}
	n := 1 + c.pick(maxMessages)
	for len(g.messages) < n {
		g.next()
	}
	return g.messages
}

// generator follows the conversation that it makes, so that most of it is legal.
type generator struct {
	*choices

	messages []string
	calls    []string // of the client, open
	pending  []string // of the API, open
	ids      int
	previous string // the role before
}

func (g *generator) add(role, content string) {
	g.messages = append(g.messages, `{"role":"`+role+`","content":`+content+`}`)
	g.previous = role
}

// next adds a message.
func (g *generator) next() {
	slip := g.pick(8) == 1
	switch {
	case slip:
		g.slip()
	case len(g.calls) > 0:
		g.results()
	case g.previous == "user" || g.previous == "system" || len(g.pending) > 0:
		if g.previous == "user" && len(g.pending) == 0 && g.pick(5) == 1 {
			g.add("system", g.system())
			return
		}
		g.assistant()
	default:
		g.add("user", g.user())
	}
}

// slip adds a message without looking at what came before.
func (g *generator) slip() {
	switch g.pick(5) {
	case 0:
		g.add("user", g.user())
	case 1:
		g.add("system", g.system())
	case 2:
		g.assistant()
	case 3:
		g.messages = append(g.messages, `{"role":"system","content":[],"output_config":{"effort":"low"}}`)
	default:
		g.add(g.one("user", "assistant", "system"), list(g.anyBlock()))
	}
}

func list(blocks ...string) string { return "[" + strings.Join(blocks, ",") + "]" }

func text(s string) string { return `{"type":"text","text":` + s + `}` }

// texts are JSON strings, the usual first.
func (g *generator) text() string {
	return g.one(`"hello"`, `"a 😀 b"`, `"\ud83d\ude00"`, `"hello "`, `""`, `" "`, `"\ud83d"`)
}

func (g *generator) user() string {
	switch g.pick(6) {
	case 1:
		return list(text(g.text()), text(g.text()))
	case 2:
		return list(image(g.one("image/png", "image/webp", "image/bmp")))
	case 3:
		return g.one(list(text(`"x"`)), `"x"`, `[]`, `""`)
	default:
		return list(text(g.text()))
	}
}

func (g *generator) system() string {
	switch g.pick(6) {
	case 1:
		return list(`{"type":"tool_addition","tool":{"type":"tool_reference","name":"f"}}`)
	case 2:
		return list(`{"type":"tool_removal","tool":{"type":"tool_reference","name":"f"}}`)
	case 3:
		return g.one(list(text(`"x"`)), `"x"`, list(image("image/png")), `[]`, `" "`)
	default:
		return list(text(g.text()))
	}
}

func image(media string) string {
	return `{"type":"image","source":{"type":"base64","media_type":"` + media + `","data":"AA=="}}`
}

// assistant adds a reply, which may call tools.
func (g *generator) assistant() {
	var blocks []string
	if len(g.pending) > 0 && g.pick(4) != 1 {
		blocks = append(blocks, found(g.pending[0]))
		g.pending = g.pending[1:]
	}
	for range 1 + g.pick(3) {
		blocks = append(blocks, g.reply()...)
	}
	g.add("assistant", list(blocks...))
}

func (g *generator) reply() []string {
	switch g.pick(8) {
	case 1, 2:
		id := g.id("t")
		g.calls = append(g.calls, id)
		return []string{`{"type":"tool_use","id":"` + id + `","name":"f","input":` + g.one(`{}`, `{"a":1}`, `{"a":"\ud83d"}`, `[]`) + `}`}
	case 3:
		id := g.id("s")
		use := `{"type":"server_tool_use","id":"` + id + `","name":"web_search","input":{}}`
		if g.pick(3) == 1 {
			g.pending = append(g.pending, id)
			return []string{use}
		}
		return []string{use, found(id)}
	case 4:
		return []string{thinking(g.one(`"s"`, `"s"`, `""`)), text(`"x"`)}
	case 5:
		return []string{g.anyBlock()}
	default:
		return []string{text(g.text())}
	}
}

func thinking(signature string) string {
	return `{"type":"thinking","thinking":"t","signature":` + signature + `}`
}

func found(id string) string {
	return `{"type":"web_search_tool_result","tool_use_id":"` + id + `","content":[]}`
}

// id is a new id, or now and then one that was.
func (g *generator) id(prefix string) string {
	if g.ids > 0 && g.pick(9) == 1 {
		return fmt.Sprintf("%s%d", prefix, g.pick(g.ids))
	}
	g.ids++
	return fmt.Sprintf("%s%d", prefix, g.ids-1)
}

// anyBlock is a block that may not stand where it does.
func (g *generator) anyBlock() string {
	return g.one(
		thinking(`"s"`),
		`{"type":"redacted_thinking","data":"ZA=="}`,
		found("s0"),
		result("t0", `"x"`, ""),
		`{"type":"server_tool_use","id":"s9","name":"web_search","input":{}}`,
		`{"type":"tool_use","id":"t9","name":"f","input":{}}`,
		`{"type":"tool_use","id":"t:9","name":"f","input":{}}`,
		`{"type":"novelty","n":1}`,
		`{"type":"image"}`,
		`{"text":"x"}`,
		`{"type":"text"}`,
	)
}

func result(id, content, more string) string {
	return `{"type":"tool_result","tool_use_id":"` + id + `","content":` + content + more + `}`
}

// results answers the open calls.
func (g *generator) results() {
	var blocks []string
	for _, id := range g.calls {
		if g.pick(12) == 1 {
			continue
		}
		blocks = append(blocks, result(id, g.one(
			`"x"`, list(text(`"x"`)), `[]`, list(text(`""`)), list(image("image/bmp")), list(`{"type":"text"}`), list(`{}`), `true`, list(result("t0", `"x"`, "")),
		), g.one("", "", `,"is_error":true`)))
	}
	switch other := text(g.text()); {
	case len(blocks) == 0 || g.pick(8) == 1:
		blocks = append(blocks, other)
	case g.pick(12) == 1:
		blocks = append([]string{other}, blocks...)
	}
	g.calls = nil
	g.add("user", list(blocks...))
}
