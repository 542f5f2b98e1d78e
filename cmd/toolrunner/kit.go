package main

import (
	"context"
	"encoding/json"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/tools/agenttoolset"

	"github.com/toolrunner/toolrunner"
)

// kit is the tools of a run, and the servers that some of them are from.
type kit struct {
	tools    []anthropic.BetaTool
	readOnly map[string]bool // by name
	servers  []connection
}

// open opens the tools that the options name. The kit is to be closed, also
// after an error.
func (k *kit) open(ctx context.Context, o *runOptions, servers []server, r *reporter) error {
	k.readOnly = make(map[string]bool)
	if err := k.addToolset(o.tools, o.dir, o.guarded()); err != nil {
		return err
	}
	var err error
	if k.servers, err = connect(ctx, servers, r); err != nil {
		return err
	}
	return k.addServers(ctx)
}

// serialize makes every tool that is not read-only run alone, in the model's order:
// the calls of one turn share files, a shell, and whatever a server keeps.
func (k *kit) serialize() {
	for i, tool := range k.tools {
		if !k.readOnly[tool.Name()] {
			k.tools[i] = toolrunner.Exclusive(tool)[0]
		}
	}
}

// schemas returns the schemas of the input of the tools, by name.
func (k *kit) schemas() map[string][]byte {
	all := make(map[string][]byte, len(k.tools))
	for _, tool := range k.tools {
		if schema, err := json.Marshal(tool.InputSchema()); err == nil {
			all[tool.Name()] = schema
		}
	}
	return all
}

// close ends the servers and what the tools have left running.
func (k *kit) close() {
	agenttoolset.CloseAll(k.tools)
	disconnect(k.servers)
}

// names returns the names of the tools.
func (k *kit) names() []string {
	names := make([]string, len(k.tools))
	for i, tool := range k.tools {
		names[i] = tool.Name()
	}
	return names
}
