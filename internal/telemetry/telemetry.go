// Package telemetry makes the spans and metrics of runs, by the names of the GenAI
// semantic conventions of OpenTelemetry. Where nobody looks, it does nothing. The
// application's providers cannot fail a run: what panics is reported to OpenTelemetry's
// error handler, and what blocks is left alone from then on.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolrunner/toolrunner/internal/dispatch"
)

// scope is the name of the instrumentation.
const scope = "github.com/toolrunner/toolrunner"

// Patience is how long a provider may take. One that takes longer gets nothing more of
// that run.
const Patience = time.Second

// The variables by which the official SDKs are configured, read at each run as they do.
const (
	envOff        = "ANTHROPIC_OPEN_TELEMETRY"
	envContent    = "ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE"
	envMaxContent = "ANTHROPIC_OPEN_TELEMETRY_TRACES_MAX_CONTENT_BYTES"
)

// Providers make the spans and metrics. Nil stands for the one that is registered with
// OpenTelemetry when a run begins.
type Providers struct {
	Tracer trace.TracerProvider
	Meter  metric.MeterProvider
}

// resolve returns the providers that somebody looks at; nil: nobody does.
func (p Providers) resolve() Providers {
	if strings.EqualFold(os.Getenv(envOff), "false") {
		return Providers{}
	}
	if p.Tracer == nil {
		p.Tracer = otel.GetTracerProvider()
	}
	if p.Meter == nil {
		p.Meter = otel.GetMeterProvider()
	}
	if isIdle(p.Tracer) {
		p.Tracer = nil
	}
	if isIdle(p.Meter) {
		p.Meter = nil
	}
	return p
}

// isIdle reports whether a provider is one of those that OpenTelemetry's API has for
// when there is none. If it ever names them otherwise, they are asked, and do nothing.
func isIdle(provider any) bool {
	t := reflect.TypeOf(provider)
	if t == nil {
		return true
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.PkgPath() {
	case "go.opentelemetry.io/otel/internal/global", "go.opentelemetry.io/otel/trace/noop", "go.opentelemetry.io/otel/metric/noop":
		return true
	}
	return false
}

// guard calls code of the application.
type guard struct{ blocked atomic.Bool }

// do calls f, which has no effect on the run.
func (g *guard) do(ctx context.Context, f func()) {
	_, _ = guarded(ctx, g, func() struct{} {
		f()
		return struct{}{}
	})
}

// guarded calls f and returns its value. It reports false if there is none, because f
// has panicked or takes too long, or something before it did.
func guarded[T any](ctx context.Context, g *guard, f func() T) (value T, ok bool) {
	if g.blocked.Load() {
		return value, false
	}
	value, err := dispatch.Within(context.WithoutCancel(ctx), Patience, func(context.Context) (value T, err error) {
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("toolrunner: recording telemetry panicked: %v", v)
				report(err)
			}
		}()
		return f(), nil
	})
	if timeout := (*dispatch.TimeoutError)(nil); errors.As(err, &timeout) {
		g.blocked.Store(true)
	}
	return value, err == nil
}

// report tells OpenTelemetry's error handler, which may panic itself.
func report(err error) {
	defer func() { _ = recover() }()
	otel.Handle(err)
}
