package media

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// This file looks at encoded content blocks. Pictures and documents that the API fetches
// itself, from a URL or a file, cannot be looked at. Data of no format that is known here
// passes: the API may know it.

// Check says why the API would refuse a content block for the picture or the document
// that is in it, as an *[Error], or returns nil. The block is valid JSON.
func Check(block []byte) error {
	return each(block, func(kind string, source wire.Object) error {
		if kind == "document" {
			return checkDocument(source)
		}
		_, _, err := imageSize(source)
		return err
	})
}

// Pictures says how many images a message or a block has, and the longest side of those
// whose size is known, in pixels.
type Pictures struct{ Count, Side int }

// Of looks for the images in messages and blocks of valid JSON.
func Of(raw []byte) Pictures {
	var p Pictures
	_ = each(raw, func(kind string, source wire.Object) error {
		if kind == "image" {
			p.Count++
			width, height, _ := imageSize(source)
			p.Side = max(p.Side, width, height)
		}
		return nil
	})
	return p
}

// And returns the pictures of both.
func (p Pictures) And(other Pictures) Pictures {
	return Pictures{p.Count + other.Count, max(p.Side, other.Side)}
}

// Check says why the API would refuse a request with the pictures, or returns nil.
func (p Pictures) Check() error {
	if p.Count <= ManyImages || p.Side <= MaxSideOfMany {
		return nil
	}
	return refuse("the request would have %d images, one of them with a side of %d pixels: in a request of more than %d images the limit is %d pixels a side",
		p.Count, p.Side, ManyImages, MaxSideOfMany)
}

// each calls visit with the sources of the images and documents in a block or a message,
// up to an error.
func each(raw []byte, visit func(kind string, source wire.Object) error) error {
	if !bytes.Contains(raw, []byte(`"image"`)) && !bytes.Contains(raw, []byte(`"document"`)) {
		return nil
	}
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	var kind string
	var source, content []byte
	_ = wire.KnownMembers(raw, func(key, value []byte) error {
		switch string(key) {
		case "type":
			kind, _ = wire.Unquote(value)
		case "source":
			source = value
		case "content":
			content = value
		}
		return nil
	})
	switch kind {
	case "image", "document":
		object, _ := wire.ReadObject(source)
		if err := visit(kind, object); err != nil || kind == "image" {
			return err
		}
		content = object.Get("content") // of a document that is made of blocks
	}
	if len(content) == 0 || content[0] != '[' {
		return nil
	}
	return wire.KnownElements(content, func(value []byte) error { return each(value, visit) })
}

// text returns a member that is a string.
func text(o wire.Object, key string) string {
	s, _ := wire.Unquote(o.Get(key))
	return s
}

// isUnknown reports whether data is of no format that is known here. What is plain text is
// in tests and recordings, where something stands in for the data.
func isUnknown(data []byte) bool {
	mediaType := http.DetectContentType(data)
	return len(data) > 0 && (mediaType == "application/octet-stream" || strings.HasPrefix(mediaType, "text/plain"))
}

func decode(o wire.Object) ([]byte, error) {
	content, _ := wire.Content(o.Get("data"))
	if bytes.IndexByte(content, '\\') >= 0 {
		content = wire.AppendUnquoted(nil, content)
	}
	data := make([]byte, base64.StdEncoding.DecodedLen(len(content)))
	n, err := base64.StdEncoding.Decode(data, content)
	if err != nil {
		return nil, refuse("the data is not base64: %v", err)
	}
	return data[:n], nil
}

// imageSize reads an image that is in the block itself.
func imageSize(source wire.Object) (width, height int, err error) {
	if text(source, "type") != "base64" {
		return 0, 0, nil
	}
	data, err := decode(source)
	if err != nil {
		return 0, 0, err
	}
	if isUnknown(data) {
		return 0, 0, nil
	}
	_, width, height, err = read(data)
	return width, height, err
}

// checkDocument looks at a PDF. A document of text is a string of JSON, which is always
// text.
func checkDocument(source wire.Object) error {
	if text(source, "type") != "base64" {
		return nil
	}
	data, err := decode(source)
	if err != nil || isUnknown(data) {
		return err
	}
	return PDF(data)
}
