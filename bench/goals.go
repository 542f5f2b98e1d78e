package main

import (
	"fmt"
	"strings"
)

// goal is what a figure is held against.
type goal struct {
	name string
	kase string
	over string
	unit func(measurement) float64
	than string // peer to divide by; empty: the figure itself
	most float64
	// least instead of most, where it is not 0
	least float64
}

// goals returns the table of the goals whose cases were measured.
func goals(all results) string {
	long := "200 × 4096 B"
	list := []goal{
		{name: "200 turns with 4 KB, beside the limit", kase: long, over: "ours", unit: perTurn(microseconds), than: "limit", most: 1.5},
		{name: "the same, DisableThread beside ours", kase: long, over: "disable-thread", unit: perTurn(microseconds), than: "ours", least: 10},
		{name: "200 turns with 4 KB in a thread, beside the limit's", kase: long, over: "ours-thread", unit: perTurn(microseconds), than: "limit-thread", most: 1.6},
		{name: "500 turns with 4 KB in a thread, beside the limit's", kase: "500 × 4096 B", over: "ours-thread", unit: perTurn(microseconds), than: "limit-thread", most: 1.6},
		{name: "500 turns with 4 KB in a thread, beside the limit's requests sent by the SDK's client", kase: "500 × 4096 B", over: "ours-thread", unit: perTurn(microseconds), than: "sdk-thread", most: 1.6},
		{name: "500 turns in threads, the official runner beside ours", kase: "500 × 4096 B", over: "official", unit: perTurn(microseconds), than: "ours-thread", least: 100},
		{name: "allocations per turn, 10 turns", kase: "10 × 4096 B", over: "ours", unit: perTurn(mallocs), most: 400},
		{name: "allocations per turn, 500 turns", kase: "500 × 4096 B", over: "ours", unit: perTurn(mallocs), most: 400},
	}
	for _, stream := range []string{"text", "input", "thinking"} {
		for _, size := range []int{1024, 16384} {
			list = append(list,
				goal{name: fmt.Sprintf("%s of %d KB read event by event, beside the limit", stream, size), kase: fmt.Sprintf("%s, %d KB, read", stream, size), over: "ours", unit: perStream(milliseconds), than: "limit", most: 4},
				goal{name: fmt.Sprintf("%s of %d KB that nobody reads, beside the limit", stream, size), kase: fmt.Sprintf("%s, %d KB, unread", stream, size), over: "ours", unit: perStream(milliseconds), than: "limit", most: 2})
		}
	}
	speed := func(r measurement) float64 { return float64(r.Turns) / r.Wall.Seconds() }
	list = append(list,
		goal{name: "runs at once, turns per second beside DisableThread", kase: "at once", over: "ours", unit: speed, than: "disable-thread", least: 4},
		goal{name: "the same, limit beside ours", kase: "at once", over: "limit", unit: speed, than: "ours", most: 1.8},
		goal{name: "KB per waiting run beyond its history", kase: "at once", over: "ours", unit: func(r measurement) float64 {
			return float64(r.Live-r.History) / 1024 / float64(max(1, r.Conversations))
		}, most: 60},
		goal{name: "start to first request beside an SDK client, CPU", kase: "first request", over: "ours", unit: perStream(milliseconds), than: "client", most: 1.2})
	var out strings.Builder
	out.WriteString("\n### Goals\n\n| | goal | measured | |\n| --- | ---: | ---: | --- |\n")
	for _, g := range list {
		if line, ok := g.line(all); ok {
			out.WriteString(line)
		}
	}
	return out.String()
}

func (g *goal) line(all results) (string, bool) {
	value, ok := median(all[g.kase][g.over], g.unit)
	if !ok {
		return "", false
	}
	if g.than != "" {
		under, ok := median(all[g.kase][g.than], g.unit)
		if !ok {
			return "", false
		}
		value /= under
	}
	bound, met := fmt.Sprintf("≤ %g", g.most), value <= g.most
	if g.least != 0 {
		bound, met = fmt.Sprintf("≥ %g", g.least), value >= g.least
	}
	verdict := "met"
	if !met {
		verdict = "missed"
	}
	return fmt.Sprintf("| %s | %s | %s | %s |\n", g.name, bound, number(value), verdict), true
}
