package redact

import "strings"

// This file hides values by their names: members of JSON, at any depth of JSON in JSON,
// variables, parameters, fields.

// hideNamed returns text without the values that have the name of a secret.
func hideNamed(text string) string {
	var out strings.Builder
	for {
		at := named().FindStringSubmatchIndex(text)
		if at == nil {
			out.WriteString(text)
			return out.String()
		}
		l := label{plural: at[2] < at[3], quoted: at[4] >= 0, assigned: strings.Contains(text[max(at[3], at[5]):at[1]], "=")}
		start, end := l.value(text, at[1])
		out.WriteString(text[:start])
		if start < end {
			out.WriteString(Mark)
		}
		text = text[end:]
	}
}

// label is a name, and how it stands there.
type label struct {
	plural   bool // only a list is its value
	quoted   bool // as in JSON
	assigned bool // as in a file of variables
}

// value returns where the secret at i begins and ends; both are the same if there is none.
func (l label) value(text string, i int) (start, end int) {
	rest := text[i:]
	slashes := len(rest) - len(strings.TrimLeft(rest, `\`))
	switch after := rest[slashes:]; {
	case strings.HasPrefix(rest, Mark):
		return i + len(Mark), i + len(Mark)
	case strings.HasPrefix(after, "["):
		start = i + slashes + 1
		return start, listEnd(text, start)
	case l.plural || strings.HasPrefix(after, "{"):
		return i, i
	case after != "" && strings.ContainsRune("\"'", rune(after[0])):
		start = i + slashes + 1
		end = quoteEnd(text, start, slashes)
		if !l.quoted && l.assigned && start < end && !strings.HasPrefix(text[start:], Mark) {
			return i, min(end+slashes+1, len(text))
		}
		return start, start + l.unhidden(text[start:end])
	}
	return i, i + l.unhidden(rest[:plainEnd(rest)])
}

// unhidden returns the length of a value, or 0 for one that is no secret.
func (l label) unhidden(value string) int {
	switch value {
	case "true", "false", "null", Mark:
		return 0
	}
	return len(value)
}

// quoteEnd returns where the string ends whose content begins at i, and whose quotes have
// as many backslashes before them as there are levels of JSON around it.
func quoteEnd(text string, i, slashes int) int {
	quote := text[i-1]
	run := 0
	for ; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			run++
			continue
		case text[i] == quote && (run < slashes || run%(2*slashes+2) == slashes):
			return i - min(run, slashes)
		}
		run = 0
	}
	return i
}

// listEnd returns where the list ends whose first element is at i. Brackets in strings do
// not end it.
func listEnd(text string, i int) int {
	run := 0
	for i < len(text) && text[i] != ']' {
		switch text[i] {
		case '\\':
			run++
			i++
			continue
		case '"':
			i = quoteEnd(text, i+1, run) + run
		}
		run = 0
		i++
	}
	return min(i, len(text))
}

// plainEnd returns where a value without quotes ends. A block of YAML ends with its
// first line.
func plainEnd(text string) int {
	if mark := strings.TrimRight(text[:strings.IndexByte(text+"\n", '\n')], " -+\r"); mark == "|" || mark == ">" {
		first := strings.IndexByte(text+"\n", '\n') + 1
		if first < len(text) && text[first] == ' ' {
			return first + strings.IndexByte(text[first:]+"\n", '\n')
		}
	}
	end := strings.IndexAny(text, " \t\r\n&\"',;\\<")
	if end < 0 {
		end = len(text)
	}
	if next := strings.Index(text[:end], "%26"); next >= 0 {
		end = next
	}
	return end
}
