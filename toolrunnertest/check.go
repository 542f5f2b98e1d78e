package toolrunnertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// CheckRequest reports whether the Messages API accepts a request body, as far as the body alone can tell: the rules are
// those of [RuleBody] to [RuleCompaction]. The error is a [*BreachError] that holds every breach.
//
// Unknown block types are accepted. Of a request that continues a thread, the messages do not stand alone and are not
// checked; a server checks them with the conversation before them.
func CheckRequest(body []byte) error {
	c := &checker{}
	request := asObject(body)
	if request == nil {
		c.breach(RuleBody, "", "the body is not a JSON object")
		return c.err()
	}
	c.checkText16(body)
	c.checkParameters(request)
	c.checkThinkingParameter(request)
	tools := c.checkTools(request)
	c.checkMCPServers(request)
	c.checkSystem(request["system"])
	if asString(asObject(request["thread"])["type"]) != "continue" {
		c.checkMessages(request["messages"])
		c.checkReferences(request["messages"], tools)
	}
	c.checkCacheControl(request)
	c.checkCompaction(request)
	return c.err()
}

// BreachError holds the rules that a request or a run breaks.
type BreachError struct {
	Breaches []Breach // at least one, in the order in which they were found
}

// Breach is one broken rule.
type Breach struct {
	Rule Rule
	Path string // the place, such as messages.1.content.0
	Text string // what is wrong there
}

// Error lists the breaches.
func (e *BreachError) Error() string {
	texts := make([]string, len(e.Breaches))
	for i, b := range e.Breaches {
		texts[i] = b.String()
	}
	return strings.Join(texts, "; ")
}

// Has reports whether a rule is broken.
func (e *BreachError) Has(rule Rule) bool {
	return slices.ContainsFunc(e.Breaches, func(b Breach) bool { return b.Rule == rule })
}

// String returns the breach as the API words it: the place, then the text.
func (b Breach) String() string {
	if b.Path == "" {
		return b.Text
	}
	return b.Path + ": " + b.Text
}

// Breaches returns the breaches in an error of [CheckRequest] or [CheckRun], nil for any other.
func Breaches(err error) []Breach {
	var broken *BreachError
	if errors.As(err, &broken) {
		return broken.Breaches
	}
	return nil
}

// checker collects breaches.
type checker struct {
	breaches []Breach
	cached   int    // cache_control seen
	ttl      string // of the last one
}

func (c *checker) breach(rule Rule, path, format string, args ...any) {
	c.breaches = append(c.breaches, Breach{rule, path, fmt.Sprintf(format, args...)})
}

func (c *checker) err() error {
	if len(c.breaches) == 0 {
		return nil
	}
	return &BreachError{c.breaches}
}

// checkText16 checks that no string has half a surrogate pair. A backslash occurs in strings alone.
func (c *checker) checkText16(body []byte) {
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' {
			continue
		}
		i++ // the character that is escaped
		switch unit := surrogate(body[i-1:]); {
		case unit == 0:
		case unit < 0xDC00 && surrogate(body[min(i+5, len(body)):]) >= 0xDC00:
			i += 10 // both halves
		default:
			c.breach(RuleSurrogate, "", "The request body is not valid JSON: no low surrogate in string: line 1 column %d (char %d)", i, i-1)
			return
		}
	}
}

// surrogate returns the half of a surrogate pair whose escape, such as \ud83d, the text begins with, 0 if there is none.
func surrogate(text []byte) int {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0
	}
	unit := 0
	for _, digit := range text[2:6] {
		switch {
		case '0' <= digit && digit <= '9':
			unit = unit<<4 | int(digit-'0')
		case 'a' <= digit|0x20 && digit|0x20 <= 'f':
			unit = unit<<4 | int(digit|0x20-'a'+10)
		default:
			return 0
		}
	}
	if unit < 0xD800 || unit > 0xDFFF {
		return 0
	}
	return unit
}

// absent reports whether a field is missing or null.
func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

func isString(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '"' }
func isList(raw json.RawMessage) bool   { return len(raw) > 0 && raw[0] == '[' }
func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }
func isBool(raw json.RawMessage) bool   { return string(raw) == "true" || string(raw) == "false" }
