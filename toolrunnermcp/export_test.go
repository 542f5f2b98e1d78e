package toolrunnermcp

import "github.com/modelcontextprotocol/go-sdk/mcp"

// ResultOf is resultOf.
var ResultOf = resultOf

// AssignNames is assignNames, with the names that it gave.
func AssignNames(theirs []string, prefix string, reserved []string) []string {
	tools := make([]*mcp.Tool, len(theirs))
	for i, name := range theirs {
		tools[i] = &mcp.Tool{Name: name}
	}
	named, _ := assignNames(tools, prefix, reserved)
	names := make([]string, len(named))
	for i, n := range named {
		names[i] = n.name
	}
	return names
}
