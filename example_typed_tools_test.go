package toolrunner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

type weatherInput struct {
	Location string `json:"location" jsonschema:"required,description=The city and state, e.g. San Francisco, CA"`
	Unit     string `json:"unit,omitempty" jsonschema:"enum=celsius,enum=fahrenheit"`
}

type sumInput struct {
	A int `json:"a" jsonschema:"required"`
	B int `json:"b" jsonschema:"required"`
}

// The schema that the model reads is derived from the type that the handler gets.
func ExampleNewTool() {
	srv, client := scripted(
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "get_weather", `{"location":"Paris"}`),
			toolrunnertest.Call("toolu_2", "calculate_sum", `{"a":2,"b":3}`),
		),
		toolrunnertest.Text("It is mild in Paris, and 2 + 3 = 5."),
	)

	weather := toolrunner.NewTool("get_weather", "Get the weather in a city.",
		func(_ context.Context, in weatherInput) (string, error) { return "21 degrees in " + in.Location, nil })
	sum := toolrunner.NewTool("calculate_sum", "Add two numbers.",
		func(_ context.Context, in sumInput) (int, error) { return in.A + in.B, nil })

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weather, sum}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Paris, and what is 2 + 3?"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(srv.Requests()[0].Field("tools")))
	printMessages(runner.Messages())
	// Output:
	// [{"input_schema":{"type":"object","properties":{"location":{"type":"string","description":"The city and state, e.g. San Francisco, CA"},"unit":{"type":"string","enum":["celsius","fahrenheit"]}},"required":["location"],"additionalProperties":false},"name":"get_weather","description":"Get the weather in a city."},{"input_schema":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"],"additionalProperties":false},"name":"calculate_sum","description":"Add two numbers."}]
	// {"content":[{"text":"How is the weather in Paris, and what is 2 + 3?","type":"text"}],"role":"user"}
	// {"content":[{"id":"toolu_1","input":{"location":"Paris"},"name":"get_weather","type":"tool_use"},{"id":"toolu_2","input":{"a":2,"b":3},"name":"calculate_sum","type":"tool_use"}],"role":"assistant"}
	// {"content":[{"tool_use_id":"toolu_1","content":[{"text":"21 degrees in Paris","type":"text"}],"type":"tool_result"},{"tool_use_id":"toolu_2","content":[{"text":"5","type":"text"}],"type":"tool_result"}],"role":"user"}
	// {"content":[{"text":"It is mild in Paris, and 2 + 3 = 5.","type":"text"}],"role":"assistant"}
}

