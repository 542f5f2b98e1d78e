// Package toolrunner runs the loop between a model and its tools: it sends a
// conversation to the Claude Messages API, runs the tools that the reply calls,
// sends their results back, and repeats this until the model is done.
//
// The smallest program:
//
//	client := anthropic.NewClient()
//	weather := toolrunner.NewTool("get_weather", "Get the weather in a city.",
//		func(ctx context.Context, in struct {
//			City string `json:"city" jsonschema:"required"`
//		}) (string, error) {
//			return "21 degrees in " + in.City, nil
//		})
//	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weather}, toolrunner.Params{
//		BetaMessageNewParams: anthropic.BetaMessageNewParams{
//			Model:     anthropic.ModelClaudeSonnet5_5,
//			MaxTokens: 1024,
//			Messages:  []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("How is the weather in Paris?"))},
//		},
//	})
//	if err != nil {
//		return err
//	}
//	for turn, err := range runner.All(ctx) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(turn.Text())
//	}
//
// # The types to know first
//
//   - [Runner] is one conversation. [New] starts it with [Params], and a loop over
//     [Runner.All] runs it.
//   - [Params] holds the request (model, messages, tools of the API) and the settings of
//     the loop (limits, approval, middleware, compaction). The zero value of each setting
//     is a default.
//   - [Turn] is one request and its reply. The loop body receives each turn before its
//     tools run.
//   - [Tool] is a definition and a [Handler]. [NewTool] derives the definition from a Go
//     type; [NewRawTool] takes any definition. A runner accepts any [anthropic.BetaTool].
//   - [Call] is one use of a tool by the model, with its input. [Turn.Calls] lists the
//     calls of a turn.
//   - [Result] is what the model receives for a call. A handler returns one, or a value
//     that becomes one. An error or a panic of a handler becomes a failed result.
//   - [Approver] decides whether a call runs: [Allow], [AllowInput], [Deny] or [Suspend].
//   - [Outcome] says how a run ended.
//
// # How they go together
//
// For each turn, the runner sends the conversation and receives a reply. The loop body
// then has control. It can read the turn, add messages ([Runner.AppendMessages]), change
// [Runner.Params], or run the calls and edit their results ([Turn.Results]). When the body
// returns, the runner asks the Approver about the calls, runs their handlers inside the
// [Middleware], adds the results to the conversation and sends the next request. The loop
// ends when a reply calls no tool, or when a limit is reached.
//
// The body can also replace what has happened: [Turn.Retry] sends the same conversation
// again, and [Turn.Replace] and [Runner.SetMessages] put other messages in its place. No
// tool runs for a reply that was replaced.
//
// [Runner.AllStreaming] yields each turn as soon as its reply begins; [Turn.Events] then
// has the reply as it arrives. [Runner.Next] takes one step. [Runner.RunToCompletion] needs
// no body.
//
// A loop over All ends without an error when a run was cut off, refused or stopped by a
// limit: check [Runner.Err] after it. A run that has ended continues with AppendMessages
// and another loop.
//
// [Runner.Snapshot] encodes a run at any moment, a [Checkpoint] saves each change before
// anything depends on it, and [Resume] continues from either, in another process if
// needed.
//
// # Promises
//
// The API accepts the conversation whenever the next request goes out: each call has one
// result, right after it. A reply goes back as the API sent it, byte for byte. A call that
// has run does not run again, neither after a failed request nor after a cancellation;
// [Resume] documents what a crash means for a call that was running.
//
// Package toolrunnertest is a Messages API for tests, and package toolrunnermcp converts
// the tools of an MCP server. The guide in docs/guide has a page for each subject;
// docs/migrate.md is for users of an official runner, and docs/design.md for those who
// change this library.
package toolrunner
