package main

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"
)

// TestInputsAreNeverOverwritten gives every command that writes a file an output that is
// its input under another name: a hard link, a symbolic link, or another path.
func TestInputsAreNeverOverwritten(t *testing.T) {
	withDigits(t)
	ctx := context.Background()
	prepare := [][]string{
		{"slice", "testdata/digits.h5:/train/images", "-o", "in.npy"},
		{"slice", "testdata/digits.h5:/train/images", "-o", "in.npz"},
		append(slices.Clone(digitFlags), "--epochs", "1", "-o", "run.h5"),
	}
	for _, args := range prepare {
		if status, _, errs := in(t, ctx, args...); status != 0 {
			t.Fatal(errs)
		}
	}
	if err := errors.Join(os.Mkdir("images", 0o777), os.Mkdir("images/a", 0o777), os.WriteFile("images/a/a.png", onePixel(t), 0o666)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		input string // which may not be overwritten
		args  string // with OUT for the output
	}{
		{"testdata/digits.h5", "slice testdata/digits.h5:/test/images -o OUT.h5"},
		{"in.npy", "slice in.npy -o OUT.npy"},
		{"testdata/digits.h5", "convert testdata/digits.h5 OUT.h5"},
		{"in.npz", "convert in.npz OUT.h5"},
		{"testdata/digits.h5", "repack testdata/digits.h5 OUT.h5"},
		{"in.npy", "import in.npy OUT.h5"},
		{"images/a/a.png", "import images OUT.h5"},
		{"run.h5", "predict run.h5 testdata/digits.h5:/test/images -o OUT.h5"},
		{"testdata/digits.h5", "predict run.h5 testdata/digits.h5:/test/images -o OUT.npy"},
		{"testdata/digits.h5", "init testdata/digits.h5 OUT.yaml"},
		{"testdata/digits.h5", "train --data testdata/digits.h5 --x train/images --y train/labels --epochs 1 -o OUT.h5"},
		{"examples/digits.yaml", "train examples/digits.yaml --epochs 1 -o OUT.h5"},
		{"run.h5", "train --resume run.h5 --epochs 2 -o OUT.h5"},
		{"testdata/digits.h5", "train --resume run.h5 --epochs 2 -o OUT.h5"},
	} {
		ext := c.args[strings.Index(c.args, "OUT")+3:]
		before, err := os.ReadFile(c.input)
		if err != nil {
			t.Fatal(err)
		}
		links := map[string]func(string, string) error{"hard" + ext: os.Link, "soft" + ext: os.Symlink}
		if strings.Contains(c.args, "--resume "+c.input) {
			delete(links, "soft"+ext) // is the run file
		}
		for name, link := range links {
			if err := link(absolute(t, c.input), name); err != nil {
				t.Fatal(err)
			}
			args := append(strings.Fields(strings.Replace(c.args, "OUT"+ext, name, 1)), "--force")
			status, _, errs := in(t, ctx, args...)
			after, err := os.ReadFile(c.input)
			if status != statusTrouble || !strings.Contains(errs, "which is never overwritten") || !bytes.Equal(before, after) {
				t.Errorf("%q: status %d, %q; the input is as it was: %v, %v", args, status, errs, bytes.Equal(before, after), err)
			}
			os.Remove(name)
		}
	}
}

// onePixel returns a PNG file.
func onePixel(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func absolute(t *testing.T, name string) string {
	t.Helper()
	name, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// TestLinkedFilesAreInputs: sources of virtual datasets, external raw data and targets of
// external links are read, too.
func TestLinkedFilesAreInputs(t *testing.T) {
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("../../storage/hdf5/testdata")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(folder)
	for _, c := range []struct{ in, out string }{{"virtual.h5", "source0.h5"}, {"virtual.h5", "source1.h5"}, {"external.h5", "external.bin"}} {
		before, err := os.ReadFile(c.out)
		if err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"convert", c.in, c.out, "--to", "h5", "--follow", ".", "--force"}, {"repack", c.in, c.out, "--follow", ".", "--force"}} {
			status, _, errs := in(t, context.Background(), args...)
			if after, err := os.ReadFile(c.out); status != statusTrouble || !strings.Contains(errs, "is part of the input "+c.in) || !bytes.Equal(before, after) {
				t.Errorf("%q: status %d, %q, %v", args, status, errs, err)
			}
		}
	}
}

