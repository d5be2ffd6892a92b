package h5dnn_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestLibrariesSpeakOfNoFlags reads the strings of all packages but the programs: a flag
// such as --layout means nothing to a program that uses the library.
func TestLibrariesSpeakOfNoFlags(t *testing.T) {
	programs := []string{"cmd", "bench", "scripts", "examples", "testdata"}
	compilers := []string{"cuda/compile.go", "kernels/device/source/source.go"} // whose flags these are
	flag := regexp.MustCompile("[\"` (;]--[a-z]")
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." {
			for _, name := range programs {
				if path == name || strings.HasPrefix(d.Name(), ".") {
					return filepath.SkipDir
				}
			}
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || slices.Contains(compilers, path) {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING && flag.MatchString(text.Value) {
				t.Errorf("%s: %s", path, text.Value)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
