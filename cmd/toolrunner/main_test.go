package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary the program that is tested, and the MCP server
// that it starts.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"toolrunner": main, "mcpserver": mcpServer})
}
