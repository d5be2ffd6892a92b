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
	for _, folder := range slices.Sorted(maps.Keys(foldersOf(sources(t)))) {
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

// TestLargeCIsCompiledOnce: a package with much C has no tests within the package, for which Go compiles all of its C again.
func TestLargeCIsCompiledOnce(t *testing.T) {
	const much = 10 // files
	for folder := range foldersOf(sources(t)) {
		if c, _ := filepath.Glob(filepath.Join(folder, "*.c")); len(c) < much {
			continue
		}
		tests, _ := filepath.Glob(filepath.Join(folder, "*_test.go"))
		for _, file := range tests {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(parsed.Name.Name, "_test") {
				t.Errorf("%s belongs to package %s, whose C is compiled again for it; make it package %[2]s_test", file, parsed.Name.Name)
			}
		}
	}
}

// foldersOf returns the folders of files.
func foldersOf(files map[string][]string) map[string]bool {
	folders := map[string]bool{}
	for file := range files {
		folders[path.Dir(file)] = true
	}
	return folders
}
