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

const (
	blockSize = 32 << 10
	// maxLine bounds what one line may take in memory. The longest that the
	// Messages API sends are tool results of server tools, some megabytes.
	maxLine = 256 << 20
)

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
	buf     []byte // what was read and not returned; its block is never written twice
	scanned int    // the part of buf that holds no line end
	started bool   // the first line, which may begin with a byte order mark, is over
	afterCR bool   // a line ended in CR: an LF that follows belongs to it
	err     error
}

// NewReader returns a reader of the events in src.
func NewReader(src io.Reader) *Reader { return &Reader{src: src} }

// Next returns the next event that has data. The event is the caller's to keep:
// its bytes are never written again. After the last event the error is io.EOF,
// or what src failed with.
func (r *Reader) Next() (Event, error) {
	var e Event
	for {
		line, err := r.line()
		if err != nil {
			return Event{}, err
		}
		if len(line) == 0 {
			if e.Data != nil {
				return e, nil
			}
			e = Event{}
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			e.Name = value
		case "data":
			switch {
			case e.Data != nil:
				e.Data = append(append(e.Data, '\n'), value...)
			case value != nil:
				e.Data = value // with no room, so that appending to it copies it
			default:
				e.Data = line[len(line):]
			}
		}
	}
}

// line returns the next line without its end.
func (r *Reader) line() ([]byte, error) {
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
	if cr := bytes.IndexByte(rest[:end], '\r'); cr >= 0 {
		end = cr
		r.afterCR = true
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

// fill reads once from the source.
func (r *Reader) fill() {
	if cap(r.buf)-len(r.buf) < 512 {
		block := make([]byte, len(r.buf), max(blockSize, 2*len(r.buf)))
		copy(block, r.buf)
		r.buf = block
	}
	n, err := r.src.Read(r.buf[len(r.buf):cap(r.buf)])
	r.buf = r.buf[:len(r.buf)+n]
	r.err = err
}
