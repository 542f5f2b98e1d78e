package question_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/toolrunner/toolrunner/internal/question"
)

// typist is a person who types a line at each prompt. What was typed early is there
// until it is dropped.
type typist struct {
	early, lines []string
	prompts      int
}

func (t *typist) Drop() { t.early = nil }

func (t *typist) Next(context.Context) (line string, err error) {
	t.prompts++
	from := &t.lines
	if len(t.early) > 0 {
		from = &t.early
	}
	if len(*from) == 0 {
		return "", io.EOF
	}
	line, *from = (*from)[0], (*from)[1:]
	return line, nil
}

func ask(t *testing.T, typed *typist, height int, call question.Call, offer question.Offer) (question.Answer, string, error) {
	t.Helper()
	var out bytes.Buffer
	a := question.Asker{Out: &out, Typed: typed, Size: func() (int, int) { return 80, height }}
	answer, err := a.Ask(t.Context(), call, offer)
	return answer, out.String(), err
}

func TestAnswers(t *testing.T) {
	all := question.Offer{Suspend: true, Always: true, Edit: func(input []byte) error {
		if !bytes.HasPrefix(input, []byte("{")) {
			return errors.New("no\u202e object")
		}
		return nil
	}}
	tests := []struct {
		name, line string
		offer      question.Offer
		want       question.Kind // 0: it is asked again
		rest       string
	}{
		{"yes", " Y ", question.Offer{}, question.Allow, ""},
		{"yes and more", "yes please", all, 0, ""},
		{"nothing", "", all, 0, ""},
		{"no", "n", question.Offer{}, question.Deny, ""},
		{"no and why", "No, not  that one ", all, question.Deny, "not  that one"},
		{"suspend", "s", all, question.Suspend, ""},
		{"suspend that is not offered", "s", question.Offer{}, 0, ""},
		{"always", "always", all, question.Always, ""},
		{"always with the name", "a bash", all, question.Always, ""},
		{"always with another name", "a write", all, 0, ""},
		{"always that is not offered", "a", question.Offer{}, 0, ""},
		{"edit", `e {"a": 1}`, all, question.Edit, `{"a": 1}`},
		{"edit that is wrong", `e 1`, all, 0, ""},
		{"edit that is not offered", `e {}`, question.Offer{}, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			answer, shown, err := ask(t, &typist{lines: []string{tt.line}}, 0, question.Call{Name: "bash", Input: []byte(`{}`)}, tt.offer)
			if answer.Kind != tt.want || answer.Reason+string(answer.Input) != tt.rest {
				t.Errorf("the answer is %+v, want %v %q", answer, tt.want, tt.rest)
			}
			if again := errors.Is(err, io.EOF); again != (tt.want == 0) || err != nil && !again {
				t.Errorf("the error is %v", err)
			}
			if strings.Contains(shown, "\u202e") {
				t.Errorf("shown is %q", shown)
			}
		})
	}
}

// A2: the prompt repeats what it is about, below a line that the model cannot write,
// and what was typed early answers nothing.
func TestQuestionIsFencedAndNamesTheCall(t *testing.T) {
	typed := &typist{early: []string{"y"}, lines: []string{"what", "n"}}
	answer, shown, err := ask(t, typed, 0, question.Call{Name: "bash", Input: []byte(`{"command":"ls"}`)}, question.Offer{})
	if answer.Kind != question.Deny || err != nil {
		t.Errorf("the answer is %+v, %v, want that of the line that was typed later", answer, err)
	}
	const prompt = "Run bash with 16 bytes of input? [y]es, [n]o REASON: "
	want := "\n" + question.Fence + "\nbash with 16 bytes of input:\n  \"command\": \"ls\"\n" + prompt + "Please answer with one of these.\n" + prompt
	if shown != want {
		t.Errorf("shown is\n%s\nwant\n%s", shown, want)
	}
	if text := "a\n" + question.Fence + "\nb"; strings.Contains(question.Unfence(text), question.Fence) {
		t.Error("Unfence leaves the fence in a text")
	}
}

