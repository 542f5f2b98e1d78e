package toolrunner

// What deltas add to a block is collected here; it leaves in one go, into the
// message.

// pieces is text that grows. What is in it is not moved until it is read.
type pieces struct {
	size int
	full [][]byte
	last []byte
}

// add appends a copy of text.
func (p *pieces) add(text []byte) {
	const smallest, largest = 128, 256 << 10
	if len(text) > cap(p.last)-len(p.last) {
		if len(p.last) > 0 {
			p.full = append(p.full, p.last)
		}
		p.last = make([]byte, 0, max(len(text), min(max(p.size, smallest), largest)))
	}
	p.last = append(p.last, text...)
	p.size += len(text)
}

// appendTo appends all of it.
func (p *pieces) appendTo(dst []byte) []byte {
	for _, piece := range p.full {
		dst = append(dst, piece...)
	}
	return append(dst, p.last...)
}

// join returns all of it.
func (p *pieces) join() []byte { return p.appendTo(make([]byte, 0, p.size)) }
