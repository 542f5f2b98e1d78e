package schema

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type (
	inner struct {
		N    int      `json:"n"`
		Text string   `json:"text"`
		Any  any      `json:"any"`
		List []string `json:"list"`
	}
	hiddenBase struct {
		Kept   int  `json:"kept"`
		Secret *int `json:"secret" jsonschema:"-"`
	}
	// marshalOnly is decoded by its kind, though it has a form of its own.
	marshalOnly struct{ A any }
	textKey     struct{ S string }
	word        string
	textWord    string
	wide        struct{ A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P, Q, R, S, T int }
	cased       struct {
		Upper int `json:"A"`
		Lower int `json:"a"`
		Kilo  any `json:"kilo"`
		Gone  any `json:"gone" jsonschema:"-"`
		Minus any `json:"-"`
		inner
	}
	deep struct {
		Next *deep            `json:"next"`
		Kids []deep           `json:"kids"`
		By   map[string]*deep `json:"by"`
		Leaf any              `json:"leaf"`
	}
)

func (marshalOnly) MarshalJSON() ([]byte, error)   { return []byte("1"), nil }
func (k textKey) MarshalText() ([]byte, error)     { return []byte(k.S), nil }
func (k *textKey) UnmarshalText(text []byte) error { k.S = string(text) + "!"; return nil }

func (w *textWord) UnmarshalText(text []byte) error { *w = textWord(text) + "!"; return nil }

// fillTypes are decoded beside fuzzTypes; not all of them have a schema.
var fillTypes = append([]reflect.Type{
	reflect.TypeFor[inner](), reflect.TypeFor[**inner](), reflect.TypeFor[wide](), reflect.TypeFor[cased](), reflect.TypeFor[deep](),
	reflect.TypeFor[[]string](), reflect.TypeFor[[]any](), reflect.TypeFor[[3]inner](), reflect.TypeFor[map[string]inner](), reflect.TypeFor[word](),
	reflect.TypeFor[struct {
		I   int
		I8  int8
		I16 int16
		I32 *int32
		I64 int64
		U   uint
		U8  *uint8
		U16 uint16
		U32 uint32
		U64 uint64
		P   uintptr
		F32 float32
		F64 **float64
		B   bool
		BP  *bool
		D   time.Duration
		N   json.Number
		NP  *json.Number
	}](),
	reflect.TypeFor[struct {
		S  word            `json:"s"`
		P  *string         `json:"p"`
		L  []*inner        `json:"l"`
		LL [][]int         `json:"ll"`
		A  [2]*inner       `json:"a"`
		A0 [0]inner        `json:"a0"`
		B4 [4]byte         `json:"b4"`
		BB []byte          `json:"bb"`
		R  json.RawMessage `json:"r"`
		RP *json.RawMessage
		RL []json.RawMessage
		X  *any
	}](),
	reflect.TypeFor[struct {
		M  map[string]any
		MI map[string]*inner
		MW map[word][2]int
		MN map[int8]any
		MT map[textKey]any
		MX map[textWord]textWord
		MM map[string]map[string][]any
		MB map[bool]int
	}](),
	reflect.TypeFor[struct {
		hiddenBase
		*inner
		*PtrBase
		Named inner `json:"named"`
	}](),
	reflect.TypeFor[struct {
		O  marshalOnly
		OL []marshalOnly
		T  *time.Time
		K  textKey
		KL []textKey
		W  fmt.Stringer
		F  func()
		C  chan int
		Z  complex64
	}](),
	reflect.TypeFor[struct {
		T struct{ time.Time }
		A any
	}](),
	reflect.TypeFor[struct {
		Quoted struct {
			N int `json:"n,string"`
			A any `json:"a"`
		} `json:"quoted"`
		Big []oneShape `json:"big"`
	}](),
}, fuzzTypes...)

