package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/tools/agenttoolset"
)

// toolsetTool is a tool of the SDK's agent toolset.
type toolsetTool struct {
	name     string
	readOnly bool
	open     func(*agenttoolset.AgentToolContext) anthropic.BetaTool
}

func toolset() []toolsetTool {
	return []toolsetTool{
		{"read", true, agenttoolset.BetaReadTool},
		{"glob", true, agenttoolset.BetaGlobTool},
		{searchTool, true, agenttoolset.BetaGrepTool},
		{"write", false, agenttoolset.BetaWriteTool},
		{"edit", false, agenttoolset.BetaEditTool},
		{"bash", false, agenttoolset.BetaBashTool},
	}
}

const searchTool = "grep"

// fileTools returns the names of the tools that open files.
func fileTools() []string { return []string{"read", searchTool, "write", "edit"} }

// toolsetNames returns the names of the toolset's tools.
func toolsetNames() []string {
	var names []string
	for _, tool := range toolset() {
		names = append(names, tool.name)
	}
	return names
}

// addToolset adds the tools of these names, which work in a folder.
func (k *kit) addToolset(names []string, dir string, keep guarded) error {
	if len(names) == 0 {
		return nil
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("-dir: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("-dir: %s is not a folder", dir)
	}
	// Left as it is, the context keeps the file tools inside of the folder, and the
	// keys of the API out of the environment of bash.
	work := &agenttoolset.AgentToolContext{Workdir: dir}
	for _, tool := range toolset() {
		if slices.Contains(names, tool.name) {
			opened := tool.open(work)
			if slices.Contains(fileTools(), tool.name) {
				opened = guardedTool{opened, keep}
			}
			k.tools = append(k.tools, opened)
			k.readOnly[tool.name] = tool.readOnly
		}
	}
	return nil
}