// TestFilesBesideAnInputAreInputs: shards of an index, the external data of a model, the
// data of a bundle, an architecture and rules are read, too.
func TestFilesBesideAnInputAreInputs(t *testing.T) {
	folder := t.TempDir()
	for _, of := range []string{"onnx", "tfbundle", "kerasfile"} {
		if err := os.CopyFS(filepath.Join(folder, of), os.DirFS("../../serialize/"+of+"/testdata")); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
	ctx := context.Background()
	for _, args := range [][]string{
		{"shard", "kerasfile/keras3_mlp.keras", "mlp.safetensors.index.json", "--size", "1KB"},
		{"convert", "kerasfile/keras3_mlp.keras", "mlp.pt"},
	} {
		if status, _, errs := in(t, ctx, args...); status != 0 {
			t.Fatal(args, errs)
		}
	}
	shards, _ := filepath.Glob("mlp-00001-of-*.safetensors")
	if len(shards) != 1 {
		t.Fatal("there is no first shard")
	}
	if err := os.WriteFile("rules.yaml", []byte("tensors: []\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		read string // which may not be overwritten
		args string // with OUT for the output
	}{
		{"onnx/weights.data", "convert onnx/external.onnx OUT --to npz"},
		{"onnx/weights.data", "cast onnx/external.onnx OUT --to f16 --format npz"},
		{"tfbundle/types.data-00000-of-00001", "convert tfbundle/types.index OUT --to npz"},
		{"kerasfile/keras3_graph_00003.weights.h5", "convert kerasfile/keras3_graph.weights.json OUT --to npz"},
		{"kerasfile/keras3_graph_00003.weights.h5", "merge kerasfile/keras3_graph.weights.json OUT --format npz"},
		{shards[0], "convert mlp.safetensors.index.json OUT"},
		{shards[0], "merge mlp.safetensors.index.json OUT"},
		{shards[0], "strip mlp.safetensors.index.json OUT"},
		{"kerasfile/keras3_mlp.keras", "convert mlp.pt OUT --model kerasfile/keras3_mlp.keras"},
		{"rules.yaml", "convert mlp.pt OUT --rules rules.yaml --to npz"},
	} {
		before, err := os.ReadFile(c.read)
		if err != nil {
			t.Fatal(err)
		}
		args := append(strings.Fields(strings.Replace(c.args, "OUT", c.read, 1)), "--force")
		status, _, errs := in(t, ctx, args...)
		if after, err := os.ReadFile(c.read); status != statusTrouble || !strings.Contains(errs, "which is never overwritten") || !bytes.Equal(before, after) {
			t.Errorf("%q: status %d, %q, %v", args, status, errs, err)
		}
	}
}

// TestExistingOutputsNeedForce, the plot of a run among them.
func TestExistingOutputsNeedForce(t *testing.T) {
	withDigits(t)
	ctx := context.Background()
	train := func(more ...string) []string {
		return append(append(slices.Clone(digitFlags), "--epochs", "1"), more...)
	}
	if status, _, errs := in(t, ctx, train("-o", "run.h5")...); status != 0 {
		t.Fatal(errs)
	}
	for _, c := range []struct {
		taken string
		args  []string
	}{
		{"my.png", train("-o", "my.h5")},
		{"my.h5", train("-o", "my.h5")},
		{"my.h5", []string{"train", "--resume", "run.h5", "--epochs", "2", "-o", "my.h5"}},
		{"my.png", []string{"train", "--resume", "run.h5", "--epochs", "2", "-o", "my.h5"}},
		{"out.csv", []string{"predict", "run.h5", "testdata/digits.h5:/test/images", "-o", "out.csv"}},
		{"out.png", []string{"slice", "testdata/digits.h5:/test/images", "-o", "out.png"}},
	} {
		if err := os.WriteFile(c.taken, []byte("mine"), 0o666); err != nil {
			t.Fatal(err)
		}
		status, _, errs := in(t, ctx, c.args...)
		kept, err := os.ReadFile(c.taken)
		if status != statusTrouble || !strings.Contains(errs, c.taken+" exists; use --force") || string(kept) != "mine" {
			t.Errorf("%q: status %d, %q; %s holds %.10q, %v", c.args, status, errs, c.taken, kept, err)
		}
		if status, _, errs := in(t, ctx, append(c.args, "--force")...); status != 0 {
			t.Errorf("%q --force: %s", c.args, errs)
		}
		os.Remove("my.h5")
		os.Remove("my.png")
	}
	if status, _, errs := in(t, ctx, "train", "--resume", "run.h5", "--epochs", "2"); status != 0 {
		t.Errorf("--resume does not replace its run: %s", errs)
	}
	if left, err := filepath.Glob(".*"); len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

// TestOneProgramTrainsIntoARunFile starts two. The second is refused until the first is
// killed.
func TestOneProgramTrainsIntoARunFile(t *testing.T) {
	withDigits(t)
	first := program(t, append(slices.Clone(digitFlags), "--epochs", "100000", "-o", "run.h5")...)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	defer first.Process.Kill()
	for deadline := time.Now().Add(time.Minute); !exists("run.h5"); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing was saved")
		}
	}
	for _, args := range [][]string{
		append(slices.Clone(digitFlags), "--epochs", "1", "-o", "run.h5", "--force"),
		{"train", "--resume", "run.h5", "--epochs", "2"},
	} {
		status, _, errs := in(t, context.Background(), args...)
		if status != statusTrouble || !strings.Contains(errs, "run.h5: another program is training into it") {
			t.Errorf("%q: status %d, %q", args, status, errs)
		}
	}
	if status, out, errs := in(t, context.Background(), "eval", "run.h5", "--data", "testdata/digits.h5", "--x", "test/images", "--y", "test/labels"); status != 0 {
		t.Errorf("a run in training can be evaluated: status %d, %q, %q", status, out, errs)
	}
	first.Process.Kill()
	first.Wait()
	if status, _, errs := in(t, context.Background(), append(slices.Clone(digitFlags), "--epochs", "1", "-o", "run.h5", "--force")...); status != 0 {
		t.Errorf("after the first was killed: %s", errs)
	}
	if left, err := filepath.Glob(".*"); len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

// TestFollowIsAFlagOfEveryCommandThatReads, except of import and repair, whose files refer to
// no others.
func TestFollowIsAFlagOfEveryCommandThatReads(t *testing.T) {
	for _, command := range newApp(io.Discard, io.Discard).Commands {
		has := slices.ContainsFunc(command.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), followName) })
		if want := opensFiles[command.Name] && command.Name != "import" && command.Name != "repair"; has != want {
			t.Errorf("%s has --follow: %v; want %v", command.Name, has, want)
		}
	}
}
