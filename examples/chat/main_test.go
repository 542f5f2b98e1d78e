package main

import (
	"strings"
	"testing"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A question that fails does not end the conversation: the next one is asked with it.
func TestChatGoesOnAfterAnError(t *testing.T) {
	srv := toolrunnertest.NewServer(t,
		toolrunnertest.Message(toolrunnertest.Say("Let me look."), toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)),
		toolrunnertest.Text("It is mild."),
		toolrunnertest.Status(529, "overloaded_error", "Overloaded"),
		toolrunnertest.Text("Two million live there."),
	)
	var out strings.Builder
	if err := chat(srv.Client(), strings.NewReader("How is the weather in Paris?\n\nHow many live there?\nPlease.\n"), func(text string) { out.WriteString(text) }); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"> Let me look.\nIt is mild.\n> ", "Overloaded", "Two million live there.\n> "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the chat is\n%s\nwant %q in it", out.String(), want)
		}
	}
	toolrunnertest.WantMessages(t, srv.Requests()[3], `
		user: How is the weather in Paris?
		assistant: Let me look.
		assistant call toolu_1: get_weather {"city":"Paris"}
		user result toolu_1: 21 degrees in Paris
		assistant: It is mild.
		user: How many live there?
		user: Please.`)
}
