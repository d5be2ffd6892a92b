// Command lint checks the comments, messages and pages of the module: a doc comment begins with the
// name that it documents, and phrases that stop a reader have plain replacements.
//
//	go run ./scripts/lint ./...
package main

import (
	"fmt"
	"os"

	"golang.org/x/tools/go/analysis/multichecker"
)

func main() {
	if findings, err := checkPages("."); err != nil || len(findings) > 0 {
		for _, f := range findings {
			fmt.Fprintln(os.Stderr, f)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "lint:", err)
		}
		defer os.Exit(1)
	}
	multichecker.Main(docname, phrases)
}
