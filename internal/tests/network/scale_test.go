package network_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/lib/betafallback"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/toolrunner/toolrunner"
)

// Runners share tools, parameters, middleware and a client; each changes its own
// tools and adds to its own history from every handler.
func TestManyRunnersShareWhatTheyAreGiven(t *testing.T) {
	n := 300
	if testing.Short() {
		n = 30
	}
	api := newPeerAPI(t, threeTurns()...)
	api.checker.takeover, api.checker.strange = true, true // their requests are mixed
	service := api.client()
	params := toolrunner.Params{
		BetaMessageNewParams: anthropic.BetaMessageNewParams{Model: "m", MaxTokens: 10, Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("hi"))}},
		Middleware:           []toolrunner.Middleware{toolrunner.Limit(50)},
		Logger:               slog.New(slog.NewTextHandler(nowhereToLog{}, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	type key struct{}
	extra := toolrunner.NewTool("extra", "", func(context.Context, struct{}) (string, error) { return "x", nil })
	tools := rawTools(func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		runner, _ := ctx.Value(key{}).(*toolrunner.Runner)
		runner.RemoveToolsByNames("extra")
		if err := runner.AddTools(extra); err != nil {
			return nil, err
		}
		_ = runner.Messages()
		return toolrunner.TextResult(call.ID), runner.AppendMessages(anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("and " + call.ID)))
	})
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() {
			runner, err := toolrunner.New(service, tools, params)
			if err != nil {
				t.Error(err)
				return
			}
			turns := runner.All
			if i%2 == 0 {
				turns = runner.AllStreaming
			}
			for _, err := range turns(context.WithValue(t.Context(), key{}, runner)) {
				if err != nil {
					t.Error(err)
				}
			}
			if runner.Outcome() != toolrunner.OutcomeCompleted {
				t.Errorf("Outcome() = %v, want completed", runner.Outcome())
			}
		})
	}
	running.Wait()
}

// The refusal middleware of the SDK sees the whole request, and its reply is one
// that the runner can go on from; later requests stay with the model that took it.
func TestTheRefusalMiddlewareSeesWholeRequests(t *testing.T) {
	const refusal = `{"id":"m0","type":"message","role":"assistant","model":"m","content":[],"stop_reason":"refusal","stop_details":{"type":"refusal","category":"cyber","fallback_credit_token":"tok"},"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":0}}`
	for _, streaming := range []bool{false, true} {
		t.Run(strconv.FormatBool(streaming), func(t *testing.T) {
			api := newPeerAPI(t, append([]string{refusal}, threeTurns()...)...)
			api.pinned = true
			var tally callCounts
			var bodies []string
			state := &betafallback.BetaFallbackState{}
			runner := startRunner(t, api, []anthropic.BetaTool{tally.tool("work")}, func(p *toolrunner.Params) {
				p.RequestOptions = []option.RequestOption{betafallback.WithBetaFallbackState(state), recordBodies(&bodies)}
			}, option.WithMiddleware(betafallback.BetaRefusalFallbackMiddleware([]anthropic.BetaFallbackParam{{Model: "other"}})))
			finish(t, runner, streaming)
			tally.want(t, "a", "b", "c", "d")
			if len(bodies) != 5 || state.Index() != 0 {
				t.Fatalf("%d requests, fallback %d; want 5, with the first fallback", len(bodies), state.Index())
			}
			for i, body := range bodies {
				if strings.Contains(body, `"other"`) != (i > 0) || strings.Contains(body, `"type":"fallback"`) {
					t.Errorf("request %d is %s", i, body)
				}
			}
			if history := historyJSON(t, runner); strings.Count(history, `"type":"fallback"`) != 1 || !strings.Contains(history, "9007199254740993") {
				t.Errorf("the history is %s, want one seam and the numbers as they came", history)
			}
		})
	}
}

// What the SDK tries again goes out whole, with what options add to it, through
// middleware each time.
func TestARetryOfTheSDKSendsTheSameBody(t *testing.T) {
	api := newPeerAPI(t, oneCall(`{}`)...)
	busy := func(w http.ResponseWriter, _ *http.Request, _ []byte, _ bool) bool {
		w.Header().Set("Retry-After-Ms", "1")
		w.WriteHeader(529)
		return true
	}
	api.failAt(0, busy)
	api.failAt(2, busy)
	var bodies []string
	var tally callCounts
	runner := startRunner(t, api, []anthropic.BetaTool{tally.tool("work")}, func(p *toolrunner.Params) {
		p.RequestOptions = []option.RequestOption{option.WithMaxRetries(2), option.WithJSONSet("extra.deep", 1), recordBodies(&bodies)}
	})
	if _, err := runner.RunToCompletion(t.Context()); err != nil {
		t.Fatal(err)
	}
	tally.want(t, "a")
	if len(bodies) != 4 || bodies[0] != bodies[1] || bodies[2] != bodies[3] {
		t.Fatalf("%d bodies, want two that are sent twice: %q", len(bodies), bodies)
	}
	for _, body := range bodies {
		if !strings.Contains(body, `"extra":{"deep":1}`) || !bytes.Contains([]byte(body), []byte(`"messages":[`)) {
			t.Errorf("the body is %s, want it whole, with what the option adds", body)
		}
	}
}

// nowhereToLog takes records that are written in full.
type nowhereToLog struct{}

func (nowhereToLog) Write(p []byte) (int, error) { return len(p), nil }
