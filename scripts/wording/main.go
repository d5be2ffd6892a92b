// Command wording prints a random sample of the module's comments and exported
// names, to review how they read. The sample depends only on the seed and the code.
// It also counts, by folder, the lines of comments, strings and pages with clauses
// that a noun would replace; -list FOLDER prints the lines of one folder.
//
//	go run ./scripts/wording -seed 1 -n 20
//	go run ./scripts/wording -list dataset
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	seed := flag.Uint64("seed", 1, "seed of the sample")
	n := flag.Int("n", 20, "number of comments and of names")
	folder := flag.String("list", "", "print the clumsy lines of a `folder` instead")
	flag.Parse()
	comments, names, lines, err := collect(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "wording:", err)
		os.Exit(1)
	}
	count := map[string]int{}
	for _, l := range lines {
		count[l.folder]++
		if l.folder == *folder {
			fmt.Printf("%s: %s\n", l.at, l.text)
		}
	}
	if *folder != "" {
		return
	}
	for _, folder := range slices.Sorted(maps.Keys(count)) {
		fmt.Printf("%6d  %s\n", count[folder], folder)
	}
	fmt.Printf("%6d  clumsy lines in all\n\n", len(lines))
	r := rand.New(rand.NewPCG(*seed, 0))
	for _, list := range [][]string{comments, names} {
		fmt.Printf("%d of %d\n\n", min(*n, len(list)), len(list))
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		for _, text := range list[:min(*n, len(list))] {
			fmt.Println(text)
		}
		fmt.Println()
	}
}

// collect returns the comments and the exported names of the Go files below root,
// with their positions, in a fixed order, and the clumsy lines of these files and of pages.
func collect(root string) (comments, names []string, lines []found, err error) {
	files := token.NewFileSet()
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "testdata" || d.Name() == "bin" || name != root && d.Name()[0] == '.') {
			return filepath.SkipDir
		}
		if err != nil || d.IsDir() || filepath.Ext(name) != ".go" && filepath.Ext(name) != ".md" {
			return err
		}
		here, err := clumsyLines(name)
		if lines = append(lines, here...); err != nil || filepath.Ext(name) != ".go" {
			return err
		}
		file, err := parser.ParseFile(files, name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, group := range file.Comments {
			comments = append(comments, fmt.Sprintf("%v\n%s", files.Position(group.Pos()), group.Text()))
		}
		if !strings.HasSuffix(name, "_test.go") {
			names = append(names, exported(files, file)...)
		}
		return nil
	})
	slices.Sort(comments)
	slices.Sort(names)
	return comments, names, lines, err
}

// exported lists the exported functions, methods, types, fields, constants and
// variables of a file.
func exported(files *token.FileSet, file *ast.File) []string {
	var names []string
	add := func(kind string, id *ast.Ident) {
		if id.IsExported() {
			names = append(names, fmt.Sprintf("%s.%s  %s  %v", file.Name.Name, id.Name, kind, files.Position(id.Pos())))
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			add("func", n.Name)
			return false
		case *ast.TypeSpec:
			add("type", n.Name)
		case *ast.ValueSpec:
			for _, id := range n.Names {
				add("value", id)
			}
		case *ast.Field:
			for _, id := range n.Names {
				add("field", id)
			}
		}
		return true
	})
	return names
}
