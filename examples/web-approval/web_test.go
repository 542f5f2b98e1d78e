package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// site is the service and what is around it.
type site struct {
	srv  *toolrunnertest.Server
	shop *shop
	db   string
}

func newSite(t *testing.T) *site {
	t.Helper()
	srv := toolrunnertest.NewServer(t,
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "look_up_order", `{"order":"A-17"}`)),
		toolrunnertest.Message(toolrunnertest.Call("toolu_2", "refund", `{"order":"A-17", "cents":4200}`)))
	srv.Otherwise(toolrunnertest.Text("That is settled."))
	return &site{srv, &shop{}, filepath.Join(t.TempDir(), "runs.db")}
}

// process returns the service as a new process has it.
func (s *site) process(t *testing.T) http.Handler {
	t.Helper()
	store, err := openStore(t.Context(), s.db)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.close(); err != nil {
			t.Error(err)
		}
	})
	agent := &agent{client: s.srv.Client(), tools: toolsOf(s.shop), store: store, sealKey: []byte(strings.Repeat("k", 32))}
	return (&server{agent, slog.New(slog.DiscardHandler)}).handler()
}

// send sends v and returns what came back.
func send(t *testing.T, h http.Handler, method, path string, v any) *httptest.ResponseRecorder {
	t.Helper()
	body, err := json.Marshal(v)
	if err != nil {
		t.Error(err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, bytes.NewReader(body)))
	return w
}

// request is send for the status, and how the run stands if that is what came back.
func request(t *testing.T, h http.Handler, method, path string, v any) (int, standing) {
	t.Helper()
	w := send(t, h, method, path, v)
	var now standing
	if w.Code < http.StatusBadRequest {
		if err := json.Unmarshal(w.Body.Bytes(), &now); err != nil {
			t.Errorf("%s %s answers %s: %v", method, path, w.Body, err)
		}
	}
	return w.Code, now
}

// waiting begins a run and returns it as it waits for a decision.
func (s *site) waiting(t *testing.T) standing {
	t.Helper()
	status, now := request(t, s.process(t), http.MethodPost, "/runs", map[string]string{"task": "Order A-17 arrived broken."})
	if status != http.StatusAccepted || len(now.Pending) != 1 || now.Pending[0].Input != `{"order":"A-17", "cents":4200}` {
		t.Fatalf("POST /runs = %d, %+v; want 202 and the refund", status, now)
	}
	return now
}

func (s *site) wantRefunds(t *testing.T, want int) {
	t.Helper()
	if got := len(s.shop.refunds); got != want {
		t.Errorf("%d refunds, want %d", got, want)
	}
}

func TestRefundWaitsForAPerson(t *testing.T) {
	tests := []struct {
		name    string
		allow   bool
		refunds int
		result  string
	}{
		{"allowed", true, 1, "4200 cents were paid back."},
		{"denied", false, 0, "not this customer again"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newSite(t)
			before := s.waiting(t)
			s.wantRefunds(t, 0)
			later := s.process(t)
			status, now := request(t, later, http.MethodGet, "/runs/"+before.Run, nil)
			if status != http.StatusAccepted || now.Sequence != before.Sequence || len(now.Pending) != 1 {
				t.Fatalf("GET /runs/%s = %d, %+v; want 202 and %+v", before.Run, status, now, before)
			}
			made := decision{Sequence: now.Sequence, Call: now.Pending[0], Allow: test.allow, Reason: "not this customer again"}
			status, now = request(t, later, http.MethodPost, "/runs/"+now.Run+"/decisions", made)
			if status != http.StatusOK || now.Outcome != "completed" || now.Answer != "That is settled." {
				t.Errorf("POST decisions = %d, %+v; want 200 and the answer", status, now)
			}
			s.wantRefunds(t, test.refunds)
			requests := s.srv.Requests()
			if got := requests[len(requests)-1].ToolResultText("toolu_2"); !strings.Contains(got, test.result) {
				t.Errorf("the model reads %q, want %q", got, test.result)
			}
			if _, now := request(t, later, http.MethodGet, "/runs/"+now.Run, nil); now.Answer != "That is settled." || now.Outcome != "completed" {
				t.Errorf("GET afterwards = %+v, want the answer", now)
			}
		})
	}
}

// Several processes decide on the same state at once: one goes on.
func TestOneOfManyDecisionsCounts(t *testing.T) {
	s := newSite(t)
	now := s.waiting(t)
	made := decision{Sequence: now.Sequence, Call: now.Pending[0], Allow: true}
	statuses := make([]int, 5)
	var all sync.WaitGroup
	for i := range statuses {
		h := s.process(t)
		all.Go(func() { statuses[i], _ = request(t, h, http.MethodPost, "/runs/"+now.Run+"/decisions", made) })
	}
	all.Wait()
	count := make(map[int]int)
	for _, status := range statuses {
		count[status]++
	}
	if count[http.StatusOK] != 1 || count[http.StatusConflict] != len(statuses)-1 {
		t.Errorf("statuses = %v, want one 200 and otherwise 409", statuses)
	}
	s.wantRefunds(t, 1)
}

