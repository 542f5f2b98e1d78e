package toolrunner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// Messages cross here between the SDK's values and their encoded form.

// Text returns the text of a message: that of its text blocks, joined. It is
// empty for a reply without any, and for nil.
func Text(message *anthropic.BetaMessage) string {
	if message == nil {
		return ""
	}
	var text strings.Builder
	for i := range message.Content {
		if message.Content[i].Type == typeText {
			text.WriteString(message.Content[i].Text)
		}
	}
	return text.String()
}

// encodeMessage encodes a message from the caller. Blocks that were made of raw
// JSON keep their bytes. See readMessage for what it reports.
func encodeMessage(p anthropic.BetaMessageParam) (draft, bool, error) {
	raw, err := encodeParam(p)
	if err != nil {
		return draft{}, false, fmt.Errorf("it cannot be encoded: %w", err)
	}
	return readMessage(raw)
}

// encodeParam encodes p block by block, as the SDK would compact and escape raw
// JSON anew.
func encodeParam(p anthropic.BetaMessageParam) ([]byte, error) {
	if override, ok := p.Overrides(); ok {
		if raw, ok := override.(json.RawMessage); ok {
			return slices.Clone(raw), nil
		}
		return encodeJSON(p)
	}
	var role string
	var blocks []anthropic.BetaContentBlockParamUnion
	switch {
	case p.OfUser != nil && isPlain(p.OfUser) && p.OfUser.Role == "" && p.OfAssistant == nil && p.OfSystem == nil:
		role, blocks = roleUser, p.OfUser.Content
	case p.OfAssistant != nil && isPlain(p.OfAssistant) && p.OfAssistant.Role == "" && p.OfUser == nil && p.OfSystem == nil:
		role, blocks = roleAssistant, p.OfAssistant.Content
	default:
		return encodeJSON(p)
	}
	raws := make([][]byte, len(blocks))
	for i, b := range blocks {
		var err error
		if override, ok := b.Overrides(); ok {
			raws[i], ok = override.(json.RawMessage)
			if ok {
				continue
			}
		}
		if raws[i], err = encodeJSON(b); err != nil {
			return nil, fmt.Errorf("content[%d]: %w", i, err)
		}
	}
	return joinMessage(role, raws).raw, nil
}

// isPlain reports whether a part of a message has neither extra fields nor raw
// JSON in its place.
func isPlain(p interface {
	Overrides() (any, bool)
	ExtraFields() map[string]any
},
) bool {
	_, raw := p.Overrides()
	return !raw && len(p.ExtraFields()) == 0
}

// decodeMessages returns messages as the SDK's values, which share nothing with
// them. What the SDK's types cannot hold, such as a block type that they do not
// know, is raw JSON there.
func decodeMessages(messages []message) []anthropic.BetaMessageParam {
	params := make([]anthropic.BetaMessageParam, len(messages))
	for i := range messages {
		params[i] = messages[i].param()
	}
	return params
}

func (m *message) param() anthropic.BetaMessageParam {
	var p anthropic.BetaMessageParam
	switch m.role {
	case roleUser:
		p.OfUser = &anthropic.BetaUserMessageParam{Content: m.paramBlocks()}
	case roleAssistant:
		p.OfAssistant = &anthropic.BetaAssistantMessageParam{Content: m.paramBlocks()}
	default:
		_ = p.UnmarshalJSON(m.raw) // where it fails, the comparison does
	}
	if data, err := encodeParam(p); err == nil && wire.Same(data, m.raw) {
		return p
	}
	return param.Override[anthropic.BetaMessageParam](json.RawMessage(bytes.Clone(m.raw)))
}

func (m *message) paramBlocks() []anthropic.BetaContentBlockParamUnion {
	blocks, _ := m.blocks() // they were read before
	params := make([]anthropic.BetaContentBlockParamUnion, len(blocks))
	for i, b := range blocks {
		params[i] = b.param()
	}
	return params
}

func (b *block) param() anthropic.BetaContentBlockParamUnion {
	var p anthropic.BetaContentBlockParamUnion
	if err := p.UnmarshalJSON(b.raw); err == nil {
		if p.OfToolUse != nil {
			p.OfToolUse.Input = json.RawMessage(bytes.Clone(b.input)) // exact, where any would round numbers
		}
		if data, err := p.MarshalJSON(); err == nil && wire.Same(data, b.raw) {
			return p
		}
	}
	return rawBlock(bytes.Clone(b.raw))
}

// rawBlock returns a block of raw JSON.
func rawBlock(raw []byte) anthropic.BetaContentBlockParamUnion {
	return param.Override[anthropic.BetaContentBlockParamUnion](json.RawMessage(raw))
}
