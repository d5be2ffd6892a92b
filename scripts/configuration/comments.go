package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
)

// comments are what source code says of types (Name) and of fields (Name.Field).
type comments map[string]string

// read adds the comments of the package in folder.
func (c comments) read(folder string) error {
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(names) == 0 {
		return fmt.Errorf("%s: no source code, %v", folder, err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			if types, ok := d.(*ast.GenDecl); ok && types.Tok == token.TYPE {
				c.add(types)
			}
		}
	}
	return nil
}

func (c comments) add(types *ast.GenDecl) {
	for _, s := range types.Specs {
		spec := s.(*ast.TypeSpec)
		c[spec.Name.Name] = first(spec.Doc, spec.Comment, types.Doc)
		if fields, ok := spec.Type.(*ast.StructType); ok {
			for _, f := range fields.Fields.List {
				for _, name := range f.Names {
					c[spec.Name.Name+"."+name.Name] = first(f.Comment, f.Doc)
				}
			}
		}
	}
}

// first returns the text of the first group that has any.
func first(groups ...*ast.CommentGroup) string {
	for _, g := range groups {
		if text := strings.TrimSpace(g.Text()); text != "" {
			return text
		}
	}
	return ""
}
