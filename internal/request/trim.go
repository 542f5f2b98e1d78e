package request

import (
	"strings"
	"unicode"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/wire"
)

// Trims reports whether the last message goes out without the space at its end.
func Trims(messages []history.Message) bool {
	last := messages[len(messages)-1]
	return len(trimEnd(last)) != len(last.Raw)
}

// trimEnd returns the message without the space at its end if it is one that
// the model is to go on with, as the API refuses it there.
func trimEnd(m history.Message) []byte {
	if m.Role != history.RoleAssistant {
		return m.Raw
	}
	blocks, err := m.Blocks()
	if err != nil {
		return m.Raw
	}
	for trimmed := false; ; trimmed = true {
		last := len(blocks) - 1
		if last < 0 || blocks[last].Kind != history.TypeText {
			return trimmedMessage(m, blocks, trimmed)
		}
		text, _ := wire.Unquote(blocks[last].Text)
		kept := strings.TrimRightFunc(text, unicode.IsSpace)
		switch kept {
		case text:
			return trimmedMessage(m, blocks, trimmed)
		case "":
			blocks = blocks[:last]
		default:
			blocks[last].Raw = wire.SetMember(blocks[last].Raw, "text", wire.AppendString(nil, kept))
			return trimmedMessage(m, blocks, true)
		}
	}
}

func trimmedMessage(m history.Message, blocks []history.Block, trimmed bool) []byte {
	if !trimmed {
		return m.Raw
	}
	return history.JoinMessage(history.RoleAssistant, history.RawsOf(blocks)).Raw
}
