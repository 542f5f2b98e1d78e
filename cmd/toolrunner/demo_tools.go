package main

import (
	"context"
	"fmt"
	"hash/crc32"
	"math"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
)

type daylightInput struct {
	City string `json:"city" jsonschema:"required,description=Lisbon, Nairobi, Reykjavik, Tromsø or Wellington"`
	Date string `json:"date" jsonschema:"required,description=A day, such as 2026-06-21"`
}

type daylightOutput struct {
	Sunrise  string `json:"sunrise,omitempty"`
	Sunset   string `json:"sunset,omitempty"`
	Daylight string `json:"daylight"`
	Note     string `json:"note,omitempty"`
}

func daylight(_ context.Context, in daylightInput) (daylightOutput, error) {
	where, err := findPlace(in.City)
	if err != nil {
		return daylightOutput{}, err
	}
	day, err := time.Parse(time.DateOnly, in.Date)
	if err != nil {
		return daylightOutput{}, fmt.Errorf("%q is not a day; write it like 2026-06-21", in.Date)
	}
	s := sunAt(where, day)
	out := daylightOutput{Daylight: strings.TrimSuffix(s.light.Round(time.Minute).String(), "0s")}
	switch {
	case !s.rise.IsZero():
		const clock = "15:04Z"
		out.Sunrise, out.Sunset = s.rise.Round(time.Minute).Format(clock), s.set.Round(time.Minute).Format(clock)
	case s.light > 0:
		out.Note = "the sun does not set"
	default:
		out.Daylight, out.Note = "0m", "the sun does not rise"
	}
	return out, nil
}

type distanceInput struct {
	From string `json:"from" jsonschema:"required"`
	To   string `json:"to" jsonschema:"required"`
	Unit string `json:"unit" jsonschema:"required,enum=km,enum=mi,enum=nmi"`
}

type distanceOutput struct {
	Distance float64 `json:"distance"`
	Unit     string  `json:"unit"`
}

func measure(_ context.Context, in distanceInput) (distanceOutput, error) {
	from, err := findPlace(in.From)
	if err != nil {
		return distanceOutput{}, err
	}
	to, err := findPlace(in.To)
	if err != nil {
		return distanceOutput{}, err
	}
	return distanceOutput{math.Round(distance(from, to) / metres(in.Unit)), in.Unit}, nil
}

// demoTools returns the tools of the demo. Each call takes latency or up to twice
// that, as one that goes over a network does, and goes through watch.
func demoTools(latency time.Duration, watch func(toolrunner.Handler) toolrunner.Handler) []anthropic.BetaTool {
	tools := []*toolrunner.Tool{
		toolrunner.NewTool("daylight", "Sunrise, sunset (UTC) and length of the day in a city.", daylight),
		toolrunner.NewTool("distance", "Length of the great circle between two cities.", measure),
	}
	all := make([]anthropic.BetaTool, len(tools))
	for i, tool := range tools {
		tool.ReadOnly = true
		tool.Handler = watch(slow(tool.Handler, latency))
		all[i] = tool
	}
	return all
}

// slow delays a handler by a time that the input decides, so that calls differ
// and runs do not.
func slow(next toolrunner.Handler, latency time.Duration) toolrunner.Handler {
	return func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		sum := crc32.ChecksumIEEE(call.Input)
		if err := sleep(ctx, latency+latency*time.Duration(sum%100)/100); err != nil {
			return nil, err
		}
		return next(ctx, call)
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
