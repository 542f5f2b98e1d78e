package logs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

const (
	secretKey    = "key-of-a-customer-4711"
	secretBearer = "bearer-of-bad-news-0815"
	secretHeader = "signed-with-a-secret-42"
	secretMCP    = "mcp-token-of-a-server-7"
	secretOther  = "sk-ant-api03-of-another"
	secretImage  = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAADklEQVR4nGJiAAQAAP//AAYAA/rQWa4AAAAASUVORK5CYII="
)

func allSecrets() []string {
	return []string{secretKey, secretBearer, secretHeader, secretMCP, secretOther}
}

// secretStage is a stage whose requests hold all the secrets, and whose records
// go into text, at debug level.
func secretStage(t *testing.T, log *bytes.Buffer, level slog.Level, retries int, replies ...toolrunnertest.Reply) *runtest.Stage {
	t.Helper()
	sign := func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		req.Header.Set("X-Signing-Token", secretHeader)
		return next(req)
	}
	s := runtest.NewStageWith(t, func(p *toolrunner.Params) {
		p.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: level}))
		p.RequestOptions = []option.RequestOption{option.WithHeader("Proxy-Authorization", "Bearer "+secretBearer), option.WithMiddleware(sign)}
		p.MCPServers = []anthropic.BetaRequestMCPServerURLDefinitionParam{{
			Name: "files", URL: "https://mcp.invalid", AuthorizationToken: anthropic.String(secretMCP),
		}}
	}, []option.RequestOption{option.WithAPIKey(secretKey), option.WithMaxRetries(retries)}, replies...)
	s.Srv.Ignore(toolrunnertest.RuleMCPServer)
	return s
}

// S19, B086: whatever goes wrong, and whoever says it, at every level.
func TestNoRecordHoldsASecret(t *testing.T) {
	everything := strings.Join(allSecrets(), " and ") + ` "authorization_token":"token-in-json" https://me:passw0rd@host/?api_key=in-a-query`
	echo := func(code int) toolrunnertest.Reply {
		return toolrunnertest.Status(code, "authentication_error", "invalid "+everything).Header("retry-after-ms", "1")
	}
	call := toolrunnertest.Message(toolrunnertest.Call("c1", "fail", `{}`), toolrunnertest.Call("c2", "panic", `{}`))
	tests := []struct {
		name    string
		retries int
		replies []toolrunnertest.Reply
	}{
		{name: "success", replies: []toolrunnertest.Reply{toolrunnertest.Text("you said " + everything)}},
		{name: "unauthorized", replies: []toolrunnertest.Reply{echo(401)}},
		{name: "too many requests", retries: 1, replies: []toolrunnertest.Reply{echo(429), echo(429)}},
		{name: "tools", replies: []toolrunnertest.Reply{call, toolrunnertest.Text("done")}},
		{name: "odd reply", replies: []toolrunnertest.Reply{toolrunnertest.RawJSON(`{"content":"` + secretKey + `"}`)}},
		{name: "error in a stream", replies: []toolrunnertest.Reply{toolrunnertest.Text("x").ErrorEvent(2, "api_error", everything)}},
		{name: "cut", replies: []toolrunnertest.Reply{toolrunnertest.Text("x").CutAt(10)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			runtest.BothWays(t, func(t *testing.T, streaming bool) {
				var log bytes.Buffer
				s := secretStage(t, &log, slog.LevelDebug, tt.retries, tt.replies...)
				fail := toolrunner.NewTool("fail", "", func(context.Context, struct{}) (string, error) { return "", errors.New(everything) })
				broken := toolrunner.NewTool("panic", "", func(context.Context, struct{}) (string, error) { panic(everything) })
				if err := s.AddTools(fail, broken); err != nil {
					t.Fatal(err)
				}
				_, _ = s.Play(t.Context(), streaming, nil)
				for _, secret := range append(allSecrets(), "token-in-json", "passw0rd", "in-a-query") {
					if at := strings.Index(log.String(), secret); at >= 0 {
						t.Errorf("the records hold %q: %s", secret, log.String()[max(0, at-200):at+len(secret)])
					}
				}
				if !strings.Contains(log.String(), "msg=request ") {
					t.Error("there are no records")
				}
			})
		})
	}
}

