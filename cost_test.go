package toolrunner_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/toolrunner/toolrunner"
)

// A turn with one call allocates no more at the end of a long conversation than at
// its beginning, and no more than 400 times.
func TestTurnsAllocateTheSameThroughout(t *testing.T) {
	api := &canned{mediaType: "application/json", answer: func(turn int) []byte {
		return fmt.Appendf(nil, `{"id":"msg_%d","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"On."},`+
			`{"type":"tool_use","id":"toolu_%d","name":"work","input":{"n":%d}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":5}}`, turn, turn, turn)
	}}
	type input struct {
		N int `json:"n"`
	}
	result := strings.Repeat("r", 4096)
	r := api.runner(t, toolrunner.NewTool("work", "Works.", func(context.Context, input) (string, error) { return result, nil }))
	turn := func() {
		if _, err := r.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for range 10 {
		turn()
	}
	early := testing.AllocsPerRun(20, turn)
	for r.IterationCount() < 500 {
		turn()
	}
	late := testing.AllocsPerRun(20, turn)
	t.Logf("%v after 10 turns, %v after 500", early, late)
	if late > 400 || late > early+10 {
		t.Errorf("a turn allocates %v times after 10 turns and %v times after 500, want at most 400 and the same", early, late)
	}
}
