package media

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"
)

// Cut returns the content of a result with at most so many characters of text, and a note
// for the model in place of the rest; and how many characters are left out. The content
// stays as it is.
func Cut(blocks []anthropic.BetaToolResultBlockParamContentUnion, most int) ([]anthropic.BetaToolResultBlockParamContentUnion, int) {
	c := cutter{room: most}
	return c.content(blocks), c.left
}

// cutter cuts texts, one after the other.
type cutter struct {
	room int // characters that may still come
	left int // characters that were left out
}

// content returns content of which no more text is left than there is room for, and a
// note if there was more.
func (c *cutter) content(blocks []anthropic.BetaToolResultBlockParamContentUnion) []anthropic.BetaToolResultBlockParamContentUnion {
	var kept []anthropic.BetaToolResultBlockParamContentUnion
	for _, block := range blocks {
		switch {
		case block.OfText != nil:
			text := *block.OfText
			if text.Text = c.text(text.Text); text.Text != "" {
				kept = append(kept, anthropic.BetaToolResultBlockParamContentUnion{OfText: &text})
			}
		case block.OfDocument != nil && block.OfDocument.Source.OfContent == nil:
			document := *block.OfDocument
			for _, about := range []*param.Opt[string]{&document.Title, &document.Context} {
				if about.Valid() {
					about.Value = c.text(about.Value)
				}
			}
			if document.Source.OfText != nil {
				source := *document.Source.OfText
				document.Source.OfText = &source
				if source.Data = c.text(source.Data); source.Data == "" {
					continue
				}
			}
			kept = append(kept, anthropic.BetaToolResultBlockParamContentUnion{OfDocument: &document})
		case c.whole(block):
			kept = append(kept, block)
		}
	}
	if c.left == 0 {
		return blocks
	}
	return append(kept, anthropic.BetaToolResultBlockParamContentUnion{OfText: &anthropic.BetaTextBlockParam{
		Text: fmt.Sprintf("[The result was cut here: %d more characters are left out.]", c.left),
	}})
}

// text returns what there is room for.
func (c *cutter) text(text string) string {
	kept := firstRunes(text, c.room)
	c.room -= utf8.RuneCountInString(kept)
	c.left += utf8.RuneCountInString(text[len(kept):])
	return kept
}

// whole reports whether there is room for a block that cannot be cut. Data, and what
// refers to it, takes none.
func (c *cutter) whole(block anthropic.BetaToolResultBlockParamContentUnion) bool {
	if block.OfImage != nil || block.OfToolReference != nil {
		return true
	}
	raw, err := json.Marshal(block)
	if err != nil {
		return true // encoding the result fails, and says so
	}
	var is struct {
		Type, Title, Context string
		Source               json.RawMessage
	}
	var source struct{ Type string }
	_ = json.Unmarshal(raw, &is)
	_ = json.Unmarshal(is.Source, &source)
	size := utf8.RuneCount(raw)
	if is.Type == "image" || is.Type == "document" && source.Type != "text" && source.Type != "content" {
		size = utf8.RuneCountInString(is.Title) + utf8.RuneCountInString(is.Context)
	}
	if size > c.room {
		c.left += size
		c.room = 0
		return false
	}
	c.room -= size
	return true
}

// firstRunes returns the first n characters of text.
func firstRunes(text string, n int) string {
	for i := range text {
		if n <= 0 {
			return text[:i]
		}
		n--
	}
	return text
}
