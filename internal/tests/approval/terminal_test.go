package approval_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// asked puts one call to an approver.
func asked(ctx context.Context, approver toolrunner.Approver, input string) (toolrunner.Decision, error) {
	return approver(ctx, &toolrunner.Call{ID: "a", Name: "work", Input: runtest.RawJSON(input)})
}

// S27: what a person may type, and what is asked again.
func TestTerminalReadsAnswers(t *testing.T) {
	tests := []struct {
		typed string
		want  string // the decision, or "" for the end of what was typed
		asked int    // how often
	}{
		{"y\n", "allow", 1},
		{" YES \r\n", "allow", 1},
		{"y", "allow", 1}, // the last line has no end
		{"n\n", "deny", 1},
		{"no because of that\n", "deny", 1},
		{"s\n", "suspend", 1},
		{`e {"n": 2}` + "\n", "allow input", 1},
		{`edit {"n": 2}` + "\n", "allow input", 1},
		{"\n\n  \ny\n", "allow", 4},
		{"yy\nyes please\nok\nY?\n\x00\n\xff\ns now\nn\n", "deny", 8},
		{"e\ne []\ne {\ne {} {}\ne null\n" + `e {"n":1}` + "\n", "allow input", 6},
		{"", "", 1},
		{"what", "", 2},
		{"what\n", "", 2},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%q", tt.typed), func(t *testing.T) {
			var out bytes.Buffer
			d, err := asked(t.Context(), toolrunner.AskTerminal(strings.NewReader(tt.typed), &out), `{}`)
			if tt.want == "" && !errors.Is(err, io.EOF) || tt.want != "" && (err != nil || d.String() != tt.want) {
				t.Errorf("the decision is %v, %v; want %q", d, err, tt.want)
			}
			if n := strings.Count(out.String(), "Run work with "); n != tt.asked {
				t.Errorf("asked %d times, want %d:\n%s", n, tt.asked, out.String())
			}
		})
	}
}

// An edit that the tool would not take is asked again, with what is wrong, and does
// not end the run.
func TestTerminalAsksAgainForInputThatDoesNotFit(t *testing.T) {
	var out bytes.Buffer
	var got runtest.Journal
	double := toolrunner.NewTool("double", "", func(_ context.Context, in struct {
		N int `json:"n"`
	},
	) (int, error) {
		got.Add("%d", in.N)
		return 2 * in.N, nil
	})
	in := strings.NewReader("e {\"\u202e\":1}\ne {\"n\":\"1\"}\ne {\"n\":4}\n")
	c := runtest.Start(t, approving(toolrunner.AskTerminal(in, &out)), runtest.Tools(double), toolrunnertest.Message(toolrunnertest.Call("a", "double", `{"n":1}`)), toolrunnertest.Text("done"))
	c.Run(t)
	got.Want(t, "4")
	if n := strings.Count(out.String(), "The tool does not take that: "); n != 2 || strings.Contains(out.String(), "\u202e") {
		t.Errorf("shown is %q, want two complaints, printable", out.String())
	}
}

// The end of the input, a broken reader or writer and a panic in either ends the run,
// and nothing has run.
func TestTerminalThatBreaksRunsNothing(t *testing.T) {
	for name, approver := range map[string]toolrunner.Approver{
		"end":    toolrunner.AskTerminal(strings.NewReader(""), io.Discard),
		"reader": toolrunner.AskTerminal(io.MultiReader(strings.NewReader("y"), brokenPipe{}), io.Discard),
		"writer": toolrunner.AskTerminal(strings.NewReader("y\n"), brokenPipe{}),
		"panic":  toolrunner.AskTerminal(strings.NewReader("y\n"), nil),
	} {
		t.Run(name, func(t *testing.T) {
			var ran runtest.Journal
			c := runtest.Start(t, approving(approver), runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
			if _, err := c.TryRun(t.Context(), nil); err == nil {
				t.Error("All() error = nil, want one")
			}
			ran.Want(t)
			c.Params.Approve = toolrunner.AskTerminal(strings.NewReader("n\n"), io.Discard)
			c.Run(t)
			ran.Want(t)
		})
	}
}

type brokenPipe struct{}

func (brokenPipe) Read([]byte) (int, error) { return 0, runtest.ErrBroken }

func (brokenPipe) Write([]byte) (int, error) { return 0, runtest.ErrBroken }

// A question that was cancelled leaves its read behind: a line that comes before the
// next question answers nothing, one that comes after it does.
func TestTerminalDropsAnswersToQuestionsThatAreGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, keyboard := io.Pipe()
		defer keyboard.Close()
		approver := toolrunner.AskTerminal(in, io.Discard)
		give := func(line string) {
			t.Helper()
			if _, err := io.WriteString(keyboard, line); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		cancelledQuestion := func() {
			t.Helper()
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				synctest.Wait()
				cancel(runtest.ErrBroken)
			}()
			if _, err := asked(ctx, approver, `{}`); !errors.Is(err, runtest.ErrBroken) {
				t.Errorf("the error is %v, want the cause", err)
			}
		}
		question := func(line, want string) {
			t.Helper()
			done := make(chan struct{})
			go func() {
				defer close(done)
				if d, err := asked(t.Context(), approver, `{}`); err != nil || d.String() != want {
					t.Errorf("the decision is %v, %v; want %s", d, err, want)
				}
			}()
			synctest.Wait()
			give(line)
			<-done
		}
		cancelledQuestion()
		give("y\n") // too late
		question("n\n", "deny")
		cancelledQuestion()
		cancelledQuestion() // has the same read
		question("y\n", "allow")
		question("s\n", "suspend")
	})
}

