package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestPipesAreRead reads a file of every kind of container from standard input and from
// another descriptor, as shells name that of <(command).
func TestPipesAreRead(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"../../testdata/digits.h5", "../../testdata/cnn.keras", "../../serialize/torch/testdata/state.pth", "../../serialize/npy/testdata/fortran.npy"} {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := program(t, "inspect", name, "--json").Output()
		if err != nil {
			t.Fatal(err)
		}
		_, want, _ = bytes.Cut(want, []byte(`"format"`)) // which follows the name
		for _, in := range []string{"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"} {
			cmd := program(t, "inspect", in, "--json")
			cmd.Stdin = bytes.NewReader(content)
			cmd.Env = append(cmd.Env, "TMPDIR="+folder)
			got, err := cmd.Output()
			for _, own := range []string{"/0", "/stdin"} { // an .npy's array has the name of its file
				got = bytes.Replace(got, []byte(`"path":"`+own+`"`), []byte(`"path":"/fortran"`), 1)
			}
			if _, got, _ = bytes.Cut(got, []byte(`"format"`)); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s as %s: %v\n%s\nwant\n%s", name, in, err, got, want)
			}
		}
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			write.Write(content)
			write.Close()
		}()
		cmd := program(t, "diff", "/dev/fd/3", name)
		cmd.ExtraFiles = []*os.File{read}
		cmd.Env = append(cmd.Env, "TMPDIR="+folder)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s as /dev/fd/3: %v\n%s", name, err, out)
		}
		read.Close()
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("the folder of temporary files has %v, %v", left, err)
	}
}

// TestPipesThatCannotBeRead has one line for each.
func TestPipesThatCannotBeRead(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		tmp  string
		want string
	}{
		{[]string{"inspect", fifo}, "", "fifo is a pipe; read it as - with < "},
		{[]string{"convert", "../../testdata/digits.h5", fifo, "--to", "npz"}, "", "fifo is a pipe; write to - with > "},
		{[]string{"cast", "../../serialize/torch/testdata/state.pth", fifo, "--to", "f16", "--format", "npz"}, "", "fifo is a pipe; write to - with > "},
		{[]string{"cast", "../../serialize/torch/testdata/state.pth", "/dev/stdout", "--to", "f16", "--format", "npz"}, "", "/dev/stdout is a pipe; write to - with > "},
		{[]string{"convert", "../../serialize/torch/testdata/state.pth", "/dev/null", "--to", "npz"}, "", "/dev/null is a device; write to - with > "},
		{[]string{"merge", "../../serialize/torch/testdata/state.pth", "-", "--format", "sharded"}, "", "shards are several files, which cannot be written to -"},
		{[]string{"merge", "../../serialize/torch/testdata/state.pth", "-"}, "", "-: its extension names no format; add --format, one of "},
		{[]string{"inspect", "-"}, "/no/folder", "TMPDIR names another folder"},
		{[]string{"inspect", "-"}, "", "/dev/stdin: this is an empty file"},
	} {
		cmd := program(t, test.args...)
		cmd.Stdin = strings.NewReader("")
		if test.tmp != "" {
			cmd.Env = append(cmd.Env, "TMPDIR="+test.tmp)
		}
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != statusTrouble || !strings.Contains(string(out), test.want) || strings.Count(string(out), "\n") != 1 {
			t.Errorf("%q: %v %s\nwant one line with %q", test.args, err, out, test.want)
		}
	}
}

// TestModelsAreWrittenToPipes compares what a pipe receives with the file.
func TestModelsAreWrittenToPipes(t *testing.T) {
	name := filepath.Join(t.TempDir(), "model.safetensors")
	if out, err := program(t, "convert", "../../testdata/cnn.keras", name).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	got, err := program(t, "convert", "../../testdata/cnn.keras", "-", "--to", "safetensors").Output()
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v: %d bytes, want the %d of the file", err, len(got), len(want))
	}
}

// TestCopiesAreWrittenToPipes compares what a pipe receives with the file, for every command that
// copies arrays to one file.
func TestCopiesAreWrittenToPipes(t *testing.T) {
	const in = "../../serialize/torch/testdata/checkpoint.pt"
	for _, args := range [][]string{{"cast", "--to", "bf16"}, {"merge"}, {"strip"}, {"repair"}} {
		file := filepath.Join(t.TempDir(), "out.h5dn")
		if out, err := program(t, append(args, in, file)...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		cmd := program(t, append(args, in, "-", "--format", "native")...)
		var report bytes.Buffer
		cmd.Stderr = &report
		got, err := cmd.Output()
		if err != nil || !bytes.Equal(got, want) || !strings.Contains(report.String(), "written to standard output") {
			t.Errorf("%q: %v: %d bytes, want the %d of the file; says %q", args, err, len(got), len(want), &report)
		}
	}
}

// TestConfigurationsArePiped: train reads a configuration from standard input, such as one that it has printed.
func TestConfigurationsArePiped(t *testing.T) {
	pipe := func(input string, args ...string) string {
		cmd := program(t, append([]string{"train", "-"}, args...)...)
		cmd.Stdin = strings.NewReader(input)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	printed := pipe("data: {file: ../../testdata/digits.h5, x: train/images, y: train/labels}\nepochs: 1\n", "--print-config")
	if want := "epochs: 1   # -:2\n"; !strings.Contains(printed, want) {
		t.Errorf("no %q in\n%s", want, printed)
	}
	pipe(printed, "-o", filepath.Join(t.TempDir(), "run.h5"))
}
