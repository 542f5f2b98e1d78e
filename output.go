package toolrunner

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/anthropics/anthropic-sdk-go/v2"
)

// maxImage is the size of an image that the API accepts, as base64.
const maxImage = 5 << 20

// ImageResult returns a result that shows the model an image. Its format is told
// from the data: JPEG, PNG, GIF or WebP; an error is returned for any other.
//
// The API accepts images of up to 5 MB in base64, which is 3.75 MB of data, and
// refuses the whole conversation for a larger one; that is an error here.
func ImageResult(data []byte) (*Result, error) {
	mediaType := http.DetectContentType(data)
	switch {
	case !isImage(mediaType):
		return nil, fmt.Errorf("%s is not an image that the model can see: use JPEG, PNG, GIF or WebP", describeData(data))
	case base64.StdEncoding.EncodedLen(len(data)) > maxImage:
		return nil, fmt.Errorf("an image of %d bytes is too large: the limit is %d bytes", len(data), maxImage/4*3)
	}
	return contentResult(anthropic.BetaToolResultBlockParamContentUnion{OfImage: &anthropic.BetaImageBlockParam{
		Source: anthropic.BetaImageBlockParamSourceUnion{OfBase64: &anthropic.BetaBase64ImageSourceParam{
			Data: base64.StdEncoding.EncodeToString(data), MediaType: anthropic.BetaBase64ImageSourceMediaType(mediaType),
		}},
	}}), nil
}

// DocumentResult returns a result that gives the model a document: a PDF, or
// text in UTF-8, which is told from the data. An error is returned for any other
// data, and for none. The API bounds the size of a request, at 32 MB, and the
// number of a PDF's pages.
func DocumentResult(data []byte) (*Result, error) {
	var source anthropic.BetaRequestDocumentBlockSourceUnionParam
	switch {
	case isPDF(http.DetectContentType(data)):
		source.OfBase64 = &anthropic.BetaBase64PDFSourceParam{Data: base64.StdEncoding.EncodeToString(data)}
	case len(data) == 0:
		return nil, errors.New("the document is empty")
	case isText(data):
		source.OfText = &anthropic.BetaPlainTextSourceParam{Data: string(data)}
	default:
		return nil, fmt.Errorf("%s is not a document that the model can read: use PDF or text in UTF-8", describeData(data))
	}
	return contentResult(anthropic.BetaToolResultBlockParamContentUnion{
		OfDocument: &anthropic.BetaRequestDocumentBlockParam{Source: source},
	}), nil
}

func contentResult(content ...anthropic.BetaToolResultBlockParamContentUnion) *Result {
	return &Result{Content: content}
}

// resultOf turns what a typed handler returned into a result.
func resultOf(output any) (*Result, error) {
	if r := contentBeside(output); r != nil {
		return r, nil
	}
	switch output := output.(type) {
	case *Result: // nil
		return &Result{}, nil
	case string:
		return TextResult(output), nil
	case []byte:
		return bytesResult(output)
	case error:
		return nil, output
	}
	if v := reflect.ValueOf(output); v.Kind() == reflect.String && !hasOwnText(output) {
		return TextResult(v.String()), nil
	}
	r, err := JSONResult(output)
	if err != nil {
		return nil, fmt.Errorf("the tool's result is not JSON: %w", err)
	}
	return r, nil
}

// bytesResult shows bytes as what they are.
func bytesResult(data []byte) (*Result, error) {
	switch mediaType := http.DetectContentType(data); {
	case len(data) == 0:
		return &Result{}, nil
	case isImage(mediaType):
		return ImageResult(data)
	case isPDF(mediaType):
		return DocumentResult(data)
	case isText(data):
		return TextResult(string(data)), nil
	}
	return nil, fmt.Errorf("the tool's result, %s, is neither text nor an image nor a PDF", describeData(data))
}

func isImage(mediaType string) bool {
	switch anthropic.BetaBase64ImageSourceMediaType(mediaType) {
	case anthropic.BetaBase64ImageSourceMediaTypeImageJPEG, anthropic.BetaBase64ImageSourceMediaTypeImagePNG,
		anthropic.BetaBase64ImageSourceMediaTypeImageGIF, anthropic.BetaBase64ImageSourceMediaTypeImageWebP:
		return true
	}
	return false
}

func isPDF(mediaType string) bool { return mediaType == "application/pdf" }

func isText(data []byte) bool { return utf8.Valid(data) && !strings.ContainsRune(string(data), 0) }

func describeData(data []byte) string {
	return fmt.Sprintf("%d bytes of type %s", len(data), http.DetectContentType(data))
}

func hasOwnText(v any) bool {
	switch v.(type) {
	case json.Marshaler, encoding.TextMarshaler:
		return true
	}
	return false
}

// contentBeside returns output where it is content in itself, which may then
// stand beside an error; else nil.
func contentBeside(output any) *Result {
	switch output := output.(type) {
	case *Result:
		return output
	case Result:
		return &output
	case []anthropic.BetaToolResultBlockParamContentUnion:
		return contentResult(output...)
	case anthropic.BetaToolResultBlockParamContentUnion:
		return contentResult(output)
	case *anthropic.BetaToolResultBlockParamContentUnion:
		if output == nil {
			return &Result{}
		}
		return contentResult(*output)
	}
	if block, ok := blockContent(output); ok {
		return contentResult(block)
	}
	return nil
}

// blockContent returns a block of the SDK, or a pointer to one, as content. A
// nil pointer becomes content that says nothing.
func blockContent(output any) (c anthropic.BetaToolResultBlockParamContentUnion, ok bool) {
	switch block := output.(type) {
	case anthropic.BetaTextBlockParam:
		c.OfText = &block
	case *anthropic.BetaTextBlockParam:
		c.OfText = block
	case anthropic.BetaImageBlockParam:
		c.OfImage = &block
	case *anthropic.BetaImageBlockParam:
		c.OfImage = block
	case anthropic.BetaRequestDocumentBlockParam:
		c.OfDocument = &block
	case *anthropic.BetaRequestDocumentBlockParam:
		c.OfDocument = block
	case anthropic.BetaSearchResultBlockParam:
		c.OfSearchResult = &block
	case *anthropic.BetaSearchResultBlockParam:
		c.OfSearchResult = block
	case anthropic.BetaToolReferenceBlockParam:
		c.OfToolReference = &block
	case *anthropic.BetaToolReferenceBlockParam:
		c.OfToolReference = block
	case anthropic.BetaBrowserStateBlockParam:
		c.OfBrowserState = &block
	case *anthropic.BetaBrowserStateBlockParam:
		c.OfBrowserState = block
	default:
		return c, false
	}
	return c, true
}