// Runners that share a terminal take turns, and one that is cancelled while it waits
// for its turn does not ask.
func TestTerminalIsSharedByRunners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, keyboard := io.Pipe()
		defer keyboard.Close()
		out := &sharedBuffer{}
		approver := toolrunner.AskTerminal(in, out)
		var everybody sync.WaitGroup
		everybody.Go(func() {
			if d, err := asked(t.Context(), approver, `{}`); err != nil || d.String() != "allow" {
				t.Errorf("the decision is %v, %v; want allow", d, err)
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		everybody.Go(func() {
			if _, err := asked(ctx, approver, `{}`); !errors.Is(err, context.Canceled) {
				t.Errorf("the error is %v, want the cancel", err)
			}
		})
		everybody.Go(func() {
			if d, err := asked(t.Context(), approver, `{}`); err != nil || d.String() != "deny" {
				t.Errorf("the decision is %v, %v; want deny", d, err)
			}
		})
		synctest.Wait()
		if n := strings.Count(out.String(), "Run work with "); n != 1 {
			t.Errorf("%d questions are open, want 1", n)
		}
		cancel()
		synctest.Wait()
		for _, line := range []string{"y\n", "n\n"} {
			_, _ = io.WriteString(keyboard, line)
			synctest.Wait()
		}
		everybody.Wait()
		if n := strings.Count(out.String(), "Run work with "); n != 2 {
			t.Errorf("%d questions were asked, want 2", n)
		}
	})
}

type sharedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *sharedBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *sharedBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// S27: a question goes to another goroutine, and its first answer counts.
func TestChannelAsksAnotherGoroutine(t *testing.T) {
	var ran runtest.Journal
	questions := make(chan *toolrunner.Question)
	defer close(questions)
	go func() {
		for q := range questions {
			if q.Call.ID == "b" {
				q.Answer(toolrunner.Deny("no"))
			}
			for range 3 { // it never blocks
				q.Answer(toolrunner.Allow())
			}
		}
	}()
	c := runtest.Start(t, approving(toolrunner.AskChannel(questions)), runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a", "b", "c"), toolrunnertest.Text("done"))
	c.Run(t)
	ran.WantSorted(t, "a", "c")
	runtest.WantFailure(t, c.Request(t, 1), "b", declined+" The reason: no")
	new(toolrunner.Question).Answer(toolrunner.Allow()) // nobody waits, and nothing happens
}

// A question that nobody takes, or answers, ends with the run's context; an answer
// that comes later decides nothing.
func TestChannelQuestionsEndWithTheContext(t *testing.T) {
	for name, take := range map[string]bool{"not taken": false, "not answered": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ran runtest.Journal
				questions := make(chan *toolrunner.Question)
				ctx, cancel := context.WithCancelCause(t.Context())
				taken := make(chan *toolrunner.Question, 1)
				go func() {
					if take {
						taken <- <-questions
					}
					synctest.Wait()
					cancel(runtest.ErrBroken)
				}()
				c := runtest.Start(t, approving(toolrunner.AskChannel(questions)), runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
				if _, err := c.TryRun(ctx, nil); !errors.Is(err, context.Canceled) || !errors.Is(err, runtest.ErrBroken) {
					t.Errorf("All() error = %v, want the cancel and its cause", err)
				}
				if take {
					(<-taken).Answer(toolrunner.Allow())
				}
				go func() { (<-questions).Answer(toolrunner.Suspend()) }()
				c.RunSuspended(t, "a")
				ran.Want(t)
				c.MustDecide(t, "a", toolrunner.Deny(""))
				c.Run(t)
			})
		})
	}
	t.Run("closed", func(t *testing.T) {
		var ran runtest.Journal
		questions := make(chan *toolrunner.Question)
		close(questions)
		c := runtest.Start(t, approving(toolrunner.AskChannel(questions)), runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a"))
		if _, err := c.TryRun(t.Context(), nil); err == nil {
			t.Error("All() error = nil, want one")
		}
		ran.Want(t)
	})
}

// A question begins on a line of its own, wherever the streamed text before it ended.
func TestAQuestionBeginsOnALineOfItsOwn(t *testing.T) {
	var out bytes.Buffer
	out.WriteString("I will look at the")
	if _, err := asked(t.Context(), toolrunner.AskTerminal(strings.NewReader("y\n"), &out), `{}`); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasPrefix(got, "I will look at the\n") || strings.HasPrefix(got, "I will look at the\n\n") {
		t.Errorf("the terminal shows %q", got)
	}
}
