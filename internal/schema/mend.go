package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Mended is a schema that somebody else wrote, as the Messages API accepts it.
type Mended struct {
	Input   *Input
	Repairs []string // what was done to the schema
	Moved   string   // the keywords at its top that the API does not accept; for the description
}

// Mend repairs what it can tell the meaning of: keywords of older drafts and of other dialects, null and empty lists where
// there is nothing to say, references and alternatives at the top. The error says what the API would refuse.
func Mend(theirs any) (Mended, error) {
	var m Mended
	tree, err := normalize(theirs)
	switch {
	case err != nil:
		return m, err
	case tree.kind == kindNull:
		m.repair("schema added")
		tree = jsonObject(jsonString("object").as("type"))
	case tree.kind != kindObject:
		return m, fmt.Errorf("schema must be an object, not %s", summary(&tree))
	}
	tree.remove("$schema")
	mendSchema(&tree, m.repair)
	if err := m.inline(&tree); err != nil {
		return m, err
	}
	mendSchema(&tree, m.repair) // what was inlined need not have been in a schema
	if err := m.fixType(&tree); err != nil {
		return m, err
	}
	if err := m.flatten(&tree); err != nil {
		return m, err
	}
	if tree.get("properties") == nil {
		tree.set("properties", jsonObject())
	}
	if tree, err = normalize(json.RawMessage(tree.appendTo(nil))); err != nil {
		return m, err
	}
	m.Input, err = FromJSON(tree.appendTo(nil))
	return m, err
}

func (m *Mended) repair(what string) {
	if !slices.Contains(m.Repairs, what) {
		m.Repairs = append(m.Repairs, what)
	}
}

// normalize parses JSON with its keys sorted, and of doubled ones the last.
func normalize(v any) (jsonValue, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return jsonValue{}, err
	}
	var decoded any
	if err := unmarshal(text, &decoded); err != nil {
		return jsonValue{}, err
	}
	var sorted bytes.Buffer
	enc := json.NewEncoder(&sorted)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(decoded); err != nil {
		return jsonValue{}, err
	}
	return parseJSON(sorted.Bytes())
}

// inline puts what a $ref at the top refers to in its place.
func (m *Mended) inline(root *jsonValue) error {
	for range 10 { // references to references
		ref := root.get("$ref")
		if ref == nil {
			return nil
		}
		target, err := resolve(root, ref.text(), func(*jsonValue) {})
		if err != nil || target.kind != kindObject || !strings.HasPrefix(ref.text(), "#/") {
			return fmt.Errorf("schema has the $ref %s at the top, which cannot be replaced by what it refers to", abbreviate(ref.raw, maxValueText))
		}
		members := slices.Clone(target.elems)
		root.remove("$ref")
		for _, member := range members {
			if root.get(member.key) == nil {
				root.elems = append(root.elems, member)
			}
		}
		m.repair("$ref at the top replaced by what it refers to")
	}
	return errors.New("schema has a $ref at the top that leads from one to another without an end")
}

// fixType makes object the only type of the schema.
func (m *Mended) fixType(root *jsonValue) error {
	typ := root.get("type")
	switch {
	case typ == nil:
		m.repair(`"type":"object" added`)
	case !typesOfValue(typ).has(typeObject):
		return fmt.Errorf("schema takes %s, and the API only an object", typ.appendTo(nil))
	case typ.kind == kindArray:
		m.repair("types other than object removed")
	}
	root.set("type", jsonString("object"))
	return nil
}

// flatten moves the alternatives at the top into the description, and what they say of properties to the top.
func (m *Mended) flatten(root *jsonValue) error {
	moved := jsonObject()
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		if branches := root.get(keyword); branches != nil {
			moved.set(keyword, *branches)
			m.repair(keyword + " at the top moved into the description")
		}
	}
	if len(moved.elems) == 0 {
		return nil
	}
	form, err := (&former{root: root, forms: map[*jsonValue]form{}}).form(root)
	if err != nil {
		return err
	}
	root.set("properties", jsonObject(form.properties...))
	if len(form.required) > 0 {
		root.set("required", jsonArray(form.required...))
	}
	m.Moved = string(moved.appendTo(nil))
	for _, keyword := range moved.elems {
		root.remove(keyword.key)
	}
	return nil
}

// form is what a schema says of the properties of an object.
type form struct {
	properties []jsonValue
	required   []jsonValue
}

// former finds the forms of schemas, each once, by the alternatives and the references in them.
type former struct {
	root  *jsonValue
	forms map[*jsonValue]form
	size  int
}

// maxFormParts bounds the properties of all forms together.
const maxFormParts = 20_000

func (m *former) form(schema *jsonValue) (form, error) {
	if known, ok := m.forms[schema]; ok {
		return known, nil
	}
	m.forms[schema] = form{} // what comes back to itself has nothing to add
	f := form{}
	if properties := schema.get("properties"); properties != nil {
		f.properties = slices.Clone(properties.elems)
	}
	if required := schema.get("required"); required != nil {
		f.required = slices.Clone(required.elems)
	}
	var parts []form
	if target, err := resolve(m.root, schema.get("$ref").text(), func(*jsonValue) {}); err == nil && target != m.root {
		part, err := m.form(target)
		if err != nil {
			return f, err
		}
		parts = append(parts, part)
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		var branches []form
		if k := schema.get(keyword); k != nil && k.kind == kindArray {
			for i := range k.elems {
				if !takesObjects(&k.elems[i]) {
					continue
				}
				branch, err := m.form(&k.elems[i])
				if err != nil {
					return f, err
				}
				branches = append(branches, branch)
			}
		}
		if keyword != "allOf" {
			branches = []form{either(branches)}
		}
		parts = append(parts, branches...)
	}
	f = all(append([]form{f}, parts...))
	m.forms[schema] = f
	if m.size += len(f.properties) + len(f.required); m.size > maxFormParts {
		return f, errors.New("schema has too many alternatives at the top")
	}
	return f, nil
}

func takesObjects(schema *jsonValue) bool {
	types := typesOfValue(schema.get("type"))
	return schema.kind != kindFalse && (types == 0 || types.has(typeObject))
}

// all is the form of what has all of several forms. Of a property that some know, the first is kept, which accepts no less.
func all(forms []form) form {
	var f form
	known := map[string]bool{}
	for _, one := range forms {
		for _, p := range one.properties {
			if !known[p.key] {
				f.properties = append(f.properties, p)
			}
			known[p.key] = true
		}
		f.required = append(f.required, one.required...)
	}
	f.required = withoutDoubles(f.required)
	return f
}

// either is the form of what has one of several forms: a property is as in one of those that know it, and required if it is
// in all.
func either(forms []form) form {
	var f form
	variants := map[string]*jsonValue{}
	var order []string
	times := map[string]int{}
	for _, one := range forms {
		for _, p := range one.properties {
			if variants[p.key] == nil {
				variants[p.key] = &jsonValue{kind: kindArray}
				order = append(order, p.key)
			}
			variants[p.key].elems = append(variants[p.key].elems, p)
		}
		for _, name := range one.required {
			if times[name.text()]++; times[name.text()] == len(forms) {
				f.required = append(f.required, name)
			}
		}
	}
	for _, key := range order {
		distinct := withoutDoubles(variants[key].elems)
		property := distinct[0]
		if len(distinct) > 1 {
			property = jsonObject(jsonArray(distinct...).as("anyOf")).as(key)
		}
		f.properties = append(f.properties, property)
	}
	return f
}
