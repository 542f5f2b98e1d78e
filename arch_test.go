package toolrunner_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// concepts lists the root package's files from the first concept to the last.
// A file uses what its own line and the lines above declare, nothing below.
// A concept that needs more than one file has them all on its line.
var concepts = [][]string{
	{"errors.go"},
	{"object.go"},
	{"block.go"},
	{"call.go"},
	{"output.go"},
	{"oneof.go"},
	{"tool.go", "tool_exclusive.go"},
	{"dispatch.go"},
	{"middleware.go"},
	{"approval.go", "terminal.go"},
	{"toolset.go"},
	{"breakpoints.go", "draft.go", "history.go", "messages.go"},
	{"stop.go"},
	{"usage.go", "limits.go"},
	{"reply.go"},
	{"compact.go"},
	{"opencall.go", "loop.go", "followup.go", "takeover.go", "compacting.go", "limiting.go", "snapshot.go", "seal.go", "restore.go"},
	{"checkpoint.go"},
	{"params.go"},
	{"system.go"},
	{"request.go"},
	{"pieces.go", "accumulate.go", "delta.go", "stream.go"},
	{"redact.go", "log.go"},
	{"turn.go", "exchange.go", "ask.go", "eager.go", "answer.go", "conversation.go", "resume.go", "runner.go"},
}

const (
	maxFileLines     = 400
	maxFunctionLines = 60

	// maxExported bounds the root package's exported top-level names; methods
	// and fields do not count. The design names 61: 5 for Runner, New, Resume,
	// Turn and Event; 15 for tools, calls and results; 5 middlewares; 13 for
	// parameters and approval; 11 for Outcome, its values and Usage; 12 errors.
	// The rest is room to grow, and raising the bound is a decision to record.
	maxExported = 80

	modulePath    = "github.com/toolrunner/toolrunner"
	goroutineFile = "dispatch.go"
)

// dependencies are what the root package and internal may import beside the
// standard library and internal itself: what they import, every user downloads.
var dependencies = []string{
	"github.com/anthropics/anthropic-sdk-go/v2",
}

func TestEveryFileOfTheRootPackageBelongsToAConcept(t *testing.T) {
	for _, file := range parseTree(t).root() {
		if file.path != "doc.go" && rank(file.path) < 0 {
			t.Errorf("%s is not in concepts: add it to the line of its concept", file.path)
		}
	}
}

func TestFilesUseOnlyConceptsAboveThem(t *testing.T) {
	tree := parseTree(t)
	var violations []string
	for id, object := range tree.resolve(tree.root()) {
		use, declaration := tree.fset.Position(id.Pos()), tree.fset.Position(object.Pos())
		if rank(declaration.Filename) > rank(use.Filename) {
			violations = append(violations,
				fmt.Sprintf("%s uses %s, which is declared further down, in %s", use, id.Name, declaration.Filename))
		}
	}
	slices.Sort(violations)
	for _, violation := range violations {
		t.Error(violation)
	}
}

func TestFilesAndFunctionsStayShort(t *testing.T) {
	tree := parseTree(t)
	for _, file := range tree.files {
		if lines := tree.fset.File(file.syntax.Pos()).LineCount(); lines > maxFileLines {
			t.Errorf("%s has %d lines, want at most %d", file.path, lines, maxFileLines)
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

func TestGoroutinesStartOnlyInDispatch(t *testing.T) {
	tree := parseTree(t)
	for _, file := range tree.core() {
		if file.path == goroutineFile {
			continue
		}
		ast.Inspect(file.syntax, func(node ast.Node) bool {
			if startsGoroutine(node) {
				t.Errorf("%s starts a goroutine: only %s does", tree.fset.Position(node.Pos()), goroutineFile)
			}
			return true
		})
	}
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

// core returns the files of the root package and of internal.
func (s *sourceTree) core() []sourceFile {
	return s.below(func(dir string) bool {
		return dir == "." || dir == "internal" || strings.HasPrefix(dir, "internal/")
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

// resolve finds what each identifier in a package's files refers to, where that
// is declared in the same package. Imports stay unresolved, which keeps this
// fast; it misses only methods of values whose type an import would tell.
func (s *sourceTree) resolve(files []sourceFile) map[*ast.Ident]types.Object {
	var syntax []*ast.File
	for _, file := range files {
		syntax = append(syntax, file.syntax)
	}
	config := types.Config{Importer: noImports{}, Error: func(error) {}}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	// The error is about imports; whether the package compiles, the compiler tells.
	pkg, _ := config.Check(modulePath, s.fset, syntax, info)
	for id, object := range info.Uses {
		if object.Pkg() != pkg {
			delete(info.Uses, id)
		}
	}
	return info.Uses
}

type noImports struct{}

func (noImports) Import(string) (*types.Package, error) {
	return nil, errors.New("imports are not resolved")
}

// rank returns the place of a root file's concept, or -1 where it has none.
func rank(file string) int {
	return slices.IndexFunc(concepts, func(files []string) bool { return slices.Contains(files, file) })
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
