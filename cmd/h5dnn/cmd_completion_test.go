package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCompletionsNameEveryCommandAndFlag walks all commands and flags, and lets the
// shells that are installed read their scripts.
func TestCompletionsNameEveryCommandAndFlag(t *testing.T) {
	for shell := range shells {
		var out, failed bytes.Buffer
		if status := run(context.Background(), []string{"h5dnn", "completion", shell}, &out, &failed); status != 0 {
			t.Fatalf("%s: exit %d, %s", shell, status, failed.String())
		}
		text := strings.ReplaceAll(out.String(), `\-`, "-") // roff
		for _, command := range commands() {
			if !strings.Contains(text, command.Name) {
				t.Errorf("%s: no %s", shell, command.Name)
			}
			for _, flag := range command.Flags {
				if name := flag.Names()[0]; !strings.Contains(text, dashed(name)) && !strings.Contains(text, "-l "+name) && !strings.Contains(text, "-s "+name) {
					t.Errorf("%s: no flag %s of %s", shell, name, command.Name)
				}
			}
		}
		check := []string{shell, "-n"}
		if shell == "man" {
			check = []string{"groff", "-man", "-Tutf8", "-k", "-ww", "-z"}
		}
		if _, err := exec.LookPath(check[0]); err != nil {
			continue
		}
		script := filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(script, out.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		if message, err := exec.Command(check[0], append(check[1:], script)...).CombinedOutput(); err != nil || len(message) > 0 {
			t.Errorf("%s does not read its script: %s", shell, message)
		}
	}
}
