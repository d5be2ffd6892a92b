package h5dnn_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestResultsDoNotDependOnTheOrderOfMaps finds loops over maps that return an error or add up
// floating-point numbers: which error it is, and how the sum is rounded, would change from one
// run to the next. Range over slices.Sorted(maps.Keys(m)) instead.
func TestResultsDoNotDependOnTheOrderOfMaps(t *testing.T) {
	own, exports := compiledPackages(t)
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, p := range own {
		var files []*ast.File
		for _, name := range p.CompiledGoFiles {
			if !filepath.IsAbs(name) {
				name = filepath.Join(p.Dir, name)
			}
			file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
		conf := types.Config{Importer: imports}
		if _, err := conf.Check(p.ImportPath, fset, files, info); err != nil {
			t.Fatalf("%s: %v", p.ImportPath, err)
		}
		for _, file := range files {
			ast.Inspect(file, func(n ast.Node) bool {
				if loop, ok := n.(*ast.RangeStmt); ok && isMap(info.TypeOf(loop.X)) {
					if why := dependsOnOrder(loop.Body, info); why != "" {
						t.Errorf("%v: a loop over a map %s", fset.Position(loop.Pos()), why)
					}
				}
				return true
			})
		}
	}
}

// compiledPackages lists the packages of this module, and the files with what packages export.
func compiledPackages(t *testing.T) (own []listed, exports map[string]string) {
	cmd := exec.Command("go", "list", "-deps", "-export", "-compiled", "-json=ImportPath,Dir,Export,CompiledGoFiles", "./...")
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	exports = map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return own, exports
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if strings.HasPrefix(p.ImportPath+"/", module) && len(p.CompiledGoFiles) > 0 {
			own = append(own, p)
		}
	}
}

// A listed package is one that go list prints.
type listed struct {
	ImportPath, Dir, Export string
	CompiledGoFiles         []string
}

func isMap(t types.Type) bool {
	if t == nil {
		return false
	}
	_, ok := t.Underlying().(*types.Map)
	return ok
}

// dependsOnOrder says what the body of a loop does that depends on the order, or "".
func dependsOnOrder(body ast.Node, info *types.Info) (why string) {
	failure := types.Universe.Lookup("error").Type()
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			for _, result := range n.Results {
				if typ := info.Types[result]; !typ.IsNil() && types.AssignableTo(typ.Type, failure) {
					why = "returns an error"
				}
			}
		case *ast.AssignStmt:
			if n.Tok == token.ADD_ASSIGN || n.Tok == token.SUB_ASSIGN {
				if basic, ok := info.TypeOf(n.Lhs[0]).Underlying().(*types.Basic); ok && basic.Info()&(types.IsFloat|types.IsComplex|types.IsString) != 0 {
					why = "adds up floating-point numbers or strings"
				}
			}
		}
		return true
	})
	return why
}
