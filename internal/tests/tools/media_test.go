package tools_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"log/slog"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// picture returns a PNG of a size.
func picture(t *testing.T, width, height int) []byte {
	t.Helper()
	var data bytes.Buffer
	if err := png.Encode(&data, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return data.Bytes()
}

func imageSource(data []byte) anthropic.BetaBase64ImageSourceParam {
	return anthropic.BetaBase64ImageSourceParam{Data: base64.StdEncoding.EncodeToString(data), MediaType: "image/png"}
}

func imageContent(data []byte) runtest.Content {
	source := imageSource(data)
	return runtest.Content{OfImage: &anthropic.BetaImageBlockParam{Source: anthropic.BetaImageBlockParamSourceUnion{OfBase64: &source}}}
}

// W9: one picture or document that the API refuses makes it refuse the rest of the
// conversation. However it gets into a result, the call fails, the model reads which
// limit it breaks, and a record says it.
func TestMediaThatTheAPIRefusesFailTheCall(t *testing.T) {
	wide, cut := picture(t, 8001, 10), picture(t, 200, 200)[:60]
	content := func(c ...runtest.Content) toolrunner.Handler {
		return func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			return &toolrunner.Result{Content: c}, nil
		}
	}
	document := func(source anthropic.BetaRequestDocumentBlockSourceUnionParam) runtest.Content {
		return runtest.Content{OfDocument: &anthropic.BetaRequestDocumentBlockParam{Source: source}}
	}
	tests := []struct {
		name string
		run  toolrunner.Handler
		want string
	}{
		{"ImageResult", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			return toolrunner.ImageResult(wide)
		}, "8000 pixels a side"},
		{"ImageResult, cut off", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			return toolrunner.ImageResult(cut)
		}, "broken"},
		{"DocumentResult, cut off", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			return toolrunner.DocumentResult([]byte("%PDF-1.7\n1 0 obj"))
		}, "%%EOF"},
		{"a block", content(runtest.TextContent("see"), imageContent(wide)), "8000 pixels a side"},
		{"a block, cut off", content(imageContent(cut)), "broken"},
		{"raw JSON", content(runtest.RawContentBlock(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + base64.StdEncoding.EncodeToString(wide) + `"}}`)), "8000 pixels a side"},
		{"beside an error", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			return &toolrunner.Result{Content: []runtest.Content{imageContent(wide)}}, runtest.ErrBroken
		}, "8000 pixels a side"},
		{"in a ToolError", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			return nil, &toolrunner.ToolError{Content: []runtest.Content{imageContent(cut)}}
		}, "broken"},
		{"in a document", content(runtest.RawContentBlock(`{"type":"document","source":{"type":"content","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + base64.StdEncoding.EncodeToString(cut) + `"}}]}}`)), "broken"},
		{"a PDF", content(document(anthropic.BetaRequestDocumentBlockSourceUnionParam{OfBase64: &anthropic.BetaBase64PDFSourceParam{Data: "JVBERi0xLjcK"}})), "%%EOF"},
		{"more than a request holds", content(runtest.TextContent(strings.Repeat("x", 32<<20))), "the limit of a request"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var log bytes.Buffer
			c := runtest.StartUnchecked(t, toolrunner.Params{Logger: slog.New(slog.NewTextHandler(&log, nil))}, runtest.Tools(runtest.Raw("f", test.run)),
				toolrunnertest.Message(toolrunnertest.Call("a", "f", `{}`)), toolrunnertest.Text("done"))
			c.Run(t)
			got, failed := runtest.ResultText(t, c.Request(t, -1), "a")
			if !failed || !strings.Contains(got, test.want) {
				t.Errorf("result %.300q, failed %v; want a failed one with %q", got, failed, test.want)
			}
			if !strings.Contains(log.String(), `msg="tool call failed" tool=f call_id=a`) {
				t.Errorf("no record says that the call failed:\n%s", log.String())
			}
		})
	}
}

// W9: a message that a caller gives is refused in the same way, and nothing of it is taken.
func TestMediaThatTheAPIRefusesAreRefusedInMessages(t *testing.T) {
	wide := anthropic.NewBetaUserMessage(anthropic.NewBetaImageBlock(imageSource(picture(t, 10, 8001))))
	c := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(runtest.Says("f", "ran")), toolrunnertest.Text("done"))
	want := func(name string, err error) {
		t.Helper()
		var refused *toolrunner.HistoryError
		if !errors.As(err, &refused) || refused.Index != 0 || !strings.Contains(refused.Reason, "8000 pixels a side") {
			t.Errorf("%s error = %v, want a HistoryError about message 0 and its limit", name, err)
		}
	}
	_, err := toolrunner.New(&c.Client.Beta.Messages, nil, toolrunner.Params{BetaMessageNewParams: anthropic.BetaMessageNewParams{
		Model: "m", MaxTokens: 1, Messages: []anthropic.BetaMessageParam{wide},
	}})
	want("New()", err)
	want("AppendMessages()", c.AppendMessages(wide))
	want("SetMessages()", c.SetMessages(wide))
	if err := c.Play(t.Context(), func(turn *toolrunner.Turn) { want("Replace()", turn.Replace(wide)) }); err != nil {
		t.Fatal(err)
	}
	c.WantHistory(t, "user 'hi'", "assistant 'done'")
}

