package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// This file converts messages between the SDK's values and their encoded form.

// EncodeMessage encodes a message from the caller. Blocks that were made of raw
// JSON keep their bytes. See readMessage for what it reports.
func EncodeMessage(p anthropic.BetaMessageParam) (Draft, bool, error) {
	raw, err := EncodeParam(p)
	if err != nil {
		return Draft{}, false, fmt.Errorf("it cannot be encoded: %w", err)
	}
	return ReadMessage(raw)
}

// EncodeParam encodes p block by block, as the SDK would compact and escape raw
// JSON anew.
func EncodeParam(p anthropic.BetaMessageParam) ([]byte, error) {
	if override, ok := p.Overrides(); ok {
		if raw, ok := override.(json.RawMessage); ok {
			return slices.Clone(raw), nil
		}
		return EncodeJSON(p)
	}
	var role string
	var blocks []anthropic.BetaContentBlockParamUnion
	switch {
	case p.OfUser != nil && isPlain(p.OfUser) && p.OfUser.Role == "" && p.OfAssistant == nil && p.OfSystem == nil:
		role, blocks = RoleUser, p.OfUser.Content
	case p.OfAssistant != nil && isPlain(p.OfAssistant) && p.OfAssistant.Role == "" && p.OfUser == nil && p.OfSystem == nil:
		role, blocks = RoleAssistant, p.OfAssistant.Content
	default:
		return EncodeJSON(p)
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
		if raws[i], err = EncodeJSON(b); err != nil {
			return nil, fmt.Errorf("content[%d]: %w", i, err)
		}
	}
	return JoinMessage(role, raws).Raw, nil
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

// Params returns messages as the SDK's values, which share nothing with
// them. What the SDK's types cannot hold, such as a block type that they do not
// know, is raw JSON there.
func Params(messages []Message) []anthropic.BetaMessageParam {
	params := make([]anthropic.BetaMessageParam, len(messages))
	for i := range messages {
		params[i] = messages[i].Param()
	}
	return params
}

// Param returns the message as the value of the SDK, which shares nothing with it.
func (m *Message) Param() anthropic.BetaMessageParam {
	var p anthropic.BetaMessageParam
	switch m.Role {
	case RoleUser:
		p.OfUser = &anthropic.BetaUserMessageParam{Content: m.paramBlocks()}
	case RoleAssistant:
		p.OfAssistant = &anthropic.BetaAssistantMessageParam{Content: m.paramBlocks()}
	default:
		_ = p.UnmarshalJSON(m.Raw) // where it fails, the comparison does
	}
	if data, err := EncodeParam(p); err == nil && wire.Same(data, m.Raw) {
		return p
	}
	return param.Override[anthropic.BetaMessageParam](json.RawMessage(bytes.Clone(m.Raw)))
}

func (m *Message) paramBlocks() []anthropic.BetaContentBlockParamUnion {
	blocks, _ := m.Blocks() // they were read before
	params := make([]anthropic.BetaContentBlockParamUnion, len(blocks))
	for i, b := range blocks {
		params[i] = b.param()
	}
	return params
}

// RawBlocks returns the blocks of a message as raw JSON, just as they are. They
// share nothing with it.
func (m *Message) RawBlocks() []anthropic.BetaContentBlockParamUnion {
	blocks, _ := m.Blocks() // they were read before
	params := make([]anthropic.BetaContentBlockParamUnion, len(blocks))
	for i, b := range blocks {
		params[i] = rawBlock(bytes.Clone(b.Raw))
	}
	return params
}

func (b *Block) param() anthropic.BetaContentBlockParamUnion {
	var p anthropic.BetaContentBlockParamUnion
	if err := p.UnmarshalJSON(b.Raw); err == nil {
		if p.OfToolUse != nil {
			p.OfToolUse.Input = json.RawMessage(bytes.Clone(b.input)) // exact, where any would round numbers
		}
		if data, err := p.MarshalJSON(); err == nil && wire.Same(data, b.Raw) {
			return p
		}
	}
	return rawBlock(bytes.Clone(b.Raw))
}

// rawBlock returns a block of raw JSON.
func rawBlock(raw []byte) anthropic.BetaContentBlockParamUnion {
	return param.Override[anthropic.BetaContentBlockParamUnion](json.RawMessage(raw))
}
