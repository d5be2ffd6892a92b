package atomicfile_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/h5dnn/h5dnn/internal/atomicfile"
)

func ExampleWrite() {
	dir, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "settings.txt")
	err := atomicfile.Write(name, func(f *atomicfile.File) error {
		_, err := f.WriteString("epochs: 3\n")
		return err
	})
	text, _ := os.ReadFile(name)
	fmt.Printf("%s%v\n", text, err)
	// Output:
	// epochs: 3
	// <nil>
}

var errBroken = errors.New("broken")

// replace writes text to name, or fails after writing if text is "half", checks
// the error, and returns the names in the directory.
func replace(t *testing.T, name, text string, want error) []string {
	t.Helper()
	err := atomicfile.Write(name, func(f *atomicfile.File) error {
		_, err := f.WriteString(text)
		if text == "half" {
			return errBroken
		}
		return err
	})
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", name, err, want)
	}
	return list(t, filepath.Dir(name))
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
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

func TestWriteIsAllOrNothing(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if left := replace(t, name, "half", errBroken); len(left) != 0 {
		t.Errorf("a failed write leaves %v", left)
	}
	replace(t, name, "old", nil)
	if left := replace(t, name, "half", errBroken); len(left) != 1 || content(t, name) != "old" {
		t.Errorf("a failed write leaves %v and %q", left, content(t, name))
	}
	if left := replace(t, name, "new", nil); len(left) != 1 || content(t, name) != "new" {
		t.Errorf("replacing leaves %v and %q", left, content(t, name))
	}
}

// TestPermissionsAreKeptFromTheFirstByte looks at the temporary file while it is
// written: others must not read it if they could not read the old one.
func TestPermissionsAreKeptFromTheFirstByte(t *testing.T) {
	for _, perm := range []fs.FileMode{0o600, 0o640, 0o664} {
		name := filepath.Join(t.TempDir(), "file")
		replace(t, name, "old", nil)
		if err := os.Chmod(name, perm); err != nil {
			t.Fatal(err)
		}
		f, err := atomicfile.Create(name, atomicfile.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if info, err := f.Stat(); err != nil || info.Mode().Perm()&^0o600&^perm != 0 {
			t.Errorf("permissions of the temporary file are %v, %v; want no more than %v for others", info.Mode(), err, perm)
		}
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != perm {
			t.Errorf("permissions %v, %v; want %v", info.Mode(), err, perm)
		}
	}
}

func TestAPanicLeavesNothing(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	func() {
		defer func() { recover() }()
		atomicfile.Write(name, func(*atomicfile.File) error { panic("interrupted") })
	}()
	if left := list(t, filepath.Dir(name)); len(left) != 0 {
		t.Errorf("a panic leaves %v", left)
	}
}

func TestLinksAreFollowedAndDevicesRefused(t *testing.T) {
	dir := t.TempDir()
	real, link, dangling := filepath.Join(dir, "real"), filepath.Join(dir, "link"), filepath.Join(dir, "dangling")
	replace(t, real, "old", nil)
	if err := errors.Join(os.Symlink("real", link), os.Symlink("missing", dangling)); err != nil {
		t.Fatal(err)
	}
	replace(t, link, "new", nil)
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 || content(t, real) != "new" {
		t.Errorf("the link became %v, %v, and its file %q", info.Mode(), err, content(t, real))
	}
	replace(t, dangling, "new", fs.ErrNotExist)
	replace(t, dir, "new", fs.ErrInvalid)
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	replace(t, pipe, "new", fs.ErrInvalid)
}

func TestLongNames(t *testing.T) {
	name := filepath.Join(t.TempDir(), strings.Repeat("n", 255))
	if left := replace(t, name, "new", nil); len(left) != 1 || content(t, name) != "new" {
		t.Errorf("left %v", left)
	}
}

func TestErrorsNameTheFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "missing")
	_, err := atomicfile.Create(filepath.Join(folder, "file"), atomicfile.Options{})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "create a file in "+folder+":") {
		t.Errorf("%v: want that %s does not exist", err, folder)
	}
}

// TestAbandonedFilesAreRemoved leaves two temporary files: an unlocked one, as killed
// processes leave, and one whose process lives.
func TestAbandonedFilesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file[1]")
	old := filepath.Join(dir, ".file[1].00000000.partial")
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	living, err := atomicfile.Create(name, atomicfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer living.Discard()
	replace(t, name, "new", nil)
	for file, want := range map[string]bool{old: false, living.Name(): true} {
		if _, err := os.Stat(file); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %v", file, err, want)
		}
	}
}

// TestSets replaces no file before Commit, and puts files in place that a writer has put at
// the temporary name.
func TestSets(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	write := func(text string, end func(*atomicfile.Set) error) {
		var set atomicfile.Set
		defer set.Discard()
		err := set.Write(path("shard"), func(f *atomicfile.File) error {
			return atomicfile.Write(f.Name(), func(g *atomicfile.File) error {
				_, err := g.WriteString(text)
				return err
			})
		})
		if err = errors.Join(err, end(&set)); err != nil {
			t.Error(err)
		}
	}
	check := func(want string) {
		t.Helper()
		shard, err := os.ReadFile(path("shard"))
		index, err2 := os.ReadFile(path("index"))
		if err := errors.Join(err, err2); err != nil || string(shard) != want || string(index) != want || len(list(t, dir)) != 2 {
			t.Errorf("%q and %q, want %q; files %v, %v", shard, index, want, list(t, dir), err)
		}
	}
	commit := func(text string) func(*atomicfile.Set) error {
		return func(set *atomicfile.Set) error {
			return set.Commit(path("index"), func(w io.Writer, _ func(string) string) error {
				_, err := io.WriteString(w, text)
				return err
			})
		}
	}
	write("old", commit("old"))
	check("old")
	if err := os.Chmod(path("shard"), 0o640); err != nil {
		t.Fatal(err)
	}
	write("lost", func(*atomicfile.Set) error { return nil })
	check("old")
	write("new", commit("new"))
	check("new")
	if info, err := os.Stat(path("shard")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the new file has permissions %v, want those of the old one; %v", info.Mode(), err)
	}
}

