package work

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/toolrunner/toolrunner/bench/internal/script"
)

// Job is what a peer is asked to do.
type Job struct {
	script.Script

	Server  string        // its address
	Result  int           // bytes of a tool's result
	Read    bool          // a stream is read event by event
	Runs    int           // at once
	For     time.Duration // how long conversations are repeated, one by one; at least one is measured
	Start   int64         // when the process was started, in nanoseconds since 1970: measure up to its first request
	Profile string        // the file for a profile of what is measured

	Client *http.Client // that all conversations use
	Text   string       // of a tool's result
}

// URL is the base URL of the job's script.
func (j *Job) URL() string { return j.Server + j.Path() }

// Played is what came of a conversation.
type Played struct {
	Turns, Events int
	Text          string // of the last reply
}

// Peer prepares what conversations of job have in common, such as a client and
// tools, and returns what plays one. Conversations may be played at once.
type Peer func(job *Job) (Player, error)

// Player plays a conversation.
type Player func(ctx context.Context) (Played, error)

// Main does what the flags ask for, and writes the Report as JSON.
func Main(peer Peer) {
	job, err := parse(flag.CommandLine, os.Args[1:])
	var report Report
	if err == nil {
		report, err = job.measure(peer)
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(report)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// ParseJob returns the job that flags ask for.
func ParseJob(args []string) (*Job, error) {
	return parse(flag.NewFlagSet("job", flag.ContinueOnError), args)
}

func parse(set *flag.FlagSet, args []string) (*Job, error) {
	j := &Job{Client: &http.Client{Transport: transport()}}
	j.flags(set)
	err := set.Parse(args)
	j.Text = Result(j.Result)
	return j, err
}

// Short returns a short version of the job, to warm up with.
func (j *Job) Short() *Job {
	short := *j
	short.Turns, short.Size = min(j.Turns, 3), min(j.Size, 1<<10)
	return &short
}

func (j *Job) flags(set *flag.FlagSet) {
	set.StringVar(&j.Server, "server", "", "address of the server")
	set.IntVar(&j.Turns, "turns", 1, "replies of a conversation")
	set.IntVar(&j.Parallel, "parallel", 1, "calls of a reply")
	set.IntVar(&j.Result, "result", 200, "bytes of a result")
	set.DurationVar(&j.Latency, "latency", 0, "before each reply")
	set.StringVar(&j.Stream, "stream", "", "what is streamed: text, input or thinking")
	set.IntVar(&j.Size, "size", 0, "bytes of a streamed reply")
	set.IntVar(&j.Delta, "delta", 24, "bytes of a delta")
	set.IntVar(&j.Chunk, "chunk", 0, "bytes of a write of the server; 0: any")
	set.BoolVar(&j.Read, "read", false, "read streams event by event")
	set.IntVar(&j.Runs, "runs", 0, "conversations at once; 0: one by one")
	set.DurationVar(&j.For, "for", 0, "how long to repeat conversations one by one")
	set.Int64Var(&j.Start, "start", 0, "measure from this time on, in nanoseconds since 1970, up to the first request")
	set.StringVar(&j.Profile, "profile", "", "file for a profile")
}

// transport is the default one with room for a connection per run.
func transport() http.RoundTripper {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t = t.Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, 1<<20
	return t
}

// play plays a conversation and checks that it was played to its end.
func (j *Job) play(player Player) (Played, error) {
	p, err := player(context.Background())
	switch {
	case err != nil:
	case j.Stream == "text" && len(p.Text) != j.Size:
		err = fmt.Errorf("the reply has %d bytes of text, want %d", len(p.Text), j.Size)
	case j.Stream != "text" && p.Text != "Done.":
		err = fmt.Errorf("the last reply is %.50q, want %q", p.Text, "Done.")
	case j.Stream == "" && p.Turns != j.Turns:
		err = fmt.Errorf("%d replies, want %d", p.Turns, j.Turns)
	}
	return p, err
}
