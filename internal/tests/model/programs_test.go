package model

import (
	"flag"
	"strings"
	"testing"
)

var ( //nolint:gochecknoglobals // flags
	seeds  = flag.Int("model.seeds", 20_000, "how many programs to run")
	start  = flag.Uint64("model.start", 0, "the seed of the first program")
	strict = flag.Bool("model.strict", false, "tolerate nothing: leave the table pending out of account")
)

// Whatever a program does, what must hold does.
func TestPrograms(t *testing.T) {
	found := map[string]int{}
	for seed := *start; seed < *start+uint64(*seeds); seed++ {
		p := generate(seed)
		v := play(t, p)
		if v == nil {
			continue
		}
		if found[v.kind]++; found[v.kind] > 1 || !*strict && tolerated(v.kind) {
			continue
		}
		report(t, seed, p, v.kind)
	}
	t.Logf("%d programs from %d on; what did not hold: %v", *seeds, *start, found)
}

// report makes a program that fails small, and prints it.
func report(t *testing.T, seed uint64, p program, kind string) {
	t.Helper()
	p = shrink(p, func(less program) bool {
		v := play(t, less)
		return v != nil && v.kind == kind
	})
	v := play(t, p)
	if v == nil {
		t.Errorf("seed %d: %s, but not always:\n%s", seed, kind, p)
		return
	}
	v.detail = strings.ReplaceAll(v.detail, prefix, "...")
	t.Errorf("seed %d: %s: %s\nwhat happened:\n\t%s\n%s", seed, v.kind, v.detail, strings.Join(v.log, "\n\t"), p)
}

// prefix is what bodies begin with, and says nothing.
const prefix = `"tools":[{"input_schema":{"type":"object","properties":{}},"name":"pay"},{"input_schema":{"type":"object","properties":{}},"name":"look"},{"input_schema":{"type":"object","properties":{}},"name":"again"},{"input_schema":{"type":"object","properties":{}},"name":"alone"}]`
