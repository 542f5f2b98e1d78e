package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mocked is the subcommand, running.
type mocked struct {
	url    string
	stop   context.CancelFunc
	exit   chan int
	mu     sync.Mutex
	stderr strings.Builder
}

// Write collects what goes to stderr.
func (m *mocked) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stderr.Write(p)
}

func (m *mocked) log() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stderr.String()
}

func startMock(t *testing.T, script string, args ...string) *mocked {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.script")
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	m := &mocked{stop: stop, exit: make(chan int, 1)}
	reader, writer := io.Pipe()
	go func() {
		m.exit <- run(ctx, append([]string{"mock", path}, args...), nil, writer, m, noEnv())
		writer.Close()
	}()
	line, err := bufio.NewReader(reader).ReadString('\n')
	if err != nil {
		t.Fatalf("no URL was printed: %v; stderr:\n%s", err, m.log())
	}
	m.url = strings.TrimSpace(line)
	t.Cleanup(stop)
	return m
}

// ask sends a message of the user and returns the answer.
func (m *mocked) ask(t *testing.T, text string) (int, string) {
	t.Helper()
	body := `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"` + text + `"}]}`
	res, err := http.Post(m.url+"/v1/messages", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(answer)
}

const greetings = "> user Hello\n< text Good day.\n\n> user Bye\n< text Goodbye.\n"

func TestMockEndsWhenItsScriptIsUsedUp(t *testing.T) {
	m := startMock(t, greetings, "-once")
	for _, turn := range []struct{ ask, want string }{{"Hello", "Good day."}, {"Bye", "Goodbye."}} {
		if status, got := m.ask(t, turn.ask); status != http.StatusOK || !strings.Contains(got, turn.want) {
			t.Errorf("%s: %d %s, want %s", turn.ask, status, got, turn.want)
		}
	}
	if code := <-m.exit; code != exitOK {
		t.Errorf("exit code = %d, want %d; stderr:\n%s", code, exitOK, m.log())
	}
	want := "1 POST /v1/messages 200, 287 bytes, replies left: 1\n2 POST /v1/messages 200, 286 bytes, replies left: 0\n"
	if diff := cmp.Diff(want, m.log()); diff != "" {
		t.Errorf("stderr (-want +got):\n%s", diff)
	}
}

func TestMockFailsWhenARequestGoesWrong(t *testing.T) {
	m := startMock(t, greetings, "-once")
	if status, got := m.ask(t, "Bye"); status != 400 || !strings.Contains(got, "want it to contain") {
		t.Errorf("%d %s, want 400 with the reason", status, got)
	}
	if code := <-m.exit; code != exitFailed {
		t.Errorf("exit code = %d, want %d", code, exitFailed)
	}
	if got := m.log(); !strings.Contains(got, "request 1 is not what the script expects") || !strings.Contains(got, "1 of 1 requests went wrong") {
		t.Errorf("stderr lacks what went wrong:\n%s", got)
	}
}

func TestMockRunsUntilItIsInterrupted(t *testing.T) {
	m := startMock(t, greetings)
	for _, ask := range []string{"Hello", "Bye"} {
		if status, got := m.ask(t, ask); status != 200 {
			t.Errorf("%s: %d %s, want 200", ask, status, got)
		}
	}
	if status, _ := m.ask(t, "More"); status != 400 {
		t.Errorf("a request after the script's end = %d, want 400", status)
	}
	m.stop()
	if code := <-m.exit; code != exitFailed {
		t.Errorf("exit code = %d, want %d, as a request went wrong", code, exitFailed)
	}
}

func TestMockSendsStreamsEventByEvent(t *testing.T) {
	m := startMock(t, "< text Good day.\n< trickle 1ms\n")
	res, err := http.Post(m.url+"/v1/messages", "application/json", strings.NewReader(`{"model":"m","max_tokens":1,"stream":true,"messages":[{"role":"user","content":"a"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || !strings.HasSuffix(string(body), "data: {\"type\":\"message_stop\"}\n\n") {
		t.Errorf("stream = %s, %v", body, err)
	}
}

// The runners of other languages use message threads at their defaults (P2).
func TestMockKeepsThreadsUnlessToldNotTo(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want []string
	}{
		{"kept", nil, []string{"200", "200"}},
		{"kept for long enough", []string{"-thread-lifetime", "1h", "-forget", "0"}, []string{"200", "200"}},
		{"refused", []string{"-no-threads"}, []string{"400 thread_unsupported_request", "400 thread_unsupported_request"}},
		{"refused for features", []string{"-no-threads", "-unsupported", "fallbacks, thinking"}, []string{
			"400 thread_unsupported_request fallbacks,thinking", "400 thread_unsupported_request fallbacks,thinking",
		}},
		{"forgotten", []string{"-forget", "1", "-seed", "7"}, []string{"200", "404 thread_not_found"}},
		{"expired", []string{"-thread-lifetime", "1ns"}, []string{"200", "404 thread_not_found"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := startMock(t, "< call t1 f\n\n> result t1 done\n< text Good.\n", tt.args...)
			var got []string
			for _, thread := range []string{
				`"thread":{"type":"create"},"messages":[{"role":"user","content":"q"}]`,
				`"thread":{"type":"continue","previous_message_id":"msg_1"},"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"done"}]}]`,
			} {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, m.url+"/v1/messages", strings.NewReader(`{"model":"m","max_tokens":1,`+thread+`}`))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Anthropic-Beta", "message-threads-2026-08-12")
				res, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, threadAnswer(t, res))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("answers %q, want %q", got, tt.want)
			}
			if strings.Contains(m.log(), "toolrunnertest:") {
				t.Errorf("a refused thread is reported as a problem:\n%s", m.log())
			}
		})
	}
}

// threadAnswer is the status, the error code and the unsupported features of an answer.
func threadAnswer(t *testing.T, res *http.Response) string {
	t.Helper()
	defer res.Body.Close()
	var body struct {
		Error struct {
			Details struct {
				ErrorCode   string   `json:"error_code"`
				Unsupported []string `json:"unsupported"`
			} `json:"details"`
		} `json:"error"`
	}
	if err := json.NewDecoder(res.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	details := body.Error.Details
	return strings.TrimSpace(fmt.Sprint(res.StatusCode, " ", details.ErrorCode, " ", strings.Join(details.Unsupported, ",")))
}

func TestMockRefusesFlagsOfThreadsThatMakeNoSense(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.script")
	if err := os.WriteFile(path, []byte(greetings), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"-forget", "1.5"}, {"-forget", "-1"}, {"-forget", "NaN"}, {"-thread-lifetime", "-1s"}, {"-unsupported", "thinking"}} {
		var stderr strings.Builder
		if code := run(t.Context(), append([]string{"mock", path}, args...), nil, io.Discard, &stderr, noEnv()); code != exitUsage || !strings.Contains(stderr.String(), args[0]) {
			t.Errorf("%q: exit code %d with %q, want %d and the flag's name", args, code, stderr.String(), exitUsage)
		}
	}
}