func fillDecoders() []*Decoder {
	var all []*Decoder
	for _, t := range fillTypes {
		for _, keys := range []keyPolicy{refuseKeys, matchKeys, dropKeys} {
			all = append(all, newDecoder(t, keys))
		}
	}
	return all
}

// checkFill decodes input into two equal values, which a decoding of before has filled: from the tree, and by
// encoding/json. Both must come to the same.
func checkFill(t *testing.T, typ reflect.Type, d *Decoder, before, input []byte) (accepted bool) {
	t.Helper()
	read, err := parseDocument(input)
	if err != nil {
		return false
	}
	got, want := reflect.New(typ), reflect.New(typ)
	for _, v := range []reflect.Value{got, want} {
		_ = unmarshal(before, v.Interface()) // what fits of it
	}
	standard := oracle(d, &read, want.Interface())
	if err := d.Decode(input, &read, got.Interface()); (err == nil) != (standard == nil) {
		t.Fatalf("%s, keys %d: %s before, then %s: error %v, but encoding/json: %v", typ, d.keys, before, input, err, standard)
	} else if err != nil && len(asError(t, err).faults) == 0 {
		t.Fatalf("%s, keys %d: %s: an error without a fault", typ, d.keys, input)
	}
	if standard == nil && !reflect.DeepEqual(got.Interface(), want.Interface()) {
		t.Fatalf("%s, keys %d: %s before, then %s:\n got %#v\nwant %#v", typ, d.keys, before, input, got.Elem(), want.Elem())
	}
	return standard == nil
}

func TestFillingAgreesWithEncodingJSON(t *testing.T) {
	decoders := fillDecoders()
	for i, typ := range fillTypes {
		g := values{rand.New(rand.NewPCG(3, uint64(i)))}
		accepted := 0
		for range 100 {
			before, input := g.json(typ, 0), g.json(typ, 0)
			for _, d := range decoders[3*i : 3*i+3] {
				if checkFill(t, typ, d, []byte(before), []byte(input)) {
					accepted++
				}
			}
		}
		if accepted < 10 {
			t.Errorf("%s: only %d of 300 inputs decode: the others show nothing", typ, accepted)
		}
	}
}

// FuzzFill: values are filled as encoding/json fills them, from inputs made along the type and from any others.
func FuzzFill(f *testing.F) {
	f.Add(0, uint64(0), `{"n":1e0,"text":"\u00e9\ud83d","any":[1.0,{"a":null}],"list":["a"]}`, `{"list":["x","y"],"any":{}}`)
	f.Add(11, uint64(0), `{"I8":-0,"U8":300,"F32":1e39,"N":"5","D":1.5}`, ``)
	f.Add(12, uint64(0), `{"l":[{"n":1},null],"a":[null,{}],"b4":[1],"bb":"aGk=","r":null,"RL":[ {"a" : 1} ]}`, `{"l":[{"text":"a"}],"r":1}`)
	f.Add(3, uint64(0), `{"a":1,"A":2,"KILO":1.0,"\u212ailo":2,"gone":1,"-":5,"TEXT":"x"}`, ``)
	for i := range fillTypes {
		f.Add(i, uint64(1), ``, ``)
	}
	decoders := fillDecoders()
	f.Fuzz(func(t *testing.T, which int, seed uint64, input, before string) {
		which = int(uint(which) % uint(len(fillTypes)))
		typ := fillTypes[which]
		g := values{rand.New(rand.NewPCG(seed, 1))}
		if input == "" {
			input = g.json(typ, 0)
		}
		if before == "" {
			before = g.json(typ, 0)
		}
		for _, d := range decoders[3*which : 3*which+3] {
			checkFill(t, typ, d, []byte(before), []byte(input))
		}
	})
}

// values makes JSON that mostly fits a Go type.
type values struct{ *rand.Rand }

func (g values) pick(texts ...string) string { return texts[g.IntN(len(texts))] }

