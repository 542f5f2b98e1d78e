package request

import (
	"io"
	"net/http"
)

// maxErrorBody is how much of an error's body is read: more says nothing.
const maxErrorBody = 1 << 20

// limit bounds what is read of the response. One that is too large just ends, for the SDK
// would ask again for one that fails.
func (r *Request) limit() {
	if r.response == nil || r.response.Body == nil || r.MaxResponse == 0 {
		return
	}
	most, isError := r.MaxResponse, r.response.StatusCode != http.StatusOK
	if isError {
		most = min(most, maxErrorBody)
	}
	r.body = limitedBody{ReadCloser: r.response.Body, left: most, isError: isError}
	r.response.Body = &r.body
}

// TooLarge reports whether the last response had more bytes than it may have.
func (r *Request) TooLarge() bool { return r.body.exceeded }

// limitedBody is a body that ends after so many bytes.
type limitedBody struct {
	io.ReadCloser

	left     int64
	isError  bool // what is left out does not matter
	exceeded bool
}

func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, io.EOF
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1] // one more, to see whether there is more
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		b.exceeded = !b.isError
		return n - 1, io.EOF
	}
	return n, err
}
