package wire

import (
	"io"
	"slices"
)

// Body is a request body made of segments that nobody changes any more. Any
// number of readers may read it at once.
type Body struct {
	head     []byte
	segments [][]byte
	size     int64
}

// Grow makes room for n more segments.
func (b *Body) Grow(n int) { b.segments = slices.Grow(b.segments, n) }

// Append adds segments, which must not be changed afterwards. Empty ones are
// left out.
func (b *Body) Append(segments ...[]byte) {
	for _, s := range segments {
		if len(s) > 0 {
			b.segments = append(b.segments, s)
			b.size += int64(len(s))
		}
	}
}

// Size returns the number of bytes.
func (b *Body) Size() int64 { return b.size }

// Bytes returns the body as one new slice.
func (b *Body) Bytes() []byte {
	joined := append(make([]byte, 0, b.size), b.head...)
	for _, s := range b.segments {
		joined = append(joined, s...)
	}
	return joined
}

// Reader returns a new reader at the start of the body. Closing it does nothing.
func (b *Body) Reader() io.ReadCloser { return &reader{now: b.head, rest: b.segments} }

type reader struct {
	now  []byte // what is left of a segment
	rest [][]byte
}

func (r *reader) Read(p []byte) (int, error) {
	n := copy(p, r.now)
	r.now = r.now[n:]
	for n < len(p) && len(r.rest) > 0 {
		c := copy(p[n:], r.rest[0])
		n += c
		r.now, r.rest = r.rest[0][c:], r.rest[1:]
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (r *reader) Close() error { return nil }

// Prefixed returns a new body that begins with head and goes on with b, which
// must not grow any more. They share their segments.
func (b *Body) Prefixed(head []byte) *Body {
	size := b.size + int64(len(head))
	if len(b.head) > 0 {
		head = slices.Concat(head, b.head)
	}
	return &Body{head: head, segments: b.segments, size: size}
}
