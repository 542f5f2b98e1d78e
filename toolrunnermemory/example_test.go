package toolrunnermemory_test

import (
	"context"
	"fmt"
	"os"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnermemory"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// An agent that keeps notes in a folder, and finds them there the next time.
func Example() {
	folder, err := os.MkdirTemp("", "memories")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(folder) }()

	srv := toolrunnertest.NewServer(nil, // the model, as a script; in a program of yours: anthropic.NewClient()
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "memory", `{"command":"create","path":"/memories/ann.md","file_text":"Ann likes tea.\n"}`)),
		toolrunnertest.Text("I will remember that."),
		toolrunnertest.Message(toolrunnertest.Call("toolu_2", "memory", `{"command":"view","path":"/memories/ann.md"}`)),
		toolrunnertest.Text("Tea, as always?"),
	)
	defer srv.Close()
	client := srv.Client()

	memories, err := toolrunnermemory.Dir(folder)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = memories.Close() }()
	for _, text := range []string{"I am Ann, and I like tea.", "Ann here. I am thirsty."} {
		runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{toolrunnermemory.New(memories, toolrunnermemory.Options{})}, toolrunner.Params{
			BetaMessageNewParams: anthropic.BetaMessageNewParams{
				Model: anthropic.ModelClaudeSonnet5_5, MaxTokens: 1024,
				Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(text))},
			},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		message, err := runner.RunToCompletion(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(toolrunner.Text(message))
	}
	// Output:
	// I will remember that.
	// Tea, as always?
}

// A store for tests: what is in it, and what the model has made of it.
func ExampleNewMap() {
	store := toolrunnermemory.NewMap(map[string]string{"ann.md": "Ann likes tea.\n"})
	tool := toolrunnermemory.New(store, toolrunnermemory.Options{})
	call := &toolrunner.Call{Name: tool.Name(), Input: []byte(`{"command":"str_replace","path":"/memories/ann.md","old_str":"tea","new_str":"coffee"}`)}
	if _, err := tool.Handler(context.Background(), call); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%q\n", store.Files())
	// Output:
	// map["ann.md":"Ann likes coffee.\n"]
}
