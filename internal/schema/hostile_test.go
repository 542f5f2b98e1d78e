package schema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// mustJSON makes the schema of a property k, with definitions.
func mustJSON(t testing.TB, k, defs string) *Input {
	t.Helper()
	schema, err := FromJSON(json.RawMessage(`{"type":"object","properties":{"k":` + k + `},"$defs":` + defs + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// SC1: alternatives that multiply do not switch the check off, and the work is in the size of the input.
func TestAlternativesDoNotSwitchTheCheckOff(t *testing.T) {
	schema := mustJSON(t, `{"$ref":"#/$defs/F"}`, `{"F":{"anyOf":[`+
		`{"type":"object","properties":{"not":{"$ref":"#/$defs/F"}},"required":["not"],"additionalProperties":false},`+
		`{"type":"object","properties":{"not":{"$ref":"#/$defs/F"},"x":{}},"required":["not"],"additionalProperties":false},`+
		`{"type":"object","properties":{"n":{"maximum":10},"path":{"pattern":"^[a-z]+$"}},"additionalProperties":false}]}}`)
	for _, depth := range []int{1, 14, 60, 3_000} {
		input := func(inner string) json.RawMessage {
			return json.RawMessage(`{"k":` + strings.Repeat(`{"not":`, depth) + inner + strings.Repeat("}", depth) + `}`)
		}
		if err := schema.Check(input(`{"n":9}`)); err != nil {
			t.Errorf("depth %d: check = %v; want nil", depth, err)
		}
		for _, inner := range []string{`{"n":99}`, `{"path":"../../etc/passwd"}`} {
			if err := schema.Check(input(inner)); err == nil {
				t.Errorf("depth %d: %s passes", depth, inner)
			}
		}
	}
}

// SC1: a large input is checked to its end.
func TestALargeInputIsCheckedToItsEnd(t *testing.T) {
	schema := mustJSON(t, `{"type":"array","items":{"type":"integer"}}`, `{}`)
	list := strings.Repeat("1,", 200_000)
	if err := schema.Check(json.RawMessage(`{"k":[` + list + `1]}`)); err != nil {
		t.Errorf("check = %v; want nil", err)
	}
	wantError(t, schema.Check(json.RawMessage(`{"k":[`+list+`"x"]}`)), "k[200000]: expected integer")
}

// SC1: what asks for more work than the size of the input allows is refused, not accepted.
func TestWhatIsTooComplexToCheckIsRefused(t *testing.T) {
	parts := strings.Repeat(`{"items":{"minimum":0}},`, 2_000) + `{}`
	schema := mustJSON(t, `{"allOf":[`+parts+`]}`, `{}`)
	if err := schema.Check(json.RawMessage(`{"k":[1,2,3]}`)); err != nil {
		t.Errorf("check = %v; want nil", err)
	}
	input := json.RawMessage(`{"k":[` + strings.Repeat("1,", 20_000) + `1]}`)
	wantError(t, schema.Check(input), "too complex to check")
	if got := schema.Unwrap(input); string(got) != string(input) {
		t.Error("input that is too complex is unwrapped")
	}
}

// steps counts what the check of an input takes.
func steps(schema *Input, input string) int {
	read, err := readDocument(json.RawMessage(input))
	if err != nil {
		panic(err)
	}
	c := checker{steps: 1 << 40}
	c.value(schema.rules, &read.root)
	return 1<<40 - c.steps
}

// Each row makes an input of a size: ten times the size takes at most some twelve times the work.
func TestTheWorkIsLinear(t *testing.T) {
	tree := `{"F":{"anyOf":[{"type":"object","properties":{"l":{"$ref":"#/$defs/F"}},"required":["l"],"additionalProperties":false},` +
		`{"type":"object","properties":{"l":{"$ref":"#/$defs/F"},"x":{}},"additionalProperties":false}]}}`
	nested := func(n int) string { return `{"k":` + strings.Repeat(`{"l":`, n) + `1` + strings.Repeat("}", n) + `}` }
	list := func(item string) func(n int) string {
		return func(n int) string { return `{"k":[` + strings.Repeat(item+",", n) + item + `]}` }
	}
	for _, tt := range []struct {
		name   string
		schema *Input
		input  func(n int) string
	}{
		{"nested alternatives", mustJSON(t, `{"$ref":"#/$defs/F"}`, tree), nested},
		{"a list", mustJSON(t, `{"items":{"$ref":"#/$defs/A"}}`, `{"A":{"allOf":[{"minimum":0},{"$ref":"#/$defs/B"},{"$ref":"#/$defs/B"}]},"B":{"maximum":5}}`), list("7")},
		{"unique objects", mustJSON(t, `{"uniqueItems":true,"items":{"type":"object"}}`, `{}`), list(`{"a":1,"b":[2]}`)},
		{"an enum of objects", mustJSON(t, `{"items":{"enum":[{"a":1},{"b":2},3]}}`, `{}`), list(`{"b":2}`)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			small, large := steps(tt.schema, tt.input(100)), steps(tt.schema, tt.input(1_000))
			if large > 12*small {
				t.Errorf("%d steps for 100, %d for 1,000", small, large)
			}
		})
	}
}

// SC2: references that fork and meet again, 60 times, are followed once each.
func TestReferencesThatForkAreFollowedOnce(t *testing.T) {
	var defs []string
	for i := range 60 {
		for _, side := range []string{"a", "b"} {
			defs = append(defs, fmt.Sprintf(`"%s%d":{"anyOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/b%d"}]}`, side, i, i+1, i+1))
		}
	}
	defs = append(defs, `"a60":{"type":"integer"}`, `"b60":{"type":"boolean"}`)
	schema := mustJSON(t, `{"anyOf":[{"$ref":"#/$defs/a0"},{"$ref":"#/$defs/b0"}]}`, "{"+strings.Join(defs, ",")+"}")
	for _, input := range []string{`{"k":1}`, `{"k":true}`} {
		if err := schema.Check(json.RawMessage(input)); err != nil {
			t.Errorf("Check(%s) = %v; want nil", input, err)
		}
	}
	wantError(t, schema.Check(json.RawMessage(`{"k":"x"}`)), "k: expected")
	if got := schema.Unwrap(json.RawMessage(`{"k":"true"}`)); string(got) != `{"k":"true"}` && string(got) != `{"k":true}` {
		t.Errorf("Unwrap = %s", got)
	}
}

// allocated is what f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Schemas whose size multiplies: references into each level, and patterns with repetitions, take memory in their size or are
// refused.
func TestASchemaTakesMemoryInItsSize(t *testing.T) {
	deep := strings.Repeat(`{"items":`, 2_000) + `{}` + strings.Repeat("}", 2_000)
	var refs []string
	for i := range 2_000 {
		refs = append(refs, fmt.Sprintf(`{"$ref":"#/$defs/d%s"}`, strings.Repeat("/items", i%400)))
	}
	text := `{"type":"object","properties":{"k":{"anyOf":[` + strings.Join(refs, ",") + `]}},"$defs":{"d":` + deep + `}}`
	if got := allocated(func() {
		if _, err := FromJSON(json.RawMessage(text)); err != nil {
			t.Error(err)
		}
	}); got > 40*uint64(len(text)) {
		t.Errorf("a schema of %d bytes takes %d", len(text), got)
	}
	for _, pattern := range []string{strings.Repeat(`(..?){500}`, 200), strings.Repeat(`[^a]{900}`, 90)} {
		_, err := FromJSON(json.RawMessage(`{"type":"object","properties":{"k":{"pattern":"` + pattern + `"}}}`))
		wantError(t, err, "patterns of the schema are too large")
	}
	many := strings.Repeat(`{"pattern":"^[\\s\\S]{1,1000}$"},`, 100) + `{}` // as large interfaces of services have them
	if err := mustJSON(t, `{"allOf":[`+many+`]}`, `{}`).Check(json.RawMessage(`{"k":"x"}`)); err != nil {
		t.Errorf("check = %v; want nil", err)
	}
}

// SC5: unions inside of unions are decoded in one pass.
func TestNestedUnionsAreDecodedInOnePass(t *testing.T) {
	schema := mustSchema(t, reflect.TypeFor[picture](), false)
	decoder := schema.Decoder()
	cost := func(depth int) uint64 {
		input := json.RawMessage(`{"main":` + strings.Repeat(`{"type":"group","shapes":[`, depth) + `{"type":"circle","radius":1}` + strings.Repeat("]}", depth) + `}`)
		read, err := schema.Read(input)
		if err != nil {
			t.Fatal(err)
		}
		return allocated(func() {
			var got, plain picture
			if err := decoder.Decode(input, read, &got); err != nil {
				t.Error(err)
			}
			if err := json.Unmarshal(input, &plain); err != nil || !reflect.DeepEqual(got, plain) {
				t.Errorf("encoding/json: %v, or another value", err)
			}
		})
	}
	if small, large := cost(100), cost(1_000); large > 20*small {
		t.Errorf("%d bytes for 100 levels, %d for 1,000", small, large)
	}
}

// SC6: numbers that are short and long at once.
func TestExponentsAreNotWrittenOut(t *testing.T) {
	type input struct {
		Big  []*big.Int `json:"big"`
		Ints []int      `json:"ints"`
	}
	schema := mustSchema(t, reflect.TypeFor[input](), false)
	for _, key := range []string{"big", "ints"} {
		text := json.RawMessage(`{"` + key + `":[` + strings.Repeat("1e9999,", 20_000) + `1e9999]}`)
		if got := allocated(func() {
			if schema.Check(text) == nil {
				t.Errorf("%s: check accepts %d bytes of 1e9999", key, len(text))
			}
			var in input
			if schema.DecodeUnchecked(text, &in) == nil {
				t.Errorf("%s: decoded %d bytes of 1e9999", key, len(text))
			}
		}); got > 300*uint64(len(text)) {
			t.Errorf("%s: %d bytes for an input of %d", key, got, len(text))
		}
	}
	var in input
	good := json.RawMessage(`{"big":[1e30,1e9999,-5.0,` + strings.Repeat("7", 5_000) + `]}`)
	if err := schema.Check(good); err != nil {
		t.Errorf("check = %v; want nil", err)
	}
	if err := schema.Decode(good, &in); err != nil || len(in.Big) != 4 || in.Big[1].BitLen() < 30_000 {
		t.Errorf("decode = %v, %d numbers", err, len(in.Big))
	}
	for _, bad := range []string{`{"big":[1e10001]}`, `{"big":[` + strings.Repeat("7", 10_001) + `]}`} {
		wantError(t, schema.Check(json.RawMessage(bad)), "big[0]: expected an integer with fewer digits")
		wantError(t, schema.DecodeUnchecked(json.RawMessage(bad), &in), "big[0]: expected integer")
	}
}

// SC6: whole multiples of any size, which were not compared beyond some hundred digits.
func TestMultiplesOfAnySize(t *testing.T) {
	schema := mustJSON(t, `{"multipleOf":0.7}`, `{}`)
	for _, tt := range []struct {
		number string
		fits   bool
	}{
		{"0", true},
		{"-0.0", true},
		{"7e500", true},
		{"7e-1", true},
		{"1e500", false},
		{"7e-2", false},
		{"-2.1", true},
		{"2.15", false},
		{strings.Repeat("7", 1_000), true},
		{strings.Repeat("7", 1_000) + "1", false},
		{"7e999999999", true},
		{"1e999999999", false},
		{"14.0", true},
	} {
		if err := schema.Check(json.RawMessage(`{"k":` + tt.number + `}`)); (err == nil) != tt.fits {
			t.Errorf("%.20s: check = %v; want fits = %t", tt.number, err, tt.fits)
		}
	}
}

// SC7: items are compared by what they say, at any place and in one pass.
func TestUniqueItemsAreComparedInOnePass(t *testing.T) {
	schema := mustJSON(t, `{"uniqueItems":true}`, `{}`)
	var items []string
	for i := range 5_000 {
		items = append(items, fmt.Sprintf(`{"a":%d,"b":[%d]}`, i, i))
	}
	input := func(last string) json.RawMessage {
		return json.RawMessage(`{"k":[` + strings.Join(items, ",") + `,` + last + `]}`)
	}
	if err := schema.Check(input(`{"a":1}`)); err != nil {
		t.Errorf("check = %v; want nil", err)
	}
	wantError(t, schema.Check(input(`{"b":[4999.0],"a":4.999e3}`)), "k: expected no item twice")
}

// SC7: the texts of faults are made for those that are listed, and from the beginning of a value.
func TestTheTextsOfFaultsAreCheap(t *testing.T) {
	var branches []string
	for i := range 100 {
		branches = append(branches, fmt.Sprintf(`{"properties":{"a":{"items":{"type":"object","required":["x%d"]}}}}`, i))
	}
	schema := mustJSON(t, `{"anyOf":[`+strings.Join(branches, ",")+`]}`, `{}`)
	wide := json.RawMessage(`{"k":{"a":[` + strings.Repeat(`{"y":"`+strings.Repeat("z", 1_000)+`"},`, 200) + `{}]}}`)
	if got := allocated(func() { wantError(t, schema.Check(wide), "k: expected") }); got > 4*uint64(len(wide)) {
		t.Errorf("%d bytes for an input of %d", got, len(wide))
	}
}

// A14: who reads a key that comes twice takes the one or the other; so it is refused, wherever it is.
func TestAKeyThatComesTwiceIsRefusedAtEachDepth(t *testing.T) {
	type input struct {
		Any any               `json:"any"`
		M   map[string]string `json:"m"`
		L   []map[string]any  `json:"l"`
		R   json.RawMessage   `json:"r"`
	}
	typed := mustSchema(t, reflect.TypeFor[input](), false)
	written := mustJSON(t, `{}`, `{}`).Fair()
	var wide strings.Builder
	wide.WriteString(strings.Repeat(`"w":1,`, 1))
	for i := range 40 {
		fmt.Fprintf(&wide, `"w%d":1,`, i)
	}
	for _, tt := range []struct {
		schema      *Input
		input, want string
	}{
		{typed, `{"any":{"to":"x","a":{"to":"y","to":"z"}}}`, "any.a.to: given more than once"},
		{typed, `{"m":{"a":"1","b":"2","\u0061":"3"}}`, "m.a: given more than once"},
		{typed, `{"l":[{},{"a":[{"b":1,"b":2}]}]}`, "l[1].a[0].b: given more than once"},
		{typed, `{"r":{"a":1,"a":1}}`, "r.a: given more than once"},
		{typed, `{"any":{` + wide.String() + `"w":2}}`, "any.w: given more than once"},
		{written, `{"to":"x@evil","to":"ann@example.com"}`, "to: given more than once"},
		{written, `{"k":{"a":{"a":1,"a":2}}}`, "k.a.a: given more than once"},
	} {
		wantError(t, tt.schema.Check(json.RawMessage(tt.input)), tt.want)
	}
	for _, fine := range []string{`{"any":{"a":{"a":1},"A":1}}`, `{"l":[{"a":1},{"a":2}]}`} {
		if err := typed.Check(json.RawMessage(fine)); err != nil {
			t.Errorf("Check(%s) = %v; want nil", fine, err)
		}
	}
	var mail struct {
		To string `json:"to"`
	}
	if err := DecodeExact(json.RawMessage(`{"to":"a","To":"b","cc":{}}`), &mail); err != nil || mail.To != "a" {
		t.Errorf("DecodeExact = %v, %q; want a", err, mail.To)
	}
	wantError(t, DecodeExact(json.RawMessage(`{"to":"a","to":"b"}`), &mail), "to: given more than once")
	wantError(t, DecodeExact(json.RawMessage(`{"to":"a","cc":{"x":1,"x":2}}`), &mail), "cc.x: given more than once")
}