// TestIndexesFitTheirFiles makes Commit fail at each of three files, as a crash would end it: the
// index names files that are all old or all new. The next Commit leaves nothing else.
func TestIndexesFitTheirFiles(t *testing.T) {
	for failing := range 3 {
		dir := t.TempDir()
		path := func(name string) string { return filepath.Join(dir, name) }
		names := []string{"a.shard", "b.shard", "c.shard"}
		write := func(text string, fail bool) error {
			var set atomicfile.Set
			defer set.Discard()
			for _, name := range names {
				err := set.Write(path(name), func(f *atomicfile.File) error {
					_, err := f.WriteString(text)
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			obstacle := path(names[failing])
			return set.Commit(path("index"), func(w io.Writer, named func(string) string) error {
				if fail {
					if err := errors.Join(os.Remove(obstacle), os.MkdirAll(filepath.Join(obstacle, "x"), 0o777)); err != nil {
						t.Fatal(err)
					}
					fail = false
				}
				var lines []string
				for _, name := range names {
					lines = append(lines, named(name))
				}
				_, err := io.WriteString(w, strings.Join(lines, "\n"))
				return err
			})
		}
		indexed := func() (all string) {
			for name := range strings.SplitSeq(content(t, path("index")), "\n") {
				all += content(t, path(name))
			}
			return all
		}
		if err := write("old", false); err != nil || indexed() != "oldoldold" || len(list(t, dir)) != 4 {
			t.Fatalf("first: %v, %q, %v", err, indexed(), list(t, dir))
		}
		if err := write("new", true); err == nil || indexed() != "newnewnew" {
			t.Errorf("failed at %s: %v, %q, files %v", names[failing], err, indexed(), list(t, dir))
		}
		os.RemoveAll(path(names[failing]))
		if err := write("last", false); err != nil || indexed() != "lastlastlast" || len(list(t, dir)) != 4 {
			t.Errorf("after failing at %s: %v, %q, files %v", names[failing], err, indexed(), list(t, dir))
		}
	}
}

// TestAbandonedFilesOfSets removes what killed processes left of a file in a Set whose writer
// replaced it, and nothing else.
func TestAbandonedFilesOfSets(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".shard.0123abcd.partial", "..shard.0123abcd.partial.4567cdef.partial", "..shard.0123abcd.partial.other", "..other.0123abcd.partial.4567cdef.partial"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if names := replace(t, filepath.Join(dir, "shard"), "new", nil); fmt.Sprint(names) != "[..other.0123abcd.partial.4567cdef.partial ..shard.0123abcd.partial.other shard]" {
		t.Errorf("left: %v", names)
	}
}

// TestExitsWaitForSets: a process that is interrupted while files of a Set are put in place puts
// all of them there, or there would be no index of the new shards.
func TestExitsWaitForSets(t *testing.T) {
	const variable, n = "H5DNN_TEST_SET", 40
	write := func(dir, text string) *atomicfile.Set {
		var set atomicfile.Set
		for i := range n - 1 {
			err := set.Write(filepath.Join(dir, fmt.Sprintf("%02d", i)), func(f *atomicfile.File) error {
				_, err := f.WriteString(text)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		return &set
	}
	commit := func(set *atomicfile.Set, dir, text string) error {
		return set.Commit(filepath.Join(dir, "index"), func(w io.Writer, _ func(string) string) error {
			_, err := io.WriteString(w, text)
			return err
		})
	}
	if dir := os.Getenv(variable); dir != "" {
		set := write(dir, "new")
		go commit(set, dir, "new")
		for {
			if b, err := os.ReadFile(filepath.Join(dir, "00")); err == nil && string(b) == "new" {
				atomicfile.RemoveUnfinished()
				os.Exit(0)
			}
		}
	}
	dir := t.TempDir()
	if err := commit(write(dir, "old"), dir, "old"); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestExitsWaitForSets$")
	cmd.Env = append(os.Environ(), variable+"="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range list(t, dir) {
		if got := content(t, filepath.Join(dir, name)); got != "new" {
			t.Fatalf("%s is %q; want new", name, got)
		}
	}
	if got := list(t, dir); len(got) != n {
		t.Errorf("%d files: %v; want %d", len(got), got, n)
	}
}

// TestInterruptedWritersAreKnown by their temporary files, unless these are locked.
func TestInterruptedWritersAreKnown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index")
	f, err := atomicfile.Create(path, atomicfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if atomicfile.Interrupted(path) {
		t.Error("a file that is being written was interrupted")
	}
	f.Close() // as if the process had ended
	if !atomicfile.Interrupted(path) {
		t.Error("no writer was interrupted")
	}
	if f.Discard(); atomicfile.Interrupted(path) {
		t.Error("a file that was discarded was interrupted")
	}
}
