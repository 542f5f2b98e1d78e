package dispatch

import (
	"bufio"
	"context"
	"io"
	"strings"
)

// Lines reads lines for callers that cannot wait for longer than a context. A read
// that was left goes on, and the next caller has it.
type Lines struct {
	in      *bufio.Reader
	read    func(*bufio.Reader) (string, error)
	pending chan line // nil if no read is under way
}

type line struct {
	text string
	err  error
}

// NewLines returns the lines of in, each as read returns it, such as [ReadLine].
func NewLines(in io.Reader, read func(*bufio.Reader) (string, error)) *Lines {
	return &Lines{in: bufio.NewReader(in), read: read}
}

// ReadLine reads a line that ends in a line feed, or where the input does, and returns it
// without its end.
func ReadLine(in *bufio.Reader) (string, error) {
	text, err := in.ReadString('\n')
	if err == io.EOF && text != "" {
		err = nil
	}
	return strings.TrimRight(text, "\r\n"), err
}

// Fresh drops a line that was meant for a caller who has left.
func (l *Lines) Fresh() {
	select {
	case <-l.pending:
		l.pending = nil
	default:
	}
}

// Discard drops what was read and is not the beginning of a line that somebody waits
// for.
func (l *Lines) Discard() {
	if l.pending == nil {
		_, _ = l.in.Discard(l.in.Buffered())
	}
}

// Next returns the next line without its end.
func (l *Lines) Next(ctx context.Context) (string, error) {
	if l.pending == nil {
		pending := make(chan line, 1)
		l.pending = pending
		go func() {
			text, err := l.read(l.in)
			pending <- line{text, err}
		}()
	}
	select {
	case line := <-l.pending:
		l.pending = nil
		return line.text, line.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
