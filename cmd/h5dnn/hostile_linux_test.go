package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5test"
)

// TestHostileFiles runs every command that only reads on hostile files and on the files
// of HDF5's tests. No command crashes, hangs or uses much memory, and none opens another
// file. The test does not run in parallel, because a child process inherits the peak
// memory of its parent.
func TestHostileFiles(t *testing.T) {
	const alone = "H5DNN_TEST_ALONE"
	if os.Getenv(alone) == "" {
		again := exec.Command(os.Args[0], "-test.run=^TestHostileFiles$", "-test.v")
		again.Env = append(os.Environ(), alone+"=1")
		out, err := again.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
		t.Logf("%s", out)
		return
	}
	for _, corpus := range hdf5test.Corpora(t) {
		for _, suite := range []string{"hostile", "official"} {
			t.Run(suite, func(t *testing.T) {
				t.Parallel()
				folder := t.TempDir() // where no other process opens files
				if err := os.CopyFS(folder, os.DirFS(filepath.Join(corpus, suite))); err != nil {
					t.Fatal(err)
				}
				lookAtAll(t, folder)
			})
		}
	}
}

// raced reports whether the race detector is on.
func raced() bool {
	info, _ := debug.ReadBuildInfo()
	return slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// lookAtAll runs commands on every file of a folder, and on every dataset: a process for each file.
func lookAtAll(t *testing.T, folder string) {
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	if raced() {
		files = files[:len(files)/16] // hundreds of processes, each of them ten times as slow
	}
	opened := watchOpened(t, folder)
	commands, failed := 0, 0
	for _, file := range files {
		cmd := program(t)
		cmd.Dir = folder
		cmd.Env = append(cmd.Env, lookVariable+"="+file.Name())
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := within(t, cmd); err != nil {
			t.Errorf("%s: %v, after\n%.2000s%.2000s", file.Name(), err, out.String(), errs.String())
		}
		for lines := json.NewDecoder(&out); lines.More(); commands++ {
			var l look
			if err := lines.Decode(&l); err != nil {
				t.Fatal(err)
			}
			if err := answered(l.Status, l.Errors); err != nil {
				t.Errorf("%q: %v", l.Args, err)
			}
			if l.Status == statusTrouble {
				failed++
			}
		}
		for _, other := range opened() {
			if other != file.Name() {
				t.Errorf("of %s, %s is opened", file.Name(), other)
			}
		}
	}
	if commands < 2*len(files) {
		t.Errorf("%d commands on %d files", commands, len(files))
	}
	t.Logf("%d files, %d commands, %d of them refused", len(files), commands, failed)
}

// lookVariable names the file that a process started by tests looks at.
const lookVariable = "H5DNN_TEST_LOOK"

// A look is a command that only reads a file, its exit status and what it wrote to standard error.
type look struct {
	Args   []string
	Status int
	Errors string
}

// lookAt verifies and inspects a file, prints each of its datasets, and writes a line of JSON for each command.
func lookAt(name string) {
	say := json.NewEncoder(os.Stdout)
	command := func(args ...string) []byte {
		var out, errs bytes.Buffer
		status := run(context.Background(), append([]string{"h5dnn"}, args...), &out, &errs)
		say.Encode(look{args, status, errs.String()})
		return out.Bytes()
	}
	command("verify", name)
	var seen struct{ Objects []object }
	json.Unmarshal(command("inspect", "--json", name), &seen) // nothing, if that failed
	for _, o := range seen.Objects {
		if o.Kind == "dataset" && o.Error == "" {
			command("slice", name+":"+o.Path)
		}
	}
}

// TestOpenedFilesAreSeen checks that the previous test would notice opened files: a file
// that refers to others is read with permission to open them.
func TestOpenedFilesAreSeen(t *testing.T) {
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("../../storage/hdf5/testdata")); err != nil {
		t.Fatal(err)
	}
	opened := watchOpened(t, folder)
	for _, name := range []string{"virtual.h5", "external.h5"} {
		for _, allowed := range []bool{false, true} {
			args := []string{"inspect", "--stats", name}
			if allowed {
				args = append(args, "--follow", ".")
			}
			watched(t, folder, args...)
			names := opened()
			if others := slices.ContainsFunc(names, func(n string) bool { return n != name }); others != allowed || !slices.Contains(names, name) {
				t.Errorf("%q opens %v", args, names)
			}
		}
	}
}

// watchOpened returns a function that names the files of a folder that were
// opened since it was last called.
func watchOpened(t *testing.T, folder string) func() []string {
	watch, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	if err != nil {
		t.Skipf("opened files cannot be watched here: %v", err)
	}
	t.Cleanup(func() { syscall.Close(watch) })
	if _, err := syscall.InotifyAddWatch(watch, folder, syscall.IN_OPEN); err != nil {
		t.Fatal(err)
	}
	return func() (names []string) {
		events := make([]byte, 64<<10)
		for {
			n, err := syscall.Read(watch, events)
			if err != nil || n <= 0 {
				return names
			}
			// | watch (4) | mask (4) | cookie (4) | length (4) | name, padded with zeros |
			for b := events[:n]; len(b) >= 16; {
				size := int(binary.NativeEndian.Uint32(b[12:]))
				if name := strings.TrimRight(string(b[16:16+size]), "\x00"); name != "" { // else the folder itself
					names = append(names, name)
				}
				b = b[16+size:]
			}
		}
	}
}
