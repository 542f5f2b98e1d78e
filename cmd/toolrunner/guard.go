package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/tools/agenttoolset"
)

// guardedTool is a file tool that leaves files alone which decide what runs do.
type guardedTool struct {
	anthropic.BetaTool

	guarded guarded
}

// Execute implements [anthropic.BetaTool].
func (t guardedTool) Execute(ctx context.Context, input json.RawMessage) ([]anthropic.BetaToolResultBlockParamContentUnion, error) {
	if slices.ContainsFunc(pathsOf(input), t.guarded.refuses) {
		return nil, &agenttoolset.ToolError{Content: "this file belongs to the run itself, and no tool may read or change it"}
	}
	return t.BetaTool.Execute(ctx, input)
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
		if path, ok := value.(string); ok && strings.EqualFold(fmt.Sprint(key), "file_path") {
			paths = append(paths, path)
		}
	}
	return paths
}
