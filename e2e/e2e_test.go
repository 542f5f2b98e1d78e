package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// TestLoopAgainstAServer has the conversation of aimock.json with the server at TOOLRUNNER_E2E_URL, plain and streamed, 50
// times each or as often as TOOLRUNNER_E2E_RUNS says. Every run has to complete, every request has to keep the rules of the
// API, and the last answer has to contain TOOLRUNNER_E2E_WANT, if that is set.
func TestLoopAgainstAServer(t *testing.T) {
	url := os.Getenv("TOOLRUNNER_E2E_URL")
	if url == "" {
		t.Skip("TOOLRUNNER_E2E_URL names no server; bash e2e/run starts one")
	}
	runs := 50
	if n, err := strconv.Atoi(os.Getenv("TOOLRUNNER_E2E_RUNS")); err == nil {
		runs = n
	}
	for name, turns := range map[string]func(*toolrunner.Runner, context.Context) iter.Seq2[*toolrunner.Turn, error]{
		"plain": (*toolrunner.Runner).All, "streamed": (*toolrunner.Runner).AllStreaming,
	} {
		t.Run(name, func(t *testing.T) {
			failures, calls, requests, start := 0, 0, 0, time.Now()
			for i := range runs {
				n, m, err := converse(t.Context(), url, turns)
				calls, requests = calls+n, requests+m
				if err != nil {
					failures++
					t.Errorf("run %d: %v", i+1, err)
				}
			}
			t.Logf("%d failures in %d runs, %d requests, %d calls, %v", failures, runs, requests, calls, time.Since(start).Round(time.Millisecond))
		})
	}
}

// converse has one conversation and returns how many calls were run and how many requests sent.
func converse(ctx context.Context, url string, turns func(*toolrunner.Runner, context.Context) iter.Seq2[*toolrunner.Turn, error]) (calls, requests int, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var sent [][]byte
	client := anthropic.NewClient(option.WithoutEnvironmentDefaults(), option.WithAPIKey("none"), option.WithBaseURL(url),
		option.WithMaxRetries(0), option.WithMiddleware(func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			sent = append(sent, body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			return next(r)
		}))
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weather()}, toolrunner.Params{
		BetaMessageNewParams: anthropic.BetaMessageNewParams{
			Model: "claude-test", MaxTokens: 256,
			Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("How is the weather in Lisbon and Tromsø?"))},
		},
		MaxIterations: 5,
	})
	if err != nil {
		return 0, 0, err
	}
	last := ""
	for turn, err := range turns(runner, ctx) {
		if err != nil {
			return calls, len(sent), err
		}
		results, err := turn.Results(ctx)
		if err != nil {
			return calls, len(sent), err
		}
		calls, last = calls+len(results), turn.Text()
	}
	for i, body := range sent {
		if err := toolrunnertest.CheckRequest(body); err != nil {
			return calls, len(sent), fmt.Errorf("request %d: %w", i+1, err)
		}
	}
	if want := os.Getenv("TOOLRUNNER_E2E_WANT"); !strings.Contains(last, want) {
		return calls, len(sent), fmt.Errorf("the answer is %q, want it to contain %q; %v", last, want, runner.Outcome())
	}
	return calls, len(sent), nil
}

func weather() *toolrunner.Tool {
	type in struct {
		City string `json:"city"`
	}
	return toolrunner.NewTool("get_weather", "The temperature in a city.", func(_ context.Context, in in) (string, error) {
		switch in.City {
		case "Lisbon":
			return "24 degrees", nil
		case "Tromsø":
			return "9 degrees", nil
		}
		return "", errors.New("no such city; spell it as its people do")
	})
}
