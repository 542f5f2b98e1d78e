package schema

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
)

// Inputs made along the schema, with faults strewn in, reach what random bytes do not.
func TestSchemaAndDecoderAgreeOnInputsThatAlmostFit(t *testing.T) {
	for _, typ := range fuzzTypes {
		schema := mustSchema(t, typ, false)
		tree, err := parseJSON(schema.JSON())
		if err != nil {
			t.Fatal(err)
		}
		g := inputs{rand: rand.New(rand.NewPCG(1, 2)), root: &tree}
		accepted := 0
		for range 400 {
			input := g.value(&tree, 0).appendTo(nil)
			checked := schema.Check(input)
			value := reflect.New(typ)
			decoded := schema.Decode(input, value.Interface())
			if checked == nil && decoded != nil {
				t.Fatalf("%s: check accepts %s, but decode: %v", typ, input, decoded)
			}
			if unwrapped := schema.Unwrap(input); checked == nil && string(unwrapped) != string(input) {
				t.Fatalf("%s: %s fits, but is unwrapped to %s", typ, input, unwrapped)
			}
			if checked != nil {
				continue
			}
			accepted++
			if again, err := json.Marshal(value.Interface()); err != nil || !json.Valid(again) {
				t.Fatalf("%s: %s decodes to what has no JSON form: %s, %v", typ, input, again, err)
			}
		}
		if accepted < 10 {
			t.Errorf("%s: only %d of 400 inputs fit: the others show nothing", typ, accepted)
		}
	}
}

// inputs makes values that mostly fit a schema.
type inputs struct {
	rand *rand.Rand
	root *jsonValue
}

func (g inputs) chance(n int) bool { return g.rand.IntN(n) == 0 }

func (g inputs) pick(texts ...string) *jsonValue {
	v, err := parseJSON([]byte(texts[g.rand.IntN(len(texts))]))
	if err != nil {
		panic(err)
	}
	return &v
}

// scalar is any value, most often one at an edge of some Go type.
func (g inputs) scalar() *jsonValue {
	return g.pick(`null`, `true`, `""`, `"a"`, `"1"`, `"true"`, `"\"x\""`, `"aGk="`, `"2026-01-02T03:04:05Z"`, `"2026\u002d01-02T03:04:05Z"`,
		`"2026-13-02T03:04:05Z"`, `"\ud800"`, `0`, `-0`, `0.0`, `-0.0`, `1.0`, `1e2`, `12e-1`, `127`, `128`, `-128`, `-129`, `255`, `256`, `1.5`,
		`9223372036854775807`, `9223372036854775808`, `-9223372036854775808`, `-9223372036854775809`, `18446744073709551615`, `1.8446744073709551616e19`,
		`1e308`, `1e309`, `-1e400`, `1e-400`, `3.5e38`, `123456789012345678901234567890`, `[]`, `{}`, `[[]]`, `{"a":1}`)
}

func (g inputs) value(schema *jsonValue, depth int) *jsonValue {
	if ref := schema.get("$ref").text(); ref != "" {
		schema = g.root.get("$defs").get(ref[len("#/$defs/"):])
	}
	if g.chance(25) || depth > 6 {
		return g.scalar()
	}
	if enum := schema.get("enum"); enum != nil && !g.chance(5) {
		return &enum.elems[g.rand.IntN(len(enum.elems))]
	}
	if choices := schema.get("anyOf"); choices != nil {
		return g.value(&choices.elems[g.rand.IntN(len(choices.elems))], depth)
	}
	if is := schema.get("const"); is != nil && !g.chance(10) {
		return is
	}
	typ := schema.get("type")
	if typ != nil && typ.kind == kindArray {
		typ = &typ.elems[0]
	}
	switch typ.text() {
	case "object":
		return g.object(schema, depth)
	case "array":
		list := jsonArray()
		for range g.rand.IntN(4) {
			list.elems = append(list.elems, *g.value(schema.get("items"), depth+1))
		}
		return &list
	case "string":
		return g.pick(`"a"`, `"ab"`, `"1"`, `"-1"`, `"128"`, `"1.5"`, `"1e99"`, `"true"`, `"\"x\""`, `" \"x\""`, `"aGk="`, `"aGk=\n"`, `"2026-01-02T03:04:05Z"`, `"celsius"`, `null`)
	case "integer", "number":
		return g.pick(`0`, `-0`, `1`, `5.0`, `1e1`, `100`, `-1`, `127`, `255`, `300`, `0.25`, `9223372036854775807`, `9223372036854775808`, `1e20`, `1e39`)
	case "boolean":
		return g.pick(`true`, `false`, `1`)
	}
	return g.scalar()
}

func (g inputs) object(schema *jsonValue, depth int) *jsonValue {
	object := jsonObject()
	if properties := schema.get("properties"); properties != nil {
		for i := range properties.elems {
			p := &properties.elems[i]
			if !requires(schema, p.key) && g.chance(2) {
				continue
			}
			object.elems = append(object.elems, g.value(p, depth+1).as(p.key))
			if g.chance(40) { // given twice
				object.elems = append(object.elems, g.value(p, depth+1).as(p.key))
			}
		}
	}
	more := schema.get("additionalProperties")
	if more == nil || more.kind == kindObject {
		for range g.rand.IntN(3) {
			key := []string{"a", "b", "1", "-5", "01", "40000", "256", "-0", "", "ä"}[g.rand.IntN(10)]
			inner := jsonObject()
			if more != nil {
				inner = *more
			}
			object.elems = append(object.elems, g.value(&inner, depth+1).as(key))
		}
	} else if g.chance(20) {
		object.elems = append(object.elems, jsonNull().as("Value"))
	}
	return &object
}
