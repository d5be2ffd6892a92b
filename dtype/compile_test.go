package dtype_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"testing"
)

// TestConstantsAreNoTypes compiles uses of a Type: uses of constants fail, such as the
// size in zeros(2, 3), and a switch over types works.
func TestConstantsAreNoTypes(t *testing.T) {
	const head = `package p
import "github.com/h5dnn/h5dnn/dtype"
func zeros(t dtype.Type, shape ...int) {}
func f(t dtype.Type) {`
	for body, fails := range map[string]bool{
		"zeros(2, 3)":                           true,
		"zeros('i', 3)":                         true,
		`zeros("float32", 3)`:                   true,
		"zeros(dtype.Type(12), 3)":              true,
		"zeros(dtype.Type{12}, 3)":              true,
		"_ = t == 0":                            true,
		"zeros(dtype.Float32, 3)":               false,
		"switch t { case dtype.Float32: }":      false,
		"_ = map[dtype.Type]int{dtype.Bool: 1}": false,
	} {
		if err := compile(t, head+body+"}"); (err != nil) != fails {
			t.Errorf("%s: error %v; want one: %v", body, err, fails)
		}
	}
}

// compile checks the types of a file that imports this package.
func compile(t *testing.T, source string) error {
	files := token.NewFileSet()
	parse := func(name string, source any) *ast.File {
		f, err := parser.ParseFile(files, name, source, 0)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	ignore := func(error) {} // of imports, which declare no Type
	own, _ := (&types.Config{IgnoreFuncBodies: true, Error: ignore}).Check("dtype", files, []*ast.File{parse("dtype.go", nil)}, nil)
	_, err := (&types.Config{Importer: only{own}}).Check("p", files, []*ast.File{parse("p.go", source)}, nil)
	return err
}

// only imports one package.
type only struct{ p *types.Package }

func (o only) Import(string) (*types.Package, error) { return o.p, nil }
