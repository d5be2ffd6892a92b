package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// bombs writes files that expand: a chunk of 256 MiB, an .npz of 256 MiB and a compressed
// table with one cell of 256 MiB. Those in testdata/hostile declare much and store nothing.
func bombs(t *testing.T, folder string) {
	t.Helper()
	if err := os.CopyFS(folder, os.DirFS("testdata/hostile")); err != nil {
		t.Fatal(err)
	}
	const size = 256 << 20
	w, err := hdf5write.Create(filepath.Join(folder, "chunk.h5"), hdf5write.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	zeros := storage.From(make([]uint8, size), size)
	layout := hdf5write.Layout{Chunks: []int{size}, Filters: []filter.Filter{filter.Deflate(1)}}
	if err := errors.Join(w.WriteWith("/x", zeros, layout), w.Close()); err != nil {
		t.Fatal(err)
	}
	writeZerosNpz(t, filepath.Join(folder, "zeros.npz"), size)
	if err := writeBombs(folder); err != nil {
		t.Fatal(err)
	}
	cell, err := os.Create(filepath.Join(folder, "cell.csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	g := gzip.NewWriter(cell)
	block := bytes.Repeat([]byte("a"), 1<<20)
	for range size / len(block) {
		g.Write(block)
	}
	if err := errors.Join(g.Close(), cell.Close()); err != nil {
		t.Fatal(err)
	}
}

// writeBombs writes an idx file with a row of 1 GiB, and a PNG of 100 megapixels.
func writeBombs(folder string) error {
	be := binary.BigEndian
	row := be.AppendUint32(be.AppendUint32([]byte{0, 0, 8, 2}, 1), 1<<30)
	chunk := func(kind string, data []byte) []byte {
		out := append(be.AppendUint32(nil, uint32(len(data))), kind...)
		out = append(out, data...)
		return be.AppendUint32(out, crc32.ChecksumIEEE(out[4:]))
	}
	picture := append([]byte("\x89PNG\r\n\x1a\n"), chunk("IHDR", append(be.AppendUint32(be.AppendUint32(nil, 10_000), 10_000), 8, 2, 0, 0, 0))...)
	return errors.Join(os.WriteFile(filepath.Join(folder, "row.idx"), row, 0o666),
		os.Mkdir(filepath.Join(folder, "pictures"), 0o777),
		os.WriteFile(filepath.Join(folder, "pictures/a.png"), append(picture, chunk("IDAT", nil)...), 0o666))
}

// writeZerosNpz writes a compressed array x of size zeros.
func writeZerosNpz(t *testing.T, name string, size int) {
	t.Helper()
	block := make([]byte, 1<<20)
	npz, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(npz)
	entry, err := z.Create("x.npy")
	if err != nil {
		t.Fatal(err)
	}
	header := fmt.Sprintf("{'descr': '|u1', 'fortran_order': False, 'shape': (%d,), }", size)
	header += strings.Repeat(" ", 117-len(header)) + "\n"
	entry.Write(append([]byte("\x93NUMPY\x01\x00"), binary.LittleEndian.AppendUint16(nil, uint16(len(header)))...))
	entry.Write([]byte(header))
	for range size / len(block) {
		entry.Write(block)
	}
	if err := errors.Join(z.Close(), npz.Close()); err != nil {
		t.Fatal(err)
	}
}

// underRace is whether the race detector is built in.
var underRace bool

// TestSmallFilesTakeLittle runs commands on small files that declare or expand to much, with
// a limit of 64 MiB. Each ends in time and memory, with a result or an error of one line.
func TestSmallFilesTakeLittle(t *testing.T) {
	if underRace {
		t.Skip("the race detector takes memory and time of its own")
	}
	if testing.Short() {
		t.Skip("files of 256 MiB are compressed")
	}
	const into = "H5DNN_TEST_BOMBS"
	if folder := os.Getenv(into); folder != "" {
		bombs(t, folder)
		return
	}
	folder := t.TempDir()
	other := exec.Command(os.Args[0], "-test.run=^TestSmallFilesTakeLittle$") // because children inherit the peak memory of their parent
	other.Env = append(os.Environ(), into+"="+folder)
	if out, err := other.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const plenty = 200 << 20 // the program, its libraries and blocks on the way
	for _, c := range []struct {
		args string
		want string // in the output, or in the error
	}{
		{"doctor numbers.h5", "never written"},
		{"doctor arrays.h5", "beyond the limit of 64 MiB"},
		{"doctor strings.h5", "3 of 3 labels (100 %) are missing"},
		{"inspect --stats numbers.h5", "min 0"},
		{"inspect --stats arrays.h5", "beyond the limit"},
		{"slice numbers.h5:/x", "[0. 0. 0. ... 0. 0. 0.]"},
		{"slice numbers.h5:/x -o out.npy", "beyond the limit of 64 MiB"},
		{"slice numbers.h5:/x --json", "beyond the limit of 64 MiB"},
		{"slice strings.h5:/x", `["" "" ""]`},
		{"slice strings.h5:/x[0]", `""`},
		{"slice strings.h5:/x --json", `["","",""]`},
		{"slice compound.h5:/x", `[{a: ""} {a: ""} {a: ""}]`},
		{"slice compound.h5:/x --json", `[{"a":""},{"a":""},{"a":""}]`},
		{"slice numbers.h5:/x[:100000000] --json", "select a part, as in [:100]; --expand-limit 2GiB allows it"},
		{"slice many.h5:/x --format csv", "beyond the limit of 64 MiB"},
		{"verify numbers.h5", "no problems found"},
		{"verify strings.h5", "no problems found"},
		{"convert strings.h5 out.h5", ""},
		{"convert many.h5 out.h5", ""},
		{"convert numbers.h5:/x out.npy", ""},
		{"convert numbers.h5:/x out.h5", ""},
		{"convert numbers.h5:/z out.h5", "1 array written"},
		{"slice chunk.h5:/x[7]", "beyond the limit of 64 MiB"},
		{"slice chunk.h5:/x[7] --expand-limit 1GiB", "0"},
		{"inspect --stats chunk.h5", "beyond the limit of 64 MiB"},
		{"convert chunk.h5 out.npz", "beyond the limit of 64 MiB"},
		{"doctor chunk.h5", "beyond the limit of 64 MiB"},
		{"verify chunk.h5", ""},
		{"slice zeros.npz:/x[:5]", "[0 0 0 0 0]"},
		{"slice zeros.npz:/x[-5:]", "[0 0 0 0 0]"},
		{"slice zeros.npz:/x", "[0 0 0 ... 0 0 0]"},
		{"slice zeros.npz:/x[:33554432] --format csv -o /dev/null", ""},
		{"inspect --stats zeros.npz", "max 0"},
		{"convert zeros.npz out.npy", "1 array written"},
		{"import cell.csv.gz out.h5", "a line of more than"},
		{"import row.idx out.h5", "beyond the limit of 64 MiB"},
		{"import pictures out.h5", "beyond the limit of 64 MiB"},
		{"repack compound.h5 out.h5", "1 dataset copied (0 re-encoded) and verified"},
		{"repack --chunks auto many.h5 out.h5", "1 dataset copied (1 re-encoded) and verified"},
		{"repack --layout train numbers.h5 out.h5", "3 datasets copied (1 re-encoded) and verified"},
		{"repack --layout train sparse.h5 out.h5", "4 TiB of elements for"},
		{"repack --filter lz4 sparse.h5 out.h5", "4 TiB of elements for"},
		{"repack --layout train --path /y sparse.h5 out.h5", "2 datasets copied (1 re-encoded) and verified"},
		{"repack --chunks rows=100 --path /y sparse.h5 out.h5", "2 datasets copied (1 re-encoded) and verified"},
		{"verify sparse.h5", "no problems found"},
		{"slice sparse.h5:/x[5009:5012]", "[1 7 7]"},
	} {
		args := append(strings.Fields(c.args), "--expand-limit", "64MiB")
		if strings.Contains(c.args, "--expand-limit") {
			args = args[:len(args)-2]
		}
		cmd := program(t, args...)
		cmd.Dir = folder
		peak := measured(t, cmd)
		started := time.Now()
		out, _ := cmd.CombinedOutput()
		used := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		took := time.Duration(used.Utime.Nano() + used.Stime.Nano())
		allowed := plenty
		if strings.Contains(c.args, "--expand-limit") {
			allowed += 1 << 30
		}
		if memory := peak(); memory > allowed || took > 4*patience {
			t.Errorf("%s: %d MiB, %v of CPU time, %v", c.args, memory>>20, took, time.Since(started))
		}
		if !strings.Contains(string(out), c.want) || strings.Contains(string(out), "internal error") {
			t.Errorf("%s: prints %.600q; want %q", c.args, out, c.want)
		}
		os.Remove(filepath.Join(folder, "out.npy"))
		os.Remove(filepath.Join(folder, "out.npz"))
		os.Remove(filepath.Join(folder, "out.h5"))
	}
}

// TestRunsAreUnderTheBudget resumes a run whose parameter was never written.
func TestRunsAreUnderTheBudget(t *testing.T) {
	withDigits(t)
	ctx := context.Background()
	if status, _, errs := in(t, ctx, append(slices.Clone(digitFlags), "--epochs", "1", "-o", "run.h5")...); status != 0 {
		t.Fatal(errs)
	}
	f, err := serialize.Open("run.h5")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := hdf5write.Create("bomb.h5", hdf5write.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for key, value := range f.Meta() {
		if err := w.SetAttr("/", key, value); err != nil {
			t.Fatal(err)
		}
	}
	weight, err := w.CreateDataset("/model/0.weight", dtype.Float32, []int{1 << 40}, hdf5write.Layout{Chunks: []int{1024}})
	if err = errors.Join(err, weight.Close(), w.Close()); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"train --resume bomb.h5 --epochs 2", "predict bomb.h5 testdata/digits.h5:/test/images -o out.npy", "eval bomb.h5"} {
		status, _, errs := in(t, ctx, strings.Fields(args)...)
		if status != statusTrouble || !strings.Contains(errs, "4 TiB of elements for") || !strings.Contains(errs, "--expand-limit") {
			t.Errorf("%s: status %d, %q", args, status, errs)
		}
	}
}
