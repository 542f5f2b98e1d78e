// Package sdktest reads the source of the SDK that tests are built with, so that
// tables of ours fail when the SDK learns something new.
package sdktest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// source is the file that declares the messages of the beta API.
const source = "betamessage.go"

// parse parses a file of the SDK.
func parse(t *testing.T, name string) *ast.File {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/anthropics/anthropic-sdk-go/v2")
	list.Env = append(os.Environ(), "GOPROXY=off")
	dir, err := list.Output()
	if err != nil || len(strings.TrimSpace(string(dir))) == 0 {
		t.Skipf("the SDK's source cannot be found: %v", err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(strings.TrimSpace(string(dir)), name), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// Constants returns the values of the constants of a string type, sorted.
func Constants(t *testing.T, typeName string) []string {
	t.Helper()
	file := parse(t, source)
	var values []string
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			if name, ok := spec.Type.(*ast.Ident); ok && name.Name == typeName {
				values = append(values, literals(spec.Values)...)
			}
		}
		return true
	})
	slices.Sort(values)
	return values
}

// Variants returns the types that the AsAny of a union tells apart, sorted.
func Variants(t *testing.T, union string) []string {
	t.Helper()
	file := parse(t, source)
	var values []string
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Name.Name != "AsAny" || f.Recv == nil {
			continue
		}
		if receiver, ok := f.Recv.List[0].Type.(*ast.Ident); !ok || receiver.Name != union {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if clause, ok := n.(*ast.CaseClause); ok {
				values = append(values, literals(clause.List)...)
			}
			return true
		})
	}
	slices.Sort(values)
	return values
}

func literals(exprs []ast.Expr) []string {
	var values []string
	for _, e := range exprs {
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if value, err := strconv.Unquote(lit.Value); err == nil {
				values = append(values, value)
			}
		}
	}
	return values
}
