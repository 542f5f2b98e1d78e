package toolrunner

import (
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/wire"
)

// Results of text are written without the SDK's encoder; what it makes of them
// is the same.
func FuzzResult(f *testing.F) {
	f.Add("toolu_1", "", "text", false)
	f.Add("a\"b", "browser", "\t\"quoted\" \\ \x00 \u2028 \xff <&>", true)
	f.Fuzz(func(t *testing.T, id, toolset, text string, failed bool) {
		if text == "" {
			return // left out, as the API refuses it
		}
		result := TextResult(text)
		result.IsError = failed
		sdk := anthropic.BetaToolResultBlockParam{ToolUseID: id, Content: result.Content}
		if toolset != "" {
			sdk.ToolsetName = anthropic.String(toolset)
		}
		if failed {
			sdk.IsError = anthropic.Bool(true)
		}
		want, err := sdk.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		use := history.Use{ID: id, Toolset: toolset}
		got, _ := result.encode(use)
		if !wire.Same(got, want) {
			t.Errorf("encode() = %s\nthe SDK has %s", got, want)
		}
		if block := history.ResultBlock(use, text, failed); string(block) != string(got) {
			t.Errorf("ResultBlock() = %s\nencode() = %s", block, got)
		}
	})
}
