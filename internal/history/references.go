package history

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// This file finds the tools that results refer to. The API wants each among the tools of
// the request: "Tool reference 'x' not found in available tools".

// References returns the names of the tools that blocks refer to: in what a tool search
// has found, and in results. It looks at JSON that is valid.
func References(raw []byte) []string {
	if !bytes.Contains(raw, []byte(typeToolReference)) { // nearly always
		return nil
	}
	var names []string
	collectReferences(raw, &names)
	return names
}

// collectReferences adds the names in a value: what the model or the caller's data holds
// under "input" refers to nothing, and a change of tools is none of a result.
func collectReferences(raw []byte, names *[]string) {
	switch {
	case len(raw) > 0 && raw[0] == '[':
		_ = wire.KnownElements(raw, func(element []byte) error {
			collectReferences(element, names)
			return nil
		})
	case len(raw) > 0 && raw[0] == '{':
		kind := wire.StringMember(raw, "type")
		if name := wire.StringMember(raw, "tool_name"); kind == typeToolReference && name != "" && !slices.Contains(*names, name) {
			*names = append(*names, name)
		}
		_ = wire.KnownMembers(raw, func(key, value []byte) error {
			if k := string(key); k == "content" || k == "tool_references" {
				collectReferences(value, names)
			}
			return nil
		})
	}
}

// CheckReferences says which message refers to a tool that is not defined, neither
// elsewhere nor by the messages themselves. The error is an *[Error].
func CheckReferences(drafts []Draft, defined func(name string) bool) error {
	added := make(map[string]bool)
	for _, draft := range drafts {
		for _, change := range draft.Changes {
			added[change.Name] = added[change.Name] || change.Defines()
		}
	}
	for i := range drafts {
		for _, name := range slices.Concat(References(drafts[i].Raw), referred(drafts[i].Changes)) {
			if !added[name] && !defined(name) {
				return &Error{Index: drafts[i].Index, Reason: missing(name)}
			}
		}
	}
	return nil
}

// referred returns the names of tools that changes add without a definition.
func referred(changes []Change) []string {
	var names []string
	for _, c := range changes {
		if c.Add && c.Refers {
			names = append(names, c.Name)
		}
	}
	return names
}

// CheckResultReferences says which tool a result refers to that is not defined.
func CheckResultReferences(block []byte, defined func(name string) bool) error {
	for _, name := range References(block) {
		if !defined(name) {
			return errors.New(missing(name))
		}
	}
	return nil
}

func missing(name string) string {
	return fmt.Sprintf("it refers to the tool %q, which is not among the tools, and the Messages API refuses that; add the tool, or leave the reference out", name)
}
