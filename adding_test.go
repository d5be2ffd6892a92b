package h5dnn_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestAdditionsTouchWhatTheyAreSaidTo reads the block of docs/adding.md and searches
// the module's sources for each pattern.
func TestAdditionsTouchWhatTheyAreSaidTo(t *testing.T) {
	text, err := os.ReadFile("docs/adding.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "```additions\n")
	block, _, found := strings.Cut(block, "```")
	if !found {
		t.Fatal("docs/adding.md has no block of additions")
	}
	files := sourceTexts(t)
	for line := range strings.Lines(block) {
		words := strings.Fields(line)
		listed, pattern := words[2:len(words)-1], regexp.MustCompile(words[len(words)-1])
		var found []string
		for name, text := range files {
			if pattern.MatchString(text) {
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
}

// sourceTexts returns the module's Go files by name, without tests, benchmarks and
// examples, and without comments, which may mention anything.
func sourceTexts(t *testing.T) map[string]string {
	comment := regexp.MustCompile(`(?m)//.*$`)
	files := map[string]string{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "bench" || d.Name() == "examples" || name != "." && d.Name()[0] == '.'):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
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
