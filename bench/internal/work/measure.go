package work

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Report is what a peer measured: sums over all conversations.
type Report struct {
	Conversations  int
	Turns, Events  int
	CPU, Wall      time.Duration
	Mallocs, Bytes uint64
	Peak           int64 // resident memory at its highest, in bytes
	Live           int64 // heap and stacks in use while all runs wait, in bytes
	History        int64 // what the histories of those runs take as JSON
}

func (j *Job) measure(peer Peer) (Report, error) {
	if j.Start > 0 {
		return j.start(peer)
	}
	if err := j.warmUp(peer); err != nil {
		return Report{}, err
	}
	stop, err := j.profile()
	if err != nil {
		return Report{}, err
	}
	defer stop()
	if j.Runs > 0 {
		return j.atOnce(peer)
	}
	player, err := peer(j)
	if err != nil {
		return Report{}, err
	}
	return j.oneByOne(player)
}

// warmUp plays some short conversations, so that what happens once in a process
// is not measured.
func (j *Job) warmUp(peer Peer) error {
	short := j.Short()
	player, err := peer(short)
	for range 3 {
		if err == nil {
			_, err = short.play(player)
		}
	}
	return err
}

func (j *Job) profile() (stop func(), err error) {
	if j.Profile == "" {
		return func() {}, nil
	}
	f, err := os.Create(j.Profile)
	if err != nil {
		return nil, err
	}
	stop = func() {
		pprof.StopCPUProfile()
		_ = f.Close()
	}
	return stop, pprof.StartCPUProfile(f)
}

func (j *Job) oneByOne(player Player) (Report, error) {
	var r Report
	finish := r.begin()
	for begin := time.Now(); ; {
		p, err := j.play(player)
		r.Conversations++
		r.Turns += p.Turns
		r.Events += p.Events
		if err != nil || time.Since(begin) >= j.For {
			finish()
			return r, err
		}
	}
}

// atOnce plays conversations at the same time. It measures up to where all of
// them wait for their last reply, and then the memory that is in use.
func (j *Job) atOnce(peer Peer) (Report, error) {
	held := *j
	held.Hold = j.Turns
	player, err := peer(&held)
	if err != nil {
		return Report{}, err
	}
	empty := inUse()
	var r Report
	finish := r.begin()
	var wait sync.WaitGroup
	errs := make([]error, j.Runs)
	for i := range j.Runs {
		wait.Go(func() {
			if _, errs[i] = held.play(player); errs[i] != nil {
				fmt.Fprintln(os.Stderr, errs[i])
				os.Exit(1) // the others would wait for this one
			}
		})
	}
	err = j.ask(http.MethodGet, fmt.Sprintf("/waiting/%d", j.Runs))
	finish()
	r.Conversations, r.Turns = j.Runs, j.Runs*(j.Turns-1)
	r.Live = inUse() - empty
	err = errors.Join(err, j.profileMemory())
	r.History = int64(r.Turns) * historyOfTurn(j.Text)
	err = errors.Join(err, j.ask(http.MethodPost, "/release"))
	wait.Wait()
	return r, cmp.Or(err, errors.Join(errs...))
}

// profileMemory writes a profile of the memory in use beside that of the time.
func (j *Job) profileMemory() error {
	if j.Profile == "" {
		return nil
	}
	f, err := os.Create(j.Profile + ".memory")
	if err != nil {
		return err
	}
	return errors.Join(pprof.Lookup("heap").WriteTo(f, 0), f.Close())
}

// historyOfTurn returns the bytes of a turn with one call in a history.
func historyOfTurn(result string) int64 {
	const around = `{"role":"assistant","content":[{"type":"text","text":"Next I look at part 10."},` +
		`{"type":"tool_use","id":"toolu_10_0","name":"work_0","input":{"path":"src/part_10.go","n":0}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_10_0","content":[{"type":"text","text":}]}]},`
	text, err := json.Marshal(result)
	if err != nil {
		panic(err)
	}
	return int64(len(around) + len(text))
}

// begin begins to measure.
func (r *Report) begin() (finish func()) {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin, cpu := time.Now(), CPU()
	return func() {
		r.CPU, r.Wall = CPU()-cpu, time.Since(begin)
		runtime.ReadMemStats(&after)
		r.Mallocs, r.Bytes = after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc
		r.Peak = peak()
	}
}

// start measures what it takes from the start of the process to its first request.
func (j *Job) start(peer Peer) (Report, error) {
	first := make(chan Report, 1)
	j.Client.Transport = roundTrip(func(*http.Request) (*http.Response, error) {
		first <- Report{CPU: CPU(), Wall: time.Since(time.Unix(0, j.Start)), Peak: peak()}
		select {}
	})
	failed := make(chan error, 1)
	go func() {
		player, err := peer(j)
		if err == nil {
			_, err = j.play(player)
		}
		failed <- fmt.Errorf("there was no request: %w", err)
	}()
	select {
	case r := <-first:
		return r, nil
	case err := <-failed:
		return Report{}, err
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// CPU returns what the process has used of the processors, user and system.
func CPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peak returns the most resident memory that the process has had. Getrusage would
// count the process that it was started from.
func peak() int64 {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			kb, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(value, "kB")), 10, 64)
			return kb << 10
		}
	}
	return 0
}

// inUse returns the bytes of heap and stacks that are in use.
func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// ask asks the server for something other than a reply.
func (j *Job) ask(method, path string) error {
	req, err := http.NewRequest(method, j.Server+path, http.NoBody)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, res.Body)
	return errors.Join(err, res.Body.Close())
}
