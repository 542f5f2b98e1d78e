package stream

import (
	"bytes"
	"io"
)

// opening reads a body and keeps its beginning.
type opening struct {
	body io.Reader
	err  error // of body, after what is in head
	size int   // of head
	next int   // the place in head that Read goes on from
	head [256]byte
}

// first reads up to the first byte that is not white space and returns it. It
// returns 0 if there is none in the first bytes.
func (o *opening) first() byte {
	for {
		if text := bytes.TrimLeft(o.head[:o.size], " \t\r\n"); len(text) > 0 {
			return text[0]
		}
		if o.err != nil || o.size == len(o.head) {
			return 0
		}
		var n int
		n, o.err = o.body.Read(o.head[o.size:])
		o.size += n
	}
}

// Read returns what first has read, and then what follows in the body.
func (o *opening) Read(p []byte) (int, error) {
	if o.next < o.size {
		n := copy(p, o.head[o.next:o.size])
		o.next += n
		return n, nil
	}
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.body.Read(p)
	if o.size < len(o.head) { // a short body, or one that comes in small parts
		o.size += copy(o.head[o.size:], p[:n])
		o.next = o.size
	}
	return n, err
}

// text returns the beginning of the body, without white space around it.
func (o *opening) text() []byte { return bytes.TrimSpace(o.head[:o.size]) }
