package h5dnn_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// withoutExample are the packages that cannot show what they do by an example, and why.
var withoutExample = map[string]string{
	"internal/pythontest":           "it needs a test that runs",
	"storage/hdf5/internal/libhdf5": "its functions are those of the C library",
	"bench/internal/worktree":       "it builds another commit, which takes a minute",
}

// TestPackagesExplainThemselves: every package has a package comment and, unless it is a
// program, an example that go test runs.
func TestPackagesExplainThemselves(t *testing.T) {
	folders := map[string]bool{}
	for file := range sources(t) {
		folders[path.Dir(file)] = true
	}
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		var documented, program, example bool
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(file, "_test.go") {
				example = example || runsExample(parsed)
				continue
			}
			documented = documented || parsed.Doc != nil
			program = program || parsed.Name.Name == "main"
		}
		if !documented {
			t.Errorf("%s has no package comment", folder)
		}
		if _, excepted := withoutExample[folder]; !example && !program && !excepted {
			t.Errorf("%s has no example with output", folder)
		} else if example && excepted {
			t.Errorf("%s has an example; remove it from withoutExample", folder)
		}
	}
}

// runsExample reports whether a test file has an example whose output is compared.
func runsExample(file *ast.File) bool {
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || !strings.HasPrefix(f.Name.Name, "Example") {
			continue
		}
		for _, c := range file.Comments {
			text := strings.ToLower(c.Text())
			if f.Pos() < c.Pos() && c.End() < f.End() && (strings.HasPrefix(text, "output:") || strings.HasPrefix(text, "unordered output:")) {
				return true
			}
		}
	}
	return false
}
