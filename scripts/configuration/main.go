// Command configuration writes docs/configuration.md: every setting of a training
// run, from the types that read it, their comments and the registries of layers,
// losses, metrics, optimizers, schedules, augmentations and callbacks.
//
//	go run ./scripts/configuration > docs/configuration.md
package main

import (
	"fmt"
	"os"
)

func main() {
	text, err := page(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "configuration:", err)
		os.Exit(1)
	}
	os.Stdout.WriteString(text)
}
