package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

func TestCommentsAndMessages(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), docname, "a")
	analysistest.Run(t, analysistest.TestData(), phrases, "b")
}

func TestPages(t *testing.T) {
	folder := t.TempDir()
	page := filepath.Join(folder, "page.md")
	if err := os.WriteFile(page, []byte("plain\nif there is none, an error\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	findings, err := checkPages(folder)
	if want := []string{page + `:2: "is none": write "no …"`}; err != nil || !slices.Equal(findings, want) {
		t.Errorf("findings %q, %v; want %q", findings, err, want)
	}
}
