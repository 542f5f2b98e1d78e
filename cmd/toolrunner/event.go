package main

import (
	"encoding/json"
	"time"
)

// What happens in a run reaches this file as events; a printer makes of them
// what people read, or what scripts do. The fields of an event are its fields in
// the output of -json, whose names are documented in docs/cli.md and stay.

// event is something that happens in a run.
type event interface {
	// kind is the type of the event for scripts. Empty: it is for people alone.
	kind() string
}

type runStarted struct {
	Model   string   `json:"model"`
	Tools   []string `json:"tools"`
	Resumed bool     `json:"resumed"` // from a file
}

// waiting says what the run waits for from now on.
type waiting struct {
	what  string
	begin time.Time
}

const (
	forServers = "starting the MCP servers"
	forModel   = "waiting for the model"
	forTheEnd  = "ending the tools"
)

type turnStarted struct {
	Turn int `json:"turn"`
}

// textAdded is a part of the reply's text.
type textAdded struct {
	Turn int    `json:"turn"`
	Text string `json:"text"`
}

type thinkingAdded struct {
	Turn int    `json:"turn"`
	Text string `json:"text"`
}

// blockEnded says that what follows is something else.
type blockEnded struct{}

// replied is a reply that is complete.
type replied struct {
	Turn         int    `json:"turn"`
	StopReason   string `json:"stop_reason"`
	Text         string `json:"text"`
	InputTokens  int64  `json:"input_tokens"`
	OutputTokens int64  `json:"output_tokens"`
}

type callStarted struct {
	Turn  int             `json:"turn"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
	Begin time.Time       `json:"-"`
}

// callProgress is what a tool says about a call that is not over.
type callProgress struct {
	ID       string  `json:"id"`
	Message  string  `json:"message"`
	Progress float64 `json:"progress"`
	Total    float64 `json:"total"`
}

// outcome is what became of a call.
type outcome string

const (
	callOK        outcome = "ok"
	callFailed    outcome = "failed"
	callDenied    outcome = "denied"
	callNotRun    outcome = "not_run"   // its input is invalid, or there is no such tool
	callCancelled outcome = "cancelled" // the run ended before it did
	callSuspended outcome = "suspended" // it waits for the user to decide
)

type callEnded struct {
	Turn     int             `json:"turn"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`
	Outcome  outcome         `json:"outcome"`
	Text     string          `json:"text"` // of the result
	Duration milliseconds    `json:"duration_ms"`
}

// asked says that the user is asked something, outside of the printer.
type asked struct{}

// warned is something that the user should know, and that does not end the run.
type warned struct {
	Text string `json:"text"`
}

// interrupted says that the run was told to end.
type interrupted struct{}

type runEnded struct {
	Outcome                  string       `json:"outcome"`
	ExitCode                 int          `json:"exit_code"`
	Error                    string       `json:"error"`
	Text                     string       `json:"text"` // of the last reply
	Turns                    int          `json:"turns"`
	Calls                    int          `json:"calls"`
	FailedCalls              int          `json:"failed_calls"`
	DeniedCalls              int          `json:"denied_calls"`
	InputTokens              int64        `json:"input_tokens"`
	OutputTokens             int64        `json:"output_tokens"`
	CacheReadInputTokens     int64        `json:"cache_read_input_tokens"`
	CacheCreationInputTokens int64        `json:"cache_creation_input_tokens"`
	Duration                 milliseconds `json:"duration_ms"`
}

// tick says that time goes by.
type tick struct{ now time.Time }

func (runStarted) kind() string    { return "run_started" }
func (waiting) kind() string       { return "" }
func (turnStarted) kind() string   { return "turn_started" }
func (textAdded) kind() string     { return "text" }
func (thinkingAdded) kind() string { return "thinking" }
func (blockEnded) kind() string    { return "" }
func (replied) kind() string       { return "reply" }
func (callStarted) kind() string   { return "call_started" }
func (callProgress) kind() string  { return "call_progress" }
func (callEnded) kind() string     { return "call_ended" }
func (asked) kind() string         { return "" }
func (warned) kind() string        { return "warning" }
func (interrupted) kind() string   { return "interrupted" }
func (runEnded) kind() string      { return "run_ended" }
func (tick) kind() string          { return "" }

// milliseconds is a duration that is a whole number of them in JSON.
type milliseconds time.Duration

// MarshalJSON implements [json.Marshaler].
func (m milliseconds) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Duration(m).Milliseconds())
}
