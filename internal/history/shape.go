package history

import (
	"errors"
	"fmt"
	"strings"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// checkShapes says which block the API would refuse in a message of a role, wherever the
// message stands: one of another role, or without the members of its type.
func checkShapes(role string, blocks []Block) error {
	for i := range blocks {
		if err := checkShape(role, &blocks[i]); err != nil {
			return fmt.Errorf("content[%d] %w", i, err)
		}
	}
	return nil
}

func checkShape(role string, b *Block) error {
	switch owner := ownerOf(b); {
	case role == RoleSystem && b.Kind != TypeText && b.Kind != TypeToolAddition && b.Kind != TypeToolRemoval:
		return fmt.Errorf("is a %s block in a system message, which holds text, tool_addition and tool_removal alone", b.Kind)
	case owner != "" && owner != role:
		return fmt.Errorf("is a %s block in a message of the %s; only %s messages hold them", b.Kind, role, owner)
	}
	if (b.Kind == typeThinking || b.Kind == "redacted_thinking") && hasMember(b.Raw, "cache_control") {
		return fmt.Errorf("is a %s block with a cache_control, which the API refuses; set it on another block", b.Kind)
	}
	switch b.Kind {
	case TypeText:
		if len(b.Text) == 0 || b.Text[0] != '"' {
			return fmt.Errorf("is a text block whose text is no string: %.100q", b.Raw)
		}
	case TypeToolResult:
		return checkResult(b)
	case typeImage, "document":
		if err := checkSource(b); err != nil {
			return fmt.Errorf("is a block of type %s that %w", b.Kind, err)
		}
	case typeThinking:
		return checkMembers(b, "thinking")
	case "redacted_thinking":
		return checkMembers(b, "data")
	}
	return nil
}

// ownerOf returns the role whose messages hold blocks of a type, or "".
func ownerOf(b *Block) string {
	switch {
	case b.Kind == TypeToolResult || b.Kind == typeImage:
		return RoleUser
	case b.Kind == TypeToolUse || b.Kind == typeThinking || b.Kind == "redacted_thinking" || b.IsServerUse(),
		strings.HasSuffix(b.Kind, "_tool_result"):
		return RoleAssistant
	}
	return ""
}

// isUnsigned reports whether b is thinking without a signature, which the API refuses. Some
// other hosts write none, and want it back.
func isUnsigned(b *Block) bool { return b.Kind == typeThinking && checkMembers(b, "signature") != nil }

// checkMembers says which member of a block is no string, or is empty. Thinking may be.
func checkMembers(b *Block, names ...string) error {
	for _, name := range names {
		found := false
		_ = wire.Members(b.Raw, func(key, value []byte) error { // it was read before
			found = found || string(key) == name && len(value) > 0 && value[0] == '"' && (name == "thinking" || len(value) > len(`""`))
			return nil
		})
		if !found {
			return fmt.Errorf("is a %s block without a %s, which the API refuses; leave the block out", b.Kind, name)
		}
	}
	return nil
}

// checkSource says why the API would refuse an image or a document, as far as its source
// tells.
func checkSource(b *Block) error {
	var source []byte
	_ = wire.KnownMembers(b.Raw, func(key, value []byte) error { // it was read before
		if string(key) == "source" {
			source = value
		}
		return nil
	})
	kind := wire.ObjectMember(source, "type")
	if kind == "" {
		return errors.New("has no source with a type")
	}
	wants := map[string]string{"base64": "data", "url": "url", "file": "file_id"}
	switch media := wire.StringMember(source, "media_type"); {
	case b.Kind != typeImage:
		return nil
	case wants[kind] != "" && !hasText(source, wants[kind]):
		return fmt.Errorf("has a source without %s", wants[kind])
	case kind != "base64" || media == "image/jpeg" || media == "image/png" || media == "image/gif" || media == "image/webp":
		return nil
	default:
		return fmt.Errorf("is of type %q; use JPEG, PNG, GIF or WebP", media)
	}
}

// hasText reports whether a member of an object is a string.
func hasText(object []byte, name string) bool {
	has := false
	_ = wire.Members(object, func(key, value []byte) error {
		has = has || string(key) == name && len(value) > 0 && value[0] == '"'
		return nil
	})
	return has
}

// CheckResult says why the API would refuse an encoded tool_result.
func CheckResult(raw []byte) error {
	b, err := ParseBlock(raw)
	if err == nil {
		err = checkResult(&b)
	}
	if err != nil {
		return fmt.Errorf("it %w", err)
	}
	return nil
}

// checkResult says what is wrong with a tool_result.
func checkResult(b *Block) error {
	return wire.KnownMembers(b.Raw, func(key, value []byte) error {
		switch {
		case string(key) == "is_error" && string(value) != "true" && string(value) != "false" && string(value) != "null":
			return fmt.Errorf("is a tool_result whose is_error is %s", value)
		case string(key) != "content" || string(value) == "null" || len(value) > 0 && value[0] == '"':
			return nil
		case len(value) == 0 || value[0] != '[':
			return fmt.Errorf("is a tool_result whose content is neither text nor a list of blocks: %.100s", value)
		}
		return wire.KnownElements(value, func(element []byte) error {
			inner, err := ParseBlock(element)
			switch {
			case err != nil:
				return fmt.Errorf("is a tool_result with a block that cannot be sent: %w", err)
			case inner.Kind == TypeText && (len(inner.Text) == 0 || inner.Text[0] != '"'):
				return fmt.Errorf("is a tool_result with a text block whose text is no string: %.100q", element)
			case inner.isEmptyText() && hasMember(element, "cache_control"):
				return errors.New("is a tool_result with a cache_control on an empty text block")
			case inner.Kind != TypeText && inner.Kind != typeImage && ownerOf(&inner) != "":
				return fmt.Errorf("is a tool_result with a %s block in it", inner.Kind)
			case inner.Kind == typeImage || inner.Kind == "document":
				if err := checkSource(&inner); err != nil {
					return fmt.Errorf("is a tool_result with a block of type %s that %w", inner.Kind, err)
				}
			}
			return nil
		})
	})
}
