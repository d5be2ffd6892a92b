package serialize_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/npy"
	"github.com/h5dnn/h5dnn/storage"
)

func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "model.npz")

	weights := map[string]storage.Array{"hidden.weight": storage.From([]float32{1, 2, 3, 4, 5, 6}, 2, 3)}
	err = serialize.Save(name, "", serialize.Contents{Arrays: maps.All(weights), Meta: map[string]string{"epoch": "3"}})
	if err != nil {
		panic(err)
	}

	f, err := serialize.Open(name)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	for name, a := range f.All() {
		second, err := a.Select(0, 1) // nothing is read yet
		if err != nil {
			panic(err)
		}
		elems, err := storage.Read[float32](a.With(second))
		fmt.Println(name, a.Type, a.Shape, elems, err)
	}
	fmt.Println(f.Meta())
	// Output:
	// hidden.weight float32 [2 3] [4 5 6] <nil>
	// map[epoch:3]
}

var errBroken = errors.New("broken")

// replace writes text to name, up to the word half, which fails; checks the
// error, and returns what is in the directory then.
func replace(t *testing.T, name, text string, want error) []string {
	t.Helper()
	err := serialize.Replace(name, func(f *os.File) error {
		_, err := f.WriteString(text)
		if text == "half" {
			return errBroken
		}
		return err
	})
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", name, err, want)
	}
	entries, err := os.ReadDir(filepath.Dir(name))
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

func content(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestReplaceIsAllOrNothing(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if left := replace(t, name, "half", errBroken); len(left) != 0 {
		t.Errorf("a failed write leaves %v", left)
	}
	replace(t, name, "old", nil)
	if err := os.Chmod(name, 0o640); err != nil {
		t.Fatal(err)
	}
	if left := replace(t, name, "half", errBroken); len(left) != 1 || content(t, name) != "old" {
		t.Errorf("a failed write leaves %v and %q", left, content(t, name))
	}
	if left := replace(t, name, "new", nil); len(left) != 1 || content(t, name) != "new" {
		t.Errorf("replacing leaves %v and %q", left, content(t, name))
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("permissions %v, %v; want 0640", info.Mode(), err)
	}
}

func TestReplaceWritesWhatAPanicInterruptsNowhere(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	func() {
		defer func() { recover() }()
		serialize.Replace(name, func(*os.File) error { panic("interrupted") })
	}()
	if entries, err := os.ReadDir(filepath.Dir(name)); err != nil || len(entries) != 0 {
		t.Errorf("a panic leaves %v, %v", entries, err)
	}
}

func TestReplaceFollowsLinksAndKeepsOffDevices(t *testing.T) {
	dir := t.TempDir()
	real, link, nowhere := filepath.Join(dir, "real"), filepath.Join(dir, "link"), filepath.Join(dir, "nowhere")
	replace(t, real, "old", nil)
	if err := errors.Join(os.Symlink("real", link), os.Symlink("missing", nowhere)); err != nil {
		t.Fatal(err)
	}
	replace(t, link, "new", nil)
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 || content(t, real) != "new" {
		t.Errorf("the link became %v, %v, and its file %q", info.Mode(), err, content(t, real))
	}
	replace(t, nowhere, "new", fs.ErrNotExist)
	replace(t, dir, "new", fs.ErrInvalid)
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	replace(t, pipe, "new", fs.ErrInvalid)
}

func TestFormatsAreFoundByNameAndExtension(t *testing.T) {
	for name, want := range map[string]string{"a.npy": "npy", "A.NPZ": "npz", "a.b.npz": "npz"} {
		if f, err := serialize.ByExtension(name); err != nil || f.Name != want {
			t.Errorf("%s: %q, %v; want %s", name, f.Name, err, want)
		}
	}
	for _, err := range []error{
		func() error { _, err := serialize.ByExtension("npy"); return err }(),
		func() error { _, err := serialize.ByName(".npy"); return err }(),
		func() error { _, err := serialize.Open("serialize_test.go"); return err }(),
		func() error { _, err := serialize.Open("."); return err }(),
		serialize.Save(filepath.Join(t.TempDir(), "x.doc"), "", serialize.Contents{}),
	} {
		if !errors.Is(err, serialize.ErrFormat) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: want one line, ErrFormat", err)
		}
	}
	if _, err := serialize.Open("missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v: want that it does not exist", err)
	}
}
