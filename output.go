package toolrunner

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/media"
	"github.com/toolrunner/toolrunner/internal/schema"
)

// ImageResult returns a result that shows the model an image. Its format is told
// from the data: JPEG, PNG, GIF or WebP; an error is returned for any other.
//
// The API refuses the whole conversation for an image that breaks its limits, so it is an
// error here: more than 5 MB in base64, which is 3.75 MB of data; a side of more than
// 8,000 pixels; data that is cut off. In a request with more than 20 images, the limit is
// 2,000 pixels a side: a result by which that is broken fails when the call ends.
func ImageResult(data []byte) (*Result, error) {
	mediaType, err := media.Image(data)
	if err != nil {
		return nil, err
	}
	return contentResult(anthropic.BetaToolResultBlockParamContentUnion{OfImage: &anthropic.BetaImageBlockParam{
		Source: anthropic.BetaImageBlockParamSourceUnion{OfBase64: &anthropic.BetaBase64ImageSourceParam{
			Data: base64.StdEncoding.EncodeToString(data), MediaType: anthropic.BetaBase64ImageSourceMediaType(mediaType),
		}},
	}}), nil
}

// DocumentResult returns a result that gives the model a document: a PDF, or
// text in UTF-8, which is told from the data. An error is returned for any other
// data, for none, for a PDF that is cut off, and for more than a request may hold, 32 MB.
// The API also bounds the number of a PDF's pages.
func DocumentResult(data []byte) (*Result, error) {
	var source anthropic.BetaRequestDocumentBlockSourceUnionParam
	if media.IsPDF(data) {
		if err := media.PDF(data); err != nil {
			return nil, err
		}
		source.OfBase64 = &anthropic.BetaBase64PDFSourceParam{Data: base64.StdEncoding.EncodeToString(data)}
	} else {
		if err := media.Document(data); err != nil {
			return nil, err
		}
		source.OfText = &anthropic.BetaPlainTextSourceParam{Data: string(data)}
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
	switch {
	case len(data) == 0:
		return &Result{}, nil
	case media.IsImage(data):
		return ImageResult(data)
	case media.IsPDF(data):
		return DocumentResult(data)
	case media.IsText(data):
		return TextResult(string(data)), nil
	}
	return nil, fmt.Errorf("the tool's result, %s, is neither text nor an image nor a PDF", media.Describe(data))
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

// OutputFormat returns a format for Params.OutputConfig.Format by which the API holds the
// answer to the schema of T, in the form of strict mode. [Output] reads such an answer. T is
// what a tool's input can be; see [NewTool].
//
// OutputFormat panics if T has no schema: that is a fault of the program text.
func OutputFormat[T any]() anthropic.BetaJSONOutputFormatParam {
	return anthropic.BetaJSONOutputFormatParam{Schema: outputSchema[T]().JSON()}
}

func outputSchema[T any]() *schema.Input {
	input, err := schema.For(reflect.TypeFor[T](), true)
	if err != nil {
		panic("toolrunner: output: " + err.Error())
	}
	return input
}

// Output returns the answer of a message as a T: its text is JSON that the schema of T
// accepts, as the API ensures with the format of [OutputFormat]. Any message of a run can
// be read, also that of a [Turn], at any time, into values of their own.
//
// The error wraps [ErrRefused] or [ErrTruncated] if the message was refused or cut off, and
// [anthropic.ErrStructuredOutputParse] if it stopped for calls or its text is no T; it then
// names what is wrong, so that the model can be told. Output panics as OutputFormat does.
func Output[T any](message *anthropic.BetaMessage) (T, error) {
	var value T
	input := outputSchema[T]()
	if message == nil {
		return value, fmt.Errorf("%w: there is no message", anthropic.ErrStructuredOutputParse)
	}
	switch rule := history.RuleFor(message.StopReason); {
	case rule.After != history.EndRun:
		return value, fmt.Errorf("%w: the reply stopped for %q and is no answer yet", anthropic.ErrStructuredOutputParse, message.StopReason)
	case rule.Outcome != history.OutcomeCompleted:
		return value, Outcome(rule.Outcome).err()
	}
	text := json.RawMessage(Text(message))
	read, err := input.Read(text)
	if err == nil {
		err = input.Decoder().Decode(text, read, &value)
	}
	if err != nil {
		return *new(T), fmt.Errorf("%w: %w", anthropic.ErrStructuredOutputParse, err)
	}
	return value, nil
}