func (g values) odd() string {
	return g.pick("null", "true", "false", `""`, `"x"`, `"5"`, `"a\u00e9\ud83d\ude00\ud83dz\n"`, "\"\xff\\\"\"", "1", "-0", "1.0", "1e3", "0.5", "300", "-1",
		"1e400", "1e-400", "9007199254740993", "18446744073709551616", "1e20000", "[]", "{}", `[1, [2.0]]`, `{"a" : {"A":1}}`, `"aGk="`, `"2026-01-02T03:04:05Z"`)
}

func (g values) json(t reflect.Type, depth int) string {
	if g.IntN(20) == 0 || depth > 5 {
		return g.odd()
	}
	switch k := t.Kind(); {
	case k == reflect.Pointer:
		return g.json(t.Elem(), depth)
	case isUnion(t):
		return g.pick(`{"type":"circle","radius":1.5}`, `{"radius":2,"type":"circle","x":1}`, `{"type":"rect","width":1e1,"inner":{"a":1.0}}`, `{"type":"none"}`)
	case t == reflect.TypeFor[time.Time]():
		return g.pick(`"2026-01-02T03:04:05Z"`, `"2026\u002d01-02T03:04:05Z"`)
	case hasOwnJSON(t) && t != reflect.TypeFor[marshalOnly]() || k == reflect.Interface || k == reflect.Func || k == reflect.Chan || k == reflect.Complex64:
		return g.pick("null", g.odd())
	case k == reflect.Bool:
		return g.pick("true", "false")
	case isIntegerKind(k):
		return g.pick("1", "2.0", "1e2", "-0", "-0.0", "127", strconv.Itoa(g.IntN(1<<20)))
	case k == reflect.Float32 || k == reflect.Float64:
		return g.pick("1", "-2.5", "1e-7", "3.4028235e38", "1e-400", strconv.FormatFloat(g.NormFloat64(), 'g', -1, 64))
	case t == reflect.TypeFor[json.Number]():
		return g.pick("1", "1.50", "-0", "1e999", `"12"`)
	case k == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return g.pick(`"aGk="`, `""`, `[1,2]`, `"a\u0047k="`, "null")
	case k == reflect.Slice || k == reflect.Array:
		return "[" + g.several(func() string { return g.json(t.Elem(), depth+1) }) + "]"
	case k == reflect.Map:
		return "{" + g.several(func() string {
			return g.pick(`"a"`, `"b"`, `"1"`, `"\u0061"`, "\"\xff\"") + ":" + g.json(t.Elem(), depth+1)
		}) + "}"
	case k == reflect.Struct && !implementsText(t):
		fields := structFields(t)
		return "{ " + g.several(func() string { return g.member(fields, depth) }) + "\n}"
	default:
		return g.pick(`"word"`, `""`, `"a\tb\u00e9"`, `"`+strings.Repeat("long ", g.IntN(40))+`\\"`, "\"a\xc3\"")
	}
}

func implementsText(t reflect.Type) bool {
	_, ok := reflect.PointerTo(t).MethodByName("UnmarshalText")
	return ok
}

func (g values) several(one func() string) string {
	var all []string
	for range g.IntN(4) {
		all = append(all, one())
	}
	return strings.Join(all, g.pick(",", " , "))
}

func (g values) member(fields []structField, depth int) string {
	if len(fields) == 0 || g.IntN(30) == 0 {
		return `"nobody":` + g.odd()
	}
	f := fields[g.IntN(len(fields))]
	name, value := f.name, g.json(f.typ, depth+1)
	if f.quoted && g.IntN(10) > 0 {
		value = strconv.Quote(value)
	}
	switch g.IntN(20) {
	case 0:
		name = strings.ToUpper(name)
	case 1:
		name = strings.NewReplacer("k", "\u212a", "s", "\u017f").Replace(name)
	}
	if g.IntN(10) == 0 {
		return fmt.Sprintf(`"\u%04x%s" : %s`, name[0], name[1:], value)
	}
	return `"` + name + `":` + value
}

