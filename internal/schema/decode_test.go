package schema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// B026: integers arrive with all their digits, wherever they land.
func TestIntegersKeepTheirDigits(t *testing.T) {
	type input struct {
		I int64
		U uint64
		N json.Number
		A any
		M map[string]any
		R json.RawMessage
		B *big.Int
		F float64
		L []int
		K map[int]uint
	}
	const digits = "9007199254740993"
	var got input
	text := strings.ReplaceAll(`{"I":#,"U":18446744073709551615,"N":#,"A":#,"M":{"x":#},"R":#,"B":1e30,"F":1e3,"L":[1.0,-0,2e2],"K":{"1":1.50e1}}`, "#", digits)
	if err := Decode(json.RawMessage(text), &got); err != nil {
		t.Fatal(err)
	}
	big1e30, _ := new(big.Int).SetString("1"+strings.Repeat("0", 30), 10)
	want := input{
		I: 9007199254740993, U: 18446744073709551615, N: digits, A: json.Number(digits), M: map[string]any{"x": json.Number(digits)},
		R: json.RawMessage(digits), B: big1e30, F: 1000, L: []int{1, 0, 200}, K: map[int]uint{1: 15},
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b *big.Int) bool { return a.Cmp(b) == 0 })); diff != "" {
		t.Errorf("Decode (-want +got):\n%s", diff)
	}
}

// E58, E60, B060: the decoder alone refuses what encoding/json lets through.
func TestDecodingIsStrict(t *testing.T) {
	for _, tt := range []struct{ input, want string }{
		{`{"CITY":"x"}`, "CITY: unknown property; it is written city"},
		{`{"city":"x","City":"y"}`, "City: unknown property; it is written city"},
		{`{"city":"x","city":"y"}`, "city: given more than once"},
		{`{"nope":1,"stops":[{"nope":2}]}`, "nope: unknown property; known: any, city, count, data, days, dry, extras, ratio, start, stops, tags, unit\n- stops[0].nope: unknown property; known: kind, name"},
		{`{"count":1.5}`, "count: expected integer, got number 1.5"},
		{`{"days":300}`, "days: expected integer from 0 to 255, got number 300"},
		{`{"city":5}`, "city: expected string, got number"},
		{`{"stops":[{"name":[]}]}`, "stops[0].name: expected string, got array"},
		{`{"tags":{}}`, "tags: expected array of string, got object"},
		{`{"start":"tomorrow"}`, "cannot parse"},
		{`{"data":"%"}`, "illegal base64 data"},
		{`[]`, "the input: expected object, got array"},
		{`"x"`, "the input: expected object, got string"},
		{`{"city":"x"} x`, "not valid JSON: invalid character 'x' after top-level value"},
		{`{"city":"x"`, "not valid JSON: unexpected end of JSON input"},
		{``, "not valid JSON: unexpected end of JSON input"},
	} {
		t.Run(tt.input, func(t *testing.T) {
			var in trip
			err := Decode(json.RawMessage(tt.input), &in)
			wantError(t, err, tt.want)
			if text := asError(t, err).Error(); strings.Contains(text, "Go ") || strings.Contains(text, "trip") {
				t.Errorf("error %q; want no words of Go", text)
			}
		})
	}
}

// B060: what is given stays, zero or not; decoding does not know defaults.
func TestAZeroThatIsGivenStays(t *testing.T) {
	type input struct {
		Limit int `json:"limit" jsonschema:"default=10"`
	}
	in := input{Limit: 7}
	if err := Decode(json.RawMessage(`{"limit":0}`), &in); err != nil || in.Limit != 0 {
		t.Errorf("Decode = %v, limit %d; want nil, 0", err, in.Limit)
	}
}

func TestOpenInputsDecode(t *testing.T) {
	input := json.RawMessage(` {"b":1,"a":[1.50]} `)
	var raw json.RawMessage
	if err := Decode(input, &raw); err != nil || strings.TrimSpace(string(raw)) != `{"b":1,"a":[1.50]}` {
		t.Errorf("raw: %v, %s", err, raw)
	}
	var anything any
	want := map[string]any{"b": json.Number("1"), "a": []any{json.Number("1.50")}}
	if err := Decode(input, &anything); err != nil || cmp.Diff(any(want), anything) != "" {
		t.Errorf("any: %v, %v", err, anything)
	}
}

func TestAHiddenFieldIsNotDecoded(t *testing.T) {
	var in struct {
		A int `json:"a" jsonschema:"-"`
	}
	wantError(t, Decode(json.RawMessage(`{"a":1}`), &in), "a: unknown property; there are none")
}

