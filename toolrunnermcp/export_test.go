package toolrunnermcp

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolrunner/toolrunner"
)

// ResultOf is resultOf with options.
func ResultOf(options Options, answer *mcp.CallToolResult) (*toolrunner.Result, error) {
	if err := options.complete(); err != nil {
		return nil, err
	}
	return options.resultOf(answer), nil
}

// AssignNames is distinct and assignNames, with the names that they gave.
func AssignNames(theirs []string, prefix string, reserved []string) []string {
	tools := make([]*mcp.Tool, len(theirs))
	for i, name := range theirs {
		tools[i] = &mcp.Tool{Name: name}
	}
	taken := make(map[string]bool)
	for _, name := range reserved {
		taken[name] = true
	}
	first, _ := distinct(tools)
	named, _ := assignNames(first, prefix, taken)
	names := make([]string, len(named))
	for i, n := range named {
		names[i] = n.name
	}
	return names
}
