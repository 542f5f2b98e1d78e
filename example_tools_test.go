package toolrunner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A Tool is a definition and a handler, with a few promises about its calls.
// What the constructors do not ask for is set before a runner has the tool.
func ExampleTool() {
	srv, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "search_notes", `{"words":"rain"}`)),
		toolrunnertest.Text("The search took too long."),
	)

	type input struct {
		Words string `json:"words" jsonschema:"required"`
	}
	search := toolrunner.NewTool("search_notes", "Search the user's notes.", func(ctx context.Context, _ input) (string, error) {
		<-ctx.Done() // a server that does not answer
		return "", ctx.Err()
	})
	search.Definition.InputExamples = []map[string]any{{"words": "holiday Iceland"}}
	search.Definition.CacheControl = anthropic.NewBetaCacheControlEphemeralParam()
	search.Timeout = 10 * time.Millisecond
	search.ReadOnly = true // a call that was interrupted may run again

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{search}, toolrunner.Params{
		BetaMessageNewParams: ask("What did I note about rain?"),
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
	// Output: {"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"Error: the call timed out after 10ms"}],"is_error":true}
}

// A Handler decodes its input by itself, and says what the model reads.
func ExampleHandler() {
	srv, client := scripted(
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "stock", `{"article":"umbrella"}`),
			toolrunnertest.Call("toolu_2", "stock", `{"article":"sunshade"}`),
		),
		toolrunnertest.Text("There are umbrellas."),
	)

	stock := func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		var in struct {
			Article string `json:"article"`
		}
		if err := call.Decode(&in); err != nil {
			return nil, err
		}
		if in.Article != "umbrella" {
			return toolrunner.ErrorResult("There is no such article. Try umbrella."), nil
		}
		return toolrunner.JSONResult(map[string]int{"pieces": 12, "reserved": 3})
	}
	definition := anthropic.BetaToolParam{
		Name:        "stock",
		Description: anthropic.String("Look up how many pieces of an article there are."),
		InputSchema: anthropic.BetaToolInputSchemaParam{Properties: map[string]any{"article": map[string]any{"type": "string"}}},
	}
	tools := []anthropic.BetaTool{toolrunner.NewRawTool(definition, stock)}

	runner, err := toolrunner.New(&client.Beta.Messages, tools, toolrunner.Params{BetaMessageNewParams: ask("What is in stock?")})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(srv.Requests()[1].ToolResult("toolu_1")))
	fmt.Println(string(srv.Requests()[1].ToolResult("toolu_2")))
	// Output:
	// {"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"{\"pieces\":12,\"reserved\":3}"}]}
	// {"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"text","text":"There is no such article. Try umbrella."}],"is_error":true}
}

// A typed tool finds its call in the context: for a log, or as a key that makes
// an order idempotent.
func ExampleCallFrom() {
	_, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "order", `{"article":"umbrella"}`)),
		toolrunnertest.Text("It is ordered."),
	)

	type input struct {
		Article string `json:"article" jsonschema:"required"`
	}
	order := toolrunner.NewTool("order", "Order an article.", func(ctx context.Context, in input) (string, error) {
		key := ""
		if call, ok := toolrunner.CallFrom(ctx); ok {
			key = call.ID
		}
		fmt.Println("ordering", in.Article, "with the key", key)
		return "ordered", nil
	})

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{order}, toolrunner.Params{
		BetaMessageNewParams: ask("Order an umbrella."),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	// Output: ordering umbrella with the key toolu_1
}

// A body that answers a call by hand gives the result as the runner would send it.
func ExampleResult_Param() {
	srv, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)),
		toolrunnertest.Text("It is mild in Paris."),
	)

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Paris?"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	known := map[string]*toolrunner.Result{"get_weather": toolrunner.TextResult("mild, as an hour ago")}
	for turn, err := range runner.All(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, call := range turn.Calls() {
			if result, ok := known[call.Name]; ok {
				err = runner.AppendMessages(anthropic.NewBetaUserMessage(result.Param(call.ID)))
			}
			if err != nil {
				fmt.Println(err)
				return
			}
		}
	}
	fmt.Println(string(srv.Requests()[1].ToolResult("toolu_1")))
	// Output: {"tool_use_id":"toolu_1","content":[{"text":"mild, as an hour ago","type":"text"}],"type":"tool_result"}
}

