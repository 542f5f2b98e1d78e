package tools_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Small files, whose format is told from their first bytes.
const (
	pngFile  = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\b\x00\x00\x00\x00:~\x9bU\x00\x00\x00\x0eIDATx\x9cbb\x00\x04\x00\x00\xff\xff\x00\x06\x00\x03\xfa\xd0Y\xae\x00\x00\x00\x00IEND\xaeB`\x82"
	jpegFile = "\xff\xd8\xff\xc0\x00\x0b\x08\x00\x01\x00\x01\x01\x01\x11\x00\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00\x7f\xff\xd9"
	gifFile  = "GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"
	webpFile = "RIFF\x16\x00\x00\x00WEBPVP8 \x0a\x00\x00\x00\x00\x00\x00\x9d\x01\x2a\x01\x00\x01\x00"
	pdfFile  = "%PDF-1.7\n%%EOF"
)

type (
	color    string
	loud     string
	temp     float64
	pair     struct{ A, B *int }
	point    struct{ X int }
	failure  struct{ Code int }
	withErr  struct{ Err error }
	selfList []selfList
)

func (c color) String() string { return "a color" }

func (l loud) MarshalText() ([]byte, error) { return []byte(strings.ToUpper(string(l))), nil }

func (t temp) String() string { return "warm" }

func (p point) String() string { return "a point" }

func (f failure) Error() string { return fmt.Sprintf("code %d", f.Code) }

// E64, E65, E73, B105: what a typed tool returns goes out as content that the API
// accepts, whatever it is.
func TestOutputsOfEveryKind(t *testing.T) {
	ring := selfList{nil}
	ring[0] = ring
	image := func(mediaType, data string) string {
		return `[{"source":{"data":"` + base64.StdEncoding.EncodeToString([]byte(data)) + `","media_type":"` + mediaType + `","type":"base64"},"type":"image"}]`
	}
	says := func(text string) string { return `[{"type":"text","text":` + text + `}]` }
	const nothing = ""
	textBlock := anthropic.BetaTextBlockParam{Text: "x"}
	imageBlock := anthropic.BetaImageBlockParam{Source: anthropic.BetaImageBlockParamSourceUnion{OfURL: &anthropic.BetaURLImageSourceParam{URL: "https://example.com/a.png"}}}
	documentBlock := anthropic.BetaRequestDocumentBlockParam{Source: anthropic.BetaRequestDocumentBlockSourceUnionParam{OfText: &anthropic.BetaPlainTextSourceParam{Data: "d"}}}
	searchBlock := anthropic.BetaSearchResultBlockParam{Source: "s", Title: "t", Content: []anthropic.BetaTextBlockParam{textBlock}}
	const (
		imageText    = `[{"source":{"url":"https://example.com/a.png","type":"url"},"type":"image"}]`
		documentText = `[{"source":{"data":"d","media_type":"text/plain","type":"text"},"type":"document"}]`
		searchText   = `[{"content":[{"text":"x","type":"text"}],"source":"s","title":"t","type":"search_result"}]`
		pdfText      = `[{"source":{"data":"JVBERi0xLjcKJSVFT0Y=","media_type":"application/pdf","type":"base64"},"type":"document"}]`
	)
	for _, tt := range []struct {
		name   string
		output any
		want   string // the content; if it failed, what its text contains
		failed bool
	}{
		{"string", "plain", says(`"plain"`), false},
		{"empty string", "", nothing, false},
		{"named string, whose String does not count", color("red"), says(`"red"`), false},
		{"string with its own JSON", loud("x"), says(`"\"X\""`), false},
		{"integer", int64(9007199254740993), says(`"9007199254740993"`), false},
		{"zero", 0, says(`"0"`), false},
		{"named float, whose String does not count", temp(0.5), says(`"0.5"`), false},
		{"boolean", false, says(`"false"`), false},
		{"time", time.Unix(0, 0).UTC(), says(`"\"1970-01-01T00:00:00Z\""`), false},
		{"duration", time.Second, says(`"1000000000"`), false},
		{"struct", pair{}, says(`"{\"A\":null,\"B\":null}"`), false},
		{"struct whose String does not count", point{1}, says(`"{\"X\":1}"`), false},
		{"slice", []string{"a"}, says(`"[\"a\"]"`), false},
		{"empty slice", []string{}, says(`"[]"`), false},
		{"map", map[string]int{"b": 1, "a": 2}, says(`"{\"a\":2,\"b\":1}"`), false},
		{"raw JSON", json.RawMessage(`{"a": 1.0}`), says(`"{\"a\":1.0}"`), false},
		{"broken raw JSON", json.RawMessage(`{"a":`), "not JSON", true},
		{"nil", nil, says(`"null"`), false},
		{"nil pointer", (*pair)(nil), says(`"null"`), false},
		{"nil slice", []int(nil), says(`"null"`), false},
		{"nil map", map[string]int(nil), says(`"null"`), false},
		{"nil raw JSON", json.RawMessage(nil), says(`"null"`), false},
		{"nil *Result", (*toolrunner.Result)(nil), nothing, false},
		{"Result", toolrunner.Result{Content: []runtest.Content{runtest.TextContent("x")}}, says(`"x"`), false},
		{"failed Result", toolrunner.Result{Content: []runtest.Content{runtest.TextContent("x")}, IsError: true}, "x", true},
		{"error", runtest.ErrBroken, "Error: broken", true},
		{"struct that is an error", failure{7}, "Error: code 7", true},
		{"error in a struct", withErr{runtest.ErrBroken}, says(`"{\"Err\":{}}"`), false},
		{"NaN", []float64{math.NaN()}, "unsupported value: NaN", true},
		{"list that contains itself", ring, "cycle", true},
		{"function", func() {}, "unsupported type", true},
		{"text block", textBlock, says(`"x"`), false},
		{"pointer to a text block", &textBlock, says(`"x"`), false},
		{"image block", imageBlock, imageText, false},
		{"pointer to an image block", &imageBlock, imageText, false},
		{"document block", documentBlock, documentText, false},
		{"pointer to a document block", &documentBlock, documentText, false},
		{"search result block", searchBlock, searchText, false},
		{"pointer to a search result block", &searchBlock, searchText, false},
		{"tool reference block", anthropic.BetaToolReferenceBlockParam{ToolName: "work"}, `[{"tool_name":"work","type":"tool_reference"}]`, false},
		{"nil pointer to a block", (*anthropic.BetaTextBlockParam)(nil), nothing, false},
		{"nil pointer to a union", (*runtest.Content)(nil), nothing, false},
		{"pointer to a union", &runtest.Content{OfText: &textBlock}, says(`"x"`), false},
		{"zero union", runtest.Content{}, nothing, false},
		{"nil slice of unions", []runtest.Content(nil), nothing, false},
		{"PNG", []byte(pngFile), image("image/png", pngFile), false},
		{"JPEG", []byte(jpegFile), image("image/jpeg", jpegFile), false},
		{"GIF", []byte(gifFile), image("image/gif", gifFile), false},
		{"WebP", []byte(webpFile), image("image/webp", webpFile), false},
		{"PDF", []byte(pdfFile), pdfText, false},
		{"text", []byte("h\u00e9 <p>"), says(`"h` + "\u00e9" + ` <p>"`), false},
		{"no bytes", []byte{}, nothing, false},
		{"nil bytes", []byte(nil), nothing, false},
		{"other bytes", []byte("PK\x03\x04\xff"), "5 bytes of type application/zip, is neither text nor an image nor a PDF", true},
		{"bytes with NUL", []byte("a\x00b"), "neither text", true},
		{"image of another format", []byte("BM\xff\xff"), "image/bmp", true},
		{"too large an image", append([]byte(pngFile), make([]byte, 4<<20)...), "too large", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(runtest.TypedTool(func() (any, error) { return tt.output, nil })), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
			c.Run(t)
			got, failed := runtest.ResultText(t, c.Request(t, -1), "a")
			if !tt.failed {
				got = string(runtest.RawContent(t, c.Request(t, -1).ToolResult("a")))
			}
			if failed != tt.failed || !tt.failed && got != tt.want || !strings.Contains(got, tt.want) {
				t.Errorf("result = %.300s, failed %v; want %.300s, failed %v", got, failed, tt.want, tt.failed)
			}
		})
	}
}

func TestMediaTypesAreToldFromTheData(t *testing.T) {
	largest := append([]byte(pngFile), make([]byte, 3932160-len(pngFile))...)
	for _, tt := range []struct {
		name string
		of   func([]byte) (*toolrunner.Result, error)
		data string
		want string // of the error; empty for none
	}{
		{"PNG", toolrunner.ImageResult, pngFile, ""},
		{"the largest image", toolrunner.ImageResult, string(largest), ""},
		{"one byte more", toolrunner.ImageResult, string(largest) + "x", "an image of 3932161 bytes is too large: the limit is 3932160 bytes"},
		{"PDF as an image", toolrunner.ImageResult, pdfFile, "14 bytes of type application/pdf is not an image"},
		{"SVG", toolrunner.ImageResult, `<svg xmlns="http://www.w3.org/2000/svg"/>`, "use JPEG, PNG, GIF or WebP"},
		{"no image", toolrunner.ImageResult, "", "0 bytes"},
		{"PDF", toolrunner.DocumentResult, pdfFile, ""},
		{"text", toolrunner.DocumentResult, "# h\u00e9", ""},
		{"no document", toolrunner.DocumentResult, "", "the document is empty"},
		{"image as a document", toolrunner.DocumentResult, pngFile, "image/png is not a document"},
		{"text in Latin-1", toolrunner.DocumentResult, "h\xe9", "use PDF or text in UTF-8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			result, err := tt.of([]byte(tt.data))
			if tt.want == "" && (err != nil || len(result.Content) != 1) {
				t.Fatalf("result %v, error %v; want one block", result, err)
			}
			if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error = %v, want %q in it", err, tt.want)
			}
		})
	}
}

// The data of a result is the caller's to change.
func TestDataOfAResultIsCopied(t *testing.T) {
	data := []byte("text")
	result, err := toolrunner.DocumentResult(data)
	if err != nil {
		t.Fatal(err)
	}
	copy(data, "gone")
	if got := result.Content[0].OfDocument.Source.OfText.Data; got != "text" {
		t.Errorf("the document reads %q", got)
	}
}

// E70: content that is returned with an error stays beside it, and data does not.
func TestBlocksStandBesideAnError(t *testing.T) {
	for _, tt := range []struct {
		name   string
		output any
		want   string
	}{
		{"block", anthropic.BetaTextBlockParam{Text: "half, "}, "half, Error: broken"},
		{"Result", toolrunner.Result{Content: []runtest.Content{runtest.TextContent("half, ")}}, "half, Error: broken"},
		{"bytes", []byte("half"), "Error: broken"},
		{"struct", pair{}, "Error: broken"},
		{"another error", errors.New("other"), "Error: broken"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(runtest.TypedTool(func() (any, error) { return tt.output, runtest.ErrBroken })), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
			c.Run(t)
			runtest.WantFailure(t, c.Request(t, -1), "a", tt.want)
		})
	}
}
