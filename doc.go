// Package toolrunner runs the loop between a model and its tools: it sends a
// conversation to the Claude Messages API, runs the tools that the reply calls,
// sends their results back, and repeats that until the model is done.
//
//	messages ──► history ──► request ──► model ──► reply ──► turn ──► stop reason
//	                ▲                                          │            │
//	                │                                      loop body        ├──► end: outcome
//	                │                                    (yours: looks,     ▼
//	                └─────────── results ◄── tools ◄──── adds messages)   calls
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
// A [Runner] is a conversation. [Runner.All] hands each turn to the loop body
// once its reply is complete, [Runner.AllStreaming] as soon as it begins,
// [Runner.Next] takes one step, and [Runner.RunToCompletion] needs no body.
// [Runner.Outcome] says how a run has ended. After the end, messages that are
// appended begin the next run.
//
// A [Tool] is a definition and a [Handler]. [NewTool] derives the schema from a
// Go type; [NewRawTool] takes any definition; any other [anthropic.BetaTool] is
// run too. A handler's error and its panic become results that the model reads.
//
// A loop body may add messages ([Runner.AppendMessages]), run the calls and change
// their results before they are sent ([Turn.Results]), change Params, or take over:
// [Turn.Retry] sends the same history again, [Turn.Replace] and
// [Runner.SetMessages] put another one in place. [Middleware] goes around handlers,
// and [AutoCompact] shortens a history that has grown.
//
// A run may outlive its process: [Runner.Snapshot] writes its state down at any moment,
// a [Checkpoint] keeps each change before anything depends on it, and [Resume] goes on
// from either, in another process or a later version of the program.
//
// [Params] holds the request and what the loop is to do; the zero value of each
// field of ours is a default.
//
// # Promises
//
// The history is a list of messages that are encoded once, and a reply stays as
// the API sent it, byte for byte. While the caller has control, the history is
// one that the API accepts once the next request goes out. A call that has run is
// not run again: not after an error of the API, and not after a cancellation.
//
// # Files
//
// Each file holds one concept, in the order in which data meets them:
//
//	errors.go        what to branch on, and what to inspect
//	call.go          what the model asks, and what it gets back
//	output.go        what a typed tool returns, as a result
//	oneof.go         interfaces in the input of typed tools
//	tool.go          a definition and what answers its calls
//	dispatch.go      a turn's calls, run; the only goroutines
//	middleware.go    what goes around handlers
//	approval.go      who decides whether a call runs
//	terminal.go      the same, by a person at a terminal
//	toolset.go       what can be called now
//	stop.go          how a run ends
//	usage.go         what replies cost
//	limits.go        what a run may use
//	compact.go       when and how the history is shortened
//	opencall.go      a call without a result yet
//	loop.go          what is the next step, decided without I/O
//	followup.go      messages that come after the open turn
//	takeover.go      a history that the body put in place
//	compacting.go    the loop's part in compacting
//	limiting.go      the loop's part in limits
//	snapshot.go      the state of the loop as bytes
//	seal.go          what shows that nobody has changed them
//	restore.go       bytes as the state of a loop
//	checkpoint.go    what has changed, kept in a file
//	params.go        every knob
//	system.go        the system prompt, encoded again when it changes
//	request.go       parameters and history as a request body
//	event.go         events of a streamed reply
//	log.go           records of what happens
//	redact.go        records without secrets
//	turn.go          what a loop body sees and may do
//	exchange.go      a request, and the turn that it brings
//	ask.go           the calls of a turn, decided on
//	eager.go         calls that run while their reply streams
//	answer.go        the calls of a turn, and their results
//	conversation.go  what a caller may see and do beside the turns
//	resume.go        the state of a run, saved and resumed
//	runner.go        the loop with its I/O
//
// Package toolrunnertest is a Messages API for tests, and package toolrunnermcp has
// the tools of an MCP server. The command cmd/toolrunner shows a run that needs no
// key. The guide in docs/guide has a page for each theme, built around the examples;
// docs/migrate.md is for those who come from an official runner.
package toolrunner
