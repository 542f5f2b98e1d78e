package schema

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// rule is a compiled schema. What a schema says beyond it (unknown keywords, formats, references to elsewhere) is
// ignored: it never refuses input.
type rule struct {
	never bool // the schema false
	types typeSet
	enum  []jsonValue // nil: any value

	minimum, maximum           *limit
	multipleOf                 string
	minLength, maxLength       int // each count: -1 for none
	minItems, maxItems         int
	minProperties, maxProperty int
	pattern                    *regexp.Regexp
	isTime, isBase64           bool
	inner                      *rule // for the JSON text in a string

	properties []propertyRule
	index      map[string]int // of properties
	patterns   []patternRule
	additional *rule // nil: anything
	names      *rule
	prefix     []*rule
	items      *rule
	unique     bool

	ref    *rule
	allOf  []*rule
	anyOf  *choice
	oneOf  *choice // as anyOf: see compileSchema
	nested bool    // the depth-first search of checkLoops
	done   bool
}

type propertyRule struct {
	name     string
	required bool
	rule     *rule // nil: anything
}

type patternRule struct {
	pattern *regexp.Regexp
	rule    *rule
}

type limit struct {
	text      string
	value     decimal
	exclusive bool
}

// schemaCompiler turns a schema into rules, following its references.
type schemaCompiler struct {
	root jsonValue
	refs map[string]*rule
	// choices are completed when all rules are compiled.
	choices []*choice
	// assertFormats makes date-time and base64 count, which JSON Schema leaves to the reader: for schemas made from Go
	// types, whose decoder insists on them.
	assertFormats bool
}

// compileSchema checks that the keywords it knows have the form that JSON Schema gives them, and compiles them. Of
// oneOf it takes only that some branch must match: whether two do can hang on a keyword that is not checked here.
func compileSchema(root jsonValue, assertFormats bool) (*rule, error) {
	c := &schemaCompiler{root: root, refs: map[string]*rule{}, assertFormats: assertFormats}
	r, err := c.ref("#")
	if err != nil {
		return nil, err
	}
	for _, target := range c.refs {
		if target.loops() {
			return nil, fmt.Errorf("a $ref leads back to itself without an end")
		}
	}
	for _, alternatives := range c.choices {
		alternatives.findKey()
	}
	return r, nil
}

// ref compiles what a local reference points to, once.
func (c *schemaCompiler) ref(pointer string) (*rule, error) {
	if r, ok := c.refs[pointer]; ok {
		return r, nil
	}
	r := newRule()
	c.refs[pointer] = r
	target := &c.root
	path, err := url.PathUnescape(strings.TrimPrefix(pointer, "#"))
	if err != nil {
		return nil, fmt.Errorf("$ref %q is not a JSON pointer", pointer)
	}
	for _, token := range strings.Split(path, "/")[1:] {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		if target = memberAt(target, token); target == nil {
			return nil, fmt.Errorf("$ref %q leads nowhere", pointer)
		}
	}
	return r, c.compile(r, target)
}

// memberAt is one step of a JSON pointer.
func memberAt(v *jsonValue, token string) *jsonValue {
	if v.kind != kindArray {
		return v.get(token)
	}
	i, err := strconv.Atoi(token)
	if err != nil || i < 0 || i >= len(v.elems) {
		return nil
	}
	return &v.elems[i]
}

func newRule() *rule {
	return &rule{minLength: -1, maxLength: -1, minItems: -1, maxItems: -1, minProperties: -1, maxProperty: -1}
}

func (c *schemaCompiler) schema(schema *jsonValue) (*rule, error) {
	r := newRule()
	return r, c.compile(r, schema)
}

func (c *schemaCompiler) compile(r *rule, schema *jsonValue) error {
	switch schema.kind {
	case kindTrue:
		return nil
	case kindFalse:
		r.never = true
		return nil
	case kindObject:
	default:
		return fmt.Errorf("a schema is an object or a boolean, not %s", summary(schema))
	}
	for i := range schema.elems {
		keyword := &schema.elems[i]
		if err := c.keyword(r, keyword); err != nil {
			return fmt.Errorf("%s: %w", strings.TrimPrefix(keyword.key, "\x00"), err)
		}
	}
	return nil
}

func (c *schemaCompiler) keyword(r *rule, k *jsonValue) (err error) {
	switch k.key {
	case "type":
		return compileTypes(r, k)
	case "enum":
		if k.kind != kindArray {
			return shapeError(k, "an array")
		}
		r.enum = append([]jsonValue{}, k.elems...)
	case "const":
		r.enum = []jsonValue{*k}
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		return compileNumber(r, k)
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		return compileCount(r, k)
	case "pattern":
		if k.kind != kindString {
			return shapeError(k, "a string")
		}
		// Patterns are written for ECMAScript; one that Go does not understand is not checked.
		r.pattern, _ = regexp.Compile(k.text())
	case "format":
		r.isTime = c.assertFormats && k.text() == "date-time"
	case "contentEncoding":
		r.isBase64 = c.assertFormats && k.text() == "base64"
	case keywordInner:
		r.inner, err = c.schema(k)
	case "$ref":
		if k.kind != kindString {
			return shapeError(k, "a string")
		}
		if pointer := k.text(); pointer == "#" || strings.HasPrefix(pointer, "#/") {
			r.ref, err = c.ref(pointer)
		}
	case "$defs", "definitions":
		_, err = c.named(k)
	case "allOf":
		r.allOf, err = c.list(k)
	case "anyOf":
		r.anyOf, err = c.choice(k)
	case "oneOf":
		r.oneOf, err = c.choice(k)
	default:
		return c.container(r, k)
	}
	return err
}

