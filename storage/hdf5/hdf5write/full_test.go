package hdf5write

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
)

// TestDiskFull replaces a file in processes that may write files of limited size only, as
// if the disk were full. Wherever the limit is reached, a call or Close must fail, the old
// file must be unchanged, and no other file may be left.
func TestDiskFull(t *testing.T) {
	if path := os.Getenv("H5DNN_WRITE_LIMITED"); path != "" {
		var limit uint64
		fmt.Sscan(os.Getenv("H5DNN_LIMIT"), &limit)
		must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: limit, Max: limit}))
		if err := writeMuch(t, path); err != nil {
			fmt.Println("failed:", err)
			return
		}
		fmt.Println("written")
		return
	}
	path := filepath.Join(t.TempDir(), "file.h5")
	old := []byte("the old file")
	written := false
	for limit := 512; !written; limit *= 3 {
		must(t, os.WriteFile(path, old, 0o600))
		child := exec.Command(os.Args[0], "-test.run=^TestDiskFull$", "-test.v")
		child.Env = append(os.Environ(), "H5DNN_WRITE_LIMITED="+path, fmt.Sprint("H5DNN_LIMIT=", limit))
		out, err := child.CombinedOutput()
		if err != nil {
			t.Fatalf("limit %d: %v: %s", limit, err, out)
		}
		written = strings.Contains(string(out), "written")
		content, err := os.ReadFile(path)
		must(t, err)
		if kept := bytes.Equal(content, old); kept == written {
			t.Errorf("limit %d: written is %v, old file kept is %v: %s", limit, written, kept, out)
		}
		if names := listing(t, path); len(names) != 1 {
			t.Errorf("limit %d: files are left: %v", limit, names)
		}
		if limit > 1<<30 {
			t.Fatal("nothing was ever written")
		}
	}
}

// writeMuch writes a file with attributes, strings, groups, and datasets of every layout.
// It goes on after errors: Close must fail by itself if any call failed.
func writeMuch(t *testing.T, path string) error {
	w, err := Create(path, CreateOptions{NoSync: true})
	if err != nil {
		return err
	}
	errs := []error{w.SetAttr("/", "long", strings.Repeat("0123456789", 1000))}
	for k := range 50 {
		errs = append(errs, w.SetAttr("/", "long", strings.Repeat("x", 100*k)), w.Group(fmt.Sprintf("/groups/with a long name %d", k)))
	}
	failed := errors.Join(append(errs,
		w.WriteStrings("/strings", []string{strings.Repeat("a", 100000), "b"}, 2),
		w.Write("/contiguous", counted(t, dtype.Float32, 100, 100)),
		w.WriteWith("/chunked", counted(t, dtype.Float32, 100, 100), Layout{Chunks: []int{7, 50}}),
		w.WriteWith("/deflate", counted(t, dtype.Float32, 100, 100), Layout{Filters: []filter.Filter{filter.Deflate(1)}}))...)
	closing := w.Close()
	if failed != nil && closing == nil {
		t.Errorf("Close succeeded after %v", failed)
	}
	return closing
}
