package wire_test

import (
	"fmt"
	"testing"

	"github.com/toolrunner/toolrunner/internal/wire"
)

func TestObjectKeepsOrderAndEncoding(t *testing.T) {
	tests := []struct {
		name, in string
		change   func(o *wire.Object)
		want     string
	}{
		{"unchanged", `{ "b" : 1.0 , "a" : { "x" : null } }`, func(*wire.Object) {}, `{"b":1.0,"a":{ "x" : null }}`},
		{"empty", ` {} `, func(*wire.Object) {}, `{}`},
		{"a doubled key has the last value, at the first place", `{"a":1,"b":2,"a":3}`, func(*wire.Object) {}, `{"a":3,"b":2}`},
		{"set replaces", `{"a":1,"b":2}`, func(o *wire.Object) { o.Set("a", []byte("9")) }, `{"a":9,"b":2}`},
		{"set adds at the end", `{"a":1}`, func(o *wire.Object) { o.Set("b", []byte("null")) }, `{"a":1,"b":null}`},
		{"a null replaces nothing", `{"a":1}`, func(o *wire.Object) { o.Set("a", []byte("null")) }, `{"a":1}`},
		{"a key is escaped", `{"a\"\n":1}`, func(*wire.Object) {}, `{"a\"\n":1}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o, err := wire.ReadObject([]byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			tt.change(&o)
			if got := string(o.AppendTo([]byte("before "))); got != "before "+tt.want {
				t.Errorf("%s became %s, want %s", tt.in, got, "before "+tt.want)
			}
		})
	}
	for _, bad := range []string{``, `[]`, `null`, `"{}"`, `{"a":}`, `{"a":1}x`} {
		if o, err := wire.ReadObject([]byte(bad)); err == nil {
			t.Errorf("ReadObject(%q) = %v, want an error", bad, o)
		}
	}
}

// Long objects are read with a map; a doubled key has the last value all the same.
func TestLongObjectsAreReadLikeShortOnes(t *testing.T) {
	for _, n := range []int{63, 64, 65, 1000} {
		var doc, want []byte
		for i := range n {
			doc = fmt.Appendf(doc, `,"k%d":%d`, i, i)
			want = fmt.Appendf(want, `,"k%d":%d`, i, i+1)
		}
		for i := range n {
			doc = fmt.Appendf(doc, `,"k%d":%d`, i, i+1)
		}
		o, err := wire.ReadObject(fmt.Appendf(nil, "{%s}", doc[1:]))
		if got := string(o.AppendTo(nil)); err != nil || got != "{"+string(want[1:])+"}" {
			t.Errorf("%d members, each twice, read as %s, %v", n, got, err)
		}
	}
}

// The time for a member must not grow with the length of its object (A6).
func BenchmarkReadObject(b *testing.B) {
	for _, n := range []int{10, 1_000, 100_000} {
		doc := []byte(`{"x":0`)
		for i := range n - 1 {
			doc = fmt.Appendf(doc, `,"k%d":0`, i)
		}
		doc = append(doc, '}')
		b.Run(fmt.Sprintf("%d members", n), func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := wire.ReadObject(doc); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestObjectSizeIsAnUpperBound(t *testing.T) {
	for _, in := range []string{`{}`, `{"a":1}`, `{"a":[1,2],"bcd":"x","":null}`} {
		o, err := wire.ReadObject([]byte(in))
		if got := len(o.AppendTo(nil)); err != nil || got > o.Size() || o.Size() > got+1 {
			t.Errorf("the size of %s is %d, %v; it has %d bytes", in, o.Size(), err, got)
		}
	}
}

func TestMembersAreReadAndReplaced(t *testing.T) {
	object := `{"a":1,"name":"x\u0079","b":[2 , 3]}`
	if got := wire.StringMember([]byte(object), "name"); got != "xy" {
		t.Errorf("the name is %q, want %q", got, "xy")
	}
	for _, name := range []string{"a", "b", "none"} {
		if got := wire.StringMember([]byte(object), name); got != "" {
			t.Errorf("the text of %s is %q, want none", name, got)
		}
	}
	for _, value := range []string{``, `null`, `"name"`, `[{"name":"x"}]`} {
		if got := wire.ObjectMember([]byte(value), "name"); got != "" {
			t.Errorf("the name of %q is %q, want none", value, got)
		}
	}
	if got := wire.ObjectMember([]byte(object), "name"); got != "xy" {
		t.Errorf("the name is %q, want %q", got, "xy")
	}
	if got, want := string(wire.SetMember([]byte(object), "name", []byte("{}"))), `{"a":1,"name":{},"b":[2 , 3]}`; got != want {
		t.Errorf("with another name: %s, want %s", got, want)
	}
	if got := string(wire.SetMember([]byte(object), "none", []byte("{}"))); got != object {
		t.Errorf("a member that is not there was set: %s, want %s", got, object)
	}
}

func TestSameComparesWhatDocumentsSay(t *testing.T) {
	tests := []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":"x"}`, ` { "b":"\u0078", "a":1 } `, true},
		{`{"a":1}`, `{"a":1.0}`, false},
		{`{"a":1}`, `{"a":1,"b":null}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`9007199254740993`, `9007199254740992`, false},
		{`{`, `{`, false},
	}
	for _, tt := range tests {
		if got := wire.Same([]byte(tt.a), []byte(tt.b)); got != tt.want {
			t.Errorf("Same(%s, %s) = %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}
