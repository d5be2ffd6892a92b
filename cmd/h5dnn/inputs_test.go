package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// TestOnlyRegularFilesAreRead gives every command a pipe that nobody writes to, a socket and
// a device. Each is refused at once.
func TestOnlyRegularFilesAreRead(t *testing.T) {
	withDigits(t)
	if err := errors.Join(os.Mkdir("images", 0o777), syscall.Mkfifo("pipe.h5", 0o600), syscall.Mkfifo("pipe.csv", 0o600), syscall.Mkfifo("images/a.png", 0o600)); err != nil {
		t.Skipf("named pipes cannot be made here: %v", err)
	}
	socket, err := net.Listen("unix", "socket.h5")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	for _, input := range []struct{ name, kind string }{{"pipe.h5", "a pipe"}, {"socket.h5", "a socket"}, {"/dev/zero", "a device"}} {
		for _, args := range []string{
			"inspect IN", "slice IN:/x", "slice IN", "convert IN out.h5", "verify IN", "doctor IN", "repack IN out.h5", "import IN out.h5",
			"init IN", "train IN", "train --data IN --x x --y y", "train --resume IN", "eval IN", "predict IN testdata/digits.h5:/test/images -o out.npy",
		} {
			refused(t, strings.Fields(strings.ReplaceAll(args, "IN", input.name)), input.kind)
		}
	}
	refused(t, []string{"import", "pipe.csv", "out.h5"}, "a pipe")
	refused(t, []string{"import", "images", "out.h5"}, "a pipe")
}

func refused(t *testing.T, args []string, kind string) {
	t.Helper()
	type result struct {
		status int
		errs   string
	}
	done := make(chan result, 1)
	go func() {
		var out, errs bytes.Buffer
		status := run(context.Background(), append([]string{"h5dnn"}, args...), &out, &errs)
		done <- result{status, errs.String()}
	}()
	select {
	case r := <-done:
		if r.status != statusTrouble || !strings.Contains(r.errs, kind) || strings.Count(r.errs, "\n") != 1 {
			t.Errorf("%q: status %d, %q; want that it is %s", args, r.status, r.errs, kind)
		}
	case <-time.After(time.Minute):
		t.Fatalf("%q waits for a writer", args)
	}
}

// TestInterruptsEndCommands sends SIGINT to commands that read for seconds.
func TestInterruptsEndCommands(t *testing.T) {
	folder := t.TempDir()
	table, err := os.Create(filepath.Join(folder, "table.csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(table)
	lines := bytes.Repeat([]byte("1,2,3\n"), 1<<17)
	for range 100 {
		z.Write(lines)
	}
	if err := errors.Join(z.Close(), table.Close()); err != nil {
		t.Fatal(err)
	}
	w, err := hdf5write.Create(filepath.Join(folder, "large.h5"), hdf5write.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	texts := make([]string, 1<<20)
	for k := range texts {
		texts[k] = fmt.Sprint("text number ", k)
	}
	noise := make([]uint8, 1<<26) // slow to compress
	for k, r := 0, rand.New(rand.NewPCG(1, 2)); k < len(noise); k += 8 {
		binary.LittleEndian.PutUint64(noise[k:], r.Uint64()&0x0303030303030303)
	}
	layout := hdf5write.Layout{Chunks: []int{1 << 16}, Filters: nil}
	if err := errors.Join(w.Write("/x", storage.From(make([]float64, 1<<25), 1<<25)), w.WriteWith("/chunked", storage.From(make([]float64, 1<<24), 1<<24), layout), w.WriteStrings("/texts", texts, len(texts)),
		w.Write("/noise", storage.From(noise, 1<<13, 1<<13)), w.Close()); err != nil {
		t.Fatal(err)
	}
	writeZerosNpz(t, filepath.Join(folder, "x.npz"), 1<<28)
	for _, args := range []string{
		"import table.csv.gz out.h5", "slice large.h5:/texts --json", "inspect --stats large.h5", "slice x.npz --format csv",
		"inspect --stats x.npz", "inspect --stats x.npz --expand-limit 1MiB", "convert large.h5:/x out.csv", "doctor large.h5", "verify large.h5",
		"repack large.h5 out.h5 --filter zstd:19", "repack large.h5 out.h5 --filter zstd:19 --chunks 8192,8192 --path /noise --memory 1GiB",
		"slice large.h5:/noise -o out.png", "slice large.h5:/texts --format csv", "convert large.h5 out.h5",
	} {
		for _, after := range []time.Duration{20, 100, 300} {
			cmd := program(t, strings.Fields(args)...)
			cmd.Dir = folder
			var errs bytes.Buffer
			cmd.Stderr = &errs
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(after * time.Millisecond)
			cmd.Process.Signal(os.Interrupt)
			before := cpuTime(cmd.Process.Pid)
			cmd.Wait()
			took := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime() - before
			os.Remove(filepath.Join(folder, "out.h5"))
			os.Remove(filepath.Join(folder, "out.png"))
			os.Remove(filepath.Join(folder, "out.csv"))
			if took > 3*time.Second { // a block, on a slow machine
				t.Errorf("%s: computes for %v after the signal, and ends with status %d, %q", args, took, cmd.ProcessState.ExitCode(), errs.String())
			}
			if status := cmd.ProcessState.ExitCode(); status != 0 && status != statusInterrupted && status != -1 {
				t.Errorf("%s: status %d, %q", args, status, errs.String())
			}
		}
	}
	if left, _ := filepath.Glob(filepath.Join(folder, ".*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// cpuTime returns the processor time that a process has used, or 0 where the system does not
// tell (Linux, proc_pid_stat(5): in hundredths of a second).
func cpuTime(process int) time.Duration {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process))
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) // from the third on
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// TestEnvironmentVariablesAreListed looks in README for the variables that the program and
// the libraries read; those of bench and scripts are of their makefiles.
func TestEnvironmentVariablesAreListed(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	reads := regexp.MustCompile(`(?:os\.Getenv|os\.LookupEnv|[^a-z]getenv)\("([A-Z0-9_]+)"\)`)
	found := map[string]string{}
	err = fs.WalkDir(os.DirFS("../.."), ".", func(path string, d fs.DirEntry, err error) error {
		ext := filepath.Ext(path)
		if err != nil || d.IsDir() && (path == "bench" || path == "scripts" || strings.HasPrefix(path, ".git")) {
			return fs.SkipDir
		}
		if d.IsDir() || ext != ".go" && ext != ".c" && ext != ".h" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(filepath.Join("../..", path))
		for _, m := range reads.FindAllStringSubmatch(string(text), -1) {
			found[m[1]] = path
		}
		return err
	})
	if err != nil || len(found) < 5 {
		t.Fatalf("%v, %v", found, err)
	}
	for name, path := range found {
		if !strings.HasPrefix(name, "H5DNN_TEST_") && !strings.Contains(string(readme), "`"+name) {
			t.Errorf("%s, which %s reads, is not in README", name, path)
		}
	}
}
