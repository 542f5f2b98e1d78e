package approval_test

import (
	"context"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A14: an approver that reads the input by Call.Decode decides on what a tool reads, that
// of a raw tool as well, whatever the model has written beside it.
func TestAnApproverThatDecodesIsNotFooled(t *testing.T) {
	approve := func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
		var mail struct {
			To string `json:"to"`
		}
		if err := call.Decode(&mail); err != nil {
			return toolrunner.Forbid(err.Error()), nil
		}
		if !strings.HasSuffix(mail.To, "@example.com") {
			return toolrunner.Forbid("no"), nil
		}
		return toolrunner.Allow(), nil
	}
	for _, input := range []string{
		`{"to":"x@evil","To":"ann@example.com"}`, `{"To":"ann@example.com","to":"x@evil"}`, `{"TO":"ann@example.com"}`,
		`{"to":"x@evil","to":"ann@example.com"}`, `{"to":"ann@example.com","t\u006f":"x@evil"}`,
		`{"to":"ann@example.com","cc":{"to":"x@evil","to":"ann@example.com"}}`, `{"to":"ann@example.com","cc":[{"a":1,"a":2}]}`,
	} {
		for _, validate := range []toolrunner.Validation{toolrunner.ValidateInput, toolrunner.ValidateOff, toolrunner.ValidateLenient} {
			var ran runtest.Journal
			c := runtest.StartUnchecked(t, toolrunner.Params{Approve: approve, Validate: validate}, []anthropic.BetaTool{ran.Tool("mail")},
				toolrunnertest.Message(toolrunnertest.Call("a", "mail", input)), toolrunnertest.Text("done"))
			c.Run(t)
			ran.Want(t)
			if got, failed := runtest.ResultText(t, c.Request(t, -1), "a"); !failed || !strings.Contains(got, "not allowed") {
				t.Errorf("%s: result %q, failed %v", input, got, failed)
			}
		}
	}
}
