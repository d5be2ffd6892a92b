package main

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// refused are phrases that stop a reader, and what to write instead.
var refused = []struct{ phrase, instead string }{
	{"so many", "the number of"},
	{"is there twice", "duplicate"},
	{"which there is not", "there is no …"},
	{"is none", "no …"},
}

var refusedPattern = func() *regexp.Regexp {
	var all []string
	for _, r := range refused {
		all = append(all, regexp.QuoteMeta(r.phrase))
	}
	return regexp.MustCompile(`\b(` + strings.Join(all, "|") + `)\b`)
}()

// findPhrase returns the first refused phrase in text, with advice, or "".
func findPhrase(text string) string {
	found := refusedPattern.FindString(text)
	for _, r := range refused {
		if r.phrase == found {
			return fmt.Sprintf("%q: write %q", r.phrase, r.instead)
		}
	}
	return ""
}

var phrases = &analysis.Analyzer{
	Name: "phrases",
	Doc:  "report phrases in comments, help and errors that have a plain replacement",
	Run:  checkPhrases,
}

func checkPhrases(pass *analysis.Pass) (any, error) {
	if strings.HasSuffix(pass.Pkg.Path(), "/scripts/lint") {
		return nil, nil // it quotes them
	}
	for _, file := range pass.Files {
		for _, group := range file.Comments {
			if found := findPhrase(strings.ReplaceAll(group.Text(), "\n", " ")); found != "" {
				pass.Reportf(group.Pos(), "%s", found)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
				if found := findPhrase(text.Value); found != "" {
					pass.Reportf(text.Pos(), "%s", found)
				}
			}
			return true
		})
	}
	return nil, nil
}

// checkPages returns the refused phrases in the Markdown pages below a folder, with their positions.
func checkPages(root string) (findings []string, err error) {
	err = filepath.WalkDir(root, func(name string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || name != root && d.Name()[0] == '.') {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(name) != ".md" {
			return nil
		}
		found, err := checkPage(name)
		findings = append(findings, found...)
		return err
	})
	return findings, err
}

func checkPage(name string) (findings []string, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if found := findPhrase(lines.Text()); found != "" {
			findings = append(findings, fmt.Sprintf("%s:%d: %s", name, n, found))
		}
	}
	return findings, lines.Err()
}
