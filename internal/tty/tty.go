// Package tty asks terminals for their size and drops what was typed into them.
package tty

import (
	"errors"
	"os"
)

// ErrUnsupported is returned on systems whose terminals cannot be asked.
var ErrUnsupported = errors.New("terminals are not supported on this system")

// Size returns the columns and rows of a terminal. It returns an error for a file
// that is no terminal. A terminal that does not know its size has 0 columns.
func Size(file *os.File) (columns, rows int, err error) { return size(file) }

// Drop discards what was typed into a terminal and not read yet. It does nothing to
// a file that is no terminal.
func Drop(file *os.File) {
	if _, _, err := size(file); err == nil {
		drop(file)
	}
}