// The rows name what encoding/json does to values that are there already.
func TestDecodingGoesOnWithWhatIsThere(t *testing.T) {
	seven := 7
	room := make([]inner, 1, 4)
	room[0], room[:4][2] = inner{N: 1, Text: "first"}, inner{Text: "third"}
	there := map[string]inner{"a": {N: 1}, "b": {N: 2}}
	var pointed any = &inner{N: 1, Text: "kept"}
	for _, tt := range []struct {
		name  string
		into  any
		input string
		want  any
	}{
		{"null leaves a number", ptr(5), `null`, ptr(5)},
		{"null clears a pointer", ptr(&seven), `null`, ptr((*int)(nil))},
		{"a pointer is kept", ptr(&seven), `8`, ptr(ptr(8))},
		{"elements are decoded into, also those beyond the length", &room, `[{"n":2},{"n":3},{"n":4}]`, &[]inner{{N: 2, Text: "first"}, {N: 3}, {N: 4, Text: "third"}}},
		{"an empty list is not nil", &[]int{1}, `[]`, &[]int{}},
		{"an array is filled with zeros", &[3]int{1, 2, 3}, `[4]`, &[3]int{4}},
		{"what is too much for an array is dropped", &[1]int{1}, `[4,5]`, &[1]int{4}},
		{"a map keeps its keys, not what is in them", &there, `{"a":{"text":"new"}}`, &map[string]inner{"a": {Text: "new"}, "b": {N: 2}}},
		{"an interface with a pointer is decoded into", &pointed, `{"n":2}`, ptr(any(&inner{N: 2, Text: "kept"}))},
		{"an interface with a value is replaced", ptr(any(5)), `{"n":2}`, ptr(any(map[string]any{"n": json.Number("2")}))},
		{"embedded pointers are made", &struct{ *PtrBase }{}, `{"Deep":1}`, &struct{ *PtrBase }{&PtrBase{1}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := Decode(json.RawMessage(tt.input), tt.into); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, tt.into); diff != "" {
				t.Errorf("Decode(%s) (-want +got):\n%s", tt.input, diff)
			}
		})
	}
	if seven != 8 {
		t.Errorf("the value behind a pointer is %d; want 8", seven)
	}
}

func TestInputThatHasChangedIsParsedAnew(t *testing.T) {
	s := mustSchema(t, reflect.TypeFor[inner](), false)
	input := json.RawMessage(`{"text":"abc"}`)
	read, err := s.Read(input)
	if err != nil {
		t.Fatal(err)
	}
	copy(input[9:], "xyz")
	for _, changed := range []string{string(input), `{"text":"longer"}`, `{"text":"a`} {
		var got inner
		err := s.Decoder().Decode(json.RawMessage(changed), read, &got)
		var want inner
		wantErr := s.Decoder().Decode(json.RawMessage(changed), nil, &want)
		if fmt.Sprint(err) != fmt.Sprint(wantErr) || got.Text != want.Text {
			t.Errorf("Decode(%s) = %q, %v; want %q, %v", changed, got.Text, err, want.Text, wantErr)
		}
	}
}

// Calls that run at the same time share a decoder, and a call that is tried again shares what was parsed.
func TestADecoderServesSeveralGoroutines(t *testing.T) {
	s := mustSchema(t, reflect.TypeFor[picture](), false)
	input := json.RawMessage(`{"main":{"type":"rect","width":1e1},"big":{"width":2,"inner":[1.0]}}`)
	read, err := s.Read(input)
	if err != nil {
		t.Fatal(err)
	}
	decoder := s.Decoder()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			var got picture
			if err := decoder.Decode(input, read, &got); err != nil || got.Big.Width != 2 || got.Main.Value.area() != 10 {
				t.Errorf("Decode = %+v, %v; want widths 10 and 2", got, err)
			}
		})
	}
	group.Wait()
}
