package h5dnn_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/h5dnn/h5dnn/"

// TestImportsFollowArchitecture holds the code to the imports block of
// ARCHITECTURE.md: "a < b c" lets package a import packages b and c of this module.
func TestImportsFollowArchitecture(t *testing.T) {
	allowed := policy(t)
	seen := map[string]bool{}
	for file, imports := range sources(t) {
		pkg := path.Dir(file)
		line, listed := allowed.line(pkg)
		if !listed {
			t.Errorf("%s: package %s is not in ARCHITECTURE.md", file, pkg)
			continue
		}
		seen[line] = true
		for _, dep := range imports {
			if !allowed.permits(line, dep) {
				t.Errorf("%s: %s imports %s, which ARCHITECTURE.md does not allow", file, pkg, dep)
			}
		}
	}
	for _, line := range slices.Sorted(maps.Keys(allowed)) {
		if !seen[line] {
			t.Errorf("ARCHITECTURE.md lists %s, which does not exist", line)
		}
	}
}

// sources maps the module's Go files, tests aside, to what they import of it.
func sources(t *testing.T) map[string][]string {
	found := map[string][]string{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "testdata" || file != "." && d.Name()[0] == '.') {
			return filepath.SkipDir
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || !strings.Contains(file, "/") {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		found[filepath.ToSlash(file)] = nil
		for _, spec := range parsed.Imports {
			if dep, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module); ours {
				found[filepath.ToSlash(file)] = append(found[filepath.ToSlash(file)], dep)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A rules maps a line's left side to the packages on its right.
type rules map[string][]string

// line returns the left side that speaks for pkg: its own name, or parent/*.
func (r rules) line(pkg string) (string, bool) {
	for _, name := range []string{pkg, path.Dir(pkg) + "/*"} {
		if _, ok := r[name]; ok {
			return name, true
		}
	}
	return "", false
}

func (r rules) permits(line, dep string) bool {
	return slices.Contains(r[line], "anything") || slices.ContainsFunc(r[line], func(name string) bool {
		return name == dep || name == path.Dir(dep)+"/*"
	})
}

// policy reads the imports block. Its lines are in dependency order, so that a
// cycle cannot be written down.
func policy(t *testing.T) rules {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "```imports\n")
	block, _, found := strings.Cut(block, "```")
	if !found {
		t.Fatal("ARCHITECTURE.md has no imports block")
	}
	allowed := rules{}
	for line := range strings.Lines(block) {
		pkg, deps, _ := strings.Cut(line, "<")
		pkg = strings.TrimSpace(pkg)
		for _, dep := range strings.Fields(deps) {
			if _, above := allowed[dep]; !above && dep != "anything" {
				t.Errorf("ARCHITECTURE.md: %s may import %s only if %s is listed above it", pkg, dep, dep)
			}
		}
		allowed[pkg] = strings.Fields(deps)
	}
	return allowed
}