// B129: without debug, what the model, the tools and the user say stays out.
func TestContentsAreInRecordsAtDebugLevelOnly(t *testing.T) {
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo} {
		t.Run(level.String(), func(t *testing.T) {
			var log bytes.Buffer
			typed := toolrunner.NewTool("typed", "", func(_ context.Context, in struct {
				N int `json:"n"`
			},
			) (*toolrunner.Result, error) {
				return toolrunner.ErrorResult("private result"), nil
			})
			s := secretStage(t, &log, level, 0,
				toolrunnertest.Message(toolrunnertest.Say("private answer"), toolrunnertest.Call("c1", "typed", `{"n":"private input"}`), toolrunnertest.Call("c2", "typed", `{"n":1}`)),
				toolrunnertest.RawJSON(`{"role":"user","content":"private odd reply"}`))
			if err := s.AddTools(typed); err != nil {
				t.Fatal(err)
			}
			if err := s.AppendMessages(runtest.User("private question")); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Play(t.Context(), false, nil); err == nil {
				t.Fatal("the run has no error, want one for the odd reply")
			}
			for _, text := range []string{"answer", "input", "result", "odd reply", "question"} {
				if got, want := strings.Contains(log.String(), "private "+text), level == slog.LevelDebug; got != want {
					t.Errorf("the records hold the %s: %v, want %v\n%s", text, got, want, log.String())
				}
			}
		})
	}
}

// B086: data is in no record, however short.
func TestDataIsLeftOutOfRecords(t *testing.T) {
	var log bytes.Buffer
	s := secretStage(t, &log, slog.LevelDebug, 0, toolrunnertest.Message(toolrunnertest.Say(strings.Repeat("long ", 300)), toolrunnertest.RedactedThinking(secretImage)))
	image := anthropic.NewBetaImageBlock(anthropic.BetaBase64ImageSourceParam{Data: secretImage, MediaType: "image/png"})
	if err := s.AppendMessages(anthropic.NewBetaUserMessage(image)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Play(t.Context(), false, nil); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(log.String(), secretImage) || strings.Contains(log.String(), "long long") {
		t.Errorf("the records hold data or long texts: %s", log.String())
	}
	if got := strings.Count(log.String(), `<98 bytes>`); got != 2 {
		t.Errorf("the records tell the size of data %d times, want 2: %s", got, log.String())
	}
}

// B086: printing what holds secrets prints none.
func TestPrintingARunnerShowsNoSecret(t *testing.T) {
	var log bytes.Buffer
	s := secretStage(t, &log, slog.LevelDebug, 0, toolrunnertest.Text("done"))
	var turn *toolrunner.Turn
	if _, err := s.Play(t.Context(), false, func(_ int, now *toolrunner.Turn) { turn = now }); err != nil {
		t.Fatal(err)
	}
	values := map[string]any{
		"Params": s.Params, "*Params": &s.Params, "*Runner": s.Runner, "*Turn": turn,
		"a struct": struct{ P toolrunner.Params }{s.Params}, "a slice": []any{s.Runner, s.Params},
	}
	for name, value := range values {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
			text := fmt.Sprintf(verb, value)
			for _, secret := range append(allSecrets(), fmt.Sprintf("%x", secretMCP)) {
				if strings.Contains(text, secret) {
					t.Errorf("%s of %s shows %q: %s", verb, name, secret, text)
				}
			}
		}
	}
	for name, handler := range map[string]slog.Handler{"text": slog.NewTextHandler(&log, nil), "json": slog.NewJSONHandler(&log, nil)} {
		log.Reset()
		slog.New(handler).Info("x", slog.Any("runner", s.Runner), slog.Any("params", s.Params))
		for _, secret := range allSecrets() {
			if strings.Contains(log.String(), secret) {
				t.Errorf("a record as %s shows %q: %s", name, secret, log.String())
			}
		}
	}
}

// MW1: a secret across the place where a text is cut leaves nothing of itself; MW3: nor
// does one that nobody has announced, in the text of a tool's error.
func TestSecretsAreHiddenBeforeTextIsCut(t *testing.T) {
	for _, secret := range []string{secretKey, "ghp_0123456789abcdefghijklmnop", "password=correcthorsebattery"} {
		for cut := range len(secret) {
			var log bytes.Buffer
			s := secretStage(t, &log, slog.LevelInfo, 0, toolrunnertest.Message(toolrunnertest.Call("c1", "fail", `{}`)), toolrunnertest.Text("done"))
			fail := toolrunner.NewTool("fail", "", func(context.Context, struct{}) (string, error) {
				return "", errors.New(strings.Repeat("x", 999-cut) + " " + secret + " tail")
			})
			if err := s.AddTools(fail); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Play(t.Context(), false, nil); err != nil {
				t.Fatal(err)
			}
			value := secret[strings.Index(secret, "=")+1:]
			if part := value[:min(len(value), 6)]; strings.Contains(log.String(), part) || !strings.Contains(log.String(), "xxx") {
				t.Errorf("cut after %d bytes of %q, the records hold %q", cut, secret, part)
			}
		}
	}
}
