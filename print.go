package toolrunner

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/toolrunner/toolrunner/internal/records"
)

// maxPrinted is how much of a text a printed value shows, in bytes.
const maxPrinted = 200

// String returns the call as a person reads it: its tool, its id and its input, cut
// off if it is long.
func (c Call) String() string {
	return fmt.Sprintf("%s(%s) %s", c.Name, c.ID, cut(string(c.Input)))
}

// String returns the event as a person reads it: its type, its block and what it adds.
func (e Event) String() string {
	var b strings.Builder
	b.WriteString(e.Type)
	if strings.HasPrefix(e.Type, "content_block") {
		fmt.Fprintf(&b, " %d", e.Index)
	}
	if e.ToolName != "" {
		fmt.Fprintf(&b, " %s(%s)", cut(e.ToolName), cut(e.ToolID))
	}
	for _, part := range []struct{ name, text string }{{"text", e.Text}, {"thinking", e.Thinking}, {"json", e.PartialJSON}} {
		if part.text != "" {
			fmt.Fprintf(&b, " %s %q", part.name, cut(part.text))
		}
	}
	return b.String()
}

// String returns the result as a person reads it: its texts and the types of its other
// blocks.
func (r *Result) String() string {
	if r == nil {
		return "result"
	}
	parts := []string{"result"}
	if r.IsError {
		parts[0] = "failed result"
	}
	for _, c := range r.Content {
		switch kind := c.GetType(); {
		case c.OfText != nil:
			parts = append(parts, fmt.Sprintf("%q", cut(c.OfText.Text)))
		case kind != nil:
			parts = append(parts, *kind)
		default:
			parts = append(parts, "block")
		}
	}
	if r.Err != nil {
		parts = append(parts, "("+cut(records.TextOf(r.Err))+")")
	}
	return strings.Join(parts, " ")
}

// String returns the usage as a person reads it.
func (u Usage) String() string {
	return fmt.Sprintf("%d replies, %d input tokens, %d from and %d into the cache, %d output tokens",
		u.Replies, u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokens)
}

// String returns the name of the tool and what it promises.
func (t *Tool) String() string {
	if t == nil {
		return "no tool"
	}
	parts := []string{"tool " + t.Name()}
	for _, promise := range []struct {
		name  string
		holds bool
	}{{"read only", t.ReadOnly}, {"idempotent", t.Idempotent}, {"exclusive", t.Exclusive}} {
		if promise.holds {
			parts = append(parts, promise.name)
		}
	}
	return strings.Join(parts, ", ")
}

// String returns what the delta is about, without its data.
func (d Delta) String() string {
	kind := "delta"
	if d.Full {
		kind = "state"
	}
	return fmt.Sprintf("%s of %s from %d to %d, %d bytes", kind, d.ConversationID, d.After, d.Sequence, len(d.Data))
}

// String returns the call that the question is about.
func (q *Question) String() string {
	if q == nil || q.Call == nil {
		return "question"
	}
	return "question about " + q.Call.String()
}

// String returns the name of the file, without what it holds.
func (c *FileCheckpoint) String() string {
	if c == nil || c.file == nil {
		return "checkpoint"
	}
	return "checkpoint in " + c.file.Path()
}

// String returns "input", "lenient" or "off".
func (v Validation) String() string {
	switch v {
	case ValidateInput:
		return "input"
	case ValidateLenient:
		return "lenient"
	case ValidateOff:
		return "off"
	}
	return "unknown"
}

// String returns when and how a conversation is compacted.
func (a AutoCompact) String() string {
	switch {
	case a.Threshold <= 0:
		return "no compaction"
	case a.Client != nil:
		return fmt.Sprintf("compaction above %d tokens, by a summary", a.Threshold)
	}
	return fmt.Sprintf("compaction above %d tokens", a.Threshold)
}

// cut returns the beginning of a text that is long.
func cut(text string) string {
	if len(text) <= maxPrinted {
		return text
	}
	return strings.ToValidUTF8(text[:maxPrinted], "") + "..."
}

// Format writes a summary: what the parameters hold may be secret.
func (p Params) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "toolrunner.Params{Model: %q, MaxTokens: %d, MaxIterations: %d, ...}", p.Model, p.MaxTokens, p.MaxIterations)
}

// LogValue returns the summary that Format writes, for records.
func (p Params) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(p)) }