// Code for the official runner moves over as it is: NewBetaToolFromJSONSchema
// has its signature. For a type without a schema it returns an error, where
// NewTool panics.
func ExampleNewBetaToolFromJSONSchema() {
	type input struct {
		Text string `json:"text" jsonschema:"required,maxLength=80"`
	}
	shout := func(_ context.Context, in input) (anthropic.BetaToolResultBlockParamContentUnion, error) {
		text := strings.ToUpper(in.Text) + "!"
		return anthropic.BetaToolResultBlockParamContentUnion{OfText: &anthropic.BetaTextBlockParam{Text: text}}, nil
	}
	tool, err := toolrunner.NewBetaToolFromJSONSchema("shout", "Say it louder.", shout)
	if err != nil {
		fmt.Println(err)
		return
	}
	content, err := tool.Execute(context.Background(), json.RawMessage(`{"text":"hello"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(content[0].OfText.Text)

	type endless struct {
		C chan int `json:"c"`
	}
	_, err = toolrunner.NewBetaToolFromJSONSchema("wait", "Wait.",
		func(context.Context, endless) (anthropic.BetaToolResultBlockParamContentUnion, error) {
			return anthropic.BetaToolResultBlockParamContentUnion{}, nil
		})
	fmt.Println(err)
	// Output:
	// HELLO!
	// toolrunner: tool "wait": toolrunner_test.endless.C: type chan int has no JSON form
}

// A handler returns content blocks, or a value that becomes text: a number and a
// struct are JSON.
func ExampleNewTool_results() {
	srv, client := scripted(
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "blocks", `{}`),
			toolrunnertest.Call("toolu_2", "number", `{}`),
			toolrunnertest.Call("toolu_3", "record", `{}`),
		),
		toolrunnertest.Text("Thank you."),
	)

	type none struct{}
	type content = anthropic.BetaToolResultBlockParamContentUnion
	type record struct {
		Name string `json:"name"`
		Size int    `json:"size"`
	}
	tools := []anthropic.BetaTool{
		toolrunner.NewTool("blocks", "", func(context.Context, none) ([]content, error) {
			return []content{
				{OfText: &anthropic.BetaTextBlockParam{Text: "a chart and its source"}},
				{OfImage: &anthropic.BetaImageBlockParam{Source: anthropic.BetaImageBlockParamSourceUnion{
					OfBase64: &anthropic.BetaBase64ImageSourceParam{MediaType: "image/png", Data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAADklEQVR4nGJiAAQAAP//AAYAA/rQWa4AAAAASUVORK5CYII="},
				}}},
				{OfDocument: &anthropic.BetaRequestDocumentBlockParam{Source: anthropic.BetaRequestDocumentBlockSourceUnionParam{
					OfText: &anthropic.BetaPlainTextSourceParam{Data: "whole text"},
				}}},
				{OfSearchResult: &anthropic.BetaSearchResultBlockParam{
					Source: "https://example.com", Title: "Example", Content: []anthropic.BetaTextBlockParam{{Text: "a passage"}},
				}},
			}, nil
		}),
		toolrunner.NewTool("number", "", func(context.Context, none) (float64, error) { return 0.5, nil }),
		toolrunner.NewTool("record", "", func(context.Context, none) (record, error) { return record{"a<b", 2}, nil }),
	}
	runner, err := toolrunner.New(&client.Beta.Messages, tools, toolrunner.Params{BetaMessageNewParams: ask("Show me.")})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	for _, id := range []string{"toolu_1", "toolu_2", "toolu_3"} {
		fmt.Println(string(srv.Requests()[1].ToolResult(id)))
	}
	// Output:
	// {"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"a chart and its source"},{"source":{"data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAADklEQVR4nGJiAAQAAP//AAYAA/rQWa4AAAAASUVORK5CYII=","media_type":"image/png","type":"base64"},"type":"image"},{"source":{"data":"whole text","media_type":"text/plain","type":"text"},"type":"document"},{"content":[{"text":"a passage","type":"text"}],"source":"https://example.com","title":"Example","type":"search_result"}]}
	// {"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"text","text":"0.5"}]}
	// {"type":"tool_result","tool_use_id":"toolu_3","content":[{"type":"text","text":"{\"name\":\"a<b\",\"size\":2}"}]}
}

// A tool shows the model an image, with words before it.
func ExampleImageResult() {
	plot := toolrunner.NewTool("plot", "Plot the data.",
		func(context.Context, struct{}) (*toolrunner.Result, error) {
			var data bytes.Buffer
			if err := png.Encode(&data, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
				return nil, err
			}
			result, err := toolrunner.ImageResult(data.Bytes())
			if err != nil {
				return nil, err
			}
			result.Content = append(toolrunner.TextResult("The plot:").Content, result.Content...)
			return result, nil
		})

	content, err := plot.Execute(context.Background(), []byte(`{}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, block := range content {
		if block.OfText != nil {
			fmt.Println(block.OfText.Text)
		}
		if block.OfImage != nil {
			fmt.Println(block.OfImage.Source.OfBase64.MediaType)
		}
	}
	// Output:
	// The plot:
	// image/png
}

// A text file or a PDF goes to the model as a document, which it can cite.
func ExampleDocumentResult() {
	result, err := toolrunner.DocumentResult([]byte("# Terms\n\nPay within 30 days."))
	if err != nil {
		fmt.Println(err)
		return
	}
	document := result.Content[0].OfDocument
	document.Title = anthropic.String("terms.md")
	fmt.Println(document.Source.OfText.Data)

	_, err = toolrunner.DocumentResult([]byte("\x1f\x8b\x08"))
	fmt.Println(err)
	// Output:
	// # Terms
	//
	// Pay within 30 days.
	// 3 bytes of type application/x-gzip is not a document that the model can read: use PDF or text in UTF-8
}

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
	srv, client := scripted(
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "notify", `{"text":"Build is green.","by":{"type":"email","to":"a@example.com"}}`),
			toolrunnertest.Call("toolu_2", "notify", `{"text":"Build is red.","by":{"type":"chat","to":"ops"}}`),
		),
		toolrunnertest.Text("Sent."),
	)

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

// Input that breaks the schema does not reach the handler. The model reads what
// is wrong, and tries again.
func ExampleValidation() {
	srv, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"unit":"kelvin"}`)),
		toolrunnertest.Message(toolrunnertest.Call("toolu_2", "get_weather", `{"location":"Paris","unit":"celsius"}`)),
		toolrunnertest.Text("It is mild in Paris."),
	)

	weather := toolrunner.NewTool("get_weather", "Get the weather in a city.",
		func(_ context.Context, in weatherInput) (string, error) {
			fmt.Println("handler:", in.Location, in.Unit)
			return "21 degrees", nil
		})
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weather}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Paris?"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(srv.Requests()[1].ToolResult("toolu_1")))
	// Output:
	// handler: Paris celsius
	// {"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"Error: invalid input:\n- unit: expected one of \"celsius\", \"fahrenheit\", got string \"kelvin\"\n- location: missing; expected string"}],"is_error":true}
}

// The lenient option is for models that write JSON into strings.
func ExampleValidation_lenient() {
	srv, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "calculate_sum", `{"a":"2","b":3}`)),
		toolrunnertest.Text("It is 5."),
	)

	sum := toolrunner.NewTool("calculate_sum", "Add two numbers.",
		func(_ context.Context, in sumInput) (int, error) { return in.A + in.B, nil })
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{sum}, toolrunner.Params{
		BetaMessageNewParams: ask("What is 2 + 3?"),
		Validate:             toolrunner.ValidateLenient,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(srv.Requests()[1].ToolResult("toolu_1")))
	// Output:
	// {"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"5"}]}
}

// Without the check, a typed tool still fails on input that it cannot decode.
// What is missing is the zero value.
func ExampleValidation_off() {
	_, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"unit":"kelvin"}`)),
		toolrunnertest.Text("It is mild."),
	)

	weather := toolrunner.NewTool("get_weather", "Get the weather in a city.",
		func(_ context.Context, in weatherInput) (string, error) {
			fmt.Printf("handler: %q %q\n", in.Location, in.Unit)
			return "21 degrees", nil
		})
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weather}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather?"),
		Validate:             toolrunner.ValidateOff,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	// Output: handler: "" "kelvin"
}
