package toolrunner_test

import (
	"bytes"
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	maxFileLines     = 400
	maxFunctionLines = 60

	// maxExported bounds the root package's exported top-level names; methods
	// and fields do not count. The design names 61: 5 for Runner, New, Resume,
	// Turn and Event; 15 for tools, calls and results; 5 middlewares; 13 for
	// parameters and approval; 11 for Outcome, its values and Usage; 12 errors.
	// The rest is room to grow, and raising the bound is a decision to record: the last one
	// is decision 20.
	maxExported = 81

	// The root folder is a page to read.
	maxRootEntries  = 110
	maxRootSources  = 32
	maxRootLines    = 6000
	maxRootTests    = 25
	maxRootExamples = 20

	modulePath = "github.com/toolrunner/toolrunner"

	// goroutineDir is the only package of the library that starts goroutines.
	goroutineDir = "internal/dispatch"
)

// dependencies are what the root package and internal may import beside the
// standard library and internal itself: what they import, every user downloads.
var dependencies = []string{
	"github.com/anthropics/anthropic-sdk-go/v2",
	"go.opentelemetry.io/otel", // the SDK requires its API
}

// borders lists what internal packages may import of this module, lowest first. The
// compiler refuses a circle; this list keeps the arrows pointing down.
var borders = map[string][]string{
	"internal/wire":       {},
	"internal/sse":        {},
	"internal/dispatch":   {},
	"internal/media":      {"internal/wire"},
	"internal/schema":     {"internal/wire"},
	"internal/stream":     {"internal/sse", "internal/wire"},
	"internal/history":    {"internal/media", "internal/wire"},
	"internal/machine":    {"internal/history", "internal/media", "internal/wire"},
	"internal/request":    {"internal/history", "internal/wire"},
	"internal/filelock":   {},
	"internal/recordfile": {"internal/filelock"},
	"internal/telemetry":  {"internal/dispatch"},
	"internal/transcript": {"internal/history", "internal/wire"},
	"internal/question":   {"internal/wire"},
	"internal/records":    {"internal/dispatch", "internal/history", "internal/machine", "internal/redact", "internal/request", "internal/schema", "internal/telemetry"},
	"internal/redact":     {},
	"internal/tty":        {},
	"internal/sdktest":    {},
}

// pure lists the packages that decide: with the same history they decide the same, so
// nothing of effects may enter them.
var pure = []string{"internal/history", "internal/machine", "internal/request", "internal/wire"}

// effects lists packages by which a decision would depend on more than its input.
var effects = []string{"context", "crypto/rand", "log", "log/slog", "math/rand", "math/rand/v2", "net", "os", "sync", "sync/atomic"}

// longFiles holds files that are still longer than maxFileLines, and how long they may
// be. It only shrinks.
var longFiles = map[string]int{
	"internal/machine/machine.go": 485,
	"internal/machine/restore.go": 499,
}

func TestFilesAndFunctionsStayShort(t *testing.T) {
	tree := parseTree(t)
	for _, file := range tree.files {
		most := cmp.Or(longFiles[file.path], maxFileLines)
		if lines := tree.fset.File(file.syntax.Pos()).LineCount(); lines > most {
			t.Errorf("%s has %d lines, want at most %d", file.path, lines, most)
		}
		for _, declaration := range file.syntax.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok {
				continue
			}
			start, end := tree.fset.Position(function.Pos()), tree.fset.Position(function.End())
			if lines := end.Line - start.Line + 1; lines > maxFunctionLines {
				t.Errorf("%s: %s has %d lines, want at most %d", start, function.Name.Name, lines, maxFunctionLines)
			}
		}
	}
}