// fuzzTypes are the types for which schema and decoder must agree.
var fuzzTypes = []reflect.Type{
	reflect.TypeFor[trip](),
	reflect.TypeFor[treeNode](),
	reflect.TypeFor[pingNode](),
	reflect.TypeFor[mapNode](),
	reflect.TypeFor[page[page[int]]](),
	reflect.TypeFor[picture](),
	reflect.TypeFor[flatInput](),
	reflect.TypeFor[struct{}](),
	reflect.TypeFor[any](),
	reflect.TypeFor[json.RawMessage](),
	reflect.TypeFor[map[string]any](),
	reflect.TypeFor[map[string]int8](),
	reflect.TypeFor[map[int16]*addr](),
	reflect.TypeFor[map[uint8]string](),
	reflect.TypeFor[struct {
		I8  int8
		U8  uint8
		I64 int64
		U64 uint64
		P   *int
	}](),
	reflect.TypeFor[struct {
		F32 float32
		F64 float64
		N   json.Number
		B   *big.Int
	}](),
	reflect.TypeFor[struct {
		I int8     `json:",string"`
		U *uint    `json:",string"`
		F float32  `json:",string"`
		B bool     `json:",string"`
		S string   `json:",string"`
		D *float64 `json:",string" jsonschema:"nullable,required"`
	}](),
	reflect.TypeFor[struct {
		T time.Time
		D time.Duration
		B []byte
		A [2]byte
		R json.RawMessage
		X any
	}](),
	reflect.TypeFor[struct {
		base
		Shared
		Other
		*PtrBase
	}](),
	reflect.TypeFor[struct {
		L [][]*int8
		M map[string][]bool
		U upperText
		K map[upperText]int
	}](),
	reflect.TypeFor[struct {
		S string   `json:"s" jsonschema:"required,nullable,minLength=1,pattern=^a"`
		L []string `json:"l" jsonschema:"enum=a,enum=b,uniqueItems,minItems=1"`
		N float64  `json:"n" jsonschema:"exclusiveMinimum=0,multipleOf=0.25"`
	}](),
	reflect.TypeFor[struct {
		A struct {
			B struct {
				C *trip `jsonschema:"required"`
			}
		}
	}](),
}

// FuzzSchemaAndDecoderAgree: what check accepts, decodes; and what was decoded, encoded again, is accepted.
func FuzzSchemaAndDecoderAgree(f *testing.F) {
	seeds := []string{
		`{}`, `null`, `[]`, `{"city":"x","days":1e0,"stops":[{"name":"a","kind":-5}]}`, `{"value":"a","kids":[{"value":"b","kids":null}]}`,
		`{"I8":-0,"U8":-0,"I64":9223372036854775807,"U64":1.8446744073709551615e19,"P":null}`, `{"F32":3.4028235e38,"F64":1e308,"N":1e999,"B":1e99}`,
		`{"I":"-0","U":"1","F":"1e1","B":"true","S":"\"x\"","D":null}`, `{"T":"2026-01-02T03:04:05Z","D":1,"B":"aGk=\n","A":[1,2],"R":{},"X":1e999}`,
		`{"id":1,"note":"n","Only":"o","Extra":true,"Deep":0}`, `{"L":[[1]],"M":{"a":[true]},"U":"u","K":{"k":1}}`, `{"1":{"street":"s"},"-5":null}`,
		`{"s":"a","l":["a"],"n":0.5}`, `{"A":{"B":{"C":{"city":"x"}}}}`, `{"a":{"b":{}}}`, `{"items":[{"items":[1],"next":{"items":[]}}]}`, `{"T":"2026\u002d01-02T03:04:05Z"}`,
	}
	for i := range fuzzTypes {
		for _, seed := range seeds {
			f.Add(i, seed)
		}
	}
	var schemas []*Input
	for _, typ := range fuzzTypes {
		schemas = append(schemas, mustSchema(f, typ, false))
	}
	f.Fuzz(func(t *testing.T, which int, input string) {
		if which < 0 {
			which = -(which + 1)
		}
		which %= len(schemas)
		checked := schemas[which].Check(json.RawMessage(input))
		value := reflect.New(fuzzTypes[which])
		decoded := schemas[which].Decode(json.RawMessage(input), value.Interface())
		if fresh := Decode(json.RawMessage(input), reflect.New(fuzzTypes[which]).Interface()); (fresh == nil) != (decoded == nil) {
			t.Errorf("%s: decode of %s: %v with known fields, %v without", fuzzTypes[which], input, decoded, fresh)
		}
		if checked == nil && decoded != nil {
			t.Fatalf("%s: check accepts %s, but Decode: %v", fuzzTypes[which], input, decoded)
		}
		unwrapped := schemas[which].Unwrap(json.RawMessage(input))
		if checked == nil && string(unwrapped) != input || json.Valid([]byte(input)) != json.Valid(unwrapped) {
			t.Fatalf("%s: %s is unwrapped to %s; check: %v", fuzzTypes[which], input, unwrapped, checked)
		}
		if checked != nil && len(checked.Error()) > 4096 {
			t.Errorf("fault text of %d bytes", len(checked.Error()))
		}
	})
}

