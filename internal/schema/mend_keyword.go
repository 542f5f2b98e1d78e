package schema

import (
	"slices"
	"strings"
)

// verdict is what becomes of a keyword.
type verdict int

const (
	kept verdict = iota
	changed
	dropped
)

// rewrite has each keyword of the schema, and of those inside it, judged, which may change it. It reports whether there
// was anything to change.
func rewrite(schema *jsonValue, judge func(k *jsonValue) verdict) (different bool) {
	_ = eachSchema(schema, func(s *jsonValue) error { // there is none
		for i := 0; i < len(s.elems); i++ {
			switch v := judge(&s.elems[i]); v {
			case dropped:
				s.elems = slices.Delete(s.elems, i, i+1)
				i--
				fallthrough
			case changed:
				different = true
			case kept:
			}
		}
		return nil
	})
	return different
}

// tidyForeign makes a schema that somebody else wrote one that the API does not refuse for what says nothing about input:
// annotations of a wrong form, and names that are listed twice. It reports whether there was anything to change.
func tidyForeign(schema *jsonValue) (different bool) {
	different = dropDoubled(schema)
	return rewrite(schema, tidyKeyword) || different
}

// dropDoubled leaves the last of members with one key, as most readers do.
func dropDoubled(v *jsonValue) (different bool) {
	if v.kind == kindObject && hasDoubled(v.elems) {
		last := map[string]int{}
		for i := range v.elems {
			last[v.elems[i].key] = i
		}
		var left []jsonValue
		for i := range v.elems {
			if last[v.elems[i].key] == i {
				left = append(left, v.elems[i])
			}
		}
		v.elems, different = left, true
	}
	for i := range v.elems {
		different = dropDoubled(&v.elems[i]) || different
	}
	return different
}

func tidyKeyword(k *jsonValue) verdict {
	isScalar := k.kind == kindNumber || k.kind == kindTrue || k.kind == kindFalse
	switch f := formatOf(k.key); {
	case f == formatText && k.kind != kindString:
		switch {
		case k.key == "$ref" || k.key == "pattern": // these say something about input
			return kept
		case isScalar && (k.key == "title" || k.key == "description" || k.key == "$comment"):
			*k = jsonString(k.raw).as(k.key)
			return changed
		}
		return dropped
	case k.key == "$id" || f == formatAnchor || k.key == "$vocabulary":
		if checkFormat(k) != nil {
			return dropped
		}
	case f == formatFlag && k.key != "uniqueItems" && k.kind != kindTrue && k.kind != kindFalse:
		if text := k.text(); text == "true" || text == "false" {
			*k = jsonBool(text == "true").as(k.key)
			return changed
		}
		return dropped
	case k.key == "examples" && k.kind == kindNull, k.key == "dependentRequired" && k.kind == kindNull:
		return dropped
	case k.key == "examples" && k.kind != kindArray:
		*k = jsonArray(k.as("")).as(k.key)
		return changed
	case f == formatNames || f == formatTypes:
		return dropTwice(k)
	case f == formatNamedNames:
		v := kept
		for i := range k.elems {
			v = max(v, listText(&k.elems[i]), dropTwice(&k.elems[i]))
		}
		return v
	}
	return kept
}

// dropTwice leaves one of each value of a list.
func dropTwice(k *jsonValue) verdict {
	if k.kind != kindArray {
		return kept
	}
	before := len(k.elems)
	if k.elems = withoutDoubles(k.elems); len(k.elems) < before {
		return changed
	}
	return kept
}

// listText makes a list of a text.
func listText(k *jsonValue) verdict {
	if k.kind != kindString {
		return kept
	}
	*k = jsonArray(k.as("")).as(k.key)
	return changed
}

// mendSchema gives keywords the form of JSON Schema where their meaning is clear.
func mendSchema(schema *jsonValue, repair func(what string)) {
	mended := false
	_ = eachSchema(schema, func(s *jsonValue) error { // there is none
		mended = mendOlder(s) || mended
		return nil
	})
	mended = rewrite(schema, mendKeyword) || mended
	if tidied := tidyForeign(schema); mended || tidied {
		repair("keywords that are null, of older drafts or of another form replaced")
	}
}

func (v *jsonValue) isBool() bool { return v != nil && (v.kind == kindTrue || v.kind == kindFalse) }

// mendOlder mends what older drafts said by several keywords.
func mendOlder(s *jsonValue) (different bool) {
	for _, beside := range []string{"minimum", "maximum"} {
		keyword := "exclusive" + strings.ToUpper(beside[:1]) + beside[1:]
		exclusive, bound := s.get(keyword), s.get(beside)
		if different = different || exclusive.isBool(); !exclusive.isBool() {
			continue
		}
		if exclusive.kind == kindTrue && bound != nil {
			*exclusive = bound.as(keyword)
			s.remove(beside)
		} else {
			s.remove(keyword)
		}
	}
	if items := s.get("items"); items != nil && items.kind == kindArray { // a schema for each position
		rest := s.get("additionalItems")
		if different, items.key = true, "prefixItems"; rest != nil {
			rest.key = "items"
		}
	}
	if s.get("required").isBool() { // of a property, which the object around it has heeded
		s.remove("required")
		different = true
	}
	if properties := s.get("properties"); properties != nil {
		for _, p := range properties.elems {
			if required := p.get("required"); required != nil && required.kind == kindTrue {
				if names := s.get("required"); names != nil && names.kind != kindArray {
					s.remove("required")
				}
				appendKeyword(s, "required", jsonString(p.key))
			}
		}
	}
	return different
}

func mendKeyword(k *jsonValue) verdict {
	f := formatOf(k.key)
	isEmpty := k.kind == kindNull || k.kind == kindArray && len(k.elems) == 0
	switch {
	case f != formatFree && k.kind == kindNull, f == formatSchemas && len(k.elems) == 0:
		return dropped
	case f == formatNumber || f == formatCount || k.key == "uniqueItems":
		if v, err := parseJSON([]byte(k.text())); err == nil && (v.kind == kindNumber) == (f != formatFlag) {
			*k = v.as(k.key)
			return changed
		}
	case f == formatTypes:
		return mendTypes(k)
	case k.key == "required":
		return listText(k)
	case isEmpty && (f == formatSchema || f == formatNamed): // an empty object in the JSON of PHP
		*k = jsonObject().as(k.key)
		return changed
	case f == formatNamed || f == formatSchemas:
		v := kept
		for i := range k.elems {
			if inner := &k.elems[i]; inner.kind == kindNull || inner.kind == kindArray && len(inner.elems) == 0 {
				*inner, v = jsonObject().as(inner.key), changed
			}
		}
		return v
	}
	return kept
}

// mendTypes mends names of types as other languages write them.
func mendTypes(k *jsonValue) verdict {
	names := []*jsonValue{k}
	if k.kind == kindArray {
		names = names[:0]
		for i := range k.elems {
			names = append(names, &k.elems[i])
		}
	}
	v := kept
	for _, name := range names {
		text := strings.ToLower(name.text())
		switch text {
		case "any":
			return dropped
		case "int", "long":
			text = "integer"
		case "float", "double", "decimal":
			text = "number"
		case "str":
			text = "string"
		case "bool":
			text = "boolean"
		case "list":
			text = "array"
		case "dict", "map":
			text = "object"
		}
		if typesOf(text) != 0 && text != name.text() {
			*name, v = jsonString(text).as(name.key), changed
		}
	}
	return v
}
