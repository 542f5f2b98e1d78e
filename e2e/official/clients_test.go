package official_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/toolrunner"
)

// The versions that are installed.
const (
	pythonSDK     = "anthropic==2.14.0"
	typescriptSDK = "@anthropic-ai/sdk@1.14.0"
	zod           = "zod@4"
)

// client asks the question with the runner of a language, plain or streamed, and returns the last reply's text.
type client func(ctx context.Context, url string, streamed bool) (string, error)

// install returns a client of each language. What cannot be installed here is skipped, with the reason.
func install(t *testing.T) map[string]client {
	t.Helper()
	clients := map[string]client{"go": askGo}
	for name, prepare := range map[string]func(*testing.T, string) (client, error){
		"python": python, "typescript": typescript, "java": java,
	} {
		dir := t.TempDir()
		ask, err := prepare(t, dir)
		if err != nil {
			t.Logf("%s is left out: %v", name, err)
			continue
		}
		clients[name] = ask
	}
	return clients
}

func python(t *testing.T, dir string) (client, error) {
	t.Helper()
	bin := filepath.Join(dir, "venv", "bin")
	if err := command(t, dir, "python3", "-m", "venv", "venv"); err != nil {
		return nil, err
	}
	if err := command(t, dir, filepath.Join(bin, "pip"), "install", "--quiet", pythonSDK); err != nil {
		return nil, err
	}
	return program(filepath.Join(bin, "python"), copied(t, "run.py", dir)), nil
}

func typescript(t *testing.T, dir string) (client, error) {
	t.Helper()
	if err := command(t, dir, "npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", dir, typescriptSDK, zod); err != nil {
		return nil, err
	}
	return program("node", copied(t, "run.mjs", dir)), nil
}

func java(t *testing.T, dir string) (client, error) {
	t.Helper()
	copied(t, "pom.xml", dir)
	paths := filepath.Join(dir, "classpath")
	if err := command(t, dir, "mvn", "--quiet", "--batch-mode", "-Dmaven.repo.local="+filepath.Join(dir, "m2"),
		"dependency:build-classpath", "-Dmdep.outputFile="+paths); err != nil {
		return nil, err
	}
	classes, err := os.ReadFile(paths)
	if err != nil {
		return nil, err
	}
	path := string(classes) + string(filepath.ListSeparator) + dir
	if err := command(t, dir, "javac", "-cp", path, copied(t, "Run.java", dir)); err != nil {
		return nil, err
	}
	return program("java", "-cp", path, "Run"), nil
}

// copied copies a file of testdata into a folder, and returns its path there.
func copied(t *testing.T, name, dir string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// command runs a program of an installation.
func command(t *testing.T, dir, name string, args ...string) error {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return errors.New(filepath.Base(name) + ": " + err.Error() + "\n" + string(out))
	}
	return nil
}

// program is the client that a program is.
func program(name string, args ...string) client {
	return func(ctx context.Context, url string, streamed bool) (string, error) {
		cmd := exec.CommandContext(ctx, name, append(args, form(streamed))...)
		cmd.Env = append(os.Environ(), "ANTHROPIC_BASE_URL="+url)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			return "", errors.New(err.Error() + "\n" + stderr.String())
		}
		return string(out), nil
	}
}

func form(streamed bool) string {
	if streamed {
		return "streamed"
	}
	return "plain"
}

type city struct {
	City string `json:"city"`
}

type numbers struct {
	A int `json:"a"`
	B int `json:"b"`
}

// askGo is the official runner of Go.
func askGo(ctx context.Context, url string, streamed bool) (string, error) {
	weather, err := toolrunner.NewBetaToolFromJSONSchema("get_weather", "Weather in a city.", getWeather)
	if err != nil {
		return "", err
	}
	sum, err := toolrunner.NewBetaToolFromJSONSchema("add", "Adds two numbers.", add)
	if err != nil {
		return "", err
	}
	c := anthropic.NewClient(option.WithoutEnvironmentDefaults(), option.WithAPIKey("none"), option.WithBaseURL(url), option.WithMaxRetries(0))
	tools := []anthropic.BetaTool{weather, sum}
	params := anthropic.BetaToolRunnerParams{BetaMessageNewParams: anthropic.BetaMessageNewParams{
		Model: "claude-sonnet-5-5", MaxTokens: 100,
		Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("How warm is it, and how much is that?"))},
	}}
	if !streamed {
		message, err := c.Beta.Messages.NewToolRunner(tools, params).RunToCompletion(ctx)
		return textOf(message), err
	}
	runner := c.Beta.Messages.NewToolRunnerStreaming(tools, params)
	for events, err := range runner.AllStreaming(ctx) {
		if err != nil {
			return "", err
		}
		for _, err := range events {
			if err != nil {
				return "", err
			}
		}
	}
	return textOf(runner.LastMessage()), nil
}

func getWeather(_ context.Context, in city) (anthropic.BetaToolResultBlockParamContentUnion, error) {
	if in.City != "Tromsø" {
		return anthropic.BetaToolResultBlockParamContentUnion{}, errors.New("no such city")
	}
	return said("9 degrees"), nil
}

func textOf(message *anthropic.BetaMessage) string {
	var text strings.Builder
	if message != nil {
		for _, block := range message.Content {
			text.WriteString(block.Text)
		}
	}
	return text.String()
}