// A2 "10 MB scroll away": what does not fit the screen is shown in pages, and nothing
// allows the call before the last one.
func TestLongInputIsPaged(t *testing.T) {
	call := question.Call{Name: "bash", Input: []byte(`{"command":"rm -rf /` + strings.Repeat(`\nls`, 50) + `"}`)}
	tests := []struct {
		name    string
		lines   []string
		want    question.Kind
		prompts int
	}{
		{"to the end", []string{"", "", "y"}, question.Allow, 3},
		{"yes before the end only goes on", []string{"y", "yes", "n"}, question.Deny, 3},
		{"no at the first page", []string{"n never"}, question.Deny, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			typed := &typist{lines: tt.lines}
			answer, shown, err := ask(t, typed, 24, call, question.Offer{})
			if answer.Kind != tt.want || err != nil || typed.prompts != tt.prompts {
				t.Errorf("the answer is %+v, %v after %d prompts, want %v after %d", answer, err, typed.prompts, tt.want, tt.prompts)
			}
			for page := range strings.SplitSeq(shown, "Enter: more") {
				if n := strings.Count(page, "\n"); n > 24 {
					t.Errorf("a page has %d rows, want at most 24", n)
				}
			}
			if before, _, _ := strings.Cut(shown, "Rows up to 20 of 52"); !strings.Contains(before, "rm -rf /") {
				t.Errorf("the first page is %q", before)
			}
		})
	}
}

// paste is a person who pastes lines at each prompt, all at once.
type paste struct {
	pastes  [][]string
	waiting []string
}

func (p *paste) Drop() { p.waiting = nil }

func (p *paste) Next(context.Context) (line string, err error) {
	if len(p.waiting) == 0 && len(p.pastes) > 0 {
		p.waiting, p.pastes = p.pastes[0], p.pastes[1:]
	}
	if len(p.waiting) == 0 {
		return "", io.EOF
	}
	line, p.waiting = p.waiting[0], p.waiting[1:]
	return line, nil
}

// A2 "what was typed before a question never answers it": of lines that are pasted, the
// first alone answers; the prompt that comes again drops the others.
func TestPastedLinesAnswerOnePromptOnly(t *testing.T) {
	a := question.Asker{Out: io.Discard, Typed: &paste{pastes: [][]string{{"see below:", "y", "y"}, {"n"}}}}
	answer, err := a.Ask(t.Context(), question.Call{Name: "bash", Input: []byte(`{}`)}, question.Offer{})
	if answer.Kind != question.Deny || err != nil {
		t.Errorf("the answer is %+v, %v; want that of the second paste", answer, err)
	}
}

// A2 "10 MB scroll away": a terminal that does not know its height has pages too.
func TestTerminalWithoutAHeightHasPages(t *testing.T) {
	var out bytes.Buffer
	a := question.Asker{Out: &out, Typed: &typist{lines: []string{"", "", "y"}}, Size: func() (int, int) { return 0, 0 }}
	call := question.Call{Name: "bash", Input: []byte(`{"command":"rm -rf /` + strings.Repeat(`\nls`, 50) + `"}`)}
	if answer, err := a.Ask(t.Context(), call, question.Offer{}); answer.Kind != question.Allow || err != nil {
		t.Errorf("the answer is %+v, %v", answer, err)
	}
	if pages := strings.Count(out.String(), "Enter: more") + 1; pages != 3 {
		t.Errorf("the input has %d pages, want 3", pages)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestWhatCannotBeAskedIsAnError(t *testing.T) {
	a := question.Asker{Out: broken{}, Typed: &typist{lines: []string{"y"}}}
	if answer, err := a.Ask(t.Context(), question.Call{Name: "bash"}, question.Offer{}); !errors.Is(err, io.ErrClosedPipe) || answer.Kind != 0 {
		t.Errorf("the answer is %+v, %v, want none", answer, err)
	}
}