func TestDecisionIsBoundToWhatWasShown(t *testing.T) {
	tests := []struct {
		name   string
		change func(*decision)
		want   int
	}{
		{"another input", func(d *decision) { d.Call.Input = `{"order":"A-17", "cents":1}` }, http.StatusConflict},
		{"another tool", func(d *decision) { d.Call.Name = "look_up_order" }, http.StatusConflict},
		{"another call", func(d *decision) { d.Call.ID = "toolu_1" }, http.StatusConflict},
		{"an older state", func(d *decision) { d.Sequence-- }, http.StatusConflict},
	}
	s := newSite(t)
	now := s.waiting(t)
	h := s.process(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			made := decision{Sequence: now.Sequence, Call: now.Pending[0], Allow: true}
			test.change(&made)
			if status, _ := request(t, h, http.MethodPost, "/runs/"+now.Run+"/decisions", made); status != test.want {
				t.Errorf("status = %d, want %d", status, test.want)
			}
			s.wantRefunds(t, 0)
		})
	}
	if status, _ := request(t, h, http.MethodGet, "/runs/nosuchrun", nil); status != http.StatusNotFound {
		t.Errorf("GET of an unknown run = %d, want 404", status)
	}
}

// Who can write to the database cannot write a run.
func TestTamperedRunIsRefused(t *testing.T) {
	s := newSite(t)
	now := s.waiting(t)
	store, err := openStore(t.Context(), s.db)
	if err != nil {
		t.Fatal(err)
	}
	defer store.close()
	if _, err := store.db.ExecContext(t.Context(), `UPDATE runs SET snapshot = replace(snapshot, '4200', '9900')`); err != nil {
		t.Fatal(err)
	}
	if status, _ := request(t, s.process(t), http.MethodPost, "/runs/"+now.Run+"/continue", nil); status != http.StatusInternalServerError {
		t.Errorf("status = %d, want 500", status)
	}
}

// An error of the API leaves a run that goes on.
func TestFailedRunIsContinued(t *testing.T) {
	s := newSite(t)
	now := s.waiting(t)
	s.srv.Add(toolrunnertest.Status(http.StatusBadRequest, "invalid_request_error", "no"))
	made := decision{Sequence: now.Sequence, Call: now.Pending[0], Allow: true}
	h := s.process(t)
	if status, _ := request(t, h, http.MethodPost, "/runs/"+now.Run+"/decisions", made); status != http.StatusBadGateway {
		t.Errorf("POST decisions = %d, want 502", status)
	}
	status, now := request(t, s.process(t), http.MethodPost, "/runs/"+now.Run+"/continue", nil)
	if status != http.StatusOK || now.Answer != "That is settled." {
		t.Errorf("POST continue = %d, %+v; want 200 and the answer", status, now)
	}
	s.wantRefunds(t, 1)
}

func TestRunThatFailsAtOnceCanBeContinued(t *testing.T) {
	srv := toolrunnertest.NewServer(t, toolrunnertest.Status(http.StatusBadRequest, "invalid_request_error", "no"), toolrunnertest.Text("Here I am."))
	s := &site{srv, &shop{}, filepath.Join(t.TempDir(), "runs.db")}
	h := s.process(t)
	failed := send(t, h, http.MethodPost, "/runs", map[string]string{"task": "hi"})
	if failed.Code != http.StatusBadGateway {
		t.Errorf("POST /runs = %d, want 502", failed.Code)
	}
	status, now := request(t, h, http.MethodPost, failed.Header().Get("Location")+"/continue", nil)
	if status != http.StatusOK || now.Answer != "Here I am." {
		t.Errorf("POST continue = %d, %+v; want 200 and the answer", status, now)
	}
}

func TestSealKeyIsChecked(t *testing.T) {
	for _, text := range []string{"", "abc", strings.Repeat("ab", 16), strings.Repeat("x", 64)} {
		if _, err := sealKey(text); err == nil {
			t.Errorf("sealKey(%q) succeeds", text)
		}
	}
	if key, err := sealKey(strings.Repeat("ab", 32)); err != nil || len(key) != 32 {
		t.Errorf("sealKey() = %x, %v", key, err)
	}
}

// A7: whoever can write to the store cannot have one run's refund shown and paid under the
// id of another, though both are sealed.
func TestRowsThatAreSwappedAreRefused(t *testing.T) {
	s := newSite(t)
	s.srv.Add(
		toolrunnertest.Message(toolrunnertest.Call("toolu_3", "refund", `{"order":"B-1","cents":1}`)),
	)
	one := s.waiting(t)
	status, two := request(t, s.process(t), http.MethodPost, "/runs", map[string]string{"task": "Order B-1 is a cent too dear."})
	if status != http.StatusAccepted || len(two.Pending) != 1 {
		t.Fatalf("POST /runs = %d, %+v; want 202 and the refund", status, two)
	}
	store, err := openStore(t.Context(), s.db)
	if err != nil {
		t.Fatal(err)
	}
	for _, swap := range [][2]string{{one.Run, "aside"}, {two.Run, one.Run}, {"aside", two.Run}} {
		if _, err := store.db.ExecContext(t.Context(), `UPDATE runs SET run = ? WHERE run = ?`, swap[1], swap[0]); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.close(); err != nil {
		t.Fatal(err)
	}
	later := s.process(t)
	for _, now := range []standing{one, two} {
		made := decision{Sequence: now.Sequence, Call: now.Pending[0], Allow: true}
		for _, w := range []*httptest.ResponseRecorder{
			send(t, later, http.MethodGet, "/runs/"+now.Run, nil),
			send(t, later, http.MethodPost, "/runs/"+now.Run+"/decisions", made),
			send(t, later, http.MethodPost, "/runs/"+now.Run+"/continue", nil),
		} {
			if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "refund") {
				t.Errorf("the run %s is answered with %d, %s; want 500", now.Run, w.Code, w.Body)
			}
		}
	}
	s.wantRefunds(t, 0)
}
