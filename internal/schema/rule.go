package schema

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// rule is a compiled schema. What a schema says beyond it (unknown keywords, formats, references to elsewhere) is
// ignored: it never refuses input.
type rule struct {
	never  bool // the schema false
	types  typeSet
	enum   []jsonValue         // nil: any value
	listed map[string]struct{} // enum in canonical form
	kinds  typeSet             // of the values that can pass at all: what settle finds

	minimum, maximum           *limit
	multipleOf                 *limit
	minLength, maxLength       int // each count: -1 for none
	minItems, maxItems         int
	minProperties, maxProperty int
	pattern                    *pattern
	demands                    string // of a decoder on a text or number: see keywordDecoder
	nilable                    bool   // null passes as an element
	inner                      *rule  // for the JSON text in a string

	properties []propertyRule
	index      map[string]int // of properties
	required   []int          // which of properties
	patterns   []patternRule
	additional *rule // nil: anything
	names      *rule
	prefix     []*rule
	items      *rule
	unique     bool

	ref    *rule
	allOf  []*rule
	choice []*choice // anyOf and oneOf: of oneOf too, some branch must match

	target bool // some reference leads here
	shared bool // one value may be compared with the rule twice
	state  settling
}

// propertyRule is about a name in properties or in required.
type propertyRule struct {
	name     string
	declared bool
	required int   // its number among the required ones, from 1; 0: optional
	rule     *rule // nil: anything
}

type patternRule struct {
	pattern *pattern
	rule    *rule
}

type limit struct {
	text      string
	value     decimal
	exclusive bool
}

// schemaCompiler turns a schema into rules. Each schema inside becomes one rule, however many references lead to it.
type schemaCompiler struct {
	root     *jsonValue
	rules    map[*jsonValue]*rule
	order    []*rule
	patterns int // how large all patterns are
}

// compileSchema checks that the keywords have the form that JSON Schema gives them, and compiles those that are checked.
// Of oneOf it takes only that some branch must match: whether two do can hang on a keyword that is not checked here.
func compileSchema(root jsonValue) (*rule, error) {
	c := &schemaCompiler{root: &root, rules: map[*jsonValue]*rule{}}
	r, err := c.rule(&root, false)
	if err != nil {
		return nil, err
	}
	return r, settle(c.order)
}

// rule compiles a schema, once. Below another schema's $id, references are not ours to follow.
func (c *schemaCompiler) rule(schema *jsonValue, foreign bool) (*rule, error) {
	if r, ok := c.rules[schema]; ok {
		return r, nil
	}
	r := &rule{minLength: -1, maxLength: -1, minItems: -1, maxItems: -1, minProperties: -1, maxProperty: -1}
	c.rules[schema], c.order = r, append(c.order, r)
	foreign = foreign || c.isForeign(schema)
	switch {
	case !schema.isSchema():
		return nil, fmt.Errorf("a schema is an object or a boolean, not %s", summary(schema))
	case schema.kind == kindFalse:
		r.never = true
	}
	for i := range schema.elems {
		keyword := &schema.elems[i]
		err := checkFormat(keyword)
		if err == nil {
			err = c.keyword(r, keyword, foreign)
		}
		if err != nil {
			return nil, inside(keyword.key, err)
		}
	}
	return r, nil
}

// isForeign reports whether a schema is one of its own inside of ours.
func (c *schemaCompiler) isForeign(schema *jsonValue) bool {
	return schema != c.root && schema.get("$id") != nil
}

// ref compiles what a local reference points to.
func (c *schemaCompiler) ref(pointer string) (*rule, error) {
	foreign := false
	target, err := resolve(c.root, pointer, func(step *jsonValue) { foreign = foreign || c.isForeign(step) })
	if err != nil {
		return nil, err
	}
	r, err := c.rule(target, foreign)
	if err == nil {
		r.target = true
	}
	return r, err
}

// resolve finds what a local reference points to, and visits the values on the way.
func resolve(root *jsonValue, pointer string, visit func(*jsonValue)) (*jsonValue, error) {
	path, err := url.PathUnescape(strings.TrimPrefix(pointer, "#"))
	if err != nil {
		return nil, fmt.Errorf("$ref %q is not a JSON pointer", pointer)
	}
	target := root
	for _, token := range strings.Split(path, "/")[1:] {
		if strings.Contains(token, "~") {
			token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		}
		if i, err := strconv.Atoi(token); target.kind == kindArray && err == nil && i >= 0 && i < len(target.elems) {
			target = &target.elems[i]
		} else if target = target.get(token); target == nil {
			return nil, fmt.Errorf("$ref %q leads nowhere", pointer)
		}
		visit(target)
	}
	return target, nil
}

func (c *schemaCompiler) keyword(r *rule, k *jsonValue, foreign bool) (err error) {
	inner, err := c.inside(k, foreign)
	if err != nil {
		return err
	}
	switch k.key {
	case "type":
		r.types = typesOfValue(k)
	case "enum":
		r.list(k.elems)
	case "const":
		r.list([]jsonValue{*k})
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		r.bound(k)
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		r.count(k)
	case "pattern":
		r.pattern, err = c.pattern(k.text())
	case keywordDecoder:
		r.demands = k.text()
	case keywordNilable:
		r.nilable = true
	case keywordInner:
		r.inner = inner[0]
	case "$ref":
		if pointer := k.text(); !foreign && (pointer == "#" || strings.HasPrefix(pointer, "#/")) {
			r.ref, err = c.ref(pointer)
		}
	case "allOf":
		r.allOf = inner
	case "anyOf", "oneOf":
		r.choice = append(r.choice, &choice{branches: inner})
	default:
		return c.container(r, k, inner)
	}
	return err
}

