package wire

import (
	"io"
	"slices"
)

// Body is a request body made of pieces that nobody changes any more. Any number
// of readers may read it at once.
type Body struct {
	head   []byte
	pieces []piece
	size   int64
}

// List is a list of JSON values, which stay as they are.
type List interface {
	Len() int
	At(i int) []byte
}

// piece is a segment, or the items of a list with commas between them.
type piece struct {
	segment []byte
	list    List
}

// Grow makes room for n more pieces.
func (b *Body) Grow(n int) { b.pieces = slices.Grow(b.pieces, n) }

// Append adds segments, which must not be changed afterwards. Empty ones are
// left out.
func (b *Body) Append(segments ...[]byte) {
	for _, s := range segments {
		if len(s) > 0 {
			b.pieces = append(b.pieces, piece{segment: s})
			b.size += int64(len(s))
		}
	}
}

// AppendList adds the items of a list, with commas between them. A long list costs
// no more memory than a short one.
func (b *Body) AppendList(l List) {
	n := l.Len()
	if n == 0 {
		return
	}
	b.pieces = append(b.pieces, piece{list: l})
	b.size += int64(n - 1)
	for i := range n {
		b.size += int64(len(l.At(i)))
	}
}

// Size returns the number of bytes.
func (b *Body) Size() int64 { return b.size }

// Bytes returns the body as one new slice.
func (b *Body) Bytes() []byte {
	joined := make([]byte, b.size)
	_, _ = io.ReadFull(b.Reader(), joined) // it has that many bytes
	return joined
}

// Reader returns a new reader at the start of the body. Closing it does nothing.
func (b *Body) Reader() io.ReadCloser { return &reader{now: b.head, rest: b.pieces} }

// reader reads pieces.
type reader struct {
	now  []byte // what is left of a segment or an item
	rest []piece
	item int  // of the list that rest begins with, which is next
	join bool // after a comma
}

func (r *reader) Read(p []byte) (int, error) {
	n := copy(p, r.now)
	r.now = r.now[n:]
	for n < len(p) && r.next() {
		c := copy(p[n:], r.now)
		n += c
		r.now = r.now[c:]
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// next goes on to what comes after now, and reports whether there is anything.
func (r *reader) next() bool {
	if len(r.rest) == 0 {
		return false
	}
	first := &r.rest[0]
	if first.list == nil {
		r.now, r.rest = first.segment, r.rest[1:]
		return true
	}
	if r.join = r.item > 0 && !r.join; r.join {
		r.now = comma
		return true
	}
	r.now = first.list.At(r.item)
	if r.item++; r.item == first.list.Len() {
		r.rest, r.item = r.rest[1:], 0
	}
	return true
}

var comma = []byte(",") //nolint:gochecknoglobals // a constant; slices cannot be one

func (r *reader) Close() error { return nil }

// Prefixed returns a new body that begins with head and goes on with b, which
// must not grow any more. They share their pieces.
func (b *Body) Prefixed(head []byte) *Body {
	size := b.size + int64(len(head))
	if len(b.head) > 0 {
		head = slices.Concat(head, b.head)
	}
	return &Body{head: head, pieces: b.pieces, size: size}
}