func TestRootFolderIsAPageToRead(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var visible, sources, lines, tests, examples int
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, ".") {
			continue
		}
		visible++
		switch {
		case strings.HasPrefix(name, "example") && strings.HasSuffix(name, "_test.go"):
			examples++
		case strings.HasSuffix(name, "_test.go"):
			tests++
		case strings.HasSuffix(name, ".go"):
			sources++
			lines += bytes.Count(readFile(t, name), []byte("\n"))
		}
	}
	for _, bound := range []struct {
		what      string
		got, most int
		remedy    string
	}{
		{"entries", visible, maxRootEntries, "tests of what users see belong in internal/tests, a folder for each theme"},
		{"source files", sources, maxRootSources, "what nobody imports belongs in internal"},
		{"lines of source", lines, maxRootLines, "what nobody imports belongs in internal"},
		{"files of tests", tests, maxRootTests, "tests of what users see belong in internal/tests, a folder for each theme"},
		{"files of examples", examples, maxRootExamples, "an example belongs in the file of its page of the guide"},
	} {
		if bound.got > bound.most {
			t.Errorf("the root folder has %d %s, want at most %d: %s", bound.got, bound.what, bound.most, bound.remedy)
		}
	}
}

func TestExportedNamesStayWithinTheirBudget(t *testing.T) {
	var exported []string
	for _, file := range parseTree(t).root() {
		exported = append(exported, exportedNames(file.syntax)...)
	}
	if len(exported) > maxExported {
		slices.Sort(exported)
		t.Errorf("the root package exports %d names, want at most %d: %s",
			len(exported), maxExported, strings.Join(exported, ", "))
	}
}

func TestRootAndInternalImportOnlyWhatEveryUserNeeds(t *testing.T) {
	tree := parseTree(t)
	for _, file := range tree.core() {
		for _, spec := range file.syntax.Imports {
			if imported := strings.Trim(spec.Path.Value, "\"`"); !allowedInCore(imported) {
				t.Errorf("%s imports %s: the root package and internal import the standard library, internal and %s",
					tree.fset.Position(spec.Pos()), imported, strings.Join(dependencies, ", "))
			}
		}
	}
}

func TestInternalPackagesImportOnlyWhatIsBelowThem(t *testing.T) {
	tree := parseTree(t)
	seen := make(map[string]bool)
	for _, file := range tree.core() {
		dir := path.Dir(file.path)
		if dir == "." {
			continue
		}
		seen[dir] = true
		allowed, known := borders[dir]
		if !known {
			t.Errorf("%s is in a package without a line in borders", file.path)
			continue
		}
		for _, spec := range file.syntax.Imports {
			imported, ours := inModule(spec)
			if ours && !slices.Contains(allowed, imported) {
				t.Errorf("%s imports %s: its package may import %q of this module", tree.fset.Position(spec.Pos()), imported, allowed)
			}
		}
	}
	for dir := range borders {
		if !seen[dir] {
			t.Errorf("borders has a line for %s, which has no files", dir)
		}
	}
}

