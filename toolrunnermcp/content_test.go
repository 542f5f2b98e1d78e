package toolrunnermcp_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnermcp"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

const (
	png  = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\b\x00\x00\x00\x00:~\x9bU\x00\x00\x00\x0eIDATx\x9cbb\x00\x04\x00\x00\xff\xff\x00\x06\x00\x03\xfa\xd0Y\xae\x00\x00\x00\x00IEND\xaeB`\x82"
	jpeg = "\xff\xd8\xff\xc0\x00\x0b\x08\x00\x01\x00\x01\x01\x01\x11\x00\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00\x7f\xff\xd9"
	gif  = "GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"
	webp = "RIFF\x16\x00\x00\x00WEBPVP8 \x0a\x00\x00\x00\x00\x00\x00\x9d\x01\x2a\x01\x00\x01\x00"
	pdf  = "%PDF-1.7\n%%EOF"
	wav  = "RIFF\x04\x00\x00\x00WAVE rest"
)

func base(data string) string { return base64.StdEncoding.EncodeToString([]byte(data)) }

func imageBlock(mediaType, data string) string {
	return `{"source":{"data":"` + base(data) + `","media_type":"` + mediaType + `","type":"base64"},"type":"image"}`
}

func textBlock(text string) string {
	block, _ := json.Marshal(map[string]string{"type": "text", "text": text})
	return string(block)
}

func resource(r mcp.ResourceContents) mcp.Content { return &mcp.EmbeddedResource{Resource: &r} }

const whyNot = "only text, PDF and JPEG, PNG, GIF and WebP images can be"

func TestContentOfEveryKindIsWhatTheAPIAccepts(t *testing.T) {
	size := int64(7)
	for _, test := range []struct {
		name    string
		content mcp.Content
		want    string // of a call that succeeded
		failed  string // of one that failed; empty: the same
	}{
		{
			name:    "text",
			content: &mcp.TextContent{Text: "<hi> é"},
			want:    `{"text":"<hi> é","type":"text"}`,
		},
		{
			name:    "png",
			content: &mcp.ImageContent{Data: []byte(png), MIMEType: "image/png"},
			want:    imageBlock("image/png", png),
			failed:  textBlock("[image image/png, 71 bytes, is not shown: the call failed]"),
		},
		{
			name:    "jpeg that is said to be png",
			content: &mcp.ImageContent{Data: []byte(jpeg), MIMEType: "image/png"},
			want:    imageBlock("image/jpeg", jpeg),
			failed:  textBlock("[image image/png, 28 bytes, is not shown: the call failed]"),
		},
		{
			name:    "gif",
			content: &mcp.ImageContent{Data: []byte(gif)},
			want:    imageBlock("image/gif", gif),
			failed:  textBlock("[image, 35 bytes, is not shown: the call failed]"),
		},
		{
			name:    "webp",
			content: &mcp.ImageContent{Data: []byte(webp), MIMEType: "image/webp"},
			want:    imageBlock("image/webp", webp),
			failed:  textBlock("[image image/webp, 30 bytes, is not shown: the call failed]"),
		},
		{
			name:    "image of another type",
			content: &mcp.ImageContent{Data: []byte("<svg/>"), MIMEType: "image/svg+xml"},
			want:    textBlock("[image image/svg+xml, 6 bytes, is not shown: " + whyNot + "]"),
		},
		{
			name:    "image without bytes",
			content: &mcp.ImageContent{MIMEType: "image/png"},
			want:    textBlock("[image image/png, 0 bytes, is not shown: it is empty]"),
		},
		{
			name:    "audio",
			content: &mcp.AudioContent{Data: []byte(wav), MIMEType: "audio/wav"},
			want:    textBlock("[audio audio/wav, 17 bytes, is not shown: " + whyNot + "]"),
		},
		{
			name:    "text resource",
			content: resource(mcp.ResourceContents{URI: "file:///a.txt", MIMEType: "text/plain", Text: "one\ntwo"}),
			want:    `{"source":{"data":"one\ntwo","media_type":"text/plain","type":"text"},"title":"file:///a.txt","type":"document"}`,
			failed:  textBlock("file:///a.txt\none\ntwo"),
		},
		{
			name:    "text resource with a long URI",
			content: resource(mcp.ResourceContents{URI: strings.Repeat("é", 501), Text: "x"}),
			want:    `{"source":{"data":"x","media_type":"text/plain","type":"text"},"title":"` + strings.Repeat("é", 500) + `","type":"document"}`,
			failed:  textBlock(strings.Repeat("é", 501) + "\nx"),
		},
		{
			name:    "blank text resource",
			content: resource(mcp.ResourceContents{URI: "file:///a.txt", MIMEType: "text/plain", Text: " \n"}),
			want:    textBlock("[resource file:///a.txt text/plain, 2 bytes, is not shown: it is empty]"),
		},
		{
			name:    "blob of text",
			content: resource(mcp.ResourceContents{URI: "x:a", MIMEType: "application/json; charset=utf-8", Blob: []byte(`{"a":1}`)}),
			want:    `{"source":{"data":"{\"a\":1}","media_type":"text/plain","type":"text"},"title":"x:a","type":"document"}`,
			failed:  textBlock("x:a\n{\"a\":1}"),
		},
		{
			name:    "blob of an image",
			content: resource(mcp.ResourceContents{URI: "x:a", MIMEType: "image/png", Blob: []byte(png)}),
			want:    imageBlock("image/png", png),
			failed:  textBlock("[resource x:a image/png, 71 bytes, is not shown: the call failed]"),
		},
		{
			name:    "blob of a PDF",
			content: resource(mcp.ResourceContents{URI: "x:a", MIMEType: "application/pdf", Blob: []byte(pdf)}),
			want:    `{"source":{"data":"` + base(pdf) + `","media_type":"application/pdf","type":"base64"},"title":"x:a","type":"document"}`,
			failed:  textBlock("[resource x:a application/pdf, 14 bytes, is not shown: the call failed]"),
		},
		{
			name:    "blob of anything",
			content: resource(mcp.ResourceContents{URI: "x:a", MIMEType: "application/zip", Blob: []byte("PK\x03\x04")}),
			want:    textBlock("[resource x:a application/zip, 4 bytes, is not shown: " + whyNot + "]"),
		},
		{
			name:    "resource link",
			content: &mcp.ResourceLink{URI: "x:a", Name: "a", Title: "A", Description: "The a.", MIMEType: "text/plain", Size: &size},
			want:    textBlock("Resource: x:a\nName: a\nTitle: A\nDescription: The a.\nType: text/plain\nSize: 7 bytes"),
		},
		{
			name:    "resource link that says little",
			content: &mcp.ResourceLink{URI: "x:a", Name: "a"},
			want:    textBlock("Resource: x:a\nName: a"),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			for failed, want := range map[bool]string{false: test.want, true: test.failed} {
				if want == "" {
					want = test.want
				}
				got := throughARun(t, &mcp.CallToolResult{Content: []mcp.Content{test.content}, IsError: failed})
				if diff := cmp.Diff("["+canonical(t, want)+"]", got); diff != "" {
					t.Errorf("content, failed %v (-want +got):\n%s", failed, diff)
				}
			}
		})
	}
}

func mustResult(t *testing.T, options toolrunnermcp.Options, answer *mcp.CallToolResult) *toolrunner.Result {
	t.Helper()
	result, err := toolrunnermcp.ResultOf(options, answer)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// A result is bounded: text is cut where it is too long, and the model reads so; images and
// PDFs that are too much together are named. A failed result is bounded too.
func TestAHugeResultIsCut(t *testing.T) {
	long := strings.Repeat("é", 100)
	for _, test := range []struct {
		name    string
		options toolrunnermcp.Options
		content []mcp.Content
		want    []string // for each block, its beginning
	}{
		{
			name:    "text",
			options: toolrunnermcp.Options{Name: "big", MaxText: 133},
			content: []mcp.Content{&mcp.TextContent{Text: long}, &mcp.TextContent{Text: "more"}},
			want:    []string{strings.Repeat("é", 50), `[104 bytes of text are cut off here: a result of the MCP server "big" may have 133]`},
		},
		{
			name:    "many blocks",
			options: toolrunnermcp.Options{MaxText: 100},
			content: []mcp.Content{&mcp.TextContent{Text: "a"}, &mcp.TextContent{Text: "b"}, &mcp.TextContent{Text: "c"}, &mcp.TextContent{Text: "d"}, &mcp.TextContent{Text: "e"}},
			want:    []string{"a", "b", "c", "[2 bytes of text are cut off"},
		},
		{
			name:    "a document",
			options: toolrunnermcp.Options{MaxText: 42},
			content: []mcp.Content{resource(mcp.ResourceContents{URI: "x:a", Text: "0123456789abc"})},
			want:    []string{"0123456789", "[3 bytes of text are cut off"},
		},
		{
			name:    "images",
			options: toolrunnermcp.Options{MaxMedia: 200},
			content: []mcp.Content{&mcp.ImageContent{Data: []byte(png)}, &mcp.ImageContent{Data: []byte(png)}, resource(mcp.ResourceContents{URI: "x:a", Blob: []byte(png + png)}), &mcp.ImageContent{Data: []byte(gif)}},
			want:    []string{"image", "image", "[resource x:a, 142 bytes, is not shown: the result has too much that is not text]", "[image, 35 bytes"},
		},
		{
			name:    "a PDF",
			options: toolrunnermcp.Options{MaxMedia: 10},
			content: []mcp.Content{resource(mcp.ResourceContents{URI: "x:a", Blob: []byte(pdf)})},
			want:    []string{"[resource x:a, 14 bytes, is not shown: the result has too much that is not text]"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := mustResult(t, test.options, &mcp.CallToolResult{Content: test.content}).Content
			if len(got) != len(test.want) {
				t.Fatalf("%d blocks, want %d: %+v", len(got), len(test.want), got)
			}
			for i, want := range test.want {
				text := "image"
				switch {
				case got[i].OfText != nil:
					text = got[i].OfText.Text
				case got[i].OfDocument != nil:
					text = got[i].OfDocument.Source.OfText.Data
				}
				if !strings.HasPrefix(text, want) || !strings.HasPrefix(want, "[") && text != want {
					t.Errorf("block %d = %q, want %q", i, text, want)
				}
			}
		})
	}
	structured := mustResult(t, toolrunnermcp.Options{MaxText: 40}, &mcp.CallToolResult{IsError: true, StructuredContent: map[string]any{"a": long}})
	if got := structured.Content; len(got) != 2 || !strings.Contains(got[1].OfText.Text, "are cut off here") {
		t.Errorf("structured content = %+v, want it cut", got)
	}
}

// A PDF that is larger than a request may be spoils no request, whatever the options allow.
func TestAPDFThatNoRequestCanHoldIsNotShown(t *testing.T) {
	data := []byte("%PDF-1.7\n" + strings.Repeat("x", 25<<20) + "\n%%EOF")
	for _, options := range []toolrunnermcp.Options{{}, {MaxMedia: 1 << 30}} {
		got := mustResult(t, options, &mcp.CallToolResult{Content: []mcp.Content{resource(mcp.ResourceContents{URI: "x:a", Blob: data})}})
		if text := textOf(t, got, nil); !strings.Contains(text, "is not shown") {
			t.Errorf("text = %q, want that it is not shown", text)
		}
	}
}

// W9: an image that the API would refuse is named, not sent.
func TestAnImageThatTheAPIWouldRefuseIsNotShown(t *testing.T) {
	wide := []byte(png)
	copy(wide[16:], "\x00\x00\x1f\x41") // 8,001 pixels
	for name, data := range map[string][]byte{
		"too many bytes": []byte(png + strings.Repeat("x", 5<<20/4*3+1-len(png))),
		"cut off":        []byte(png[:40]),
		"too wide":       wide,
	} {
		t.Run(name, func(t *testing.T) {
			got := mustResult(t, toolrunnermcp.Options{}, &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: data, MIMEType: "image/png"}}})
			if text := textOf(t, got, nil); !strings.Contains(text, "is not shown: ") {
				t.Errorf("text = %q, want that it is not shown", text)
			}
		})
	}
}

func TestStructuredContentIsUsedWhereThereIsNoOther(t *testing.T) {
	structured := map[string]any{"b": "<1>", "a": []any{true, nil}}
	for _, test := range []struct {
		name   string
		answer *mcp.CallToolResult
		want   string
	}{
		{"no content", &mcp.CallToolResult{StructuredContent: structured}, "[" + textBlock(`{"a":[true,null],"b":"<1>"}`) + "]"},
		{"empty text", &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{}}, StructuredContent: structured}, "[" + textBlock(`{"a":[true,null],"b":"<1>"}`) + "]"},
		{"content", &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "x"}}, StructuredContent: structured}, "[" + textBlock("x") + "]"},
		{"neither", &mcp.CallToolResult{Content: []mcp.Content{}}, "null"},
		{"neither, failed", &mcp.CallToolResult{IsError: true}, "[" + textBlock("Error: the tool failed without saying why.") + "]"},
		{"several blocks", &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "x"}, &mcp.ImageContent{Data: []byte(gif)}}}, "[" + textBlock("x") + "," + imageBlock("image/gif", gif) + "]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(canonical(t, test.want), throughARun(t, test.answer)); diff != "" {
				t.Errorf("content (-want +got):\n%s", diff)
			}
		})
	}
}

// throughARun returns the content of the tool_result that the model gets when a
// server gives this answer, with its keys sorted.
func throughARun(t *testing.T, answer *mcp.CallToolResult) string {
	t.Helper()
	server := mcp.NewServer(me, nil)
	server.AddTool(&mcp.Tool{Name: "it", InputSchema: anyInput}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return answer, nil
	})
	model := toolrunnertest.NewServer(t, toolrunnertest.Message(toolrunnertest.Call("toolu_1", "it", `{}`)), toolrunnertest.Text("I see."))
	tools := mustTools(t, connectMemory(t, server, nil), toolrunnermcp.Options{})
	if _, err := newRunner(t, model, tools).RunToCompletion(t.Context()); err != nil {
		t.Fatal(err)
	}
	var result struct {
		Content json.RawMessage
		IsError bool `json:"is_error"`
	}
	if err := json.Unmarshal(model.Requests()[1].ToolResult("toolu_1"), &result); err != nil {
		t.Fatal(err)
	}
	if result.IsError != answer.IsError {
		t.Errorf("is_error = %v, want %v", result.IsError, answer.IsError)
	}
	if result.Content == nil {
		return "null"
	}
	return canonical(t, string(result.Content))
}

func canonical(t *testing.T, text string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %.200s", err, text)
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
