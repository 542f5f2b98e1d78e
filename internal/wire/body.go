package wire

import "io"

// Body is a request body made of segments that nobody changes any more. Any
// number of readers may read it at once.
type Body struct {
	segments [][]byte
	size     int64
}

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
	joined := make([]byte, 0, b.size)
	for _, s := range b.segments {
		joined = append(joined, s...)
	}
	return joined
}

// Reader returns a new reader at the start of the body. Closing it does nothing.
func (b *Body) Reader() io.ReadCloser { return &reader{rest: b.segments} }

type reader struct {
	rest [][]byte
	off  int // in rest[0]
}

func (r *reader) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) && len(r.rest) > 0 {
		c := copy(p[n:], r.rest[0][r.off:])
		n += c
		if r.off += c; r.off == len(r.rest[0]) {
			r.rest, r.off = r.rest[1:], 0
		}
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (r *reader) Close() error { return nil }

// Prefixed returns a new body that begins with head and goes on with b.
func (b *Body) Prefixed(head []byte) *Body {
	p := &Body{segments: make([][]byte, 0, len(b.segments)+1)}
	p.Append(head)
	p.Append(b.segments...)
	return p
}
