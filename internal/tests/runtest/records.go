package runtest

import (
	"context"
	"log/slog"
	"slices"
	"sync"
)

// RecordTape is a slog handler that keeps records as text.
type RecordTape struct {
	mu      sync.Mutex
	Records []tapedRecord
	Level   slog.Level // the lowest that is kept; the zero value is info
}

type tapedRecord struct {
	Level slog.Level
	Text  string
	Keys  []string
	Attrs map[string]slog.Value
}

func (h *RecordTape) Enabled(_ context.Context, level slog.Level) bool { return level >= h.Level }

func (h *RecordTape) WithAttrs([]slog.Attr) slog.Handler { return h }

func (h *RecordTape) WithGroup(string) slog.Handler { return h }

func (h *RecordTape) Handle(_ context.Context, r slog.Record) error {
	taped := tapedRecord{Level: r.Level, Text: r.Message, Attrs: make(map[string]slog.Value)}
	r.Attrs(func(a slog.Attr) bool {
		taped.Keys = append(taped.Keys, a.Key)
		taped.Attrs[a.Key] = a.Value.Resolve()
		return true
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Records = append(h.Records, taped)
	return nil
}

// Named returns the records with a message.
func (h *RecordTape) Named(text string) []tapedRecord {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(h.Records), func(r tapedRecord) bool { return r.Text != text })
}

// Warnings returns the messages of the records above info.
func (h *RecordTape) Warnings() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var texts []string
	for _, r := range h.Records {
		if r.Level > slog.LevelInfo {
			texts = append(texts, r.Text)
		}
	}
	return texts
}
