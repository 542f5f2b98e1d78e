package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Each peer checks that its conversations are played to their end, and fails if
// they are not.
func TestEveryGoPeerPlaysEveryScript(t *testing.T) {
	dir := t.TempDir()
	for _, program := range []string{"server", "peers/ours", "peers/official", "peers/limit", "peers/client"} {
		if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, filepath.Base(program)), "./"+program).CombinedOutput(); err != nil {
			t.Fatalf("building %s: %v\n%s", program, err, out)
		}
	}
	b, err := startBench(&settings{results: dir, most: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	for name, args := range map[string]string{
		"conversation": "-turns 4 -result 300",
		"parallel":     "-turns 3 -parallel 3",
		"text":         "-stream text -size 5000 -read",
		"input":        "-stream input -size 5000 -chunk 100",
		"thinking":     "-stream thinking -size 5000 -read",
		"at once":      "-runs 8 -turns 3 -latency 1ms",
		"start":        "-turns 1",
	} {
		for _, peer := range []string{"ours", "limit", "official", "disable-thread"} {
			m, err := b.one(peer, strings.Fields(args))
			if err != nil {
				t.Errorf("%s, %s: %v", peer, name, err)
			}
			if m.CPU <= 0 || m.Wall <= 0 || name == "at once" && m.Live <= 0 {
				t.Errorf("%s, %s: it reports %+v", peer, name, m)
			}
		}
	}
	for _, peer := range []string{"ours-thread", "limit-thread", "sdk-thread"} {
		if m, err := b.one(peer, strings.Fields("-turns 4 -result 300 -parallel 2")); err != nil || m.CPU <= 0 || m.Turns%4 != 0 {
			t.Errorf("%s: it reports %+v, %v", peer, m, err)
		}
	}
	if m, err := b.one("client", []string{"-turns", "1"}); err != nil || m.CPU <= 0 {
		t.Errorf("client: it reports %+v, %v", m, err)
	}
}

func TestTablesShowMediansRatiosAndGoals(t *testing.T) {
	c := kase{name: "200 × 4096 B", peers: []string{"ours", "limit"}}
	sec := section{title: "Turns", cases: []kase{c}, tables: []table{{"CPU", perTurn(microseconds), true}}}
	all := results{c.name: {
		"ours":  {{Turns: 2, CPU: 6 * time.Microsecond}, {Turns: 1, CPU: 2 * time.Microsecond}, {Turns: 1, CPU: time.Millisecond}},
		"limit": {{Turns: 1, CPU: 2 * time.Microsecond}},
	}}
	want := "| 200 × 4096 B | 3.00 | 2.00* | 1.50 |  |\n"
	if got := sec.render(all); !strings.Contains(got, want) {
		t.Errorf("the table is %s\nwant a row %s", got, want)
	}
	want = "| 200 turns with 4 KB, beside the limit | ≤ 1.5 | 1.50 | met |\n"
	if got := goals(all); !strings.Contains(got, want) {
		t.Errorf("the goals are %s\nwant a row %s", got, want)
	}
}
