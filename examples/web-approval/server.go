package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
)

// server has no idea who asks: put it behind something that has.
type server struct {
	agent *agent
	log   *slog.Logger
}

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /runs", s.begin)
	mux.HandleFunc("GET /runs/{run}", s.show)
	mux.HandleFunc("POST /runs/{run}/decisions", s.decide)
	mux.HandleFunc("POST /runs/{run}/continue", s.goOn)
	return mux
}

// standing is what a client sees of a run.
type standing struct {
	Run      string  `json:"run"`
	Sequence int64   `json:"sequence"` // of the state that this shows
	Outcome  string  `json:"outcome"`
	Pending  []shown `json:"pending,omitempty"`
	Answer   string  `json:"answer,omitempty"`
}

// shown is a call as a person sees it. Its input is JSON in a string: a browser that
// decodes JSON and encodes it again does not keep its bytes.
type shown struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Input string `json:"input"`
}

// decision is what a person sends back, with the state and the call that they saw.
type decision struct {
	Sequence int64  `json:"sequence"`
	Call     shown  `json:"call"`
	Allow    bool   `json:"allow"`
	Reason   string `json:"reason"` // for the model, if it is not allowed
}

// bound returns the decision, bound to the tool and the input that were shown.
func (d *decision) bound() toolrunner.Decision {
	call := &toolrunner.Call{ID: d.Call.ID, Name: d.Call.Name, Input: json.RawMessage(d.Call.Input)}
	if d.Allow {
		return toolrunner.Allow().For(call)
	}
	return toolrunner.Deny(d.Reason).For(call)
}

func (s *server) begin(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Task string `json:"task"`
	}
	if !read(w, r, &body) {
		return
	}
	session, err := s.agent.begin(body.Task)
	if err != nil {
		s.fail(w, err)
		return
	}
	s.run(w, r, session)
}

// show resumes a run only to look at it: nothing is sent, and nothing is kept.
func (s *server) show(w http.ResponseWriter, r *http.Request) {
	session, err := s.agent.resume(r.Context(), r.PathValue("run"))
	if err != nil {
		s.fail(w, err)
		return
	}
	answer(w, session)
}

// decide makes a decision, if the run is as the person saw it, and goes on.
func (s *server) decide(w http.ResponseWriter, r *http.Request) {
	var made decision
	if !read(w, r, &made) {
		return
	}
	session, err := s.agent.resume(r.Context(), r.PathValue("run"))
	if err == nil && session.sequence != made.Sequence {
		err = errConflict
	}
	if err == nil {
		err = session.Decide(made.Call.ID, made.bound())
	}
	if err != nil {
		s.fail(w, err)
		return
	}
	s.run(w, r, session)
}

// goOn takes up a run that has failed, or whose process has died. If a process still
// works on it, that one ends at its next checkpoint.
func (s *server) goOn(w http.ResponseWriter, r *http.Request) {
	session, err := s.agent.resume(r.Context(), r.PathValue("run"))
	if err != nil {
		s.fail(w, err)
		return
	}
	s.run(w, r, session)
}

// run works until the run ends or waits for a decision. It outlives a client that
// hangs up.
func (s *server) run(w http.ResponseWriter, r *http.Request, session *session) {
	ctx := context.WithoutCancel(r.Context())
	_, err := session.RunToCompletion(ctx)
	w.Header().Set("Location", "/runs/"+session.run) // also of a run that has failed, to continue it
	if err != nil && session.Outcome() == toolrunner.OutcomeFailed {
		s.fail(w, err)
		return
	}
	answer(w, session)
}

// answer tells how a run stands: 202 while it waits for a person, 200 otherwise.
func answer(w http.ResponseWriter, session *session) {
	now := standing{Run: session.run, Sequence: session.sequence, Outcome: session.Outcome().String()}
	for _, call := range session.Pending() {
		now.Pending = append(now.Pending, shown{call.ID, call.Name, string(call.Input)})
	}
	if len(now.Pending) > 0 {
		write(w, http.StatusAccepted, now)
		return
	}
	now.Answer = textOf(session.LastMessage())
	write(w, http.StatusOK, now)
}

// fail tells the client what it can do something about, and the log the rest.
func (s *server) fail(w http.ResponseWriter, err error) {
	var undecided *toolrunner.DecisionError
	var snapshot *toolrunner.SnapshotError
	var api *anthropic.Error
	switch {
	case errors.Is(err, errUnknown):
		http.Error(w, errUnknown.Error(), http.StatusNotFound)
	case errors.Is(err, errConflict):
		http.Error(w, errConflict.Error(), http.StatusConflict)
	case errors.As(err, &undecided):
		http.Error(w, undecided.Reason, http.StatusConflict)
	case errors.As(err, &snapshot):
		s.log.Error("what the store has of a run cannot be used", "error", err)
		http.Error(w, "the run cannot be taken up", http.StatusInternalServerError)
	case errors.As(err, &api):
		s.log.Error("the API refused", "error", err)
		http.Error(w, "the model cannot be reached; continue the run later", http.StatusBadGateway)
	default:
		s.log.Error("a run failed", "error", err)
		http.Error(w, "the run failed", http.StatusInternalServerError)
	}
}

func read(w http.ResponseWriter, r *http.Request, into any) bool {
	const most = 1 << 20
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, most)).Decode(into); err != nil {
		http.Error(w, "the body is not the JSON that is expected here", http.StatusBadRequest)
		return false
	}
	return true
}

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client has gone
}

// textOf returns what a reply says.
func textOf(message *anthropic.BetaMessage) string {
	if message == nil {
		return ""
	}
	var text strings.Builder
	for i := range message.Content {
		text.WriteString(message.Content[i].Text)
	}
	return text.String()
}
