package stream

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	knownEvents = []string{MessageStart, BlockStart, BlockDelta, BlockStop, MessageDelta, MessageStop}
	knownDeltas = map[string]string{ // with the type of the blocks that have them
		textDelta: textBlock, "citations_delta": textBlock, thinkingDelta: thinkingBlock, signatureDelta: thinkingBlock,
		inputDelta: toolUseBlock, "compaction_delta": "compaction",
	}
)

func TestAccumulatorKnowsEachDelta(t *testing.T) {
	for delta, block := range knownDeltas {
		message, err := accumulate(responseOf([]byte(frames(evStart, evBlock(0, `{"type":"`+block+`"}`),
			`{"type":"content_block_delta","index":0,"delta":{"type":"`+delta+`"}}`, evEnd0, evEnded, evStop))))
		if err != nil {
			t.Errorf("%s: accumulate() = %s, %v", delta, message, err)
		}
	}
}

// When the SDK learns a new event or delta, the tables above need a row, and the
// accumulator perhaps a rule.
func TestTablesNameEverythingTheSDKKnows(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/anthropics/anthropic-sdk-go/v2")
	list.Env = append(os.Environ(), "GOPROXY=off")
	dir, err := list.Output()
	if err != nil || len(strings.TrimSpace(string(dir))) == 0 {
		t.Skipf("the SDK's source cannot be found: %v", err)
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "betamessage.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		union string
		want  []string
	}{
		{"BetaRawMessageStreamEventUnion", slices.Sorted(slices.Values(knownEvents))},
		{"BetaRawContentBlockDeltaUnion", slices.Sorted(maps.Keys(knownDeltas))},
	} {
		method := regexp.MustCompile(`(?s)func \(u ` + tt.union + `\) AsAny\(\).*?\n}`).Find(source)
		var got []string
		for _, match := range regexp.MustCompile(`case "(\w+)":`).FindAllSubmatch(method, -1) {
			got = append(got, string(match[1]))
		}
		slices.Sort(got)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s of the SDK is not what our table has (-table +SDK):\n%s", tt.union, diff)
		}
	}
}
