package toolrunner

import (
	"errors"
	"io"
	"net/http"
)

// Accumulate returns the message that the stream in response makes.
func Accumulate(response *http.Response) ([]byte, error) {
	s := openStream(response)
	for {
		if _, err := s.next(); errors.Is(err, io.EOF) {
			return s.message()
		} else if err != nil {
			return nil, err
		}
	}
}
