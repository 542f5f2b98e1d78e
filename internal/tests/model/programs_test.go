package model

import (
	"flag"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	seeds  = flag.Int("model.seeds", 15_000, "how many programs to run")
	start  = flag.Uint64("model.start", 0, "the seed of the first program")
	kinds  = flag.String("model.kinds", "", "report each different program of these kinds, separated by commas")
	strict = flag.Bool("model.strict", false, "tolerate nothing: leave the table pending out of account")
)

// Whatever a program does, what must hold does.
func TestPrograms(t *testing.T) {
	found, different := map[string]int{}, map[string]bool{}
	for seed := *start; seed < *start+uint64(*seeds); seed++ {
		p := generate(seed)
		v := play(t, p)
		if v == nil {
			continue
		}
		if slices.Contains(strings.Split(*kinds, ","), v.kind) {
			small := shrinkTo(t, p, v.kind)
			if outline := small.outline(); !different[outline] {
				different[outline] = true
				t.Logf("seed %d: %s\n%s", seed, v.kind, small)
			}
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
	p = shrinkTo(t, p, kind)
	v := play(t, p)
	if v == nil {
		t.Errorf("seed %d: %s, but not always:\n%s", seed, kind, p)
		return
	}
	v.detail = strings.ReplaceAll(v.detail, prefix, "...")
	t.Errorf("seed %d: %s: %s\nwhat happened:\n\t%s\n%s", seed, v.kind, v.detail, strings.Join(v.log, "\n\t"), p)
}

// shrinkTo makes a program small that fails with a kind.
func shrinkTo(t *testing.T, p program, kind string) program {
	t.Helper()
	return shrink(p, func(less program) bool {
		v := play(t, less)
		return v != nil && v.kind == kind
	})
}

// outline tells programs apart that differ in more than names and numbers.
func (p program) outline() string {
	var b strings.Builder
	for _, s := range p {
		b.WriteString(strings.Fields(s.at)[0] + " " + names.ReplaceAllString(s.do, "") + "\n")
	}
	return b.String()
}

var names = regexp.MustCompile(`\b([abcg]|pay|look|again|alone|missing|late|\d+)\b`)

// prefix is what bodies begin with, and says nothing.
const prefix = `"tools":[{"input_schema":{"type":"object","properties":{}},"name":"pay"},{"input_schema":{"type":"object","properties":{}},"name":"look"},{"input_schema":{"type":"object","properties":{}},"name":"again"},{"input_schema":{"type":"object","properties":{}},"name":"alone"}]`
