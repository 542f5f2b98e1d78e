package toolrunner

import (
	"cmp"
	"fmt"
	"io"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/transcript"
)

// Transcript says how messages are written for people to read: each call with its result
// right below, thinking folded, pictures and documents as a few words, and characters that a
// terminal would act on as escapes. The zero value is plain text.
type Transcript struct {
	// Markdown writes Markdown in place of plain text.
	Markdown bool
	// Width is how many columns a line may have: text is wrapped, inputs and results are cut.
	// Zero means 100, negative means no limit. Text in Markdown is left as it is.
	Width int
	// Lines is how many lines an input or a result may have. Zero means 20, negative means no
	// limit. What is left out is counted.
	Lines int
}

const (
	transcriptWidth = 100
	transcriptLines = 20
)

// Write writes messages, such as those of [Runner.Messages], to w. It returns an error for a
// message that cannot be encoded, and that of the first write that failed. What it writes
// holds what the messages hold: treat it like them.
func (t Transcript) Write(w io.Writer, messages []anthropic.BetaMessageParam) error {
	raws := make([][]byte, len(messages))
	for i, m := range messages {
		var err error
		if raws[i], err = history.EncodeParam(m); err != nil {
			return fmt.Errorf("toolrunner: messages[%d] cannot be encoded: %w", i, err)
		}
	}
	return transcript.Write(w, raws, transcript.Options{
		Markdown: t.Markdown, Width: cmp.Or(t.Width, transcriptWidth), Lines: cmp.Or(t.Lines, transcriptLines),
	})
}
