package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner/internal/wire"
)

var documents = []string{
	``, ` `, `{}`, `[]`, `{"a":1}`, ` { "a" : [ 1 , 2.5e-3 , -0 ] , "b" : null } `, `{"a":1,}`, `{,}`, `[1,]`, `[,1]`, `{"a"}`,
	`{"a":}`, `{a:1}`, `"x"`, `"\u00e9\n\"\\"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\x"`, `"\u12g4"`, "\"\x01\"", "\"\xff\"",
	`tru`, `true`, `nul`, `null`, `falsey`, `01`, `1.`, `.5`, `-`, `1e`, `1e+`, `1E+5`, `-12.34`, `9007199254740993`,
	`{"a":1}x`, `[[[[[]]]]]`, `{"\u0061":1}`, `{"a":1 "b":2}`, `[1 2]`, `{"a"`, `[`, `{"a":[`, `"`, `"\`, `"\u12`,
}

func TestValidAgreesWithEncodingJSON(t *testing.T) {
	for _, doc := range documents {
		if got, want := wire.Valid([]byte(doc)), json.Valid([]byte(doc)); got != want {
			t.Errorf("Valid(%q) = %v, want %v", doc, got, want)
		}
	}
	deep := strings.Repeat("[", 20000) + strings.Repeat("]", 20000)
	if wire.Valid([]byte(deep)) {
		t.Error("Valid accepts 20,000 levels")
	}
}

// Strings are scanned eight bytes at a time: each byte counts wherever it stands.
func TestEveryByteCountsAtEveryPlace(t *testing.T) {
	for c := range 256 {
		for at := range 20 {
			for _, filler := range []string{"a", "\x7f", "\u00ff"} {
				text := strings.Repeat(filler, at) + string([]byte{byte(c)}) + strings.Repeat(filler, 20-at)
				literal := `"` + text + `"`
				if got, want := wire.Valid([]byte(literal)), json.Valid([]byte(literal)); got != want {
					t.Errorf("Valid(%q) = %v, want %v", literal, got, want)
				}
				quoted := wire.AppendString([]byte("before"), text)[len("before"):]
				var want string
				if err := json.Unmarshal(quoted, &want); err != nil || want != strings.ToValidUTF8(text, "\uFFFD") {
					t.Errorf("AppendString(%q) = %q, which reads as %q, %v", text, quoted, want, err)
				}
				if got, ok := wire.Unquote(quoted); !ok || got != want {
					t.Errorf("Unquote(%q) = %q, %v, want %q", quoted, got, ok, want)
				}
			}
		}
	}
}

