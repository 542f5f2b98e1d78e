package toolrunner_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// askAboutWeather is an agent as one would test it: it takes the client.
func askAboutWeather(ctx context.Context, client anthropic.Client, city string) (string, error) {
	type input struct {
		City string `json:"city" jsonschema:"required"`
	}
	weather := toolrunner.NewTool("get_weather", "Get the weather in a city.",
		func(_ context.Context, in input) (string, error) { return "21 degrees in " + in.City, nil })
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weather}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in " + city + "?"),
	})
	if err != nil {
		return "", err
	}
	message, err := runner.RunToCompletion(ctx)
	if err != nil {
		return "", err
	}
	return toolrunner.Text(message), nil
}

func TestAgentLooksAtTheWeather(t *testing.T) {
	srv := toolrunnertest.NewServer(t,
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)),
		toolrunnertest.Text("It is mild."),
	)
	got, err := askAboutWeather(t.Context(), srv.Client(), "Paris")
	if err != nil || got != "It is mild." {
		t.Errorf("askAboutWeather() = %q, %v; want the model's answer", got, err)
	}
	if err := toolrunnertest.CheckRun(srv.Requests()); err != nil {
		t.Error(err)
	}
}

func TestAgentOutlivesAnOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the client waits before it tries again: here at no cost
		srv := toolrunnertest.NewServer(t,
			toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)),
			toolrunnertest.Status(529, "overloaded_error", "Overloaded"),
			toolrunnertest.Text("It is mild.").Delay(time.Minute),
		)
		got, err := askAboutWeather(t.Context(), srv.Client(option.WithMaxRetries(2)), "Paris")
		if err != nil || got != "It is mild." {
			t.Errorf("askAboutWeather() = %q, %v; want the answer of the third request", got, err)
		}
	})
}
