package h5dnn_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestAdditionsTouchWhatTheyAreSaidTo reads the block of docs/adding.md, searches
// the module's sources for each pattern, and compares the number of files with the table.
func TestAdditionsTouchWhatTheyAreSaidTo(t *testing.T) {
	text, err := os.ReadFile("docs/adding.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```additions\n")
	block, tables, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("docs/adding.md has no block of additions")
	}
	files, touched := sourceTexts(t), map[string]int{}
	for line := range strings.Lines(block) {
		words := strings.Fields(line)
		listed, pattern := words[2:len(words)-1], regexp.MustCompile(words[len(words)-1])
		touched[words[0]] += len(listed)
		searched := map[string]bool{}
		for _, name := range listed {
			searched[filepath.Ext(name)] = true
		}
		var found []string
		for name, text := range files {
			if searched[filepath.Ext(name)] && pattern.MatchString(text) {
				found = append(found, name)
			}
		}
		slices.Sort(found)
		for _, name := range found {
			if !slices.Contains(listed, name) {
				t.Errorf("%s %s: %s matches %v, and is not listed", words[0], words[1], name, pattern)
			}
		}
		for _, name := range listed {
			if !slices.Contains(found, name) {
				t.Errorf("%s %s: %s does not match %v", words[0], words[1], name, pattern)
			}
		}
	}
	for kind, n := range touched {
		if row := fmt.Sprintf("\n| %s | %d |", kind, n); !strings.Contains(tables, row) {
			t.Errorf("%s: %d files; the table has no row that begins with %q", kind, n, strings.TrimSpace(row))
		}
	}
	if row := fmt.Sprintf("| **h5dnn** | **%d** |", touched["operation"]); !strings.Contains(tables, row) {
		t.Errorf("no row %s beside other libraries", row)
	}
}

// sourceTexts returns the module's Go, C and CUDA files by name, without tests, benchmarks
// and examples, and without comments, which may mention anything.
func sourceTexts(t *testing.T) map[string]string {
	comment := regexp.MustCompile(`(?m)//.*$`)
	files := map[string]string{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "bench" || d.Name() == "examples" || name != "." && d.Name()[0] == '.'):
			return filepath.SkipDir
		case d.IsDir() || !slices.Contains([]string{".go", ".c", ".h", ".cu", ".cuh"}, filepath.Ext(name)) || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		b, err := os.ReadFile(name)
		files[filepath.ToSlash(name)] = comment.ReplaceAllString(string(b), "")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
