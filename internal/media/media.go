// Package media says which pictures and documents the Messages API would refuse, and
// with them every later request of the conversation.
//
// It reads headers and the ends of data, and decodes no picture. The limits are those of
// the API's documentation: https://platform.claude.com/docs/en/build-with-claude/vision
// and https://platform.claude.com/docs/en/api/overview.
package media

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"unicode/utf8"
)

const (
	// MaxImage is the size of an image that the API takes, as base64.
	MaxImage = 5 << 20
	// MaxSide is the width and the height that an image may have, in pixels.
	MaxSide = 8000
	// ManyImages is how many images a request may have before the sides of all of them
	// are bounded by MaxSideOfMany.
	ManyImages = 20
	// MaxSideOfMany is the side that each image may have in a request with many.
	MaxSideOfMany = 2000
	// MaxRequest is the size of a request that the API takes, in bytes.
	MaxRequest = 32 << 20
)

// Error says what is wrong with a picture or a document, for the model to read.
type Error struct{ Reason string }

// Error returns the reason.
func (e *Error) Error() string { return e.Reason }

func refuse(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// Image returns the media type of an image, or says why the API would refuse it.
func Image(data []byte) (string, error) {
	mediaType, _, _, err := read(data)
	return mediaType, err
}

// read returns what the data of an image says, or why the API would refuse it.
func read(data []byte) (mediaType string, width, height int, err error) {
	mediaType = http.DetectContentType(data)
	size := formats[mediaType]
	if size == nil {
		return "", 0, 0, refuse("%s is not an image that the model can see: use JPEG, PNG, GIF or WebP", Describe(data))
	}
	if base64.StdEncoding.EncodedLen(len(data)) > MaxImage {
		return "", 0, 0, refuse("an image of %d bytes is too large: the limit is %d bytes", len(data), MaxImage/4*3)
	}
	width, height, err = size(data)
	switch {
	case err != nil:
		err = refuse("the image of %d bytes is broken: %v", len(data), err)
	case width == 0 || height == 0:
		err = refuse("the image is broken: it has %d x %d pixels", width, height)
	case width > MaxSide || height > MaxSide:
		err = refuse("the image has %d x %d pixels: the limit is %d pixels a side", width, height, MaxSide)
	}
	return mediaType, width, height, err
}

// IsImage reports whether data begins like an image that the API takes.
func IsImage(data []byte) bool { return formats[http.DetectContentType(data)] != nil }

// IsPDF reports whether data begins like a PDF.
func IsPDF(data []byte) bool { return bytes.HasPrefix(data, []byte("%PDF-")) }

// IsText reports whether data is text that the API takes.
func IsText(data []byte) bool { return utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 }

// PDF says why the API would refuse a PDF, or returns nil.
func PDF(data []byte) error {
	const around = 1024 // where readers look for the mark of the end
	end := bytes.TrimRight(data, "\x00 \t\r\n")
	switch {
	case !IsPDF(data):
		return refuse("%s is not a PDF", Describe(data))
	case base64.StdEncoding.EncodedLen(len(data)) > MaxRequest:
		return refuse("a document of %d bytes is too large: the limit is %d bytes", len(data), MaxRequest/4*3)
	case !bytes.Contains(end[max(0, len(end)-around):], []byte("%%EOF")):
		return refuse("the PDF of %d bytes is cut off: %%%%EOF is not at its end", len(data))
	}
	return nil
}

// Document says why the API would refuse text as a document, or returns nil.
func Document(text []byte) error {
	switch {
	case len(text) == 0:
		return refuse("the document is empty")
	case !IsText(text):
		return refuse("%s is not a document that the model can read: use PDF or text in UTF-8", Describe(text))
	case len(text) > MaxRequest:
		return refuse("a document of %d bytes is too large: the limit is %d bytes", len(text), MaxRequest)
	}
	return nil
}

// Describe says what data seems to be.
func Describe(data []byte) string {
	return fmt.Sprintf("%d bytes of type %s", len(data), http.DetectContentType(data))
}
