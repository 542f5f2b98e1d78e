package request

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// Option returns the option that completes the body. It must come before all
// other options, so that middleware of the caller sees the whole body.
func (r *Request) Option() option.RequestOption {
	return option.WithMiddleware(func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		if req.Body == nil {
			return nil, errors.New("a request option took the body away; the runner needs it")
		}
		head, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		body, err := r.complete(head)
		if err != nil {
			return nil, err
		}
		req.Body = body.Reader()
		req.GetBody = func() (io.ReadCloser, error) { return body.Reader(), nil }
		req.ContentLength = body.Size()
		r.sent = body
		r.announce(req)
		r.response, err = next(req)
		if r.OnHeader != nil && r.response != nil && r.response.Request != nil { // what signs comes after us
			r.OnHeader(r.response.Request.Header)
		}
		r.limit()
		if r.OnRejected != nil && isRejected(r.response) {
			r.OnRejected(r.response)
		}
		if r.OnResponse != nil && r.response != nil {
			r.OnResponse(r.response)
		}
		return r.response, err
	})
}

// isRejected reports whether the API may take the request another time.
func isRejected(response *http.Response) bool {
	return response != nil && (response.StatusCode == http.StatusTooManyRequests || response.StatusCode >= http.StatusInternalServerError)
}

// RetryAfter returns how long the API asks to wait.
func RetryAfter(header http.Header, now time.Time) (time.Duration, bool) {
	const most = 1e9 // a time.Duration has room for that many seconds
	if n, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil && n >= 0 && n < most {
		return time.Duration(n * float64(time.Millisecond)), true
	}
	if n, err := strconv.ParseFloat(header.Get("Retry-After"), 64); err == nil && n >= 0 && n < most {
		return time.Duration(n * float64(time.Second)), true
	}
	if at, err := http.ParseTime(header.Get("Retry-After")); err == nil {
		return max(0, at.Sub(now)), true
	}
	return 0, false
}

// Departure returns the option that takes note that the request leaves. It must come
// after all other options: what they add may keep the request back.
func (r *Request) Departure() option.RequestOption {
	return option.WithMiddleware(func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		r.departed = r.departed || req.Context().Err() == nil
		return next(req)
	})
}

// Departed reports whether the request may have reached the API.
func (r *Request) Departed() bool { return r != nil && r.departed }

// announce counts an attempt, and calls what waits for it.
func (r *Request) announce(req *http.Request) {
	if r.attempts++; r.attempts > 1 && r.OnRetry != nil {
		r.OnRetry(r.response)
	}
	if r.OnHeader != nil {
		r.OnHeader(req.Header)
	}
	if r.attempts == 1 && r.OnBegin != nil {
		r.OnBegin(req)
	}
}

// Describe gives an error of the API the body that was sent, for its dumps.
func (r *Request) Describe(err error) error {
	if api := (*anthropic.Error)(nil); errors.As(err, &api) && api.Request != nil && r.sent != nil {
		api.Request.GetBody = func() (io.ReadCloser, error) { return r.sent.Reader(), nil }
		api.Request.ContentLength = r.sent.Size()
	}
	return err
}

// complete joins what the SDK encoded with the rest.
func (r *Request) complete(head []byte) (*wire.Body, error) {
	err := wire.Members(head, func(key, _ []byte) error {
		switch string(key) {
		case "messages", "system", "thread", "tools", "thinking":
			return fmt.Errorf("a request option sets %q in the body; set it in Params", key)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	head, _ = wire.Sound(bytes.TrimRight(head, " \t\r\n"))
	body := r.rest.Prefixed(head[:len(head)-1])
	return body, nil
}
