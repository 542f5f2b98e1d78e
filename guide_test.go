package toolrunner_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

var update = flag.Bool("update", false, "rewrite the code in README.md and docs from the examples")

// A fenced block that follows one of these comments, in the pages that
// copyingPages lists, is a copy:
//
//	<!-- example: NAME -->              the body of an example, or another declaration
//	<!-- example: NAME: FROM -->        the first statement in it that begins with FROM
//	<!-- example: NAME: FROM ... TO --> the same, up to the next one that begins with TO
//	<!-- output: NAME -->               what the example prints
//	<!-- file: PATH -->                 a whole file
//
// What is outside of the root package has the name of its folder in front:
// web-approval.store.load is a method of a program.
var (
	copied = regexp.MustCompile("(?ms)^<!-- (example|output|file): ([^\n]+?) -->\n```(\\w+)\n(.*?)^```$")
	marked = regexp.MustCompile("(?m)^<!-- (example|output|file): ")
)

func copyingPages(t *testing.T) []string {
	t.Helper()
	return append(guidePages(t), "README.md", "docs/migrate.md", "docs/mcp.md", "docs/snapshot.md")
}

func TestGuideShowsTheExamplesAsTheyAre(t *testing.T) {
	examples := readExamples(t, "example*_test.go", "toolrunner*/example*_test.go", "docs/migrate/*_test.go", "examples/*/*.go")
	for _, page := range copyingPages(t) {
		text := readFile(t, page)
		if asked, shown := len(marked.FindAll(text, -1)), len(copied.FindAll(text, -1)); asked != shown {
			t.Errorf("%s asks for %d copies, and has a block right after %d of the comments", page, asked, shown)
		}
		want := copied.ReplaceAllFunc(text, func(block []byte) []byte {
			m := copied.FindSubmatch(block)
			code, err := examples.find(string(m[1]), string(m[2]))
			if err != nil {
				t.Errorf("%s: %v", page, err)
				return block
			}
			return fmt.Appendf(nil, "<!-- %s: %s -->\n```%s\n%s```", m[1], m[2], m[3], code)
		})
		if bytes.Equal(text, want) {
			continue
		}
		if *update {
			if err := os.WriteFile(page, want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		t.Errorf("%s differs from the examples; go test -run TestGuide -update rewrites it (-want +got):\n%s",
			page, cmp.Diff(string(want), string(text)))
	}
}

func TestGuideHasNoGoCodeOfItsOwn(t *testing.T) {
	fence := regexp.MustCompile("(?m)^```go$")
	for _, page := range copyingPages(t) {
		rest := copied.ReplaceAll(readFile(t, page), nil)
		if marked.Match(rest) {
			t.Errorf("%s has a comment that no block follows", page)
		}
		if n := len(fence.FindAll(rest, -1)); n > 0 {
			t.Errorf("%s has %d blocks of Go that no example holds", page, n)
		}
	}
}

// examples are the declarations of the example files, by name; those of another
// package than the root's have the name of its folder in front, and methods their type.
type examples struct {
	fset    *token.FileSet
	sources map[string][]byte
	nodes   map[string]ast.Node
	outputs map[string]string
}

func readExamples(t *testing.T, patterns ...string) *examples {
	t.Helper()
	e := &examples{token.NewFileSet(), make(map[string][]byte), make(map[string]ast.Node), make(map[string]string)}
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			prefix := ""
			if dir := filepath.Base(filepath.Dir(file)); dir != "." {
				prefix = dir + "."
			}
			e.read(t, file, prefix)
		}
	}
	return e
}

func (e *examples) read(t *testing.T, file, prefix string) {
	t.Helper()
	e.sources[file] = readFile(t, file)
	syntax, err := parser.ParseFile(e.fset, file, e.sources[file], parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, declaration := range syntax.Decls {
		switch declaration := declaration.(type) {
		case *ast.FuncDecl:
			e.nodes[prefix+receiver(declaration)+declaration.Name.Name] = declaration
		case *ast.GenDecl:
			for _, spec := range declaration.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					e.nodes[prefix+spec.Name.Name] = declaration
				case *ast.ValueSpec:
					e.nodes[prefix+spec.Names[0].Name] = declaration
				}
			}
		}
	}
	for _, example := range doc.Examples(syntax) {
		e.outputs[prefix+"Example"+example.Name] = example.Output
	}
}

// receiver returns the type of a method, with a full stop, or nothing for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	return strings.TrimPrefix(types.ExprString(f.Recv.List[0].Type), "*") + "."
}

