package toolrunnermcp

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
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

// assignNames names tools, whose names differ, apart from the names that are taken. It also
// returns the server's names of those for which there is no name.
func assignNames(tools []*mcp.Tool, prefix string, taken map[string]bool) (named []namedTool, nameless []string) {
	used := make(map[string]bool, len(tools)+len(taken))
	maps.Copy(used, taken)
	var others []*mcp.Tool
	for _, tool := range tools {
		name := prefix + tool.Name
		if tool.Name == "" || len(name) > maxName || !isLegal(name) || used[name] {
			others = append(others, tool) // once it is known which names are taken
			continue
		}
		used[name] = true
		named = append(named, namedTool{name, tool})
	}
	for _, tool := range others {
		name, ok := hashedName(prefix+tool.Name, tool.Name, used)
		if !ok {
			nameless = append(nameless, tool.Name)
			continue
		}
		used[name] = true
		named = append(named, namedTool{name, tool})
	}
	return named, nameless
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
