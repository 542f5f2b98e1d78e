// Package sse reads server-sent events.
//
// It follows the event stream format of the HTML standard: lines end in LF, CRLF
// or CR, lines that begin with a colon are comments, and an event ends at an
// empty line. An event that the stream's end cuts off is dropped.
package sse

import (
	"bytes"
	"errors"
	"io"
)

// maxLine bounds what one line may take in memory. The longest that the
// Messages API sends are tool results of server tools, some megabytes.
const maxLine = 256 << 20

// ErrLineTooLong is returned by [Reader.Next] for a line over 256 MiB.
var ErrLineTooLong = errors.New("a line of the event stream is longer than 256 MiB")

// Event is one event of a stream.
type Event struct {
	Name []byte // of the event field; empty without one
	Data []byte // the data fields, joined by newlines
}

// Reader reads events from a stream. It reads ahead no further than what the
// source returns at once.
type Reader struct {
	src     io.Reader
	size    int    // of a block, unless a line is long
	most    int    // that size may become, for a stream that fills its blocks
	block   []byte // what the source is read into
	buf     []byte // what was read and not returned, at the end of what the block holds
	scanned int    // the part of buf that holds no line end
	kept    bool   // an event in the block was kept: nothing in it is written again
	started bool   // the first line, which may begin with a byte order mark, is over
	hasCR   bool   // a CR has come
	afterCR bool   // a line ended in CR: an LF that follows belongs to it
	err     error

	head []byte // the last event had the usual form, and began so; see usual
}

// NewReader returns a reader of the events in src, which reads blocks of size
// bytes where lines are no longer, and larger ones from a src that has more at once.
func NewReader(src io.Reader, size int) *Reader { return &Reader{src: src, size: size, most: 8 * size} }

// Keep makes the event that Next returned last the caller's to keep.
func (r *Reader) Keep() { r.kept = true }

// Next returns the next event that has data. Unless the caller keeps it, it is
// there until the next call. After the last event the error is io.EOF, or what src
// failed with.
func (r *Reader) Next() (Event, error) {
	if len(r.buf) == 0 && r.err == nil {
		r.fill()
	}
	if e, ok := r.usual(); ok {
		return e, nil
	}
	var p pending
	for {
		line, err := r.line(&p)
		if err != nil {
			return Event{}, err
		}
		if len(line) == 0 {
			if p.Data != nil {
				return p.Event, nil
			}
			p = pending{}
			continue
		}
		p.add(line)
	}
}

const (
	eventField = "event: "
	dataField  = "\ndata: "
)

// usual takes the event that the buffer begins with if all of it is there in the
// form in which the API sends events: a name, one line of data, an empty line, and
// no CR. Most events begin as the one before them.
func (r *Reader) usual() (Event, bool) {
	if r.hasCR {
		return Event{}, false
	}
	if len(r.head) == 0 || !bytes.HasPrefix(r.buf, r.head) {
		if !bytes.HasPrefix(r.buf, []byte(eventField)) {
			return Event{}, false
		}
		end := bytes.IndexByte(r.buf, '\n')
		if end < 0 || !bytes.HasPrefix(r.buf[end:], []byte(dataField)) {
			return Event{}, false
		}
		r.head = append(r.head[:0], r.buf[:end+len(dataField)]...)
	}
	start := len(r.head)
	n := bytes.IndexByte(r.buf[start:], '\n')
	end := start + n
	if n < 0 || end+1 == len(r.buf) || r.buf[end+1] != '\n' {
		return Event{}, false
	}
	nameEnd := start - len(dataField)
	e := Event{Name: r.buf[len(eventField):nameEnd:nameEnd], Data: r.buf[start:end:end]}
	r.buf = r.buf[end+2:]
	r.started = true
	return e, true
}

// pending is an event of which more lines may come.
type pending struct {
	Event

	ownName, ownData bool // they are not in the reader's block
}

// add adds a field.
func (p *pending) add(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		p.Name, p.ownName = value, false
	case "data":
		switch {
		case p.Data != nil: // it has no room or is our own, so that appending spoils nothing
			p.Data, p.ownData = append(append(p.Data, '\n'), value...), true
		case value != nil:
			p.Data = value
		default:
			p.Data = line[len(line):]
		}
	}
}

// leave takes what there is of the event out of the reader's block.
func (p *pending) leave() {
	if !p.ownName {
		p.Name, p.ownName = bytes.Clone(p.Name), true
	}
	if !p.ownData && p.Data != nil {
		p.Data, p.ownData = bytes.Clone(p.Data), true
	}
}

// line returns the next line without its end, as a part of the block. Before the
// block is written again, p leaves it.
func (r *Reader) line(p *pending) ([]byte, error) {
	for {
		if line, ok := r.cut(); ok {
			return line, nil
		}
		if r.err != nil {
			return nil, r.err
		}
		if len(r.buf) > maxLine {
			r.err = ErrLineTooLong
			return nil, r.err
		}
		if !r.hasRoom() {
			p.leave()
		}
		r.fill()
	}
}

// cut takes a line from the buffer if a whole one is there.
func (r *Reader) cut() ([]byte, bool) {
	if r.afterCR && len(r.buf) > 0 {
		r.afterCR = false
		if r.buf[0] == '\n' {
			r.buf = r.buf[1:]
		}
	}
	rest := r.buf[r.scanned:]
	end := bytes.IndexByte(rest, '\n')
	if end < 0 {
		end = len(rest)
	}
	if r.hasCR {
		if cr := bytes.IndexByte(rest[:end], '\r'); cr >= 0 {
			end = cr
			r.afterCR = true
		}
	}
	if end == len(rest) {
		r.scanned = len(r.buf)
		return nil, false
	}
	end += r.scanned
	line := r.buf[:end:end]
	r.buf = r.buf[end+1:]
	r.scanned = 0
	if !r.started {
		r.started = true
		line = bytes.TrimPrefix(line, []byte("\uFEFF"))
	}
	return line, true
}

// hasRoom reports whether there is room for a read behind what the block holds.
func (r *Reader) hasRoom() bool { return cap(r.buf)-len(r.buf) > r.size/64 }

// makeRoom moves what was not returned to the front of the block, or of another
// one. It becomes as small again as what it holds.
func (r *Reader) makeRoom() {
	size := max(r.size, 2*len(r.buf))
	if r.kept || len(r.block) < size || len(r.block) > 4*size {
		r.block, r.kept = make([]byte, size), false
	}
	r.buf = r.block[:copy(r.block, r.buf)]
}

// fill reads once from the source.
func (r *Reader) fill() {
	if !r.hasRoom() {
		r.makeRoom()
	}
	start := len(r.buf)
	n, err := r.src.Read(r.buf[start:cap(r.buf)])
	r.buf = r.buf[:start+n]
	if start+n == cap(r.buf) && n > r.size/2 {
		r.size = min(2*r.size, r.most)
	}
	r.hasCR = r.hasCR || bytes.IndexByte(r.buf[start:], '\r') >= 0
	r.err = err
}
