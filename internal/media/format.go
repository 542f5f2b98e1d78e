package media

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
)

// This file reads the sizes of pictures, and finds those that are cut off. Headers are
// read by the standard library, which does not know WebP.

// formats read the width and the height of an image, by its media type.
//
//nolint:gochecknoglobals // a constant
var formats = map[string]func(data []byte) (width, height int, err error){
	"image/png":  header(pngEnds, png.DecodeConfig),
	"image/jpeg": header(jpegEnds, jpeg.DecodeConfig),
	"image/gif":  header(gifEnds, gif.DecodeConfig),
	"image/webp": webpSize,
}

// unknown is a side that the standard library cannot read.
const unknown = -1

var errCutOff = errors.New("it is cut off")

// header reads a header by the standard library, of data that is complete.
func header(ends func([]byte) error, config func(r io.Reader) (image.Config, error)) func([]byte) (int, int, error) {
	return func(data []byte) (width, height int, err error) {
		c, err := config(bytes.NewReader(data))
		if errors.As(err, new(png.UnsupportedError)) || errors.As(err, new(jpeg.UnsupportedError)) {
			c, err = image.Config{Width: unknown, Height: unknown}, nil // others may support it
		}
		if err == nil {
			err = ends(data)
		}
		return c.Width, c.Height, err
	}
}

// pngEnds goes from chunk to chunk, up to the one that ends a PNG.
func pngEnds(data []byte) error {
	const around = 12 // the length, the type and the checksum
	hasData := false
	for rest := data[min(8, len(data)):]; len(rest) >= around; {
		size := int64(binary.BigEndian.Uint32(rest)) + around
		kind := string(rest[4:8])
		if size > int64(len(rest)) {
			break
		}
		hasData = hasData || kind == "IDAT"
		if kind == "IEND" {
			if !hasData {
				return errors.New("it has no picture in it")
			}
			return nil
		}
		rest = rest[size:]
	}
	return errCutOff
}

// jpegEnds goes from segment to segment up to the picture, which has an end of its own.
// The end of a small picture within a segment does not count.
func jpegEnds(data []byte) error {
	const startOfScan, endOfImage = 0xDA, 0xD9
	for i := 2; i+4 <= len(data) && data[i] == 0xFF; {
		marker := data[i+1]
		switch {
		case marker == 0xFF: // fill
			i++
			continue
		case marker == startOfScan:
			if bytes.LastIndex(data[i:], []byte{0xFF, endOfImage}) < 0 {
				return errCutOff
			}
			return nil
		case marker == endOfImage:
			return errors.New("it has no picture in it")
		case marker == 1 || marker >= 0xD0 && marker <= 0xD7: // without a length
			i += 2
			continue
		}
		i += 2 + int(binary.BigEndian.Uint16(data[i+2:]))
	}
	return errCutOff
}

// gifEnds goes from block to block, up to the one that ends a GIF.
func gifEnds(data []byte) error {
	const head, descriptor = 13, 10
	if len(data) < head {
		return errCutOff
	}
	i := head + colorTable(data[10])
	hasPicture := false
	for i < len(data) {
		switch data[i] {
		case 0x3B:
			if !hasPicture {
				return errors.New("it has no picture in it")
			}
			return nil
		case 0x21: // an extension
			i += 2
		case 0x2C: // a picture
			if i+descriptor > len(data) {
				return errCutOff
			}
			hasPicture = true
			i += descriptor + colorTable(data[i+9]) + 1
		default:
			return errors.New("it has a block of an unknown kind")
		}
		for i < len(data) && data[i] != 0 { // parts of up to 255 bytes
			i += 1 + int(data[i])
		}
		i++
	}
	return errCutOff
}

// colorTable returns the size of the color table that follows flags.
func colorTable(flags byte) int {
	if flags&0x80 == 0 {
		return 0
	}
	return 3 << (flags&7 + 1)
}

// webpSize reads the header of a WebP, which says how long it is.
func webpSize(data []byte) (width, height int, err error) {
	const head = 30
	if len(data) < head || int64(len(data)) < 8+int64(binary.LittleEndian.Uint32(data[4:])) {
		return 0, 0, errCutOff
	}
	bits := func(at, n int) int { // of a little-endian number
		all := binary.LittleEndian.Uint32(data[at:])
		return int(all & (1<<n - 1))
	}
	switch string(data[12:16]) {
	case "VP8X":
		return bits(24, 24) + 1, bits(26, 32)>>8 + 1, nil
	case "VP8L":
		if data[20] == 0x2F {
			all := bits(21, 28)
			return all&(1<<14-1) + 1, all>>14 + 1, nil
		}
	case "VP8 ":
		if bytes.Equal(data[23:26], []byte{0x9D, 0x01, 0x2A}) {
			return bits(26, 14), int(binary.LittleEndian.Uint16(data[28:])) & (1<<14 - 1), nil
		}
	}
	return 0, 0, errors.New("its header is none of a WebP")
}
