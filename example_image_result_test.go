package toolrunner_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
)

// A tool shows the model an image, with words before it.
func ExampleImageResult() {
	plot := toolrunner.NewTool("plot", "Plot the data.",
		func(context.Context, struct{}) (*toolrunner.Result, error) {
			var data bytes.Buffer
			if err := png.Encode(&data, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
				return nil, err
			}
			result, err := toolrunner.ImageResult(data.Bytes())
			if err != nil {
				return nil, err
			}
			result.Content = append(toolrunner.TextResult("The plot:").Content, result.Content...)
			return result, nil
		})

	content, err := plot.Execute(context.Background(), []byte(`{}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, block := range content {
		if block.OfText != nil {
			fmt.Println(block.OfText.Text)
		}
		if block.OfImage != nil {
			fmt.Println(block.OfImage.Source.OfBase64.MediaType)
		}
	}
	// Output:
	// The plot:
	// image/png
}

// A text file or a PDF goes to the model as a document, which it can cite.
func ExampleDocumentResult() {
	result, err := toolrunner.DocumentResult([]byte("# Terms\n\nPay within 30 days."))
	if err != nil {
		fmt.Println(err)
		return
	}
	document := result.Content[0].OfDocument
	document.Title = anthropic.String("terms.md")
	fmt.Println(document.Source.OfText.Data)

	_, err = toolrunner.DocumentResult([]byte("\x1f\x8b\x08"))
	fmt.Println(err)
	// Output:
	// # Terms
	//
	// Pay within 30 days.
	// 3 bytes of type application/x-gzip is not a document that the model can read: use PDF or text in UTF-8
}
