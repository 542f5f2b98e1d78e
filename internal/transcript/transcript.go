// Package transcript writes messages for people to read: each call beside its result, with
// long parts folded, and nothing in it that a terminal would act on.
package transcript

import (
	"fmt"
	"io"
	"strings"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/wire"
)

// Options say how a transcript looks.
type Options struct {
	Markdown bool
	Width    int // columns; 0 or less: lines are not cut
	Lines    int // of an input or a result; 0 or less: all
}

// Write writes encoded messages to w. It returns the error of the first write that failed.
func Write(w io.Writer, messages [][]byte, o Options) error {
	conversation := pair(messages)
	var text strings.Builder
	for _, m := range conversation {
		if len(m.parts) == 0 {
			continue
		}
		if text.Len() > 0 {
			text.WriteByte('\n')
		}
		if o.Markdown {
			o.markdown(&text, m)
		} else {
			o.plain(&text, m)
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// message is a message as a person reads it: results stand beside their calls.
type message struct {
	role  string
	parts []part
}

// kind says what a part is.
type kind uint8

const (
	words    kind = iota // text
	thoughts             // thinking
	call                 // a call, with its result if there is one
	result               // a result whose call is not there
	note                 // anything else, in a few words
)

// part is a block as a person reads it.
type part struct {
	kind   kind
	text   string // of words, thoughts and notes; the input of a call
	name   string // of the tool
	answer *answer
}

// answer is the result of a call.
type answer struct {
	text   string
	failed bool
}

// pair reads messages, and moves each result to its call.
func pair(messages [][]byte) []message {
	conversation := make([]message, len(messages))
	calls := map[string]*part{} // of the last turn, without a result
	for i, raw := range messages {
		m := &conversation[i]
		m.role = wire.StringMember(raw, "role")
		var content []byte
		_ = wire.Members(raw, func(key, value []byte) error {
			if string(key) == "content" {
				content = value
			}
			return nil
		})
		blocks, err := history.ParseBlocks(content)
		if err != nil {
			m.parts = []part{{kind: note, text: "a message that cannot be read: " + err.Error()}}
			continue
		}
		if m.role == history.RoleAssistant && i > 0 && conversation[i-1].role != history.RoleAssistant {
			clear(calls)
		}
		m.parts = make([]part, 0, len(blocks)) // it never grows: calls has addresses in it
		for j := range blocks {
			m.add(&blocks[j], calls)
		}
	}
	return conversation
}

func (m *message) add(b *history.Block, calls map[string]*part) {
	switch {
	case b.Kind == history.TypeText:
		if text, _ := wire.Unquote(b.Text); text != "" {
			m.parts = append(m.parts, part{kind: words, text: text})
		}
	case b.Kind == "thinking":
		if text := wire.StringMember(b.Raw, "thinking"); text != "" {
			m.parts = append(m.parts, part{kind: thoughts, text: text})
		}
	case b.Kind == history.TypeToolUse || b.IsServerUse():
		use := b.Use()
		m.parts = append(m.parts, part{kind: call, name: use.Name, text: string(use.Written())})
		calls[use.ID] = &m.parts[len(m.parts)-1]
	case b.Kind == history.TypeToolResult || b.IsServerResult():
		found := &answer{text: contentOf(b), failed: history.IsFailed(b.Raw) || strings.HasSuffix(b.Kind, "_error")}
		if of := calls[b.ToolUseID]; of != nil {
			of.answer = found
			delete(calls, b.ToolUseID)
			return
		}
		m.parts = append(m.parts, part{kind: result, name: b.ToolUseID, answer: found})
	default:
		m.parts = append(m.parts, part{kind: note, text: noteOf(b)})
	}
}

// contentOf returns the content of a result: its text, and what else is in it in a few words.
func contentOf(b *history.Block) string {
	var content []byte
	_ = wire.Members(b.Raw, func(key, value []byte) error {
		if string(key) == "content" {
			content = value
		}
		return nil
	})
	blocks, err := history.ParseBlocks(content)
	if err != nil || b.Kind != history.TypeToolResult {
		return noteOf(b)
	}
	texts := make([]string, len(blocks))
	for i := range blocks {
		if texts[i] = noteOf(&blocks[i]); blocks[i].Kind == history.TypeText {
			texts[i], _ = wire.Unquote(blocks[i].Text)
		}
	}
	return strings.Join(texts, "\n")
}

// noteOf says in a few words what a block is.
func noteOf(b *history.Block) string {
	var source []byte
	_ = wire.Members(b.Raw, func(key, value []byte) error {
		if string(key) == "source" {
			source = value
		}
		return nil
	})
	switch {
	case len(b.Changes) == 1 && b.Changes[0].Add:
		return "[tool added: " + b.Changes[0].Name + "]"
	case len(b.Changes) == 1:
		return "[tool removed: " + b.Changes[0].Name + "]"
	case b.Kind == history.TypeCompaction:
		return "[summary] " + wire.StringMember(b.Raw, "content")
	case len(source) == 0 || source[0] != '{':
		return "[" + b.Kind + "]"
	}
	if data := wire.StringMember(source, "data"); data != "" {
		return fmt.Sprintf("[%s: %s, %d KB]", b.Kind, wire.StringMember(source, "media_type"), (len(data)*3/4+1023)/1024)
	}
	return fmt.Sprintf("[%s: %s%s]", b.Kind, wire.StringMember(source, "url"), wire.StringMember(source, "file_id"))
}
