package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// With a pointer to a struct as schema, the final reply is parsed into it, and the
// replies with calls are not.
func ExampleParams_output() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(
			toolrunnertest.Say("Let me look."),
			toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`),
		),
		toolrunnertest.Text(`{"city":"Paris","degrees":21}`),
	)
	defer srv.Close()
	client := srv.Client()

	var report struct {
		City    string `json:"city"`
		Degrees int    `json:"degrees"`
	}
	params := ask("How is the weather in Paris?")
	params.OutputConfig.Format = anthropic.BetaJSONOutputFormatParam{Schema: &report}
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{
		BetaMessageNewParams: params,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.City, report.Degrees)
	// Output:
	// (looking at the weather in Paris)
	// Paris 21
}
