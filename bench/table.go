package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

// table shows one value of each peer in each case of a section.
type table struct {
	title  string
	value  func(measurement) float64
	ratios bool
}

func perTurn(value func(measurement) float64) func(measurement) float64 {
	return func(m measurement) float64 { return value(m) / float64(m.Turns) }
}

// perStream is per conversation; the number of conversations follows from that
// of their turns only where a reply is streamed.
func perStream(value func(measurement) float64) func(measurement) float64 {
	return func(m measurement) float64 { return value(m) / float64(max(1, m.Conversations)) }
}

func microseconds(m measurement) float64  { return float64(m.CPU.Nanoseconds()) / 1e3 }
func milliseconds(m measurement) float64  { return float64(m.CPU.Nanoseconds()) / 1e6 }
func mallocs(m measurement) float64       { return float64(m.Mallocs) }
func kilobytes(m measurement) float64     { return float64(m.Bytes) / 1024 }
func peakMegabytes(m measurement) float64 { return float64(m.Peak) / (1 << 20) }

// median returns the median of a value over the measurements of a peer, and
// false if there are none.
func median(measurements []measurement, value func(measurement) float64) (float64, bool) {
	var values []float64
	for _, m := range measurements {
		values = append(values, value(m))
	}
	if len(values) == 0 {
		return 0, false
	}
	slices.Sort(values)
	middle := len(values) / 2
	if len(values)%2 == 0 {
		return (values[middle-1] + values[middle]) / 2, true
	}
	return values[middle], true
}

var titles = map[string]string{
	"ours": "ours", "limit": "limit", "official": "official Go", "disable-thread": "official Go, DisableThread",
	"ours-thread": "ours, thread", "limit-thread": "limit, thread", "sdk-thread": "limit by the SDK's client, thread", "ts": "TypeScript, thread: false", "client": "SDK client only",
}

func (sec *section) render(all results) string {
	var out strings.Builder
	fmt.Fprintf(&out, "\n### %s\n", sec.title)
	for _, t := range sec.tables {
		fmt.Fprintf(&out, "\n%s:\n\n", t.title)
		peers := sec.cases[0].peers
		peers = slices.DeleteFunc(slices.Clone(peers), func(peer string) bool {
			return peer == "ts" && t.title[0] != 'C' && t.title[0] != 'P' // it reports CPU and peak memory only
		})
		header := []string{""}
		for _, peer := range peers {
			header = append(header, titles[peer])
		}
		if t.ratios {
			header = append(header, "ours / limit", "DisableThread / ours")
			if slices.Contains(peers, "ours-thread") {
				header = append(header, "the same with threads", "official / ours, with threads")
			}
		}
		row(&out, header)
		row(&out, append([]string{"---"}, slices.Repeat([]string{"---:"}, len(header)-1)...))
		for _, c := range sec.cases {
			row(&out, t.cells(c, peers, all))
		}
	}
	return out.String()
}

func (t *table) cells(c kase, peers []string, all results) []string {
	cells := []string{c.name}
	for _, peer := range peers {
		cell := "too slow"
		if value, ok := median(all[c.name][peer], t.value); ok {
			cell = number(value)
			if len(all[c.name][peer]) == 1 {
				cell += "*"
			}
		}
		cells = append(cells, cell)
	}
	if !t.ratios {
		return cells
	}
	cells = append(cells, ratio(all[c.name], t.value, "ours", "limit"), ratio(all[c.name], t.value, "disable-thread", "ours"))
	if slices.Contains(peers, "ours-thread") {
		cells = append(cells, ratio(all[c.name], t.value, "ours-thread", "limit-thread"), ratio(all[c.name], t.value, "official", "ours-thread"))
	}
	return cells
}

// ratio returns a value of one peer over that of another.
func ratio(m map[string][]measurement, value func(measurement) float64, over, under string) string {
	a, okA := median(m[over], value)
	b, okB := median(m[under], value)
	if !okA || !okB || b == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", a/b)
}

func row(out *strings.Builder, cells []string) {
	fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | "))
}

// number writes three digits, and more only before the point.
func number(v float64) string {
	switch {
	case v >= 1000:
		text := fmt.Sprintf("%.0f", v)
		for i := len(text) - 3; i > 0; i -= 3 {
			text = text[:i] + "," + text[i:]
		}
		return text
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// machine describes the machine by what counts for the figures.
func (s *settings) machine() string {
	model := runtime.GOARCH
	if data, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(data)) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	node := "no node"
	if out, err := exec.Command("node", "--version").Output(); err == nil {
		node = "node " + strings.TrimSpace(string(out))
	}
	return fmt.Sprintf("Measured on %s with %d cores, %s, %s, %s. An asterisk marks a figure of one run.",
		model, runtime.NumCPU(), runtime.GOOS, runtime.Version(), node)
}

const (
	beginMark = "<!-- bench: begin -->\n"
	endMark   = "<!-- bench: end -->\n"
)

// replaceBetween replaces what stands between the markers of a file.
func replaceBetween(file, text string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, ok := bytes.Cut(data, []byte(beginMark))
	_, after, closed := bytes.Cut(rest, []byte(endMark))
	if !ok || !closed {
		return fmt.Errorf("%s has no %s... %s", file, beginMark, endMark)
	}
	return os.WriteFile(file, slices.Concat(before, []byte(beginMark+"\n"+text+"\n"+endMark), after), 0o644)
}
