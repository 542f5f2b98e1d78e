package media_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"net/http"
	"strings"
	"testing"

	"github.com/toolrunner/toolrunner/internal/media"
)

// encoded returns a picture of a size in a format.
func encoded(t testing.TB, format string, width, height int) []byte {
	t.Helper()
	picture := image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{color.Black, color.White})
	var data bytes.Buffer
	var err error
	switch format {
	case "png":
		err = png.Encode(&data, picture)
	case "jpeg":
		err = jpeg.Encode(&data, picture, nil)
	case "gif":
		err = gif.EncodeAll(&data, &gif.GIF{Image: []*image.Paletted{picture, picture}, Delay: []int{1, 1}})
	default:
		return webp(format, width, height)
	}
	if err != nil {
		t.Fatal(err)
	}
	return data.Bytes()
}

// webp returns the beginning of a WebP of a kind, with something behind it.
func webp(kind string, width, height int) []byte {
	head := make([]byte, 10)
	switch kind {
	case "VP8 ":
		copy(head[3:], "\x9D\x01\x2A")
		binary.LittleEndian.PutUint16(head[6:], uint16(width))
		binary.LittleEndian.PutUint16(head[8:], uint16(height))
	case "VP8L":
		head[0] = 0x2F
		binary.LittleEndian.PutUint32(head[1:], uint32(width-1)|uint32(height-1)<<14)
	default:
		binary.LittleEndian.PutUint32(head[4:], uint32(width-1))
		binary.LittleEndian.PutUint16(head[7:], uint16(height-1))
	}
	body := append([]byte("WEBP"+kind+"\x0A\x00\x00\x00"), head...)
	body = append(body, "rest"...)
	return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))), body...)
}

var formats = []string{"png", "jpeg", "gif", "VP8 ", "VP8L", "VP8X"}

// W9: a side of more than 8,000 pixels makes the API refuse each request.
func TestSidesOfImagesAreBounded(t *testing.T) {
	for _, format := range formats {
		for _, test := range []struct {
			width, height int
			want          string
		}{
			{1, 1, ""},
			{8000, 10, ""},
			{10, 8000, ""},
			{8001, 10, "8001 x 10 pixels: the limit is 8000 pixels a side"},
			{10, 8001, "10 x 8001 pixels: the limit is 8000 pixels a side"},
		} {
			mediaType, err := media.Image(encoded(t, format, test.width, test.height))
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("Image(%s of %dx%d) = %q, %v; want the error %q", format, test.width, test.height, mediaType, err, test.want)
			}
			if err != nil && !errors.As(err, new(*media.Error)) {
				t.Errorf("Image(%s) error is a %T", format, err)
			}
		}
	}
}

// W9: wherever a picture is cut off, that is found.
func TestPicturesThatAreCutOffAreFound(t *testing.T) {
	for _, format := range formats {
		whole := encoded(t, format, 40, 30)
		if _, err := media.Image(append(bytes.Clone(whole), "behind it"...)); err != nil {
			t.Errorf("Image(%s with something behind it) error = %v", format, err)
		}
		for n := range whole {
			if mediaType, err := media.Image(whole[:n]); err == nil {
				t.Fatalf("Image(%s, %d of %d bytes) = %q, want an error", format, n, len(whole), mediaType)
			}
		}
	}
}

// The end of a preview within a JPEG is not the end of the JPEG.
func TestThePreviewInAJPEGDoesNotEndIt(t *testing.T) {
	whole := encoded(t, "jpeg", 400, 300)
	preview := encoded(t, "jpeg", 20, 10)
	segment := binary.BigEndian.AppendUint16([]byte{0xFF, 0xE1}, uint16(len(preview)+2))
	whole = append(append(append(bytes.Clone(whole[:2]), segment...), preview...), whole[2:]...)
	if _, err := media.Image(whole); err != nil {
		t.Errorf("Image() error = %v", err)
	}
	if _, err := media.Image(whole[:len(whole)-10]); err == nil || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("Image() of one that is cut off: error = %v", err)
	}
}

