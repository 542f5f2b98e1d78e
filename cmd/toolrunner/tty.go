package main

import (
	"errors"
	"os"

	"github.com/toolrunner/toolrunner/internal/tty"
)

// columns returns the width of the terminal that a stream is, and false if it is
// none. The size is what tells a terminal from other devices.
func columns(stream any) (int, bool) {
	width, _, ok := sizeOf(stream)
	return width, ok
}

// sizeOf returns the columns and rows of the terminal that a stream is, and false if it
// is none. Rows that are not known are 0.
func sizeOf(stream any) (width, rows int, ok bool) {
	const standard = 80
	file, ok := stream.(*os.File)
	if !ok {
		return 0, 0, false
	}
	width, rows, err := tty.Size(file)
	if errors.Is(err, tty.ErrUnsupported) {
		info, err := file.Stat()
		return standard, 0, err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	if err != nil {
		return 0, 0, false
	}
	if width == 0 { // it does not know
		width = standard
	}
	return width, rows, true
}

// keyboard returns what the user of a terminal types: stdin, or the terminal
// itself if stdin is something else. It returns nil where nobody sits, which is
// so as well if stderr, where questions are asked, is not a terminal.
func keyboard(term *terminal) *os.File {
	if _, ok := columns(term.err); !ok {
		return nil
	}
	if _, ok := columns(term.in); ok {
		return term.in.(*os.File)
	}
	terminal, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	return terminal
}