// manyImages returns messages with n small images and one of a width.
func manyImages(t *testing.T, n, width int) anthropic.BetaMessageParam {
	t.Helper()
	blocks := []anthropic.BetaContentBlockParamUnion{anthropic.NewBetaImageBlock(imageSource(picture(t, width, 1)))}
	for range n {
		blocks = append(blocks, anthropic.NewBetaImageBlock(anthropic.BetaURLImageSourceParam{URL: "https://example.com/a.png"}))
	}
	return anthropic.NewBetaUserMessage(blocks...)
}

// W9: with more than 20 images in a request, the limit is 2,000 pixels a side, whichever
// of them came last, and wherever it came from.
func TestManyImagesHaveALowerLimit(t *testing.T) {
	const limit = "more than 20 images the limit is 2000 pixels a side"
	for _, test := range []struct {
		name          string
		first         anthropic.BetaMessageParam
		result, after int  // the width of the picture in a result, and in a follow-up; 0: none
		failed        bool // the result
		refused       bool // the follow-up
	}{
		{"a wide one among few", manyImages(t, 18, 10), 2001, 0, false, false},
		{"a wide one among many", manyImages(t, 19, 10), 2001, 0, true, false},
		{"a small one beside a wide one", manyImages(t, 19, 2001), 10, 0, true, false},
		{"many small ones", manyImages(t, 30, 2000), 2000, 2000, false, false},
		{"a wide follow-up", manyImages(t, 18, 10), 10, 2001, false, true},
		{"a wide follow-up of many", manyImages(t, 19, 10), 0, 2001, false, true},
		{"a follow-up beside a wide result", manyImages(t, 18, 10), 2001, 10, false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			look := runtest.Raw("look", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
				if test.result == 0 {
					return toolrunner.TextResult("nothing"), nil
				}
				return toolrunner.ImageResult(picture(t, test.result, 1))
			})
			params := toolrunner.Params{BetaMessageNewParams: anthropic.BetaMessageNewParams{Messages: []anthropic.BetaMessageParam{test.first}}}
			c := runtest.StartUnchecked(t, params, runtest.Tools(look), toolrunnertest.Message(toolrunnertest.Call("a", "look", `{}`)), toolrunnertest.Text("done"))
			c.MustPlay(t, func(turn *toolrunner.Turn) {
				if turn.Iteration() > 1 || test.after == 0 {
					return
				}
				if _, err := turn.Results(t.Context()); err != nil {
					t.Fatal(err)
				}
				err := c.AppendMessages(anthropic.NewBetaUserMessage(anthropic.NewBetaImageBlock(imageSource(picture(t, test.after, 1)))))
				if refused := err != nil && strings.Contains(err.Error(), limit); refused != test.refused {
					t.Errorf("AppendMessages() error = %v, refused %v", err, test.refused)
				}
			})
			var got struct {
				Failed bool `json:"is_error"`
			}
			block := c.Request(t, -1).ToolResult("a")
			if err := json.Unmarshal(block, &got); err != nil || got.Failed != test.failed || test.failed && !strings.Contains(string(block), limit) {
				t.Errorf("the result is %.300s (%v), failed %v", block, err, test.failed)
			}
		})
	}
}

// W9: pictures of calls that run side by side count together, and so do those of results
// that a caller gives or changes.
func TestPicturesOfOneTurnCountTogether(t *testing.T) {
	first := manyImages(t, 18, 10)
	look := runtest.Raw("look", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
		return toolrunner.ImageResult(picture(t, 2001, 1))
	})
	start := func(t *testing.T, ids ...string) *runtest.Conversation {
		t.Helper()
		params := toolrunner.Params{BetaMessageNewParams: anthropic.BetaMessageNewParams{Messages: []anthropic.BetaMessageParam{first}}}
		return runtest.StartUnchecked(t, params, runtest.Tools(look), runtest.Calls("look", ids...), toolrunnertest.Text("done"))
	}
	failed := func(c *runtest.Conversation, ids ...string) (n int) {
		for _, id := range ids {
			if bytes.Contains(c.Request(t, -1).ToolResult(id), []byte(`"is_error":true`)) {
				n++
			}
		}
		return n
	}
	c := start(t, "a", "b", "c")
	c.Run(t)
	if got := failed(c, "a", "b", "c"); got != 2 {
		t.Errorf("%d of three results failed, want all but one", got)
	}

	c = start(t, "a", "b")
	c.MustPlay(t, func(turn *toolrunner.Turn) {
		if turn.Iteration() > 1 {
			return
		}
		results, err := turn.Results(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, result := range results {
			*result = toolrunner.Result{Content: []runtest.Content{imageContent(picture(t, 2001, 1))}}
		}
	})
	if got := failed(c, "a", "b"); got != 1 {
		t.Errorf("%d of two results that the body made failed, want one", got)
	}

	c = start(t, "a", "b")
	c.MustPlay(t, func(turn *toolrunner.Turn) {
		if turn.Iteration() > 1 {
			return
		}
		var blocks []anthropic.BetaContentBlockParamUnion
		for _, id := range []string{"a", "b"} {
			source := imageSource(picture(t, 2001, 1))
			blocks = append(blocks, anthropic.BetaContentBlockParamUnion{OfToolResult: &anthropic.BetaToolResultBlockParam{
				ToolUseID: id, Content: []runtest.Content{{OfImage: &anthropic.BetaImageBlockParam{Source: anthropic.BetaImageBlockParamSourceUnion{OfBase64: &source}}}},
			}})
		}
		if err := c.AppendMessages(anthropic.NewBetaUserMessage(blocks...)); err == nil || !strings.Contains(err.Error(), "2000 pixels a side") {
			t.Errorf("AppendMessages() error = %v, want one about the limit", err)
		}
	})
}
