package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestExamplesOfHelp runs what --help shows. Every command has an example.
func TestExamplesOfHelp(t *testing.T) {
	digits, err := filepath.Abs("../../testdata/digits.h5")
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(digits)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("digits.h5", content, 0o666); err != nil {
		t.Fatal(err)
	}
	trainGPT(t, ".", "gpt.h5")
	shown := map[string]bool{}
	for _, e := range examples {
		shown[e.command] = true
		args, err := words("h5dnn " + e.command + " " + e.args)
		if err != nil {
			t.Fatal(err)
		}
		commandOutput(t, args[1:])
	}
	for _, command := range commands() {
		if !shown[command.Name] {
			t.Errorf("%s has no example", command.Name)
		}
	}
}
