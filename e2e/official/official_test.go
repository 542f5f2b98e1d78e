package official_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

const (
	enable = "TOOLRUNNER_E2E_OFFICIAL"
	answer = "It is 9 degrees; that makes 14."
	script = "testdata/weather.script"
)

func add(_ context.Context, in numbers) (anthropic.BetaToolResultBlockParamContentUnion, error) {
	return said(fmt.Sprint(in.A + in.B)), nil
}

func said(text string) anthropic.BetaToolResultBlockParamContentUnion {
	return anthropic.BetaToolResultBlockParamContentUnion{OfText: &anthropic.BetaTextBlockParam{Text: text}}
}

// TestOfficialRunnersAtTheirDefaults has the conversation of weather.script with the official runners, plain and streamed, with
// threads that are kept, forgotten in the middle, always forgotten, and refused.
func TestOfficialRunnersAtTheirDefaults(t *testing.T) {
	if os.Getenv(enable) == "" {
		t.Skip(enable + " is not set; bash e2e/run official sets it. It needs Python, Node.js, Maven and the network")
	}
	clients := install(t)
	mock := filepath.Join(t.TempDir(), "toolrunner")
	if err := command(t, "../..", "go", "build", "-o", mock, "./cmd/toolrunner"); err != nil {
		t.Fatal(err)
	}
	for language, ask := range clients {
		for _, streamed := range []bool{false, true} {
			t.Run(language+" "+form(streamed), func(t *testing.T) {
				inProcess(t, ask, streamed)
				againstMock(t, mock, ask, streamed)
			})
		}
	}
}

// inProcess asks a server of toolrunnertest.
func inProcess(t *testing.T, ask client, streamed bool) {
	t.Helper()
	for _, tt := range []struct {
		name    string
		prepare func(*toolrunnertest.Server)
		before  func(srv *toolrunnertest.Server, request int) // each request; the first is 1
		want    []string
	}{
		{
			name: "kept",
			want: []string{"create 1 200", "continue 1 200", "continue 1 200", "continue 0 200"},
		},
		{
			name: "forgotten in the middle",
			before: func(srv *toolrunnertest.Server, request int) {
				if request == 3 {
					srv.Forget()
				}
			},
			want: []string{"create 1 200", "continue 1 200", "continue 1 404", "create 5 200", "continue 0 200"},
		},
		{
			name:    "always forgotten",
			prepare: func(srv *toolrunnertest.Server) { srv.ForgetAfter(-1) },
			want:    []string{"create 1 200", "continue 1 404", "create 3 200", "continue 1 404", "none 5 200", "none 6 200"},
		},
		{
			name:    "refused",
			prepare: func(srv *toolrunnertest.Server) { srv.RefuseThreads("context_management") },
			want:    []string{"create 1 400", "none 1 200", "none 3 200", "none 5 200", "none 6 200"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			replies, err := toolrunnertest.Script(script)
			if err != nil {
				t.Fatal(err)
			}
			srv := toolrunnertest.NewServer(t, replies...)
			if tt.prepare != nil {
				tt.prepare(srv)
			}
			var requests atomic.Int32
			listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if n := requests.Add(1); tt.before != nil {
					tt.before(srv, int(n))
				}
				srv.ServeHTTP(w, r)
			}))
			defer listener.Close()
			check(t, ask, listener.URL, streamed)
			if diff := cmp.Diff(tt.want, forms(srv.Requests())); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if err := toolrunnertest.CheckRun(srv.Requests(), toolrunnertest.ValuesOnly(), toolrunnertest.Reconfigured()); err != nil {
				t.Logf("not a fault of the server, but to know of: %v", err)
			}
		})
	}
}

// forms tells the thread, the count of messages and the status of each request.
func forms(requests []*toolrunnertest.Request) []string {
	var list []string
	for _, q := range requests {
		kind := "none"
		for _, known := range []string{"create", "continue"} {
			if strings.Contains(string(q.Field("thread")), `"`+known+`"`) {
				kind = known
			}
		}
		list = append(list, fmt.Sprintf("%s %d %d", kind, len(q.Messages()), q.Status))
	}
	return list
}

// againstMock asks the command.
func againstMock(t *testing.T, mock string, ask client, streamed bool) {
	t.Helper()
	for _, flags := range [][]string{
		{}, {"-no-threads"}, {"-forget", "1"}, {"-forget", "0.5", "-seed", "3"}, {"-thread-lifetime", "1ns"},
	} {
		t.Run("mock "+strings.Join(flags, " "), func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), mock, append([]string{"mock", script, "-once"}, flags...)...)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			url, err := bufio.NewReader(out).ReadString('\n')
			if err != nil && !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			check(t, ask, strings.TrimSpace(url), streamed)
			if t.Failed() {
				_ = cmd.Process.Kill()
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("toolrunner mock: %v\n%s", err, stderr.String())
			}
		})
	}
}

// check asks and compares the answer.
func check(t *testing.T, ask client, url string, streamed bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, err := ask(ctx, url, streamed)
	if err != nil || got != answer {
		t.Errorf("the answer is %q, %v; want %q", got, err, answer)
	}
}