// Hostile headers: what they say is never beyond the data.
func FuzzImage(f *testing.F) {
	for _, format := range formats {
		f.Add(encoded(f, format, 3, 2))
	}
	f.Add([]byte("GIF89a\x01\x00\x01\x00\xff\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := media.Image(data)
		block := fmt.Appendf(nil, `{"type":"image","source":{"type":"base64","media_type":"image/png","data":%q}}`, base64.StdEncoding.EncodeToString(data))
		kind := http.DetectContentType(data) // what stands in for data in recordings and tests is let through
		standIn := kind == "application/octet-stream" || strings.HasPrefix(kind, "text/plain")
		if in := media.Check(block); err != nil && in == nil && !standIn {
			t.Errorf("Image() error = %v, Check() error = nil", err)
		}
		_ = media.PDF(data)
	})
}

func TestDocuments(t *testing.T) {
	pdf := "%PDF-1.7\n1 0 obj\n<<>>\nendobj\nstartxref\n0\n%%EOF"
	for _, test := range []struct{ name, data, want string }{
		{"whole", pdf + "\n", ""},
		{"with zeros behind it", pdf + strings.Repeat("\x00", 4096), ""},
		{"cut off", pdf[:len(pdf)-3], "%%EOF"},
		{"cut off behind an earlier end", pdf + strings.Repeat("1 0 obj\n", 1000), "%%EOF"},
		{"no PDF", "hello %%EOF", "not a PDF"},
		{"large", pdf + strings.Repeat(" ", 25<<20), "limit is 25165824 bytes"},
	} {
		if err := media.PDF([]byte(test.data)); test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("PDF(%s) error = %v, want %q", test.name, err, test.want)
		}
	}
}

// W9: blocks are looked at wherever they are: in a message, in a result, in a document.
func TestBlocksAreLookedAtWhereverTheyAre(t *testing.T) {
	whole := base64.StdEncoding.EncodeToString(encoded(t, "png", 2001, 1))
	picture := func(mediaType, data string) string {
		return `{"source":{"data":"` + data + `","media_type":"` + mediaType + `","type":"base64"},"type":"image"}`
	}
	for _, test := range []struct{ name, block, want string }{
		{"whole", picture("image/png", whole), ""},
		{"with escapes", picture("image/png", strings.ReplaceAll(whole, "/", `\/`)), ""},
		{"another type", picture("image/jpeg", whole), ""},
		{"no base64", picture("image/png", "data:image/png;base64,"+whole), "not base64"},
		{"cut off", picture("image/png", whole[:40]), "broken"},
		{"nothing", picture("image/png", ""), "not an image"},
		{"what stands in for data", picture("image/png", "ZWxpZGVk"), ""},
		{"BMP", picture("image/png", "Qk0AAAAAAAAAAAAA"), "image/bmp is not an image"},
		{"a format that is not known", picture("image/avif", "AAAA"), ""},
		{"in a result", `{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"x"},` + picture("image/png", whole[:40]) + `]}`, "broken"},
		{"in a document", `{"type":"document","source":{"type":"content","content":[` + picture("image/png", whole[:40]) + `]}}`, "broken"},
		{"in a message", `{"role":"user","content":[` + picture("image/png", whole[:40]) + `]}`, "broken"},
		{"URL", `{"type":"image","source":{"type":"url","url":"https://x"}}`, ""},
		{"file", `{"type":"image","source":{"type":"file","file_id":"f"}}`, ""},
		{"no source", `{"type":"image"}`, ""},
		{"text about images", `{"type":"text","text":"\"image\""}`, ""},
		{"PDF", `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="}}`, "%%EOF"},
		{"text", `{"type":"document","source":{"type":"text","media_type":"text/plain","data":"a"}}`, ""},
	} {
		if err := media.Check([]byte(test.block)); test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("Check(%s) error = %v, want %q", test.name, err, test.want)
		}
	}
	two := `{"role":"user","content":[` + picture("image/png", whole) + `,{"type":"image","source":{"type":"url","url":"https://x"}}]}`
	if got, want := media.Of([]byte(two)), (media.Pictures{Count: 2, Side: 2001}); got != want {
		t.Errorf("Of() = %+v, want %+v", got, want)
	}
	many := media.Pictures{Count: 20, Side: 2001}
	if err := many.Check(); err != nil {
		t.Errorf("20 images: %v", err)
	}
	if err := many.And(media.Pictures{Count: 1, Side: 10}).Check(); err == nil || !strings.Contains(err.Error(), "2000 pixels a side") {
		t.Errorf("21 images: error = %v", err)
	}
}
