// Package script names the scripts that the server plays. A script is the path
// before /v1/messages, so that each peer plays one by its base URL alone.
package script

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Script is what the server answers to the requests of a conversation.
type Script struct {
	Turns    int           // replies, of which the last ends the run
	Parallel int           // calls in each of the others
	Latency  time.Duration // before each reply
	Hold     int           // the turn at which replies wait for /release; 0: none

	Stream string // what the first reply streams: text, input or thinking; empty: replies come at once
	Size   int    // its bytes
	Delta  int    // bytes of each delta
	Chunk  int    // bytes of each write; 0: as many as there are
}

// Path returns the path that stands for s.
func (s Script) Path() string {
	return fmt.Sprintf("/%d-%d-%d-%d-%s-%d-%d-%d",
		s.Turns, s.Parallel, s.Latency.Microseconds(), s.Hold, s.Stream, s.Size, s.Delta, s.Chunk)
}

// Parse returns the script that a path stands for.
func Parse(path string) (Script, error) {
	fields := strings.Split(strings.TrimPrefix(path, "/"), "-")
	if len(fields) != 8 {
		return Script{}, fmt.Errorf("the path %q is no script", path)
	}
	var numbers [8]int
	for i, field := range fields {
		if i == 4 {
			continue
		}
		n, err := strconv.Atoi(field)
		if err != nil || n < 0 {
			return Script{}, fmt.Errorf("the path %q is no script: %q", path, field)
		}
		numbers[i] = n
	}
	switch fields[4] {
	case "", "text", "input", "thinking":
	default:
		return Script{}, fmt.Errorf("the path %q is no script: there is no stream of %q", path, fields[4])
	}
	return Script{
		Turns: numbers[0], Parallel: numbers[1], Latency: time.Duration(numbers[2]) * time.Microsecond, Hold: numbers[3],
		Stream: fields[4], Size: numbers[5], Delta: max(1, numbers[6]), Chunk: numbers[7],
	}, nil
}
