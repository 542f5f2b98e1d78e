package toolrunnertest

import (
	"context"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// send writes the response. Where the script breaks the connection, or the client has, it panics with
// [http.ErrAbortHandler], which is how a handler makes a server close the connection.
func (out response) send(ctx context.Context, w http.ResponseWriter) {
	maps.Copy(w.Header(), out.header)
	whole := strings.Join(out.body, "")
	afterAll := out.cut.set && out.cut.n >= len(whole) // with its length the body would count as whole
	if out.header.Get("Content-Type") != contentTypeSSE && !afterAll {
		w.Header().Set("Content-Length", strconv.Itoa(len(whole)))
	}
	w.WriteHeader(out.status)
	parts := out.body
	if !out.trickle {
		parts = []string{whole}
	}
	left := out.cut.within(len(whole))
	for i, part := range parts {
		if i > 0 && !wait(ctx, out.pause) {
			panic(http.ErrAbortHandler)
		}
		part = part[:min(left, len(part))]
		left -= len(part)
		if !deliver(w, part, out.trickle || out.cut.set) {
			panic(http.ErrAbortHandler)
		}
		if out.cut.set && left == 0 {
			panic(http.ErrAbortHandler)
		}
	}
}

// deliver reports whether the part could be written.
func deliver(w http.ResponseWriter, part string, flush bool) bool {
	if _, err := io.WriteString(w, part); err != nil {
		return false
	}
	return !flush || http.NewResponseController(w).Flush() == nil
}

// wait reports whether the time passed before the context ended.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
