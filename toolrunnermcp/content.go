package toolrunnermcp

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolrunner/toolrunner"
)

// What a server answers becomes content that the Messages API accepts. It looks
// at the bytes of media, not only at the type that they are said to have: one
// block that it refuses spoils every later request.

const (
	maxTitle = 500 // characters

	typePDF = "application/pdf"
)

type block = anthropic.BetaToolResultBlockParamContentUnion

// resultOf returns the result for what the server answered, within the bounds of the
// options.
func (o *Options) resultOf(answer *mcp.CallToolResult) *toolrunner.Result {
	result := &toolrunner.Result{IsError: answer.IsError}
	c := &converter{textOnly: answer.IsError, textLeft: o.MaxText, mediaLeft: o.MaxMedia}
	for _, content := range answer.Content {
		c.add(c.content(content))
	}
	if len(c.blocks) == 0 && answer.StructuredContent != nil {
		if structured, err := toolrunner.JSONResult(answer.StructuredContent); err == nil {
			for _, b := range structured.Content {
				c.add(b)
			}
		}
	}
	result.Content = c.blocks
	if c.cut > 0 {
		result.Content = append(result.Content, text(fmt.Sprintf("[%d bytes of text are cut off here: a result of %s may have %d]", c.cut, o.server(), o.MaxText)))
	}
	return result
}

// converter turns content into blocks: into text alone for a failed result,
// where the API accepts nothing else.
type converter struct {
	textOnly  bool
	blocks    []block
	textLeft  int // bytes of text that still fit
	mediaLeft int // and of images and PDFs, in base64
	cut       int // bytes of text that did not fit
}

// overhead is what a block of text counts beside its text, so that many small ones count.
const overhead = 32

// add appends a block, or what fits of it.
func (c *converter) add(b block) {
	var own *string
	switch {
	case b.OfText != nil:
		own = &b.OfText.Text
	case b.OfDocument != nil && b.OfDocument.Source.OfText != nil:
		own = &b.OfDocument.Source.OfText.Data
	default:
		c.blocks = append(c.blocks, b)
		return
	}
	if *own == "" {
		return
	}
	fits := max(0, min(len(*own), c.textLeft-overhead))
	for fits > 0 && fits < len(*own) && !utf8.RuneStart((*own)[fits]) {
		fits--
	}
	c.cut += len(*own) - fits
	if fits == 0 {
		c.textLeft = 0
		return
	}
	*own = (*own)[:fits]
	c.textLeft -= fits + overhead
	c.blocks = append(c.blocks, b)
}

func (c *converter) content(content mcp.Content) block {
	switch content := content.(type) {
	case *mcp.TextContent:
		return text(content.Text)
	case *mcp.ImageContent:
		return c.media("image", "", content.MIMEType, content.Data)
	case *mcp.AudioContent:
		return c.media("audio", "", content.MIMEType, content.Data)
	case *mcp.ResourceLink:
		return text(linkText(content))
	case *mcp.EmbeddedResource:
		return c.resource(content.Resource)
	}
	return text(fmt.Sprintf("[content of a kind that cannot be shown: %T]", content))
}

func (c *converter) resource(r *mcp.ResourceContents) block {
	switch {
	case r == nil:
		return text("[resource without contents]")
	case len(r.Blob) > 0 && isText(r.MIMEType) && utf8.Valid(r.Blob):
		return c.document(r.URI, string(r.Blob))
	case len(r.Blob) > 0:
		return c.media("resource", r.URI, r.MIMEType, r.Blob)
	case strings.TrimSpace(r.Text) == "":
		return text(notice("resource", r.URI, r.MIMEType, len(r.Text), "it is empty"))
	}
	return c.document(r.URI, r.Text)
}

// document returns a document of plain text.
func (c *converter) document(uri, data string) block {
	if c.textOnly {
		return text(strings.TrimPrefix(uri+"\n"+data, "\n"))
	}
	return document(uri, anthropic.BetaRequestDocumentBlockSourceUnionParam{OfText: &anthropic.BetaPlainTextSourceParam{Data: data}})
}

// media returns bytes as the block that their content calls for, or as a notice.
func (c *converter) media(kind, uri, declared string, data []byte) block {
	found := http.DetectContentType(data)
	var why string
	switch {
	case len(data) == 0:
		why = "it is empty"
	case c.textOnly && (isImage(found) || found == typePDF):
		why = "the call failed"
	case (isImage(found) || found == typePDF) && base64.StdEncoding.EncodedLen(len(data)) > c.mediaLeft:
		why = "the result has too much that is not text"
	case isImage(found):
		result, err := toolrunner.ImageResult(data)
		if err == nil {
			c.mediaLeft -= base64.StdEncoding.EncodedLen(len(data))
			return result.Content[0]
		}
		why = err.Error()
	case found == typePDF:
		result, err := toolrunner.DocumentResult(data)
		if err == nil {
			c.mediaLeft -= base64.StdEncoding.EncodedLen(len(data))
			return document(uri, result.Content[0].OfDocument.Source)
		}
		why = err.Error()
	default:
		why = "only text, PDF and JPEG, PNG, GIF and WebP images can be"
	}
	return text(notice(kind, uri, declared, len(data), why))
}

func document(uri string, source anthropic.BetaRequestDocumentBlockSourceUnionParam) block {
	d := &anthropic.BetaRequestDocumentBlockParam{Source: source}
	if title := []rune(uri); len(title) > 0 {
		d.Title = anthropic.String(string(title[:min(len(title), maxTitle)]))
	}
	return block{OfDocument: d}
}

// notice says what is not shown to the model, and why.
func notice(kind, uri, mimeType string, size int, why string) string {
	words := []string{kind}
	for _, word := range []string{uri, mimeType} {
		if word != "" {
			words = append(words, word)
		}
	}
	return fmt.Sprintf("[%s, %d bytes, is not shown: %s]", strings.Join(words, " "), size, why)
}

// linkText says what a resource link says. What it leads to is not read.
func linkText(l *mcp.ResourceLink) string {
	lines := []string{"Resource: " + l.URI}
	add := func(label, value string) {
		if value != "" {
			lines = append(lines, label+": "+value)
		}
	}
	add("Name", l.Name)
	add("Title", l.Title)
	add("Description", l.Description)
	add("Type", l.MIMEType)
	if l.Size != nil {
		add("Size", fmt.Sprintf("%d bytes", *l.Size))
	}
	return strings.Join(lines, "\n")
}

func text(s string) block { return block{OfText: &anthropic.BetaTextBlockParam{Text: s}} }

func isImage(mimeType string) bool {
	switch mimeType {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		return true
	}
	return false
}

// isText reports whether bytes of a type are text by the type's own rules.
func isText(mimeType string) bool {
	mimeType, _, _ = strings.Cut(mimeType, ";")
	return strings.HasPrefix(mimeType, "text/") || mimeType == "application/json" || mimeType == "application/xml" ||
		strings.HasSuffix(mimeType, "+json") || strings.HasSuffix(mimeType, "+xml")
}
