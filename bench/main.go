// Command bench measures the runner of this repository beside the official ones
// and beside net/http alone, against a server in a process of its own. Each peer
// is a process too, which measures itself; they take turns, and medians count.
package main

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// settings are the sizes and bounds, all of them flags.
type settings struct {
	results, doc string
	peers        []string
	sections     []string
	rounds       int
	repeat, most time.Duration
	turns        []string
	streams      []string
	sizes        []string
	delta        int
	chunk        int
	runs         int
	runTurns     int
	runResult    int
	latency      time.Duration
	starts       int
}

func main() {
	var s settings
	flag.StringVar(&s.results, "results", "results", "folder of the programs to run, which run.sh builds")
	flag.StringVar(&s.doc, "doc", "", "file whose part between the markers is replaced by the tables; empty: none")
	flag.IntVar(&s.rounds, "rounds", 3, "rounds, of which the median counts; what takes over 5 seconds is measured once")
	flag.DurationVar(&s.repeat, "repeat", 400*time.Millisecond, "how long a process repeats short conversations")
	flag.DurationVar(&s.most, "most", 20*time.Second, "how long a process may take, and nine times that for runs at once")
	flag.IntVar(&s.delta, "delta", 24, "bytes of a streamed delta")
	flag.IntVar(&s.chunk, "chunk", 0, "bytes that the server writes of a stream at once; 0: all")
	flag.IntVar(&s.runs, "runs", 5000, "conversations at once")
	flag.IntVar(&s.runTurns, "run-turns", 20, "turns of each of them")
	flag.IntVar(&s.runResult, "run-result", 1024, "bytes of their results")
	flag.DurationVar(&s.latency, "latency", 20*time.Millisecond, "latency of their replies")
	flag.IntVar(&s.starts, "starts", 21, "processes whose start is measured, of each peer")
	list(&s.peers, "peers", "ours,limit,disable-thread,official,ours-thread,limit-thread,sdk-thread,ts", "peers to measure")
	list(&s.sections, "sections", "turns,streams,runs,start", "what to measure")
	list(&s.turns, "turns", "1x200,50x200,200x200,500x200,10x4096,50x4096,200x4096,500x4096,200x32768,500x32768,200x4096x4", "conversations: turns x bytes of a result (x parallel calls)")
	list(&s.streams, "streams", "text,input,thinking", "what is streamed")
	list(&s.sizes, "sizes", "65536,1048576,4194304,16777216", "bytes of streamed replies")
	flag.Parse()
	if err := s.run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func list(into *[]string, name, value, usage string) {
	*into = strings.Split(value, ",")
	flag.Func(name, usage+" (default "+value+")", func(value string) error {
		*into = strings.Split(value, ",")
		return nil
	})
}

func (s *settings) run() error {
	b, err := startBench(s)
	if err != nil {
		return err
	}
	defer b.close()
	begin := time.Now()
	var report strings.Builder
	fmt.Fprintf(&report, "%s\n", s.machine())
	all := make(results)
	for _, name := range s.sections {
		sec, err := s.section(name)
		if err != nil {
			return err
		}
		if err := b.measure(sec, all); err != nil {
			return err
		}
		report.WriteString(sec.render(all))
	}
	report.WriteString(goals(all))
	fmt.Print(report.String())
	fmt.Fprintf(os.Stderr, "took %v\n", time.Since(begin).Round(time.Second))
	if s.doc == "" {
		return nil
	}
	return replaceBetween(s.doc, report.String())
}

// section is a group of cases that share a table.
type section struct {
	title  string
	cases  []kase
	rounds int
	tables []table
}

// kase is one thing that peers are asked to do.
type kase struct {
	name  string
	kind  string // of cases in the order of their size; empty: none
	args  []string
	peers []string
}

func (s *settings) section(name string) (section, error) {
	switch name {
	case "turns":
		return s.turnSection()
	case "streams":
		return s.streamSection(), nil
	case "runs":
		return s.runSection(), nil
	case "start":
		return s.startSection(), nil
	}
	return section{}, fmt.Errorf("there is no section %q", name)
}

func (s *settings) turnSection() (section, error) {
	sec := section{title: "Turns of a conversation", rounds: s.rounds, tables: []table{
		{"CPU in microseconds per turn, user and system, mean over the conversation", perTurn(microseconds), true},
		{"Allocations per turn", perTurn(mallocs), false},
		{"KB allocated per turn", perTurn(kilobytes), false},
		{"Peak memory of the process in MB", peakMegabytes, false},
	}}
	for _, spec := range s.turns {
		parts := strings.Split(spec, "x")
		for _, p := range parts {
			if _, err := strconv.Atoi(p); err != nil || len(parts) < 2 {
				return sec, fmt.Errorf("-turns: %q is not TURNSxBYTES or TURNSxBYTESxCALLS", spec)
			}
		}
		args := []string{"-turns", parts[0], "-result", parts[1], "-for", s.repeat.String()}
		name := fmt.Sprintf("%s × %s B", parts[0], parts[1])
		if len(parts) > 2 {
			args = append(args, "-parallel", parts[2])
			name += fmt.Sprintf(", %s calls each", parts[2])
		}
		kind := strings.Join(parts[1:], "x") // the longer ones come later
		sec.cases = append(sec.cases, kase{name: name, kind: kind, args: args, peers: s.peers})
	}
	return sec, nil
}

func (s *settings) streamSection() section {
	sec := section{title: fmt.Sprintf("A streamed reply in deltas of %d bytes", s.delta), rounds: s.rounds, tables: []table{
		{"CPU in milliseconds per conversation, user and system", perStream(milliseconds), true},
		{"Peak memory of the process in MB", peakMegabytes, false},
	}}
	for _, stream := range s.streams {
		for _, size := range s.sizes {
			for _, how := range []string{"read", "unread"} {
				args := []string{"-stream", stream, "-size", size, "-delta", strconv.Itoa(s.delta), "-chunk", strconv.Itoa(s.chunk), "-for", s.repeat.String()}
				if how == "read" {
					args = append(args, "-read")
				}
				n, _ := strconv.Atoi(size)
				sec.cases = append(sec.cases, kase{fmt.Sprintf("%s, %d KB, %s", stream, n>>10, how), stream, args, s.unthreaded()})
			}
		}
	}
	return sec
}

func (s *settings) runSection() section {
	sec := section{
		title:  fmt.Sprintf("%d runs of %d turns at once, results of %d B, latency %v", s.runs, s.runTurns, s.runResult, s.latency),
		rounds: s.rounds,
		tables: []table{
			{"Turns per second", func(r measurement) float64 { return float64(r.Turns) / r.Wall.Seconds() }, false},
			{"CPU in microseconds per turn", perTurn(microseconds), true},
			{"KB in use per waiting run, beyond its history as JSON", func(r measurement) float64 {
				return float64(r.Live-r.History) / 1024 / float64(s.runs)
			}, false},
			{"Peak memory of the process in MB", peakMegabytes, false},
		},
	}
	args := []string{
		"-runs", strconv.Itoa(s.runs), "-turns", strconv.Itoa(s.runTurns), "-result", strconv.Itoa(s.runResult), "-latency", s.latency.String(),
	}
	peers := without(s.unthreaded(), "ts", "official") // the one measures single runs only, the other would take minutes
	sec.cases = []kase{{name: "at once", args: args, peers: peers}}
	return sec
}

func (s *settings) startSection() section {
	sec := section{title: "From the start of the process to its first request", rounds: s.starts, tables: []table{
		{"CPU in milliseconds", perStream(milliseconds), false},
		{"Milliseconds", func(r measurement) float64 { return float64(r.Wall.Microseconds()) / 1000 }, false},
	}}
	sec.cases = []kase{{name: "first request", args: []string{"-turns", "1"}, peers: append(without(s.unthreaded(), "ts", "official"), "client")}}
	return sec
}

// unthreaded returns the peers without those with threads, which are measured by turns alone.
func (s *settings) unthreaded() []string {
	return without(s.peers, "ours-thread", "limit-thread", "sdk-thread")
}

func without(names []string, left ...string) []string {
	var kept []string
outer:
	for _, name := range names {
		for _, l := range left {
			if name == l {
				continue outer
			}
		}
		kept = append(kept, name)
	}
	return kept
}
