package request_test

import (
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/toolrunner/toolrunner/internal/request"
	"github.com/toolrunner/toolrunner/internal/wire"
)

// The system prompt is encoded again whenever it has changed, in place too, and
// is what the SDK would send.
func TestSystemPromptGoesOutAsItIsNow(t *testing.T) {
	var kept request.System
	blocks := []anthropic.BetaTextBlockParam{{Text: "be brief"}, {Text: "be kind"}}
	text := anthropic.BetaTextCitationParamUnion{OfCharLocation: &anthropic.BetaCitationCharLocationParam{CitedText: "a"}}
	for _, step := range []struct {
		name   string
		change func()
	}{
		{"at first", func() {}},
		{"unchanged", func() {}},
		{"text", func() { blocks[1].Text = "be <fair>" }},
		{"cache control", func() { blocks[0].CacheControl = anthropic.NewBetaCacheControlEphemeralParam() }},
		{"its ttl", func() { blocks[0].CacheControl.TTL = anthropic.BetaCacheControlEphemeralTTLTTL1h }},
		{"extra fields of it", func() { blocks[0].CacheControl.SetExtraFields(map[string]any{"x": 1}) }},
		{"and again", func() { blocks[0].CacheControl.ExtraFields()["x"] = 2 }},
		{"citations", func() { blocks[1].Citations = []anthropic.BetaTextCitationParamUnion{text} }},
		{"a citation in place", func() { text.OfCharLocation.CitedText = "b" }},
		{"extra fields", func() { blocks[1].SetExtraFields(map[string]any{"y": 1}) }},
		{"raw JSON", func() {
			blocks[0] = param.Override[anthropic.BetaTextBlockParam](map[string]any{"type": "text", "text": "raw"})
		}},
		{"fewer", func() { blocks = blocks[:1] }},
		{"none", func() { blocks = blocks[:0] }},
		{"one again", func() { blocks = append(blocks, anthropic.BetaTextBlockParam{Text: "last"}) }},
	} {
		step.change()
		in := hi(t)
		in.Params.System, in.System = blocks, &kept
		got := bodyOf(t, in)
		want, err := in.Params.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if system := memberOf(t, got, "system"); !wire.Same([]byte(system), []byte(memberOf(t, want, "system"))) {
			t.Errorf("%s: the body has the system prompt %s, want that of %s", step.name, system, want)
		}
	}
}