// container compiles the keywords of objects and arrays.
func (c *schemaCompiler) container(r *rule, k *jsonValue) (err error) {
	switch k.key {
	case "properties":
		rules, err := c.named(k)
		if err != nil {
			return err
		}
		for i := range k.elems {
			r.property(k.elems[i].key).rule = rules[i]
		}
	case "required":
		if k.kind != kindArray {
			return shapeError(k, "an array of names")
		}
		for i := range k.elems {
			if k.elems[i].kind != kindString {
				return shapeError(k, "an array of names")
			}
			r.property(k.elems[i].text()).required = true
		}
	case "patternProperties":
		rules, err := c.named(k)
		if err != nil {
			return err
		}
		for i := range k.elems {
			pattern, _ := regexp.Compile(k.elems[i].key)
			r.patterns = append(r.patterns, patternRule{pattern: pattern, rule: rules[i]})
		}
	case "additionalProperties":
		r.additional, err = c.schema(k)
	case "propertyNames":
		r.names, err = c.schema(k)
	case "items":
		if k.kind == kindArray {
			return fmt.Errorf("must be one schema (a schema for each position is prefixItems)")
		}
		r.items, err = c.schema(k)
	case "prefixItems":
		r.prefix, err = c.list(k)
	case "uniqueItems":
		if k.kind != kindTrue && k.kind != kindFalse {
			return shapeError(k, "a boolean")
		}
		r.unique = k.kind == kindTrue
	}
	return err
}

// property finds or adds the entry for a name: properties and required may come in any order.
func (r *rule) property(name string) *propertyRule {
	if r.index == nil {
		r.index = map[string]int{}
	}
	i, ok := r.index[name]
	if !ok {
		i = len(r.properties)
		r.index[name] = i
		r.properties = append(r.properties, propertyRule{name: name})
	}
	return &r.properties[i]
}

func (c *schemaCompiler) list(k *jsonValue) ([]*rule, error) {
	if k.kind != kindArray || len(k.elems) == 0 {
		return nil, shapeError(k, "an array of schemas")
	}
	rules := make([]*rule, len(k.elems))
	for i := range k.elems {
		var err error
		if rules[i], err = c.schema(&k.elems[i]); err != nil {
			return nil, err
		}
	}
	return rules, nil
}

func (c *schemaCompiler) named(k *jsonValue) ([]*rule, error) {
	if k.kind != kindObject {
		return nil, shapeError(k, "an object of schemas")
	}
	rules := make([]*rule, len(k.elems))
	for i := range k.elems {
		var err error
		if rules[i], err = c.schema(&k.elems[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", k.elems[i].key, err)
		}
	}
	return rules, nil
}

func compileTypes(r *rule, k *jsonValue) error {
	names := k.elems
	if k.kind == kindString {
		names = []jsonValue{*k}
	}
	for i := range names {
		if typesOf(names[i].text()) == 0 {
			return fmt.Errorf("%s is not a type", summary(&names[i]))
		}
	}
	if r.types = typesOfValue(k); r.types == 0 {
		return shapeError(k, "a type or an array of types")
	}
	return nil
}

func compileNumber(r *rule, k *jsonValue) error {
	if k.kind != kindNumber {
		return shapeError(k, "a number")
	}
	b := &limit{text: k.raw, value: parseDecimal(k.raw), exclusive: strings.HasPrefix(k.key, "exclusive")}
	switch k.key {
	case "multipleOf":
		if b.value.sign() <= 0 {
			return shapeError(k, "a number above zero")
		}
		r.multipleOf = k.raw
	case "minimum", "exclusiveMinimum":
		if r.minimum == nil || r.minimum.value.compare(b.value) < 0 || b.exclusive && r.minimum.value.compare(b.value) == 0 {
			r.minimum = b
		}
	default:
		if r.maximum == nil || r.maximum.value.compare(b.value) > 0 || b.exclusive && r.maximum.value.compare(b.value) == 0 {
			r.maximum = b
		}
	}
	return nil
}

func compileCount(r *rule, k *jsonValue) error {
	d := parseDecimal(k.raw)
	if k.kind != kindNumber || d.sign() < 0 || !d.isInteger() {
		return shapeError(k, "a count")
	}
	n, err := strconv.Atoi(d.integer())
	if err != nil {
		n = 1 << 30 // beyond any input
	}
	switch k.key {
	case "minLength":
		r.minLength = n
	case "maxLength":
		r.maxLength = n
	case "minItems":
		r.minItems = n
	case "maxItems":
		r.maxItems = n
	case "minProperties":
		r.minProperties = n
	case "maxProperties":
		r.maxProperty = n
	}
	return nil
}

func shapeError(got *jsonValue, want string) error {
	return fmt.Errorf("must be %s, not %s", want, summary(got))
}

// loops reports whether checking one value against the rule would come back to the rule with the same value.
func (r *rule) loops() bool {
	if r.done {
		return false
	}
	if r.nested {
		return true
	}
	r.nested = true
	defer func() { r.nested, r.done = false, true }()
	if r.ref != nil && r.ref.loops() {
		return true
	}
	branches := slices.Clone(r.allOf)
	for _, alternatives := range []*choice{r.anyOf, r.oneOf} {
		if alternatives != nil {
			branches = append(branches, alternatives.branches...)
		}
	}
	return slices.ContainsFunc(branches, (*rule).loops)
}