// find returns what a comment in a page asks for.
func (e *examples) find(kind, reference string) (string, error) {
	if kind == "file" {
		text, err := os.ReadFile(reference)
		return string(text), err
	}
	name, part, _ := strings.Cut(reference, ": ")
	if kind == "output" {
		output, ok := e.outputs[name]
		if !ok || output == "" {
			return "", fmt.Errorf("no example is called %s, or it prints nothing", name)
		}
		return output, nil
	}
	if kind == "file" {
		source, err := os.ReadFile(name)
		return string(source), err
	}
	node := e.nodes[name]
	if node == nil {
		return "", fmt.Errorf("no example file declares %s", name)
	}
	if part != "" {
		return e.statements(node, name, part)
	}
	if f, ok := node.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Example") {
		last := f.Body.List[len(f.Body.List)-1]
		return e.text(f.Body.List[0].Pos(), last.End()), nil
	}
	start := node.Pos()
	if f, ok := node.(*ast.FuncDecl); ok {
		start = f.Type.Pos()
	}
	return e.text(start, node.End()), nil
}

// statements returns those from the first that begins with one text up to the
// next that begins with another.
func (e *examples) statements(node ast.Node, name, part string) (string, error) {
	from, to, several := strings.Cut(part, " ... ")
	var first, last ast.Node
	ast.Inspect(node, func(n ast.Node) bool {
		statement, ok := n.(ast.Stmt)
		if !ok || last != nil {
			return last == nil
		}
		text := e.text(statement.Pos(), statement.End())
		if first == nil && strings.HasPrefix(text, from) {
			first = statement
			if !several {
				last = statement
			}
		} else if first != nil && strings.HasPrefix(text, to) {
			last = statement
		}
		return true
	})
	if first == nil || last == nil {
		return "", fmt.Errorf("%s has no statements %q", name, part)
	}
	return e.text(first.Pos(), last.End()), nil
}

// text returns the source between two positions, with a comment that ends the last
// line, moved to the left margin.
func (e *examples) text(from, to token.Pos) string {
	start, end := e.fset.Position(from), e.fset.Position(to).Offset
	source := e.sources[start.Filename]
	if line, _, _ := bytes.Cut(source[end:], []byte("\n")); bytes.HasPrefix(bytes.TrimSpace(line), []byte("//")) {
		end += len(line)
	}
	margin := strings.Repeat("\t", start.Column-1)
	return strings.ReplaceAll(string(source[start.Offset:end]), "\n"+margin, "\n") + "\n"
}

// Each name that users see is shown in an example, or says enough by itself.
func TestEachExportedNameHasAnExample(t *testing.T) {
	plain := []string{
		"OutcomeRunning", "OutcomeStopped", "OutcomeFailed", // how a run stands, beside the outcomes that an example tells apart
		"ValidateInput", // the default
	}
	e := readExamples(t, "example*_test.go", "toolrunnertest/example*_test.go")
	var all bytes.Buffer
	for _, source := range e.sources {
		all.Write(source)
	}
	for _, file := range parseTree(t).root() {
		for _, name := range exportedNames(file.syntax) {
			used := regexp.MustCompile(`\btoolrunner\.` + name + `\b|\bfunc Example` + name + `(_[a-z]\w*)?\(`)
			if !used.Match(all.Bytes()) && !slices.Contains(plain, name) {
				t.Errorf("no example uses %s", name)
			}
		}
	}
}

func TestLinksBetweenPagesResolve(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, page := range markdownPages(t) {
		for _, m := range link.FindAllSubmatch(fenced.ReplaceAll(readFile(t, page), nil), -1) {
			target, fragment, _ := strings.Cut(string(m[1]), "#")
			if strings.Contains(target, "://") {
				continue
			}
			file := page
			if target != "" {
				file = filepath.Join(filepath.Dir(page), target)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s links to %s, which is not there", page, m[1])
			} else if fragment != "" && !slices.Contains(anchors(readFile(t, file)), fragment) {
				t.Errorf("%s links to %s, which has no such heading", page, m[1])
			}
		}
	}
}

func TestGuideIndexLeadsToEachPage(t *testing.T) {
	index := readFile(t, "docs/guide/README.md")
	for _, page := range guidePages(t) {
		if name := filepath.Base(page); name != "README.md" && !bytes.Contains(index, []byte("]("+name+")")) {
			t.Errorf("docs/guide/README.md has no link to %s", name)
		}
	}
}