func TestMembersVisitsInOrderAndUnquotesKeys(t *testing.T) {
	type member struct{ Key, Value string }
	var got []member
	err := wire.Members([]byte(` {"b" : {"x":1} , "\u0061" : [ ] , "b":"again"} `), func(key, value []byte) error {
		got = append(got, member{string(key), string(value)})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []member{{"b", `{"x":1}`}, {"a", `[ ]`}, {"b", `"again"`}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}

func TestElementsVisitsInOrder(t *testing.T) {
	var got []string
	err := wire.Elements([]byte(` [1 , "two", {"three":[3]}] `), func(value []byte) error {
		got = append(got, string(value))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"1", `"two"`, `{"three":[3]}`}, got); diff != "" {
		t.Errorf("elements (-want +got):\n%s", diff)
	}
}

func TestVisitorsErrorStopsTheWalk(t *testing.T) {
	stop := errors.New("stop")
	visits := 0
	if err := wire.Members([]byte(`{"a":1,"b":2}`), func(_, _ []byte) error { visits++; return stop }); !errors.Is(err, stop) {
		t.Errorf("Members returned %v, want the visitor's error", err)
	}
	if err := wire.Elements([]byte(`[1,2]`), func([]byte) error { visits++; return stop }); !errors.Is(err, stop) {
		t.Errorf("Elements returned %v, want the visitor's error", err)
	}
	if visits != 2 {
		t.Errorf("%d visits, want one of each walk", visits)
	}
}

func TestMembersAndElementsRefuseWhatIsNotTheirs(t *testing.T) {
	for _, doc := range append(documents, `{"a":1} {}`) {
		data := []byte(doc)
		var object map[string]any
		var array []any
		trimmed := strings.TrimSpace(doc)
		wantObject := json.Unmarshal(data, &object) == nil && strings.HasPrefix(trimmed, "{")
		wantArray := json.Unmarshal(data, &array) == nil && strings.HasPrefix(trimmed, "[")
		if err := wire.Members(data, func(_, _ []byte) error { return nil }); (err == nil) != wantObject {
			t.Errorf("Members(%q) = %v, want success %v", doc, err, wantObject)
		}
		if err := wire.Elements(data, func([]byte) error { return nil }); (err == nil) != wantArray {
			t.Errorf("Elements(%q) = %v, want success %v", doc, err, wantArray)
		}
	}
}

type list []string

func (l list) Len() int        { return len(l) }
func (l list) At(i int) []byte { return []byte(l[i]) }

func TestBodyReadsLikeItsJoinedPieces(t *testing.T) {
	for _, tt := range []struct {
		name string
		fill func(*wire.Body)
		want string
	}{
		{"nothing", func(*wire.Body) {}, ""},
		{"empty lists", func(b *wire.Body) { b.AppendList(list{}); b.AppendList(list(nil)) }, ""},
		{"one item", func(b *wire.Body) { b.AppendList(list{"1"}) }, "1"},
		{"lists side by side", func(b *wire.Body) { b.AppendList(list{"1", "22"}); b.AppendList(list{"3", "4", "5"}) }, "1,223,4,5"},
		{"a list between segments", func(b *wire.Body) {
			b.Append([]byte("["))
			b.AppendList(list{"10", "20", strings.Repeat("3", 100)})
			b.Append([]byte("]"), []byte("."))
		}, "[10,20," + strings.Repeat("3", 100) + "]."},
	} {
		var body wire.Body
		tt.fill(&body)
		if err := iotest.TestReader(body.Reader(), []byte(tt.want)); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err := iotest.TestReader(body.Prefixed([]byte("head")).Reader(), []byte("head"+tt.want)); err != nil {
			t.Errorf("%s, prefixed: %v", tt.name, err)
		}
		if got := string(body.Bytes()); got != tt.want || body.Size() != int64(len(got)) {
			t.Errorf("%s: Bytes() = %q with Size() = %d, want %q", tt.name, got, body.Size(), tt.want)
		}
	}
}

func TestBodiesAreReadTogether(t *testing.T) {
	var body wire.Body
	body.Append([]byte("one"), nil, []byte(""), []byte("two and "))
	body.Append([]byte("three"))
	if err := iotest.TestReader(body.Reader(), []byte("onetwo and three")); err != nil {
		t.Error(err)
	}
	if got := string(body.Bytes()); got != "onetwo and three" || body.Size() != int64(len(got)) {
		t.Errorf("Bytes() = %q with Size() = %d", got, body.Size())
	}
	longer := body.Prefixed([]byte("nil, ")).Prefixed([]byte("zero, "))
	if err := iotest.TestReader(longer.Reader(), []byte("zero, nil, onetwo and three")); err != nil {
		t.Error(err)
	}
	if got := string(longer.Bytes()); got != "zero, nil, onetwo and three" || longer.Size() != int64(len(got)) {
		t.Errorf("prefixed: Bytes() = %q with Size() = %d", got, longer.Size())
	}
	first, second := body.Reader(), body.Reader()
	if _, err := io.ReadAll(first); err != nil {
		t.Fatal(err)
	}
	if rest, _ := io.ReadAll(second); len(rest) != 16 {
		t.Errorf("the second reader saw %d bytes, want 16: readers share a position", len(rest))
	}
}

func FuzzValid(f *testing.F) {
	for _, doc := range documents {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, want := wire.Valid(data), json.Valid(data); got != want {
			t.Errorf("Valid(%q) = %v, want %v", data, got, want)
		}
	})
}

// What is known to be valid is visited in the same parts; anything else does no harm.
func FuzzKnown(f *testing.F) {
	for _, doc := range documents {
		f.Add([]byte(doc))
	}
	f.Add([]byte(`{"a":"\\\\","b":"\\\"","c":[{"d":"]}\\\\\""},[[]],-1.5e3 , true],"e" : null }`))
	f.Fuzz(func(t *testing.T, data []byte) {
		type visit func(data []byte, visit func(key, value []byte) error) error
		elements := func(of func([]byte, func([]byte) error) error) visit {
			return func(data []byte, visit func(key, value []byte) error) error {
				return of(data, func(value []byte) error { return visit(nil, value) })
			}
		}
		for name, tt := range map[string]struct{ checked, known visit }{
			"Members":  {wire.Members, wire.KnownMembers},
			"Elements": {elements(wire.Elements), elements(wire.KnownElements)},
		} {
			record := func(of visit) (parts []string, err error) {
				err = of(data, func(key, value []byte) error {
					parts = append(parts, string(key), string(value))
					return nil
				})
				return parts, err
			}
			want, err := record(tt.checked)
			got, knownErr := record(tt.known)
			if err != nil {
				continue
			}
			if diff := cmp.Diff(want, got); diff != "" || knownErr != nil {
				t.Errorf("Known%s(%q) failed with %v, or visits other parts (-want +got):\n%s", name, data, knownErr, diff)
			}
		}
	})
}

func FuzzStrings(f *testing.F) {
	for _, doc := range documents {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		literal := bytes.TrimSpace(data)
		var want string
		if json.Unmarshal(literal, &want) == nil && literal[0] == '"' {
			if got, ok := wire.Unquote(literal); !ok || got != want {
				t.Errorf("Unquote(%q) = %q, %v, want %q", literal, got, ok, want)
			}
			inPlace := append([]byte("before"), literal[1:len(literal)-1]...)
			if got := wire.AppendUnquoted(inPlace[:6], inPlace[6:]); string(got) != "before"+want {
				t.Errorf("AppendUnquoted(%q) over itself = %q, want %q", literal, got, want)
			}
		}
		quoted := wire.AppendString(nil, string(data))
		var got string
		if err := json.Unmarshal(quoted, &got); err != nil {
			t.Fatalf("AppendString(%q) = %q: %v", data, quoted, err)
		}
		reference, err := json.Marshal(string(data))
		if err != nil {
			t.Fatal(err)
		}
		var viaJSON string
		if err := json.Unmarshal(reference, &viaJSON); err != nil {
			t.Fatal(err)
		}
		if got != viaJSON {
			t.Errorf("AppendString(%q) reads back as %q, encoding/json's as %q", data, got, viaJSON)
		}
	})
}
