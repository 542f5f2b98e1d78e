package machine

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// source is the package's own code.
type source struct {
	fset  *token.FileSet
	files []*ast.File
	info  *types.Info
}

// strangers stands in for imported packages, which the rules here are not about.
type strangers struct{}

func (strangers) Import(path string) (*types.Package, error) {
	return nil, fmt.Errorf("%s is not read", path)
}

func parseSource(t *testing.T) *source {
	t.Helper()
	s := &source{fset: token.NewFileSet(), info: &types.Info{Selections: make(map[*ast.SelectorExpr]*types.Selection), Types: make(map[ast.Expr]types.TypeAndValue)}}
	names, err := fs.Glob(os.DirFS("."), "*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(s.fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		s.files = append(s.files, file)
	}
	config := types.Config{Importer: strangers{}, Error: func(error) {}}
	_, _ = config.Check("machine", s.fset, s.files, s.info) // fails for want of the imports
	return s
}

// The machine does no I/O and reads no clock, so that a workflow can replay it.
func TestMachineHasNoEffects(t *testing.T) {
	s := parseSource(t)
	clock := []string{"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "Tick", "NewTimer", "NewTicker"}
	for _, file := range s.files {
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if root, _, _ := strings.Cut(path, "/"); slices.Contains([]string{"context", "net", "os", "sync"}, root) {
				t.Errorf("%s imports %s", s.fset.Position(spec.Pos()), path)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s starts a goroutine", s.fset.Position(n.Pos()))
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clock, n.Sel.Name) {
					t.Errorf("%s reads the clock", s.fset.Position(n.Pos()))
				}
			}
			return true
		})
	}
}

func TestMachineHasNoExportedField(t *testing.T) {
	found := false
	for _, file := range parseSource(t).files {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || spec.Name.Name != "Machine" {
				return true
			}
			found = true
			for _, field := range spec.Type.(*ast.StructType).Fields.List {
				if len(field.Names) == 0 {
					t.Error("Machine embeds a type")
				}
				for _, name := range field.Names {
					if name.IsExported() {
						t.Errorf("Machine has the field %s", name.Name)
					}
				}
			}
			return false
		})
	}
	if !found {
		t.Error("there is no type Machine")
	}
}

// builders make a state that nobody has seen yet.
var builders = []string{"New", "Restore", "restoreCalls"}

// Only callbacks of update, and methods of the state that they call, assign to the
// fields of the state: the sequence rises with each change, and checkpoints have it.
func TestOnlyUpdateChangesTheState(t *testing.T) {
	s := parseSource(t)
	seen := 0 // to notice a test that finds nothing
	for _, file := range s.files {
		for _, declaration := range file.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok {
				continue
			}
			allowed := slices.Contains(builders, function.Name.Name) || function.Name.Name == "update" ||
				function.Recv != nil && types.ExprString(function.Recv.List[0].Type) == "*state"
			seen += s.checkAssignments(t, function.Body, allowed)
		}
	}
	if seen < 40 {
		t.Errorf("%d assignments to the state were found, want the 60 or so that there are", seen)
	}
}

// checkAssignments reports assignments to the state outside of callbacks of update and
// retract, and returns how many assignments there are.
func (s *source) checkAssignments(t *testing.T, body ast.Node, allowed bool) (seen int) {
	t.Helper()
	target := func(e ast.Expr) {
		if !s.isOfState(e) {
			return
		}
		if seen++; !allowed {
			t.Errorf("%s assigns to %s outside of update", s.fset.Position(e.Pos()), types.ExprString(e))
		}
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				target(e)
			}
		case *ast.IncDecStmt:
			target(n.X)
		case *ast.RangeStmt:
			target(n.Key)
			target(n.Value)
		case *ast.CallExpr:
			f, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || f.Sel.Name != "update" && f.Sel.Name != "retract" {
				return true
			}
			for _, argument := range n.Args {
				seen += s.checkAssignments(t, argument, true)
			}
			return false
		}
		return true
	})
	return seen
}

// isOfState reports whether e is a field of the state, or a part of one.
func (s *source) isOfState(e ast.Expr) bool {
	for {
		switch x := e.(type) {
		case *ast.SelectorExpr:
			if selection := s.info.Selections[x]; selection != nil && isState(selection.Recv()) {
				_, local := x.X.(*ast.Ident)
				_, pointer := selection.Recv().(*types.Pointer)
				return pointer || !local // a local one is a copy, as View makes it
			}
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		default:
			return false
		}
	}
}

func isState(t types.Type) bool {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := t.(*types.Named)
	return ok && named.Obj().Name() == "state"
}