// NewRawTool takes a whole definition, for what the typed constructors do not
// set, and checks nothing.
func ExampleNewRawTool() {
	definition := anthropic.BetaToolParam{
		Name:        "echo",
		InputSchema: anthropic.BetaToolInputSchemaParam{Properties: map[string]any{"text": map[string]any{"type": "string"}}},
		Strict:      anthropic.Bool(true),
	}
	echo := toolrunner.NewRawTool(definition, func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		return toolrunner.TextResult("you said " + string(call.Input)), nil
	})

	content, err := echo.Execute(context.Background(), json.RawMessage(`{"text":"hello"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(echo.Name(), content[0].OfText.Text)
	// Output: echo you said {"text":"hello"}
}

// A schema that comes from elsewhere is sent as it is, and the handler gets the
// input byte for byte.
func ExampleNewBetaToolFromBytes() {
	srv, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "lookup", `{"id": 9007199254740993}`)),
		toolrunnertest.Text("Found."),
	)

	schema := []byte(`{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}`)
	lookup, err := toolrunner.NewBetaToolFromBytes("lookup", "Find a record.", schema,
		func(_ context.Context, input json.RawMessage) (anthropic.BetaToolResultBlockParamContentUnion, error) {
			fmt.Println("input:", string(input))
			return anthropic.BetaToolResultBlockParamContentUnion{OfText: &anthropic.BetaTextBlockParam{Text: "a record"}}, nil
		})
	if err != nil {
		fmt.Println(err)
		return
	}
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{lookup}, toolrunner.Params{
		BetaMessageNewParams: ask("Find record 9007199254740993."),
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
	// input: {"id": 9007199254740993}
	// {"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"a record"}]}
}

// A schema may also be the SDK's value, and the input still a type.
func ExampleNewBetaTool() {
	srv, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "roll", `{"sides":6}`)),
		toolrunnertest.Text("You rolled a 4."),
	)

	type input struct {
		Sides int `json:"sides"`
	}
	schema := anthropic.BetaToolInputSchemaParam{
		Properties: map[string]any{"sides": map[string]any{"type": "integer", "minimum": 2}},
		Required:   []string{"sides"},
	}
	roll := toolrunner.NewBetaTool("roll", "Roll a die.", schema,
		func(_ context.Context, in input) (anthropic.BetaToolResultBlockParamContentUnion, error) {
			text := fmt.Sprintf("4 of %d", in.Sides)
			return anthropic.BetaToolResultBlockParamContentUnion{OfText: &anthropic.BetaTextBlockParam{Text: text}}, nil
		})

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{roll}, toolrunner.Params{
		BetaMessageNewParams: ask("Roll a die."),
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
	// {"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"4 of 6"}]}
}

// A strict tool gets the schema that strict mode asks for: closed, with every
// property required. What may be left out becomes nullable, and what strict mode
// refuses, such as bounds, is said in the description. It is checked all the same.
func ExampleTool_strict() {
	srv, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_forecast", `{"city":"Paris","days":3}`)),
		toolrunnertest.Text("It stays mild."),
	)

	type input struct {
		City string `json:"city" jsonschema:"required"`
		Days int    `json:"days,omitempty" jsonschema:"minimum=1,maximum=7"`
	}
	forecast := toolrunner.NewTool("get_forecast", "Get the forecast for a city.",
		func(_ context.Context, in input) (string, error) { return "mild in " + in.City, nil })
	forecast.Definition.Strict = anthropic.Bool(true)

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{forecast}, toolrunner.Params{
		BetaMessageNewParams: ask("What will the weather be in Paris?"),
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
	// Output: [{"input_schema":{"type":"object","properties":{"city":{"type":"string"},"days":{"type":["integer","null"],"description":"{minimum: 1, maximum: 7}"}},"required":["city","days"],"additionalProperties":false},"name":"get_forecast","description":"Get the forecast for a city.","strict":true}]
}

// Tools that the API runs stand in Params.Tools beside those of the runner. What
// they return goes back as it came.
func ExampleParams_serverTools() {
	const found = `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result",` +
		`"url":"https://example.com","title":"Paris","encrypted_content":"EqgfCioIARgB","page_age":null}]}`
	srv, client := scripted(
		toolrunnertest.Message(
			toolrunnertest.ServerToolUse("srvtoolu_1", "web_search", `{"query":"Paris"}`),
			toolrunnertest.RawBlock(found),
			toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`),
		),
		toolrunnertest.Text("It is mild in the capital of France."),
	)

	params := ask("Where is Paris, and how is the weather there?")
	params.Tools = []anthropic.BetaToolUnionParam{
		{OfWebSearchTool20260209: &anthropic.BetaWebSearchTool20260209Param{MaxUses: anthropic.Int(3)}},
	}
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{BetaMessageNewParams: params})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	second := srv.Requests()[1]
	fmt.Println("untouched:", strings.Contains(string(second.Messages()[1]), found))
	fmt.Println("answered: ", string(second.ToolResult("toolu_1")))
	// Output:
	// (looking at the weather in Paris)
	// untouched: true
	// answered:  {"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"21 degrees"}]}
}

// A result that fails says one thing to the model and another to the program.
func ExampleResult() {
	srv, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "read_page", `{}`)),
		toolrunnertest.Text("The page is not there."),
	)

	readPage := toolrunner.NewTool("read_page", "Read the page.", func(context.Context, struct{}) (*toolrunner.Result, error) {
		result := toolrunner.ErrorResult("There is no such page.")
		result.Err = errors.New("GET http://10.0.0.5/page: 404")
		return result, nil
	})
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{readPage}, toolrunner.Params{
		BetaMessageNewParams: ask("What is on the page?"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	for turn, err := range runner.All(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		results, err := turn.Results(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, result := range results {
			fmt.Println("the program:", result.Err)
		}
	}
	fmt.Println("the model:", srv.Requests()[1].ToolResultText("toolu_1"))
	// Output:
	// the program: GET http://10.0.0.5/page: 404
	// the model: There is no such page.
}

// Tools may come and go during a run. The model is told with the next request.
func ExampleRunner_AddTools() {
	srv, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "log_in", `{}`)),
		toolrunnertest.Message(toolrunnertest.Call("toolu_2", "get_weather", `{"city":"Paris"}`)),
		toolrunnertest.Text("It is mild in Paris."),
	)

	var runner *toolrunner.Runner
	logIn := toolrunner.NewTool("log_in", "Log in, to have more tools.", func(context.Context, struct{}) (string, error) {
		runner.RemoveToolsByNames("log_in")
		return "welcome", runner.AddTools(weatherTool())
	})
	params := ask("Log in, then look at the weather in Paris.")
	params.Betas = []anthropic.AnthropicBeta{anthropic.AnthropicBetaInlineTools2026_09_15}
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{logIn}, toolrunner.Params{BetaMessageNewParams: params})
	if err != nil {
		fmt.Println(err)
		return
	}
	message, err := runner.RunToCompletion(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(srv.Requests()[1].Messages()[3]))
	fmt.Println(toolrunner.Text(message))
	// Output:
	// (looking at the weather in Paris)
	// {"role":"system","content":[{"type":"tool_removal","tool":{"type":"tool_reference","name":"log_in"}},{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"input_schema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false},"name":"get_weather","description":"Get the weather in a city."}}}]}
	// It is mild in Paris.
}

// Definitions that the API itself answers can come during a run, and tools go.
func ExampleRunner_AddToolParams() {
	srv, client := scripted(toolrunnertest.Text("Hello."), toolrunnertest.Text("I searched the web."))

	params := ask("Hi!")
	params.Betas = []anthropic.AnthropicBeta{anthropic.AnthropicBetaInlineTools2026_09_15}
	weather := weatherTool()
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weather}, toolrunner.Params{BetaMessageNewParams: params})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}

	runner.RemoveTools(weather)
	err = runner.AddToolParams(anthropic.BetaToolUnionParam{OfWebSearchTool20260209: &anthropic.BetaWebSearchTool20260209Param{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := runner.AppendMessages(say("Search the web for the weather in Paris.")); err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	for _, message := range srv.Requests()[1].Messages()[2:] {
		fmt.Println(string(message))
	}
	// Output:
	// {"role":"user","content":[{"text":"Search the web for the weather in Paris.","type":"text"}]}
	// {"role":"system","content":[{"type":"tool_removal","tool":{"type":"tool_reference","name":"get_weather"}},{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"web_search","type":"web_search_20260209"}}}]}
}

// A tool that the API defines needs a handler alone: the model knows its schema.
func ExampleTool_native() {
	srv, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "bash", `{"command":"date"}`)),
		toolrunnertest.Text("It is Tuesday."),
	)

	bash := &toolrunner.Tool{
		Native: anthropic.BetaToolUnionParam{OfBashTool20250124: &anthropic.BetaToolBash20250124Param{}},
		Handler: func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
			var in struct {
				Command string `json:"command"`
				Restart bool   `json:"restart"`
			}
			if err := call.Decode(&in); err != nil {
				return nil, err
			}
			return toolrunner.TextResult("would run: " + in.Command), nil // in a sandbox of yours
		},
		Exclusive: true, // commands share a shell
	}
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{bash}, toolrunner.Params{
		BetaMessageNewParams: ask("What day is it?"),
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
	fmt.Println(string(srv.Requests()[1].ToolResult("toolu_1")))
	// Output:
	// [{"name":"bash","type":"bash_20250124"}]
	// {"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"would run: date"}]}
}
