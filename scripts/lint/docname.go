package main

import (
	"go/ast"
	"strings"

	"golang.org/x/tools/go/analysis"
)

var docname = &analysis.Analyzer{
	Name: "docname",
	Doc:  "report doc comments, also of what is not exported, that do not begin with the name they document",
	Run:  checkNames,
}

func checkNames(pass *analysis.Pass) (any, error) {
	for _, file := range pass.Files {
		if ast.IsGenerated(file) {
			continue
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				checkName(pass, d.Name, d.Doc)
			case *ast.GenDecl:
				for _, s := range d.Specs {
					checkSpec(pass, d, s)
				}
			}
		}
	}
	return nil, nil
}

// checkSpec checks a type, or a constant or variable that has a comment of its own. The
// comment of a group is about all of it.
func checkSpec(pass *analysis.Pass, d *ast.GenDecl, spec ast.Spec) {
	alone := func(doc *ast.CommentGroup) *ast.CommentGroup {
		if !d.Lparen.IsValid() {
			return d.Doc
		}
		return doc
	}
	switch s := spec.(type) {
	case *ast.TypeSpec:
		checkName(pass, s.Name, alone(s.Doc))
	case *ast.ValueSpec:
		if len(s.Names) == 1 {
			checkName(pass, s.Names[0], alone(s.Doc))
		}
	}
}

func checkName(pass *analysis.Pass, id *ast.Ident, doc *ast.CommentGroup) {
	text := doc.Text()
	if text == "" || id.Name == "_" || id.Name == "init" || strings.HasPrefix(id.Name, "Example") {
		return // what has no name, or a name for the compiler, is described alone
	}
	words := strings.Fields(text)
	if words[0] == "A" || words[0] == "An" || words[0] == "The" {
		words = words[1:]
	}
	if len(words) == 0 || !begins(words[0], id.Name) {
		pass.Reportf(doc.Pos(), "the doc comment of %s does not begin with its name", id.Name)
	}
}

// begins reports whether word is name, perhaps with punctuation or a possessive behind it.
func begins(word, name string) bool {
	rest, ok := strings.CutPrefix(word, name)
	return ok && (rest == "" || strings.ContainsRune(",.:;'s", rune(rest[0])))
}
