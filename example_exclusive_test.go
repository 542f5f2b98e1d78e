package toolrunner_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/anthropics/anthropic-sdk-go/v2/tools/agenttoolset"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Exclusive runs each call of the SDK's agent toolset alone: two edits of one file
// in one turn both arrive.
func ExampleExclusive() {
	srv := toolrunnertest.NewServer(nil,
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "edit", `{"file_path":"menu.txt","old_string":"tea","new_string":"coffee"}`),
			toolrunnertest.Call("toolu_2", "edit", `{"file_path":"menu.txt","old_string":"cake","new_string":"pie"}`),
		),
		toolrunnertest.Text("Done."),
	)
	defer srv.Close()
	client := srv.Client()

	dir, err := os.MkdirTemp("", "menu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	menu := filepath.Join(dir, "menu.txt")
	if err := os.WriteFile(menu, []byte("tea and cake"), 0o600); err != nil {
		fmt.Println(err)
		return
	}

	files := toolrunner.Exclusive(agenttoolset.BetaAgentToolset20260401(&agenttoolset.AgentToolContext{Workdir: dir})...)
	defer agenttoolset.CloseAll(files)
	runner, err := toolrunner.New(&client.Beta.Messages, files, toolrunner.Params{
		BetaMessageNewParams: ask("Make it coffee and pie."),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	text, err := os.ReadFile(menu)
	fmt.Println(string(text), err)
	// Output: coffee and pie <nil>
}
