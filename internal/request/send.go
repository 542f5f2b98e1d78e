package request

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"

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
		if r.OnResponse != nil && r.response != nil {
			r.OnResponse(r.response)
		}
		return r.response, err
	})
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
		case "messages", "system", "tools", "thinking":
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
