package toolrunnermcp

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server's names for its tools become names that the Messages API accepts.

const (
	maxName   = 128
	shortHash = 8 // hexadecimal digits; doubled until the name is free
)

// namedTool is a tool of the server and the name that the model calls it by.
type namedTool struct {
	name   string
	theirs *mcp.Tool
}

// assignNames names the tools, sorted by the server's names. It also returns the
// names that the server gave to more than one tool; the first of them counts.
func assignNames(tools []*mcp.Tool, prefix string, reserved []string) (named []namedTool, duplicates []string) {
	taken := make(map[string]bool, len(reserved)+len(tools))
	for _, name := range reserved {
		taken[name] = true
	}
	sorted := slices.Clone(tools)
	slices.SortStableFunc(sorted, func(a, b *mcp.Tool) int { return cmp.Compare(a.Name, b.Name) })
	var others []*mcp.Tool
	for i, tool := range sorted {
		name := prefix + tool.Name
		switch {
		case i > 0 && sorted[i-1].Name == tool.Name:
			duplicates = append(duplicates, tool.Name)
		case tool.Name == "" || len(name) > maxName || !isLegal(name) || taken[name]:
			others = append(others, tool) // once it is known which names are taken
		default:
			taken[name] = true
			named = append(named, namedTool{name, tool})
		}
	}
	for _, tool := range others {
		name, ok := hashedName(prefix+tool.Name, tool.Name, taken)
		if !ok {
			duplicates = append(duplicates, tool.Name)
			continue
		}
		taken[name] = true
		named = append(named, namedTool{name, tool})
	}
	return named, duplicates
}

// hashedName returns a legal name for want that is not taken.
func hashedName(want, own string, taken map[string]bool) (string, bool) {
	sum := sha256.Sum256([]byte(own))
	digits := hex.EncodeToString(sum[:])
	legal := strings.Map(func(r rune) rune {
		if isLegalRune(r) {
			return r
		}
		return '_'
	}, want)
	for n := shortHash; n <= len(digits); n *= 2 {
		suffix := "_" + digits[:n]
		name := legal[:min(len(legal), maxName-len(suffix))] + suffix
		if !taken[name] {
			return name, true
		}
	}
	return "", false
}

// isLegal reports whether all of name is legal in a tool's name.
func isLegal(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool { return !isLegalRune(r) })
}

func isLegalRune(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-'
}
