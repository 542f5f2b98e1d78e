package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A notice goes out in one of several ways.
type notice interface{ send(text string) }

type email struct {
	To string `json:"to" jsonschema:"required,format=email"`
}

type chat struct {
	Channel string `json:"channel" jsonschema:"required"`
	Urgent  bool   `json:"urgent,omitempty"`
}

func (e email) send(text string) { fmt.Println("mail to", e.To+":", text) }
func (c chat) send(text string)  { fmt.Println("chat in", c.Channel+":", text, c.Urgent) }

// notices names what a notice can be.
type notices struct{}

func (notices) Variants() map[string]notice {
	return map[string]notice{"chat": chat{}, "email": email{}}
}

// An interface in the input of a tool: the model says which type it gives, and
// input that is wrong is compared with that type alone.
func ExampleOneOf() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "notify", `{"text":"Build is green.","by":{"type":"email","to":"a@example.com"}}`),
			toolrunnertest.Call("toolu_2", "notify", `{"text":"Build is red.","by":{"type":"chat","to":"ops"}}`),
		),
		toolrunnertest.Text("Sent."),
	)
	defer srv.Close()
	client := srv.Client()

	type input struct {
		Text string                            `json:"text" jsonschema:"required"`
		By   toolrunner.OneOf[notice, notices] `json:"by" jsonschema:"required,description=How to tell them."`
	}
	notify := toolrunner.NewTool("notify", "Notify the team.",
		func(_ context.Context, in input) (string, error) {
			in.By.Value.send(in.Text)
			return "sent", nil
		})

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{notify}, toolrunner.Params{
		BetaMessageNewParams: ask("Tell them."),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(srv.Requests()[1].ToolResult("toolu_2")))
	fmt.Println(string(srv.Requests()[0].Field("tools")))
	// Output:
	// mail to a@example.com: Build is green.
	// {"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"text","text":"Error: invalid input:\n- by.to: unknown property; known: type, channel, urgent\n- by.channel: missing; expected string"}],"is_error":true}
	// [{"input_schema":{"type":"object","properties":{"text":{"type":"string"},"by":{"description":"How to tell them.","anyOf":[{"type":"object","properties":{"type":{"type":"string","const":"chat"},"channel":{"type":"string"},"urgent":{"type":"boolean"}},"required":["type","channel"],"additionalProperties":false},{"type":"object","properties":{"type":{"type":"string","const":"email"},"to":{"type":"string","format":"email"}},"required":["type","to"],"additionalProperties":false}]}},"required":["text","by"],"additionalProperties":false},"name":"notify","description":"Notify the team."}]
}
