package toolrunnertest_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// printer is a TB that prints what a test would report.
type printer struct{}

func (printer) Helper()                           {}
func (printer) Cleanup(func())                    {}
func (printer) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// say sends one message of the user, and returns the text of the reply.
func say(srv *toolrunnertest.Server, text string) string {
	client := srv.Client()
	reply, err := client.Beta.Messages.New(context.Background(), anthropic.BetaMessageNewParams{
		Model:     "claude-test",
		MaxTokens: 100,
		Messages:  []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(text))},
	})
	if err != nil {
		return "an error"
	}
	return toolrunner.Text(reply)
}

func ExampleParseScript() {
	replies, err := toolrunnertest.ParseScript("greeting.script", `
# The model is busy at first.
< status 529 overloaded_error Overloaded
< retry-after 2s

> user Hello
< text Good day.
`)
	if err != nil {
		fmt.Println(err)
		return
	}
	srv := toolrunnertest.NewServer(nil, replies...)
	defer srv.Close()
	fmt.Println(say(srv, "Hello!"))
	fmt.Println(say(srv, "Hello!"))
	// Output:
	// an error
	// Good day.
}

func ExampleScript() {
	replies, err := toolrunnertest.Script("testdata/weather.script")
	if err != nil {
		fmt.Println(err)
		return
	}
	srv := toolrunnertest.NewServer(printer{}, replies...)
	defer srv.Close()
	client := srv.Client()
	type city struct {
		City string `json:"city"`
	}
	weather := toolrunner.NewTool("get_weather", "The weather in a city.", func(_ context.Context, in city) (string, error) {
		if in.City != "Paris" {
			return "", errors.New("no such city")
		}
		return "18 degrees", nil
	})
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weather}, toolrunner.Params{
		BetaMessageNewParams: anthropic.BetaMessageNewParams{
			Model:     "claude-test",
			MaxTokens: 100,
			Messages:  []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("How is the weather in Paris?"))},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := runner.RunToCompletion(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(toolrunner.Text(answer))
	fmt.Print(srv.Requests()[2].Outline())
	// Output:
	// It is 18 degrees:
	// take a coat.
	// user: How is the weather in Paris?
	// assistant thinking: There is a tool for that.
	// assistant: Let me look.
	// assistant call toolu_1: get_weather {"city":"Pari"}
	// user error toolu_1: Error: no such city
	// assistant call toolu_2: get_weather {"city":"Paris"}
	// user result toolu_2: 18 degrees
}

func ExampleFile() {
	// Recorded as JSON; a request for a stream would get the same message as events.
	srv := toolrunnertest.NewServer(nil, toolrunnertest.File("testdata/recording/001.response.json"))
	defer srv.Close()
	fmt.Println(say(srv, "Hello!"))
	// Output: Good day.
}

func ExampleReply_Expect() {
	srv := toolrunnertest.NewServer(printer{},
		toolrunnertest.Text("It is sunny.").Expect(
			toolrunnertest.HasText("weather"),
			toolrunnertest.HasModel("claude-test"),
			func(q *toolrunnertest.Request) error {
				if n := len(q.Messages()); n != 1 {
					return fmt.Errorf("there are %d messages, want 1", n)
				}
				return nil
			},
		),
	)
	defer srv.Close()
	fmt.Println(say(srv, "How is the weather?"))
	// Output: It is sunny.
}

func ExampleReply_When() {
	// Two agents at once, whose requests come in any order.
	srv := toolrunnertest.NewServer(
		nil,
		toolrunnertest.Text("Bonjour.").When(toolrunnertest.HasText("French")),
		toolrunnertest.Text("Guten Tag.").When(toolrunnertest.HasText("German")),
	)
	defer srv.Close()
	fmt.Println(say(srv, "Hello in German?"))
	fmt.Println(say(srv, "Hello in French?"))
	// Output:
	// Guten Tag.
	// Bonjour.
}

func ExampleWantMessages() {
	srv := toolrunnertest.NewServer(nil, toolrunnertest.Text("Good day."))
	defer srv.Close()
	say(srv, "Hello!")
	toolrunnertest.WantMessages(printer{}, srv.Requests()[0], `
		user: Hello?
	`)
	// Output:
	// toolrunnertest: messages of the request (-want +got):
	// - user: Hello?
	// + user: Hello!
}

func ExampleServer_Ignore() {
	srv := toolrunnertest.NewServer(nil, toolrunnertest.Text("I cannot hear you."))
	defer srv.Close()
	srv.Ignore(toolrunnertest.RuleTextEmpty)
	fmt.Println(say(srv, ""))
	// Output: I cannot hear you.
}

func ExampleIgnore() {
	srv := toolrunnertest.NewServer(nil, toolrunnertest.Text("Good day."), toolrunnertest.Text("Good day."))
	defer srv.Close()
	say(srv, "Hello!")
	say(srv, "Hello?") // forgets what was said
	requests := srv.Requests()
	fmt.Println(toolrunnertest.Breaches(toolrunnertest.CheckRun(requests, toolrunnertest.OneRun()))[0].Rule)
	ignored := toolrunnertest.Ignore(toolrunnertest.RuleHistoryChanged, toolrunnertest.RuleReplyMissing)
	fmt.Println(toolrunnertest.CheckRun(requests, toolrunnertest.OneRun(), ignored))
	// Output:
	// history-changed
	// <nil>
}

// A program that is no test asks the server what went wrong.
func ExampleServer_Err() {
	srv := toolrunnertest.NewServer(nil)
	defer srv.Close()
	say(srv, "Hello!")
	fmt.Println(srv.Err())
	// Output: toolrunnertest: the script has no reply left for request 1
}
