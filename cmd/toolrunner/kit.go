package main

import (
	"context"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/tools/agenttoolset"
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
	if err := k.addToolset(o.tools, o.dir); err != nil {
		return err
	}
	var err error
	if k.servers, err = connect(ctx, servers, r); err != nil {
		return err
	}
	return k.addServers(ctx, r)
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
