package main

import (
	"testing"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

func TestAskLooksAtTheWeather(t *testing.T) {
	srv := toolrunnertest.NewServer(t,
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)),
		toolrunnertest.Text("It is mild.").Expect(toolrunnertest.HasResult("toolu_1", "21 degrees in Paris")),
	)
	answer, err := ask(t.Context(), srv.Client(), "How is the weather in Paris?")
	if answer != "It is mild." || err != nil {
		t.Errorf("ask() = %q, %v", answer, err)
	}
}
