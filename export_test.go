package toolrunner

import (
	"errors"
	"io"
	"net/http"

	"github.com/toolrunner/toolrunner/internal/sse"
)

// Accumulate returns the message that the stream in response makes.
func Accumulate(response *http.Response) ([]byte, error) {
	return ReadStream(response, blockSize, func(func() Event) {})
}

// ReadStream returns the message that the stream in response makes. It reads blocks
// of a size, and hands each event to visit, which need not ask for it.
func ReadStream(response *http.Response, size int, visit func(event func() Event)) ([]byte, error) {
	s := openStream(response)
	if s.reader != nil {
		s.reader = sse.NewReader(response.Body, size)
	}
	for {
		_, err := s.next()
		if errors.Is(err, io.EOF) {
			return s.message()
		}
		if err != nil {
			return nil, err
		}
		visit(s.public)
	}
}
