package serializetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
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

// TestAttackBytes is TestAttack for a file of the given bytes.
func TestAttackBytes(t *testing.T, format, name string, b []byte, reason string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), name+"."+format)
	if err := os.WriteFile(file, b, 0o666); err != nil {
		t.Fatal(err)
	}
	TestAttack(t, format, file, reason)
}

// TestAttack opens a file as the named format and reads what it holds. It must be refused
// with an error that contains the reason for it.
func TestAttack(t *testing.T, format, name, reason string) {
	t.Helper()
	err := Drain(name, serialize.Options{Format: format})
	if err == nil || !strings.Contains(err.Error(), reason) {
		t.Errorf("%s: %v; want it refused because of %q", filepath.Base(name), err, reason)
	}
	if err != nil && (strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "%!")) {
		t.Errorf("%s: the error is not one line of text: %v", filepath.Base(name), err)
	}
}
