package transcript

import (
	"fmt"
	"strings"
)

// markdown writes a message as Markdown: text as it is, calls and results in fences.
func (o Options) markdown(to *strings.Builder, m message) {
	fmt.Fprintf(to, "### %s\n", inline(m.role))
	for _, p := range m.parts {
		to.WriteByte('\n')
		switch p.kind {
		case words:
			to.WriteString(strings.TrimRight(visible(p.text), "\n") + "\n")
		case thoughts:
			fmt.Fprintf(to, "<details><summary>Thinking</summary>\n\n%s\n\n</details>\n", strings.TrimSpace(fence(visible(p.text), "text")))
		case call:
			fmt.Fprintf(to, "**%s**\n\n%s", inline(p.name), o.fenced(p.text, "json"))
			o.markdownAnswer(to, p.answer)
		case result:
			fmt.Fprintf(to, "Result of `%s`\n", inline(p.name))
			o.markdownAnswer(to, p.answer)
		case note:
			to.WriteString(inline(p.text) + "\n")
		}
	}
}

func (o Options) markdownAnswer(to *strings.Builder, a *answer) {
	switch {
	case a == nil:
		to.WriteString("\n(no result)\n")
	case a.failed:
		to.WriteString("\nfailed:\n\n" + o.fenced(a.text, "text"))
	default:
		to.WriteString("\n" + o.fenced(a.text, "text"))
	}
}

// fenced returns the lines that a text may have, in a fence.
func (o Options) fenced(text, language string) string {
	lines := o.some(printable(text))
	for i := range lines {
		lines[i] = cut(lines[i], o.Width)
	}
	return fence(strings.Join(lines, "\n"), language)
}

// fence puts text between rows of backticks, of which there are more than anywhere in it.
func fence(text, language string) string {
	longest, run := 2, 0
	for _, r := range text {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	ticks := strings.Repeat("`", longest+1)
	return ticks + language + "\n" + text + "\n" + ticks + "\n"
}

// visible is printable for text that is Markdown itself, where tabs mean something.
func visible(text string) string {
	parts := strings.Split(text, "\t")
	for i := range parts {
		parts[i] = printable(parts[i])
	}
	return strings.Join(parts, "\t")
}

// inline returns a text on one line, in which nothing is Markdown.
func inline(text string) string {
	var b strings.Builder
	for _, r := range strings.ReplaceAll(printable(text), "\n", " ") {
		if strings.ContainsRune("\\`*_{}[]<>()#+!|~", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