// B064: Marshal(value) fits the schema of its type and decodes to the same value.
func TestAValueFitsTheSchemaOfItsType(t *testing.T) {
	three, text := 3, "x"
	for _, value := range []any{
		&trip{
			City: "c", Unit: "celsius", Days: 3, Count: -1, Ratio: 0.1, Dry: true, Tags: []string{"ab"}, Stops: []stop{{"a", 5}},
			Extras: map[string]int{"a": 1}, Start: time.Unix(1e9, 5).UTC(), Data: []byte{0, 255}, Any: "x",
		},
		&treeNode{Value: "a", Kids: []treeNode{{Value: "b"}}},
		&pingNode{Pong: &pongNode{Ping: &pingNode{}}},
		&mapNode{"a": {"b": {}}},
		&page[*int]{Items: []*int{&three}, Next: &page[*int]{}},
		&map[int]string{-1: "a", 0: "b"},
		&struct {
			U upperText
			M map[upperText]int
			B *big.Int
			F [2]float32
			N json.Number
			R json.RawMessage
			D time.Duration
			P **string
		}{upperText{"X"}, map[upperText]int{{"K"}: 1}, big.NewInt(5), [2]float32{1, 1e-9}, "1.5", json.RawMessage(`{"a":1}`), time.Second, ptr(&text)},
		&struct {
			base
			*PtrBase
			Shared
			Only int
		}{PtrBase: &PtrBase{Deep: 1}},
		&struct {
			I int8    `json:",string"`
			F float64 `json:",string"`
			B bool    `json:",string"`
			S string  `json:",string"`
		}{-128, 1e300, true, "a\"b"},
	} {
		t.Run(fmt.Sprintf("%T", value), func(t *testing.T) {
			typ := reflect.TypeOf(value).Elem()
			encoded, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			for _, strict := range []bool{false, true} {
				schema, err := For(typ, strict)
				if strict && err != nil {
					continue // strict mode cannot say every type
				}
				if err != nil {
					t.Fatal(err)
				}
				if err := schema.Check(encoded); err != nil {
					t.Errorf("strict %t: Check(%s) = %v; want nil", strict, encoded, err)
				}
			}
			again := reflect.New(typ)
			if err := Decode(encoded, again.Interface()); err != nil {
				t.Fatalf("Decode(%s): %v", encoded, err)
			}
			if reencoded, err := json.Marshal(again.Interface()); err != nil || string(reencoded) != string(encoded) {
				t.Errorf("encoded again: %s, %v; want %s", reencoded, err, encoded)
			}
		})
	}
}

func ptr[T any](v T) *T { return &v }

// BenchmarkDecode checks and decodes an input, beside encoding/json, which only decodes it. A handler decodes on a
// goroutine of its own, which begins with a small stack.
func BenchmarkDecode(b *testing.B) {
	type place struct {
		City string `json:"city"`
		Days int    `json:"days"`
	}
	type text struct {
		Lines []string `json:"lines"`
	}
	benchmarkDecode[place](b, "two fields", `{"city":"San Francisco, CA","days":3}`)
	benchmarkDecode[trip](b, "trip", `{"city":"San Francisco, CA","unit":"celsius","days":3,"tags":["ab","cd"]}`)
	line := `"a line of a text, as long as lines of programs and of prose mostly are\n"`
	benchmarkDecode[text](b, "1 MB", `{"lines":[`+line+strings.Repeat(","+line, 1<<20/(len(line)+1))+`]}`)
}

func benchmarkDecode[T any](b *testing.B, name, text string) {
	b.Helper()
	input := json.RawMessage(text)
	schema := mustSchema(b, reflect.TypeFor[T](), false)
	decoder := schema.Decoder()
	check := func() *Document {
		read, err := schema.Read(input)
		if err != nil {
			b.Fatal(err)
		}
		return read
	}
	for _, peer := range []struct {
		name   string
		check  func() *Document
		decode func(read *Document, into *T) error
	}{
		{"ours", check, func(read *Document, into *T) error { return decoder.Decode(input, read, into) }},
		{"encoding-json", func() *Document { return nil }, func(_ *Document, into *T) error { return json.Unmarshal(input, into) }},
	} {
		b.Run(name+"/"+peer.name, func(b *testing.B) {
			b.ReportAllocs()
			done := make(chan error)
			for b.Loop() {
				read := peer.check()
				go func() { done <- peer.decode(read, new(T)) }()
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestOpenLeavesOutWhatTheStructDoesNotHave(t *testing.T) {
	type input struct {
		City string `json:"city"`
		In   struct {
			N int `json:"n"`
		} `json:"in"`
	}
	var got input
	decode := Open(reflect.TypeFor[input]())
	err := decode(json.RawMessage(`{"city":"Oslo","zip":"0150","in":{"n":1e0,"m":2}}`), &got)
	if err != nil || got.City != "Oslo" || got.In.N != 1 {
		t.Errorf("decode = %+v, %v", got, err)
	}
	got.City = ""
	if err := decode(json.RawMessage(`{"City":"Oslo"}`), &got); err != nil || got.City != "Oslo" {
		t.Errorf("decode leaves City out: %+v, %v", got, err)
	}
	if err := Decode(json.RawMessage(`{"zip":"0150"}`), &got); err == nil {
		t.Error("Decode accepts an unknown key")
	}
}
