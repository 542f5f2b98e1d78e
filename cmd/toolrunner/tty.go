package main

import (
	"errors"
	"os"

	"github.com/creack/pty"
)

// columns returns the width of the terminal that a stream is, and false if it is
// none. The size is what tells a terminal from other devices.
func columns(stream any) (int, bool) {
	const standard = 80
	file, ok := stream.(*os.File)
	if !ok {
		return 0, false
	}
	size, err := pty.GetsizeFull(file)
	if errors.Is(err, pty.ErrUnsupported) {
		info, err := file.Stat()
		return standard, err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	if err != nil {
		return 0, false
	}
	if size.Cols == 0 { // it does not know
		return standard, true
	}
	return int(size.Cols), true
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
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return nil
	}
	return tty
}