// The guide writes `Runner.All`, `ErrDone` or `toolrunnertest.CheckRun`: a name
// that begins with a capital letter is one of the root package.
func TestGuideNamesWhatThereIs(t *testing.T) {
	types := map[string]reflect.Type{
		"AutoCompact":           reflect.TypeFor[toolrunner.AutoCompact](),
		"Call":                  reflect.TypeFor[toolrunner.Call](),
		"Delta":                 reflect.TypeFor[toolrunner.Delta](),
		"FileCheckpoint":        reflect.TypeFor[toolrunner.FileCheckpoint](),
		"Limits":                reflect.TypeFor[toolrunner.Limits](),
		"ClientCompaction":      reflect.TypeFor[toolrunner.ClientCompaction](),
		"Event":                 reflect.TypeFor[toolrunner.Event](),
		"HistoryError":          reflect.TypeFor[toolrunner.HistoryError](),
		"IncompleteStreamError": reflect.TypeFor[toolrunner.IncompleteStreamError](),
		"Params":                reflect.TypeFor[toolrunner.Params](),
		"Decision":              reflect.TypeFor[toolrunner.Decision](),
		"ReplyError":            reflect.TypeFor[toolrunner.ReplyError](),
		"Result":                reflect.TypeFor[toolrunner.Result](),
		"Runner":                reflect.TypeFor[toolrunner.Runner](),
		"Tool":                  reflect.TypeFor[toolrunner.Tool](),
		"ToolError":             reflect.TypeFor[toolrunner.ToolError](),
		"Turn":                  reflect.TypeFor[toolrunner.Turn](),
		"Usage":                 reflect.TypeFor[toolrunner.Usage](),

		"toolrunnertest.Reply":   reflect.TypeFor[toolrunnertest.Reply](),
		"toolrunnertest.Request": reflect.TypeFor[toolrunnertest.Request](),
		"toolrunnertest.Server":  reflect.TypeFor[toolrunnertest.Server](),
	}
	var root, test []string
	for _, file := range parseTree(t).files {
		switch filepath.Dir(file.path) {
		case ".":
			root = append(root, exportedNames(file.syntax)...)
		case "toolrunnertest":
			test = append(test, exportedNames(file.syntax)...)
		}
	}
	name := regexp.MustCompile("`(toolrunnertest\\.)?([A-Z][A-Za-z0-9]*)((?:\\.[A-Z][A-Za-z0-9]*)*)(?:\\([^`]*\\))?`")
	for _, page := range guidePages(t) {
		for _, m := range name.FindAllStringSubmatch(string(fenced.ReplaceAll(readFile(t, page), nil)), -1) {
			known := root
			if m[1] != "" {
				known = test
			}
			if !slices.Contains(known, m[2]) {
				t.Errorf("%s names %s, which is not there", page, m[0])
			} else if m[3] != "" && !hasMember(types[m[1]+m[2]], strings.Split(m[3][1:], ".")) {
				t.Errorf("%s names %s, which %s does not have", page, m[0], m[1]+m[2])
			}
		}
	}
}

// hasMember follows fields, and in the end perhaps a method.
func hasMember(t reflect.Type, path []string) bool {
	for i, name := range path {
		if t == nil {
			return false
		}
		if _, ok := reflect.PointerTo(t).MethodByName(name); ok && i == len(path)-1 {
			return true
		}
		if t.Kind() != reflect.Struct {
			return false
		}
		field, ok := t.FieldByName(name)
		if !ok {
			return false
		}
		t = field.Type
	}
	return true
}

var (
	fenced  = regexp.MustCompile("(?ms)^```.*?^```$")
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	noSlug  = regexp.MustCompile(`[^\pL\pN _-]`)
)

// anchors returns the fragments that the headings of a page make.
func anchors(page []byte) []string {
	var all []string
	for _, m := range heading.FindAllSubmatch(fenced.ReplaceAll(page, nil), -1) {
		slug := noSlug.ReplaceAllString(strings.ToLower(string(m[1])), "")
		all = append(all, strings.ReplaceAll(slug, " ", "-"))
	}
	return all
}

func guidePages(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob("docs/guide/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("docs/guide has no pages; error %v", err)
	}
	return pages
}

func markdownPages(t *testing.T) []string {
	t.Helper()
	pages := guidePages(t)
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/decisions/*.md"} {
		more, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, more...)
	}
	return pages
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Who copies the first snippet of a page finds what it needs: it is a whole file, or the
// page has linked to one before.
func TestFirstSnippetOfAPageIsOrLinksToAWholeFile(t *testing.T) {
	link := regexp.MustCompile(`\]\([^)]+\.go\)`)
	for _, page := range guidePages(t) {
		before, _, ok := bytes.Cut(readFile(t, page), []byte("\n```go\n"))
		if ok && !bytes.Contains(before, []byte("<!-- file: ")) && !link.Match(before) {
			t.Errorf("%s has no link to a file before its first snippet", page)
		}
	}
}
