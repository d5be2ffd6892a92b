package serializetest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// TestAttacks opens every file of a folder as the named format and reads what it holds.
// Each must be refused with an error that contains the reason for it, and each reason must
// have its file.
func TestAttacks(t *testing.T, format, folder string, reasons map[string]string) {
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{}
	for name := range reasons {
		left[name] = true
	}
	for _, file := range files {
		name := strings.TrimSuffix(file.Name(), filepath.Ext(file.Name()))
		reason, ok := reasons[name]
		if !ok || reason == "" {
			t.Errorf("%s: no reason is given for which it is refused", file.Name())
			continue
		}
		delete(left, name)
		TestAttack(t, format, filepath.Join(folder, file.Name()), reason)
	}
	for name := range left {
		t.Errorf("%s: no such file", name)
	}
}

// TestAttack opens a file as the named format and reads what it holds. It must be refused
// with an error that contains the reason for it.
func TestAttack(t *testing.T, format, name, reason string) {
	t.Helper()
	err := Drain(name, serialize.Options{Format: format})
	if err == nil || !strings.Contains(err.Error(), reason) {
		t.Errorf("%s: %v; want it refused because of %q", filepath.Base(name), err, reason)
	}
	if err != nil && strings.Contains(err.Error(), "\n") {
		t.Errorf("%s: the error is of several lines: %v", filepath.Base(name), err)
	}
}

// FuzzTarget returns what a fuzz target of the named format calls: it reads the bytes as a
// file in memory.
func FuzzTarget(format string) func(t *testing.T, b []byte) {
	return func(t *testing.T, b []byte) {
		budget := storage.NewBudget(16 << 20)
		f, err := serialize.OpenReader(bytes.NewReader(b), int64(len(b)), "fuzzed", serialize.Options{Format: format, Budget: budget})
		if err != nil {
			return
		}
		defer f.Close()
		drain(f)
	}
}
