package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/tools/agenttoolset"
)

// guardedTool is a file tool that leaves files alone which decide what runs do, and that
// hold secrets.
type guardedTool struct {
	anthropic.BetaTool

	guarded guarded
}

// Execute implements [anthropic.BetaTool].
func (t guardedTool) Execute(ctx context.Context, input json.RawMessage) ([]anthropic.BetaToolResultBlockParamContentUnion, error) {
	if slices.ContainsFunc(pathsOf(input), t.guarded.refuses) {
		return nil, &agenttoolset.ToolError{Content: "this file belongs to the run itself, and no tool may read or change it"}
	}
	content, err := t.BetaTool.Execute(ctx, input)
	if t.Name() == searchTool {
		for i := range content {
			if text := content[i].OfText; text != nil {
				text.Text = t.guarded.withoutLines(text.Text)
			}
		}
	}
	return content, err
}

// found matches what may be the path and the number of a line that a search has found. A
// path may hold as much itself, so a line may have several.
var found = regexp.MustCompile(`:\d+:`)

// withoutLines returns what a search has found without the lines of guarded files, which it
// may have met under any name.
func (g guarded) withoutLines(text string) string {
	refused := make(map[string]bool)
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
		for _, at := range found.FindAllStringIndex(line, -1) {
			path := line[:at[0]]
			if _, known := refused[path]; !known {
				refused[path] = g.refuses(path)
			}
			if refused[path] {
				return true
			}
		}
		return false
	})
	if len(lines) == 0 {
		return "no matches"
	}
	return strings.Join(lines, "\n")
}

// pathsOf returns every text that a reader of the input might take for its path,
// however it treats members that are there twice or are written otherwise.
func pathsOf(input json.RawMessage) (paths []string) {
	decoder := json.NewDecoder(bytes.NewReader(input))
	if _, err := decoder.Token(); err != nil {
		return nil
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return paths
		}
		var value any
		if decoder.Decode(&value) != nil {
			return paths
		}
		if path, ok := value.(string); ok && (strings.EqualFold(fmt.Sprint(key), "file_path") || strings.EqualFold(fmt.Sprint(key), "path")) {
			paths = append(paths, path)
		}
	}
	return paths
}
