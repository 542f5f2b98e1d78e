package migrate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

type program func(ctx context.Context, client anthropic.Client) error

// with gives a program that is handed its tools this one.
func with(run func(context.Context, anthropic.Client, []anthropic.BetaTool) error, tool anthropic.BetaTool) program {
	return func(ctx context.Context, client anthropic.Client) error {
		return run(ctx, client, []anthropic.BetaTool{tool})
	}
}

// The programs of docs/migrate.md send the same requests before and after, but for
// what the schema of a tool says about itself.
func TestPortedProgramsSendTheSameRequests(t *testing.T) {
	weather := toolrunner.NewTool("get_weather", "Get the weather in a city.", getWeather)
	extra := toolrunner.NewTool("get_tide", "Get the tide in a city.", getWeather)
	changes := func(run func(context.Context, anthropic.Client, []anthropic.BetaTool, anthropic.BetaTool) error) program {
		return func(ctx context.Context, client anthropic.Client) error {
			return run(ctx, client, []anthropic.BetaTool{weather}, extra)
		}
	}
	call := toolrunnertest.Message(
		toolrunnertest.Say("Let me look."), toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Tokyo"}`))
	answer := toolrunnertest.Text("It is sunny.")

	tests := []struct {
		name          string
		before, after program
		script        []toolrunnertest.Reply
	}{
		{"program", programBefore, programAfter, []toolrunnertest.Reply{call, answer}},
		{"completion", with(completionBefore, weather), with(completionAfter, weather), []toolrunnertest.Reply{call, answer}},
		{"steps", with(stepsBefore, weather), with(stepsAfter, weather), []toolrunnertest.Reply{call, answer}},
		{"stream", with(streamBefore, weather), with(streamAfter, weather), []toolrunnertest.Reply{call, answer}},
		{"changes", changes(changesBefore), changes(changesAfter), []toolrunnertest.Reply{call, answer}},
		{
			"compaction", with(compactionBefore, weather), with(compactionAfter, weather),
			[]toolrunnertest.Reply{call.Usage(100_001, 10), toolrunnertest.Message(toolrunnertest.Compaction("sunny")).Usage(0, 0), answer},
		},
		{"definition", definitionBefore, definitionAfter, []toolrunnertest.Reply{call, answer}},
		{"second run", with(secondRunBefore, weather), with(secondRunAfter, weather), []toolrunnertest.Reply{call, answer, answer}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before, after := sent(t, test.before, test.script), sent(t, test.after, test.script)
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("requests (-before +after):\n%s", diff)
			}
		})
	}
}

// What the official runner sends beside that: where a schema comes from, its own
// name, and, unless it is told not to, threads.
func TestWhatOnlyTheOfficialRunnerSends(t *testing.T) {
	threads := func(ctx context.Context, client anthropic.Client) error {
		_, err := client.Beta.Messages.NewToolRunner(nil, anthropic.BetaToolRunnerParams{BetaMessageNewParams: ask("hi")}).RunToCompletion(ctx)
		return err
	}
	tests := []struct {
		name          string
		before, after program
		sent          func(*toolrunnertest.Request) bool
	}{
		{"$schema", programBefore, programAfter, func(q *toolrunnertest.Request) bool { return bytes.Contains(q.Body, []byte(`"$schema"`)) }},
		{"$id", programBefore, programAfter, func(q *toolrunnertest.Request) bool { return bytes.Contains(q.Body, []byte(`"$id"`)) }},
		{"x-stainless-helper", programBefore, programAfter, func(q *toolrunnertest.Request) bool {
			return q.Header.Get("X-Stainless-Helper") != ""
		}},
		{"thread", threads, programAfter, func(q *toolrunnertest.Request) bool { return q.Field("thread") != nil }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before, after := toolrunnertest.NewServer(t, toolrunnertest.Text("Hi.")), toolrunnertest.NewServer(t, toolrunnertest.Text("Hi."))
			if err := errors.Join(test.before(t.Context(), before.Client()), test.after(t.Context(), after.Client())); err != nil {
				t.Fatal(err)
			}
			if got := test.sent(before.Requests()[0]); !got {
				t.Errorf("the official runner does not send it")
			}
			if got := test.sent(after.Requests()[0]); got {
				t.Errorf("this runner sends it")
			}
		})
	}
}

// sent returns the bodies of the requests of a program, as values, and its betas.
func sent(t *testing.T, run program, script []toolrunnertest.Reply) []any {
	t.Helper()
	srv := toolrunnertest.NewServer(t, script...)
	if err := run(t.Context(), srv.Client()); err != nil {
		t.Fatal(err)
	}
	var all []any
	for _, q := range srv.Requests() {
		decoder := json.NewDecoder(bytes.NewReader(q.Body))
		decoder.UseNumber()
		var body map[string]any
		if err := decoder.Decode(&body); err != nil {
			t.Fatal(err)
		}
		dropSelfDescription(body)
		all = append(all, body, q.Header.Get("Anthropic-Beta"))
	}
	return all
}

// dropSelfDescription removes $schema and $id, which the official constructor puts
// into a schema that it derives.
func dropSelfDescription(value any) {
	switch value := value.(type) {
	case map[string]any:
		delete(value, "$schema")
		delete(value, "$id")
		for _, member := range value {
			dropSelfDescription(member)
		}
	case []any:
		for _, element := range value {
			dropSelfDescription(element)
		}
	}
}