// What is below the root must be usable without it. Only tests of internal that see the
// library from outside import it: those in internal/tests.
func TestNothingBelowTheRootImportsTheRoot(t *testing.T) {
	fset := token.NewFileSet()
	files := 0
	err := filepath.WalkDir("internal", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || filepath.ToSlash(name) == "internal/tests"):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		syntax, err := parser.ParseFile(fset, name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		files++
		for _, spec := range syntax.Imports {
			imported, ours := inModule(spec)
			if ours && imported == "toolrunnertest" && strings.HasSuffix(name, "_test.go") {
				continue // the checks of a strict server, which knows nothing of the root either
			}
			if ours && (!strings.HasPrefix(imported, "internal/") || strings.HasPrefix(imported, "internal/tests")) {
				t.Errorf("%s imports %q of this module: what is below the root knows nothing above it", fset.Position(spec.Pos()), imported)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files == 0 {
		t.Fatal("internal has no Go files")
	}
}

func TestWhatDecidesDoesNothingElse(t *testing.T) {
	tree := parseTree(t)
	for _, file := range tree.core() {
		if !slices.Contains(pure, path.Dir(file.path)) {
			continue
		}
		for _, spec := range file.syntax.Imports {
			if imported := strings.Trim(spec.Path.Value, "\"`"); slices.Contains(effects, imported) {
				t.Errorf("%s imports %s: this package decides, and its driver does", tree.fset.Position(spec.Pos()), imported)
			}
		}
		ast.Inspect(file.syntax, func(node ast.Node) bool {
			if readsClock(node) {
				t.Errorf("%s reads the clock: the driver says what time it is", tree.fset.Position(node.Pos()))
			}
			return true
		})
	}
}

func TestGoroutinesStartOnlyInDispatch(t *testing.T) {
	tree := parseTree(t)
	starts := 0
	for _, file := range tree.core() {
		ast.Inspect(file.syntax, func(node ast.Node) bool {
			switch {
			case !startsGoroutine(node):
			case path.Dir(file.path) == goroutineDir:
				starts++
			default:
				t.Errorf("%s starts a goroutine: only %s does", tree.fset.Position(node.Pos()), goroutineDir)
			}
			return true
		})
	}
	if starts == 0 {
		t.Errorf("%s starts no goroutine, so this test looks in the wrong place", goroutineDir)
	}
}

// inModule returns what an import names of this module: "" is the root.
func inModule(spec *ast.ImportSpec) (imported string, ours bool) {
	name := strings.Trim(spec.Path.Value, "\"`")
	if name == modulePath {
		return "", true
	}
	return strings.CutPrefix(name, modulePath+"/")
}

// readsClock reports what tells the time or waits for one.
func readsClock(node ast.Node) bool {
	selector, ok := node.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	of, ok := selector.X.(*ast.Ident)
	return ok && of.Name == "time" &&
		slices.Contains([]string{"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until"}, selector.Sel.Name)
}

// sourceTree is the module's Go code without its tests.
type sourceTree struct {
	fset  *token.FileSet
	files []sourceFile
}

type sourceFile struct {
	path   string // with slashes, relative to the module's root
	syntax *ast.File
}

func parseTree(t *testing.T) *sourceTree {
	t.Helper()
	tree := &sourceTree{fset: token.NewFileSet()}
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if name != "." && strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" {
				return fs.SkipDir
			}
			return nil
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		syntax, err := parser.ParseFile(tree.fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		tree.files = append(tree.files, sourceFile{filepath.ToSlash(name), syntax})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.root()) == 0 {
		t.Fatal("the working directory holds no file of the root package")
	}
	return tree
}

// root returns the files of the root package.
func (s *sourceTree) root() []sourceFile {
	return s.below(func(dir string) bool { return dir == "." })
}

// core returns the files of the root package and of internal, but for what tests share.
func (s *sourceTree) core() []sourceFile {
	return s.below(func(dir string) bool {
		return dir == "." || strings.HasPrefix(dir, "internal/") && !strings.HasPrefix(dir, "internal/tests/")
	})
}

func (s *sourceTree) below(match func(dir string) bool) []sourceFile {
	var files []sourceFile
	for _, file := range s.files {
		if match(path.Dir(file.path)) {
			files = append(files, file)
		}
	}
	return files
}

func exportedNames(file *ast.File) []string {
	var names []string
	add := func(ids ...*ast.Ident) {
		for _, id := range ids {
			if id.IsExported() {
				names = append(names, id.Name)
			}
		}
	}
	for _, declaration := range file.Decls {
		switch declaration := declaration.(type) {
		case *ast.FuncDecl:
			if declaration.Recv == nil {
				add(declaration.Name)
			}
		case *ast.GenDecl:
			for _, spec := range declaration.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					add(spec.Name)
				case *ast.ValueSpec:
					add(spec.Names...)
				}
			}
		}
	}
	return names
}

func allowedInCore(imported string) bool {
	for _, allowed := range append([]string{modulePath + "/internal"}, dependencies...) {
		if imported == allowed || strings.HasPrefix(imported, allowed+"/") {
			return true
		}
	}
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".") // no domain: the standard library
}

// startsGoroutine reports go statements and calls of a method or function named
// Go, as sync.WaitGroup and errgroup.Group have.
func startsGoroutine(node ast.Node) bool {
	switch node := node.(type) {
	case *ast.GoStmt:
		return true
	case *ast.CallExpr:
		selector, ok := node.Fun.(*ast.SelectorExpr)
		return ok && selector.Sel.Name == "Go"
	}
	return false
}
