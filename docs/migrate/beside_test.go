package migrate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	official "github.com/anthropics/anthropic-sdk-go/v2/toolrunner"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// What docs/migrate.md and docs/compat.md say of other parts of the SDK, beside its
// runner for messages.

// Values that share one enum= are no values: the official constructor takes the first
// alone, and ours says what to write (P17).
func TestEnumIsRepeatedForEachValue(t *testing.T) {
	type input struct {
		Unit string `json:"unit" jsonschema:"enum=celsius,fahrenheit"`
	}
	answer := func(context.Context, input) (anthropic.BetaToolResultBlockParamContentUnion, error) {
		return anthropic.BetaToolResultBlockParamContentUnion{}, nil
	}
	theirs, err := official.NewBetaToolFromJSONSchema("get_weather", "", answer)
	if err != nil {
		t.Fatal(err)
	}
	if schema, err := json.Marshal(theirs.InputSchema()); err != nil || !bytes.Contains(schema, []byte(`"enum":["celsius"]`)) {
		t.Errorf("the official schema is %s, %v; want the one value celsius", schema, err)
	}
	if _, err = toolrunner.NewBetaToolFromJSONSchema("get_weather", "", answer); err == nil ||
		!strings.Contains(err.Error(), `unknown keyword "fahrenheit" (enum= is repeated for each value`) {
		t.Errorf("our constructor says %v, want what to write", err)
	}
}

// The messages of a thread of the SDK begin a run of ours, with the reply in them.
func TestMessagesOfAThreadBeginARun(t *testing.T) {
	srv := toolrunnertest.NewServer(t,
		toolrunnertest.Text("It is mild."),
		toolrunnertest.Text("And tomorrow as well."),
	)
	client := srv.Client()
	first := ask("How is the weather in Tokyo?")
	thread := client.Beta.Messages.NewThread(anthropic.BetaMessageThreadCreateParams{Model: first.Model, MaxTokens: first.MaxTokens, Messages: first.Messages})
	if _, err := thread.Send(t.Context(), anthropic.BetaMessageThreadSendParams{}); err != nil {
		t.Fatal(err)
	}
	params := ask("")
	params.Messages = append(thread.Messages(), say("And tomorrow?"))
	runner, err := toolrunner.New(&client.Beta.Messages, nil, toolrunner.Params{BetaMessageNewParams: params})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := runner.RunToCompletion(t.Context()); err != nil {
		t.Error(err)
	}
	toolrunnertest.WantMessages(t, srv.Requests()[1], `
		user: How is the weather in Tokyo?
		assistant: It is mild.
		user: And tomorrow?`)
}

// A tool of ours answers calls in the runner for sessions of the SDK (S1, S3, S5): input
// is checked, and what the handler returns is what the session gets.
func TestToolAnswersCallsOfASession(t *testing.T) {
	weather := toolrunner.NewTool("get_weather", "Get the weather in a city.", getWeather)
	posted := make(chan string, 2)
	client := sessionClient(t, posted,
		`{"type":"agent.custom_tool_use","id":"evt_1","name":"get_weather","input":{"city":"Tokyo"},"processed_at":"2026-11-30T12:00:00Z"}`,
		`{"type":"agent.custom_tool_use","id":"evt_2","name":"get_weather","input":{},"processed_at":"2026-11-30T12:00:01Z"}`,
	)
	runner := client.Beta.Sessions.Events.NewToolRunner(t.Context(), "session_1", anthropic.SessionToolRunnerOptions{
		Tools: []anthropic.BetaTool{weather}, Logger: slog.New(slog.DiscardHandler),
	})
	defer runner.Close()
	for _, want := range []string{`{"text":"sunny in Tokyo","type":"text"}`, `city: missing; expected string`} {
		if !runner.Next() {
			t.Fatal(runner.Err())
		}
		if got := <-posted; !strings.Contains(got, want) {
			t.Errorf("the result is %s, want one with %s", got, want)
		}
	}
}

// sessionClient returns a client of a server that streams these events of a session and
// gives the results that it is sent to posted.
func sessionClient(t *testing.T, posted chan<- string, events ...string) anthropic.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost:
			body, _ := io.ReadAll(r.Body)
			posted <- string(body)
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"type":"send_session_events"}`)
		case strings.HasSuffix(r.URL.Path, "/stream"):
			var stream bytes.Buffer
			for _, event := range events {
				fmt.Fprintf(&stream, "event: message\ndata: %s\n\n", event)
			}
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write(stream.Bytes())
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"data":[]}`)
		}
	}))
	t.Cleanup(server.Close)
	return anthropic.NewClient(option.WithBaseURL(server.URL), option.WithAPIKey("key"), option.WithMaxRetries(0))
}
