package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
)

// explainOutcome says why a run ended before the model was done, and what to do.
func (o *runOptions) explainOutcome(ctx context.Context, runner *toolrunner.Runner, stop anthropic.BetaStopReason) string {
	switch outcome := runner.Outcome(); outcome {
	case toolrunner.OutcomeLimitReached:
		return explainLimit(ctx, runner)
	case toolrunner.OutcomeMaxIterations:
		return fmt.Sprintf("the model was not done after %s; -max-iterations allows more", count(o.maxIterations, "turn"))
	case toolrunner.OutcomeTruncated:
		if stop == anthropic.BetaStopReasonModelContextWindowExceeded {
			return "the conversation has filled the context window of the model"
		}
		return fmt.Sprintf("the reply was cut off after %d tokens; -max-tokens allows more", o.maxTokens)
	case toolrunner.OutcomeRefused:
		return "the model refused"
	default:
		return "the run ended early: " + outcome.String()
	}
}

// explainLimit says which limit a run has reached. Going on with it does nothing
// but tell.
func explainLimit(ctx context.Context, runner *toolrunner.Runner) string {
	_, err := runner.RunToCompletion(ctx)
	if err == nil {
		return toolrunner.ErrLimitReached.Error()
	}
	return strings.NewReplacer(
		"toolrunner: the run has reached one of Params.Limits: ", "a limit is reached: ",
		"Limits.InputTokens", "-max-input-tokens", "Limits.OutputTokens", "-max-output-tokens", "Limits.TotalTokens", "-max-total-tokens",
		"Limits.Duration", "-max-time", "Limits.FailedCalls", "-max-failed-calls",
	).Replace(err.Error())
}

// explainError says what went wrong, in a line where the API said it.
func explainError(err error) string {
	if api := (*anthropic.Error)(nil); errors.As(err, &api) && api.Message != "" {
		text := fmt.Sprintf("the API answered %d %s: %s", api.StatusCode, api.Type(), api.Message)
		if api.RequestID != "" {
			text += " (request " + api.RequestID + ")"
		}
		if api.StatusCode == http.StatusUnauthorized {
			text += "; the key is taken from ANTHROPIC_API_KEY"
		}
		return text
	}
	text := strings.TrimPrefix(err.Error(), "toolrunner: ")
	return strings.ReplaceAll(text, "pass it to Resume", "give the -mcp and -tools that the run began with")
}
