package history

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// Breakpoints are found and dropped in one pass; one that looks at each level by
// itself finds and leaves the same.
func FuzzBreakpoints(f *testing.F) {
	const mark = `"cache_control":{"type":"ephemeral"}`
	for _, seed := range []string{
		`{"role":"user","content":[{"type":"text","text":"x",` + mark + `}, {` + mark + ` ,"a":1}]}`,
		`{"content":[{"input":{` + mark + `},"content":[{` + mark + `}]}],"cache\u005fcontrol":{}}`,
		`{"cache_control":null,"source":{"content":[[{` + mark + `}]]},"tool":{"definition":{` + mark + `}}}`,
		`[]`, `{}`, `{` + mark + `,` + mark + `}`, `{"\u":1,"source":{}}_control"`, `[ {"content" : [ 1 , "]" ] , ` + mark + ` } , "cache_control" ]`,
	} {
		f.Add([]byte(seed), 1)
		f.Add([]byte(seed), 9)
	}
	f.Fuzz(func(t *testing.T, data []byte, n int) {
		if !json.Valid(data) {
			CountBreakpoints(data) // it must not panic: raw JSON of callers is checked later
			return
		}
		want := 0
		eachBreakpoint(data, func() { want++ })
		if got := CountBreakpoints(data); got != want && strings.Contains(string(data), `_control"`) {
			t.Fatalf("%s has %d breakpoints, want %d", data, got, want)
		}
		left := n
		got := withoutBreakpoints(data, &left)
		kept := 0
		eachBreakpoint(got, func() { kept++ })
		if dropped := max(0, min(n, want)); !json.Valid(got) || kept != want-dropped || left != n-dropped {
			t.Errorf("%s without %d: %s, %d left to drop", data, n, got, left)
		}
		if n <= 0 && string(got) != string(data) {
			t.Errorf("%s became %s without a breakpoint to drop", data, got)
		}
	})
}

func eachBreakpoint(value []byte, found func()) {
	value = []byte(strings.TrimSpace(string(value)))
	switch value[0] {
	case '[':
		_ = wire.Elements(value, func(element []byte) error {
			eachBreakpoint(element, found)
			return nil
		})
	case '{':
		_ = wire.Members(value, func(key, member []byte) error {
			switch string(key) {
			case cacheControl:
				if member[0] == '{' {
					found()
				}
			case "content", "source", "tool", "definition":
				eachBreakpoint(member, found)
			}
			return nil
		})
	}
}

// F20: the cost of content that is nested deep grows with its size, not with its
// square.
func BenchmarkBreakpointsOfNestedContent(b *testing.B) {
	for _, depth := range []int{100, 1000, 2400} {
		raw := []byte(strings.Repeat(`{"content":[`, depth) + `{"cache_control":{}}` + strings.Repeat(`]}`, depth))
		b.Run(fmt.Sprint(depth), func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if CountBreakpoints(raw) != 1 {
					b.Fatal("the breakpoint was not found")
				}
			}
		})
	}
}
