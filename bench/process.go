package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolrunner/toolrunner/bench/internal/work"
)

// measurement is what a process has reported of a case.
type measurement = work.Report

// results are the measurements of each peer in each case. A peer that took too
// long for a case has none there.
type results map[string]map[string][]measurement // by case, by peer

// bench runs the peers.
type bench struct {
	settings *settings
	server   *exec.Cmd
	stdin    io.Closer
	url      string
}

// startBench starts the server.
func startBench(s *settings) (*bench, error) {
	b := &bench{settings: s, server: exec.Command(filepath.Join(s.results, "server"))}
	b.server.Stderr = os.Stderr
	stdin, err := b.server.StdinPipe()
	if err != nil {
		return nil, err
	}
	b.stdin = stdin
	stdout, err := b.server.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := b.server.Start(); err != nil {
		return nil, fmt.Errorf("%w; run.sh builds it", err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	b.url = strings.TrimSpace(line)
	if _, gone := os.Stat(filepath.Join(s.results, "ts", "main.mjs")); gone != nil {
		s.peers = without(s.peers, "ts")
	}
	return b, err
}

func (b *bench) close() {
	_ = b.stdin.Close() // which ends the server
	_ = b.server.Wait()
}

// slow is how long a process may take for a case that is measured in each round.
const slow = 5 * time.Second

// measure runs the cases of a section, one peer after the other, several times. A
// peer that was slow in a case is measured there once, and not in larger ones of
// its kind.
func (b *bench) measure(sec section, all results) error {
	done, left := make(map[string]bool), make(map[string]int) // the case of a kind that was slow
	for round := range sec.rounds {
		for i, c := range sec.cases {
			if all[c.name] == nil {
				all[c.name] = make(map[string][]measurement)
			}
			for _, peer := range c.peers {
				if at, slower := left[peer+c.kind]; done[peer+c.name] || slower && i > at {
					continue
				}
				begin := time.Now()
				m, err := b.one(peer, c.args)
				took := time.Since(begin)
				if took > slow && sec.rounds > 1 {
					done[peer+c.name] = true
					if c.kind != "" {
						left[peer+c.kind] = i
					}
				}
				if errors.Is(err, context.DeadlineExceeded) {
					continue
				}
				if err != nil {
					return fmt.Errorf("%s, %s: %w", peer, c.name, err)
				}
				all[c.name][peer] = append(all[c.name][peer], m)
				fmt.Fprintf(os.Stderr, "round %d  %-28s %-15s %v\n", round+1, c.name, peer, took.Round(time.Millisecond))
			}
		}
	}
	return nil
}

// one has a peer do something once.
func (b *bench) one(peer string, args []string) (measurement, error) {
	most := b.settings.most
	if slices.Contains(args, "-runs") {
		most *= 9
	}
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	args = append([]string{"-server", b.url}, args...)
	var command *exec.Cmd
	switch peer {
	case "ts":
		job, err := tsJob(b.url, args)
		if err != nil {
			return measurement{}, err
		}
		command = exec.CommandContext(ctx, "node", filepath.Join(b.settings.results, "ts", "main.mjs"), job)
	case "ours-thread", "limit-thread":
		command = exec.CommandContext(ctx, filepath.Join(b.settings.results, strings.TrimSuffix(peer, "-thread")), append(args, "-thread")...)
	case "sdk-thread":
		command = exec.CommandContext(ctx, filepath.Join(b.settings.results, "limit"), append(args, "-thread", "-sdk")...)
	case "disable-thread":
		command = exec.CommandContext(ctx, filepath.Join(b.settings.results, "official"), append(args, "-disable-thread")...)
	default:
		command = exec.CommandContext(ctx, filepath.Join(b.settings.results, peer), args...)
	}
	if slices.Equal(args[2:], []string{"-turns", "1"}) { // of the section on starting
		command.Args = append(command.Args, "-start", strconv.FormatInt(time.Now().UnixNano(), 10))
	}
	command.Stderr = os.Stderr
	out, err := command.Output()
	if ctx.Err() != nil {
		return measurement{}, ctx.Err()
	}
	if err != nil {
		return measurement{}, err
	}
	var m measurement
	return m, json.Unmarshal(out, &m)
}

// tsJob returns the job of the TypeScript peer, from the flags of the others.
func tsJob(url string, args []string) (string, error) {
	job, err := work.ParseJob(args)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = json.NewEncoder(&out).Encode(map[string]any{
		"server": url, "path": job.Path(), "warm": job.Short().Path(), "stream": job.Stream, "read": job.Read,
		"for": job.For.Milliseconds(), "result": job.Text, "prompt": work.Prompt, "body": json.RawMessage(work.Body(job)),
	})
	return out.String(), err
}
