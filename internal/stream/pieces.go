package stream

// pieces collects the text that deltas add to a member of a block. Adding does not
// copy the text before it.
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

// appendTo appends the whole text to dst.
func (p *pieces) appendTo(dst []byte) []byte {
	for _, piece := range p.full {
		dst = append(dst, piece...)
	}
	return append(dst, p.last...)
}

// join returns the whole text.
func (p *pieces) join() []byte { return p.appendTo(make([]byte, 0, p.size)) }