// container compiles the keywords of objects and arrays.
func (c *schemaCompiler) container(r *rule, k *jsonValue, inner []*rule) (err error) {
	switch k.key {
	case "properties":
		for i := range k.elems {
			p := r.property(k.elems[i].key)
			p.declared, p.rule = true, inner[i]
		}
	case "required":
		for i := range k.elems {
			p := r.property(k.elems[i].text())
			r.required = append(r.required, r.index[p.name])
			p.required = len(r.required)
		}
	case "patternProperties":
		for i := range k.elems {
			p := patternRule{rule: inner[i]}
			if p.pattern, err = c.pattern(k.elems[i].key); err != nil {
				return err
			}
			r.patterns = append(r.patterns, p)
		}
	case "additionalProperties":
		r.additional = inner[0]
	case "propertyNames":
		r.names = inner[0]
	case "items":
		r.items = inner[0]
	case "prefixItems":
		r.prefix = inner
	case "uniqueItems":
		r.unique = k.kind == kindTrue
	}
	return nil
}

// inside compiles the schemas in a keyword, also those that are not checked.
func (c *schemaCompiler) inside(k *jsonValue, foreign bool) (inner []*rule, err error) {
	if formatOf(k.key) == formatSchema {
		one, err := c.rule(k, foreign)
		return []*rule{one}, err
	}
	for i := range subschemas(k) {
		if k.key == "dependencies" && k.elems[i].kind == kindArray {
			continue
		}
		r, err := c.rule(&k.elems[i], foreign)
		if err != nil {
			return nil, inside(k.elems[i].key, err)
		}
		inner = append(inner, r)
	}
	return inner, nil
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

// list sets the values that can pass: of enum and const, those in both.
func (r *rule) list(values []jsonValue) {
	before := r.listed
	r.enum, r.listed = []jsonValue{}, make(map[string]struct{}, len(values))
	for i := range values {
		text := string(values[i].canonical(nil))
		if _, ok := before[text]; ok || before == nil {
			r.enum = append(r.enum, values[i])
			r.listed[text] = struct{}{}
		}
	}
}

func (r *rule) bound(k *jsonValue) {
	b := &limit{text: k.raw, value: parseDecimal(k.raw), exclusive: strings.HasPrefix(k.key, "exclusive")}
	of, direction := &r.minimum, 1
	switch k.key {
	case "multipleOf":
		r.multipleOf = b
		return
	case "maximum", "exclusiveMaximum":
		of, direction = &r.maximum, -1
	}
	if *of != nil {
		if order := direction * b.value.compare((*of).value); order < 0 || order == 0 && !b.exclusive {
			return
		}
	}
	*of = b
}

func (r *rule) count(k *jsonValue) {
	n := 1 << 30 // beyond any input
	if text, ok := parseDecimal(k.raw).integer(9); ok {
		n, _ = strconv.Atoi(text)
	}
	*map[string]*int{
		"minLength": &r.minLength, "maxLength": &r.maxLength, "minItems": &r.minItems, "maxItems": &r.maxItems,
		"minProperties": &r.minProperties, "maxProperties": &r.maxProperty,
	}[k.key] = n
}

// settling is how far settle is with a rule.
type settling int

const (
	unsettled settling = iota
	nowSettling
	settled
)

// settle finds out about each rule what takes the rules that it refers to.
func settle(rules []*rule) error {
	multiple := false
	for _, r := range rules {
		if !r.settle() {
			return errors.New("a $ref leads back to itself without an end")
		}
	}
	for _, r := range rules {
		for _, alternatives := range r.choice {
			alternatives.findKey()
		}
		multiple = multiple || r.branches() > 1
	}
	for _, r := range rules {
		r.shared = multiple && r.target
	}
	return nil
}

// settle finds the kinds of a rule. It reports false if to compare a value with the rule would come back to the rule with
// the same value.
func (r *rule) settle() bool {
	if r.state != unsettled {
		return r.state == settled
	}
	r.state = nowSettling
	r.kinds = typeAny
	switch {
	case r.never:
		r.kinds = 0
	case r.types != 0:
		r.kinds = r.types.widened()
	}
	if r.enum != nil {
		r.kinds &= kindsOf(r.enum)
	}
	for _, part := range r.parts() {
		if !part.settle() {
			return false
		}
		r.kinds &= part.kinds
	}
	for _, alternatives := range r.choice {
		some := typeSet(0)
		for _, branch := range alternatives.branches {
			if !branch.settle() {
				return false
			}
			some |= branch.kinds
		}
		r.kinds &= some
	}
	r.state = settled
	return true
}

// parts lists the rules that a value has to pass as well.
func (r *rule) parts() []*rule {
	if r.ref == nil {
		return r.allOf
	}
	return append([]*rule{r.ref}, r.allOf...)
}

// branches counts the ways by which a value inside of a value can come to be compared with one rule.
func (r *rule) branches() int {
	n := len(r.parts()) + 2*len(r.patterns)
	if r.properties != nil || r.additional != nil || r.items != nil || r.prefix != nil {
		n++
	}
	for _, alternatives := range r.choice {
		n++
		if taken := typeSet(0); alternatives.key == "" {
			for _, branch := range alternatives.branches {
				if branch.kinds.has(taken) {
					n++
				}
				taken |= branch.kinds
			}
		}
	}
	return n
}
