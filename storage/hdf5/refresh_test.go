package hdf5

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/h5dnn/h5dnn/internal/pythontest"
	"github.com/h5dnn/h5dnn/storage/remote/remotetest"
)

// rowsNow refreshes f, checks all elements of the files of testdata/growing.py, and returns the number of rows.
func rowsNow(t *testing.T, f *File) int {
	t.Helper()
	must(t, f.Refresh())
	rows := -1
	for _, path := range []string{"packed", "rows"} {
		d, err := f.Dataset(path)
		must(t, err)
		raw, err := d.Raw(d.View())
		must(t, err)
		if path == "packed" {
			for k := range d.Shape[0] {
				if got := binary.LittleEndian.Uint64(raw[8*k:]); got != uint64(3*k) {
					t.Fatalf("packed: element %d of %d is %d, want %d", k, d.Shape[0], got, 3*k)
				}
			}
			rows = d.Shape[0]
			continue
		}
		for k := range 4 * d.Shape[0] {
			want, got := float32(k/4)+float32(k%4)/8, math.Float32frombits(binary.LittleEndian.Uint32(raw[4*k:]))
			if got != want {
				t.Fatalf("rows: element %d of %v is %v, want %v", k, d.Shape, got, want)
			}
		}
	}
	return rows
}

// TestRefreshShowsWhatWasWritten replaces the content of a file, and of one at a URL, by what its writer made of it later.
func TestRefreshShowsWhatWasWritten(t *testing.T) {
	name := filepath.Join(t.TempDir(), "growing.h5")
	server := remotetest.NewServer(t, map[string][]byte{}, remotetest.Settings{})
	for _, path := range []string{name, server.URL + "growing.h5"} {
		write := func(from string) {
			content, err := os.ReadFile(from)
			must(t, err)
			must(t, os.WriteFile(name, content, 0o600)) // the same file
			server.Change(func(files map[string][]byte, _ *remotetest.Settings) { files["growing.h5"] = content })
		}
		write("testdata/growing_1.h5")
		f, err := Open(path)
		must(t, err)
		defer f.Close()
		if got := rowsNow(t, f); got != 3 {
			t.Errorf("%d rows, want 3", got)
		}
		before, err := f.Dataset("rows")
		must(t, err)
		write("testdata/growing_2.h5")
		if got := rowsNow(t, f); got != 500 {
			t.Errorf("%d rows, want 500", got)
		}
		if _, err := before.Raw(before.View()); err != nil || before.Shape[0] != 3 {
			t.Errorf("the dataset that was opened before: shape %v, %v", before.Shape, err)
		}
		if path != name {
			server.Change(func(files map[string][]byte, _ *remotetest.Settings) { delete(files, "growing.h5") })
			if err := f.Refresh(); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a file that is not there any more: %v", err)
			}
		}
		must(t, f.Close())
		if err := f.Refresh(); err == nil {
			t.Error("a closed file was refreshed")
		}
	}
}

// TestRefreshWhileWriting reads a file over and over that h5py writes.
func TestRefreshWhileWriting(t *testing.T) {
	python := pythontest.Interpreter(t, "H5DNN_PYTHON", "h5py")
	name := filepath.Join(t.TempDir(), "growing.h5")
	c := exec.Command(python, "testdata/growing.py", name)
	asked, err := c.StdinPipe()
	must(t, err)
	out, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	defer c.Wait()
	defer asked.Close()
	written := bufio.NewScanner(out)
	ask := func() {
		_, err := asked.Write([]byte("\n"))
		must(t, err)
	}
	ask()
	if !written.Scan() {
		t.Fatal("the writer ended")
	}
	f, err := Open(name)
	must(t, err)
	defer f.Close()
	last := 0
	for range 6 {
		ask()
		done := make(chan bool)
		go func() { done <- written.Scan() }()
		for writing := true; writing; {
			select {
			case ok := <-done:
				if writing = false; !ok {
					t.Fatal("the writer ended")
				}
			default:
			}
			rows := rowsNow(t, f)
			if rows < last {
				t.Fatalf("%d rows after %d", rows, last)
			}
			last = rows
		}
	}
	if last != 3500 {
		t.Errorf("%d rows, want 3500", last)
	}
}
