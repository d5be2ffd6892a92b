//go:build cgo

package main

import (
	"archive/zip"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/kerasfile"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
	"github.com/h5dnn/h5dnn/views"
)

// peakOf runs a command, and returns and logs the peak of its memory, in bytes.
func peakOf(t *testing.T, args ...string) int {
	t.Helper()
	cmd := program(t, args...)
	peak := measured(t, cmd)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%q: %v\n%.1000s", args, err, errs.String())
	}
	used := peak()
	t.Logf("%4d MiB, %v: %q", used>>20, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), args)
	return used
}

// TestConversionsTakeTheMemoryOfTheLargestArray holds that commands which copy arrays take
// no more memory than the largest array and 100 MiB: from and to each format that holds
// several arrays, cast, quantized, and by each operation of a user's rules.
func TestConversionsTakeTheMemoryOfTheLargestArray(t *testing.T) {
	if testing.Short() || raced() {
		t.Skip("writes files of 128 MiB")
	}
	const side, count, more = 4096, 2, 100 << 20
	const size = 4 * side * side
	folder := t.TempDir()
	elems := make([]float32, side*side)
	for i := range elems {
		elems[i] = float32(i%1000) / 1000
	}
	save := func(format, extension string) string {
		name := filepath.Join(folder, "in"+extension)
		err := serialize.Save(name, format, serialize.Contents{Entries: func(yield func(serialize.Entry, error) bool) {
			for i := range count {
				if !yield(serialize.Entry{Name: fmt.Sprintf("layer%d.weight", i), Array: storage.From(elems, side, side)}, nil) {
					return
				}
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	check := func(most int, args ...string) {
		t.Helper()
		peak := peakOf(t, args...)
		if peak > most+more {
			t.Errorf("%q takes %d MiB, want at most %d and 100", args, peak>>20, most>>20)
		}
		os.Remove(args[len(args)-1])
	}
	var formats []serialize.Format
	for _, name := range serialize.Writable() {
		f, err := serialize.ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		if f.Open != nil && !f.Single && !f.Table && f.Holds(dtype.Float32) && !strings.HasPrefix(name, "keras") && name != "sharded" {
			formats = append(formats, f)
		}
	}
	if len(formats) < 6 {
		t.Fatalf("only %d formats hold several arrays", len(formats))
	}
	for i, f := range formats {
		in, to := save(f.Name, f.Extensions[0]), formats[(i+1)%len(formats)]
		check(size, "convert", "--to", to.Name, in, filepath.Join(folder, "out"+to.Extensions[0]))
		if !slices.Contains([]string{"torch", "hdf5"}, f.Name) {
			os.Remove(in)
			continue
		}
		for _, typ := range []string{"bf16", "int8"} {
			check(size, "cast", "--to", typ, "--format", "safetensors", in, filepath.Join(folder, "out.safetensors"))
		}
		check(size, "shard", "--force", "--size", "64MiB", in, filepath.Join(folder, "out.safetensors.index.json"))
		if f.Name != "torch" {
			continue
		}
		for operation, largest := range map[string]int{
			"transpose 1 0":      size,
			"gates 0: 1 0 3 2":   size,
			"features 1: 64 64":  size,
			"concat 1":           count * size,
			"split 1: 1024 3072": size,
			"reshape 64 64 4096, transpose 1 0 2, reshape 4096 4096": size,
		} {
			from, into := "layer*.weight", "x*"
			switch name, _, _ := strings.Cut(operation, " "); name {
			case "concat":
				from, into = "[layer0.weight, layer1.weight]", "x"
			case "split":
				into = "[x*, y*]"
			}
			var do []string
			for part := range strings.SplitSeq(operation, ", ") {
				do = append(do, strconv.Quote(part))
			}
			rules := filepath.Join(folder, "rules.yaml")
			text := fmt.Sprintf("tensors:\n  - from: %s\n    to: %s\n    do: [%s]\n", quoted(from), quoted(into), strings.Join(do, ", "))
			if err := os.WriteFile(rules, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			check(largest, "convert", "--rules", rules, in, filepath.Join(folder, "out.safetensors"))
		}
	}
}

// TestModelsTakeTheMemoryOfTheLargestArray converts models of two layers of 64 MiB from each format
// of Keras to PyTorch and back, and single arrays.
func TestModelsTakeTheMemoryOfTheLargestArray(t *testing.T) {
	if testing.Short() || raced() {
		t.Skip("writes files of 128 MiB")
	}
	const side, most = 4096, 4*4096*4096 + 100<<20
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	model := fmt.Sprintf(`{"class_name": "Sequential", "config": {"name": "m", "layers": [
		{"class_name": "InputLayer", "config": {"name": "in", "batch_shape": [null, %d]}},
		{"class_name": "Dense", "config": {"name": "first", "units": %[1]d, "use_bias": false}},
		{"class_name": "Dense", "config": {"name": "second", "units": %[1]d, "use_bias": false}}]}}`, side)
	weights := storage.From(make([]float32, side*side), side, side)
	check := func(args ...string) {
		t.Helper()
		peak := peakOf(t, args...)
		if peak > most {
			t.Errorf("%q takes %d MiB, want at most %d", args, peak>>20, most>>20)
		}
	}
	formats := 0
	for _, name := range serialize.Writable() {
		format, err := serialize.ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(name, "keras") {
			continue
		}
		formats++
		file := in("in" + format.Extensions[0])
		err = serialize.Save(file, name, serialize.Contents{Meta: map[string]string{kerasfile.MetaConfig: model}, Entries: serialize.Entries(
			serialize.Entry{Name: "first/kernel", Array: weights}, serialize.Entry{Name: "second/kernel", Array: weights})})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		architecture := []string{"--model", in("in.keras")}
		if name == "keras" || name == "keras-h5" {
			architecture = nil
		}
		check(append([]string{"convert", "--force", file, in("out.pt")}, architecture...)...)
		back := in("back" + format.Extensions[0])
		check("convert", "--force", "--to", name, "--model", in("in.keras"), in("out.pt"), back)
		os.Remove(back)
		if name != "keras" { // whose architecture the others need
			os.Remove(file)
		}
	}
	if formats < 3 {
		t.Errorf("only %d formats of Keras", formats)
	}
	check("convert", "--force", in("out.pt")+":/first.weight", in("out.npy"))
	check("convert", "--force", in("out.npy"), in("out.safetensors"))
}

// TestLargeChunksAreDecodedOnce holds that an array in one compressed chunk takes the memory of
// the chunk, and is not decoded for each block.
func TestLargeChunksAreDecodedOnce(t *testing.T) {
	if testing.Short() || raced() {
		t.Skip("writes files of 128 MiB")
	}
	const side = 5800
	in := filepath.Join(t.TempDir(), "in.h5")
	w, err := hdf5write.Create(in, hdf5write.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	layout := hdf5write.Layout{Chunks: []int{side, side}, Filters: []filter.Filter{filter.Deflate(1)}}
	if err := errors.Join(w.WriteWith("/w", storage.From(make([]float32, side*side), side, side), layout), w.Close()); err != nil {
		t.Fatal(err)
	}
	const most = 4*side*side + 100<<20
	if peak := peakOf(t, "convert", in, filepath.Join(t.TempDir(), "out.safetensors")); peak > most {
		t.Errorf("%d MiB, want at most %d", peak>>20, most>>20)
	}
}

// TestStoredBytesOfLargeChunksAreNotKept converts, verifies and repacks an array in one chunk that is stored
// in nearly as many bytes. They were in memory beside the array, and to compare two files twice.
func TestStoredBytesOfLargeChunksAreNotKept(t *testing.T) {
	if testing.Short() || raced() {
		t.Skip("writes files of 120 MiB, and measures memory, which the race detector multiplies; run it without -short and -race")
	}
	const n = 24 << 20
	folder := t.TempDir()
	elems := make([]float32, n)
	state := uint32(1)
	for i := range elems {
		state ^= state << 13
		state ^= state >> 17
		state ^= state << 5
		elems[i] = math.Float32frombits(state >> 4)
	}
	in := filepath.Join(folder, "in.h5")
	out := func(extension string) string { return filepath.Join(folder, "out"+extension) }
	for _, filters := range [][]filter.Filter{{filter.Deflate(1)}, {filter.Shuffle(), filter.Deflate(1)}} {
		w, err := hdf5write.Create(in, hdf5write.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		layout := hdf5write.Layout{Chunks: []int{n}, Filters: filters}
		if err := errors.Join(w.WriteWith("/w", storage.From(elems, n), layout), w.Close()); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(in); err != nil || info.Size() < 3*n || info.Size() >= 4*n {
			t.Fatalf("%v, %v: want a chunk that is somewhat smaller than its elements", info, err)
		}
		for _, args := range [][]string{
			{"convert", "--force", in, out(".safetensors")}, {"convert", "--force", "--verify", in, out(".h5")},
			{"repack", "--force", "--layout", "train", in, out(".h5")},
		} {
			if peak, most := peakOf(t, args...), 4*n+100<<20; peak > most {
				t.Errorf("%v: %q takes %d MiB, want at most %d", filters, args, peak>>20, most>>20)
			}
		}
	}
}

// TestChunksOfManyBlocksTakeTheMemoryOfTheLargestArray holds that decoding each chunk once takes
// no more memory, where a block of rows has elements of every chunk.
func TestChunksOfManyBlocksTakeTheMemoryOfTheLargestArray(t *testing.T) {
	if testing.Short() || raced() {
		t.Skip("writes files of 300 MiB")
	}
	const columns, more = 4096, 100 << 20
	in := filepath.Join(t.TempDir(), "in.h5")
	w, err := hdf5write.Create(in, hdf5write.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	largest := 0
	for i, rows := range []int{3000, 6000, 9000} {
		layout := hdf5write.Layout{Chunks: []int{rows, 16}, Filters: []filter.Filter{filter.Deflate(1)}}
		if err := w.WriteWith(fmt.Sprint("/w", i), storage.From(make([]float32, rows*columns), rows, columns), layout); err != nil {
			t.Fatal(err)
		}
		largest = 4 * rows * columns
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, extension := range []string{".safetensors", ".npz", ".pt"} {
		peak := peakOf(t, "convert", in, filepath.Join(t.TempDir(), "out"+extension))
		if peak > largest+more {
			t.Errorf("to %s: %d MiB, want at most %d", extension, peak>>20, (largest+more)>>20)
		}
	}
}

// TestReversedAxesTakeTheMemoryOfTheLargestArray compares, casts, and converts and verifies arrays whose
// axes are stored in reverse, mapped and compressed. To verify took twice the array when the pages that
// were mapped to write it stayed beside those of the copy.
func TestReversedAxesTakeTheMemoryOfTheLargestArray(t *testing.T) {
	if testing.Short() || raced() {
		t.Skip("writes files of 150 MiB, and measures memory, which the race detector multiplies; run it without -short and -race")
	}
	const side, most = 4500, 4*4500*4500 + 100<<20
	folder := t.TempDir()
	stored := storage.From(make([]float32, side*side), side, side)
	reversed, err := stored.Transpose()
	if err != nil {
		t.Fatal(err)
	}
	mapped, compressed := filepath.Join(folder, "in.pt"), filepath.Join(folder, "in.npz")
	if err := serialize.Save(mapped, "", serialize.Contents{Entries: serialize.Entries(serialize.Entry{Name: "w", Array: stored.With(reversed)})}); err != nil {
		t.Fatal(err)
	}
	header := fmt.Sprintf("{'descr': '<f4', 'fortran_order': True, 'shape': (%d, %[1]d), }", side)
	header += strings.Repeat(" ", 127-10-len(header)) + "\n"
	file, err := os.Create(compressed)
	if err != nil {
		t.Fatal(err)
	}
	archive := zip.NewWriter(file)
	w, err := archive.Create("w.npy")
	if err != nil {
		t.Fatal(err)
	}
	_, err1 := fmt.Fprintf(w, "\x93NUMPY\x01\x00%c\x00%s", len(header), header)
	_, err2 := stored.WriteTo(w)
	if err := errors.Join(err1, err2, archive.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	contiguous, rules := filepath.Join(folder, "in.h5"), filepath.Join(folder, "rules.yaml")
	if err := serialize.Save(contiguous, "", serialize.Contents{Entries: serialize.Entries(serialize.Entry{Name: "w", Array: stored})}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(rules, []byte("tensors:\n  - from: w\n    to: w\n    do: [\"transpose 1 0\"]\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"diff", mapped, mapped}, {"diff", compressed, compressed}, {"diff", mapped, compressed},
		{"cast", "--force", "--to", "bf16", compressed, filepath.Join(folder, "out.safetensors")},
		{"convert", "--force", "--verify", mapped, filepath.Join(folder, "out.h5")},
		{"convert", "--force", "--verify", mapped, filepath.Join(folder, "out.npz")},
		{"convert", "--force", "--verify", "--rules", rules, contiguous, filepath.Join(folder, "out.npz")},
	} {
		if peak := peakOf(t, args...); peak > most {
			t.Errorf("%q takes %d MiB, want at most %d", args, peak>>20, most>>20)
		}
	}
}

// saveNamed saves arrays of 16 bytes with the names that a format of numbers gives.
func saveNamed(t *testing.T, name string, count int, format string) {
	t.Helper()
	err := serialize.Save(name, "", serialize.Contents{Entries: func(yield func(serialize.Entry, error) bool) {
		for i := range count {
			if !yield(serialize.Entry{Name: fmt.Sprintf(format, i), Array: storage.From(make([]float32, 4), 4)}, nil) {
				return
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
}

var manyArrays = flag.Int("many-arrays", 12_000, "arrays of the files of TestManyArraysTakeLittleMemoryEach")

// TestManyArraysTakeLittleMemoryEach runs commands on arrays of 16 bytes, whose names and shapes are most of
// the file, in formats that list them.
func TestManyArraysTakeLittleMemoryEach(t *testing.T) {
	if testing.Short() || raced() {
		t.Skip("measures memory, which the race detector multiplies; run it without -short and -race")
	}
	folder, limit := t.TempDir(), 80<<20+*manyArrays*3300
	name := func(file string) string { return filepath.Join(folder, file) }
	for _, extension := range []string{".safetensors", ".npz", ".pt", ".h5dn", ".ckpt.h5", ".h5"} {
		in := name("in" + extension)
		saveNamed(t, in, *manyArrays, "layer%06d.weight")
		checkMany(t, limit, "inspect", in)
		if extension != ".h5" { // 16 seconds for 100,000 arrays: see decision 0067
			checkMany(t, limit, "convert", "--verify", "--force", in, name("out"+extension))
		}
	}
	in, index := name("in.h5"), name("out.safetensors.index.json")
	for _, args := range [][]string{
		{"diff", in, in}, {"convert", "--json", "--force", in, name("out.npz")}, {"cast", "--to", "bf16", in, name("cast.pt")},
		{"shard", "--size", "256KiB", in, index}, {"merge", index, name("merged.pt")}, {"repair", name("merged.pt"), name("repaired.pt")},
	} {
		checkMany(t, limit, args...)
	}
}

// checkMany runs a command on many arrays, which may take limit bytes.
func checkMany(t *testing.T, limit int, args ...string) {
	t.Helper()
	if peak := peakOf(t, args...); peak > limit {
		t.Errorf("%q takes %d MiB, want at most %d", args, peak>>20, limit>>20)
	}
}

// TestLongNamesTakeLittleMemory: 5,000 names of 2000 bytes are 10 MiB.
func TestLongNamesTakeLittleMemory(t *testing.T) {
	if testing.Short() || raced() {
		t.Skip("measures memory, which the race detector multiplies; run it without -short and -race")
	}
	folder := t.TempDir()
	name := func(file string) string { return filepath.Join(folder, file) }
	for _, file := range []string{"in.h5", "in.npz"} {
		saveNamed(t, name(file), 5_000, strings.Repeat("long_name_", 199)+"%09d")
		checkMany(t, 140<<20, "shard", "--force", name(file), name("out.safetensors.index.json"))
		checkMany(t, 140<<20, "diff", name(file), name(file))
	}
}

// TestGarbageIsBounded in heaps of any size.
func TestGarbageIsBounded(t *testing.T) {
	for _, live := range []uint64{0, 1 << 20, 100 << 20, 2 << 30} {
		percent := garbagePercent(live)
		if garbage := live / 100 * uint64(percent); percent < 1 || garbage > mostGarbage {
			t.Errorf("of %d MiB in use, %d %% are %d MiB of garbage, want at most %d", live>>20, percent, garbage>>20, mostGarbage>>20)
		}
	}
}

// TestTablesTakeTheMemoryOfAColumn converts columns of 64 MiB, in one row group or several, to
// formats that write them row by row or one after the other.
func TestTablesTakeTheMemoryOfAColumn(t *testing.T) {
	if testing.Short() || raced() {
		t.Skip("writes files of 400 MiB")
	}
	const rows, size = 8 << 20, 64 << 20
	folder := t.TempDir()
	elems := make([]float64, rows)
	for i := range elems {
		elems[i] = float64(i % 1000)
	}
	in := filepath.Join(folder, "in.parquet")
	err := serialize.Save(in, "", serialize.Contents{Entries: func(yield func(serialize.Entry, error) bool) {
		for i := range 6 {
			if !yield(serialize.Entry{Name: fmt.Sprint("c", i), Array: storage.From(elems, rows)}, nil) {
				return
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	elems = nil
	for _, extension := range []string{".parquet", ".arrow", ".safetensors"} {
		out := filepath.Join(folder, "out"+extension)
		if peak, most := peakOf(t, "convert", in, out), size+100<<20; peak > most {
			t.Errorf("to %s: %d MiB, want at most %d", extension, peak>>20, most>>20)
		}
		os.Remove(out)
	}
}

// TestCompressedColumnsTakeTheMemoryOfOne converts columns of 128 MiB, in one batch of
// Zstandard buffers.
func TestCompressedColumnsTakeTheMemoryOfOne(t *testing.T) {
	if testing.Short() || raced() {
		t.Skip("writes files of 256 MiB")
	}
	for _, extension := range []string{".parquet", ".h5", ".safetensors"} {
		out := filepath.Join(t.TempDir(), "out"+extension)
		if peak, most := peakOf(t, "convert", "../../serialize/arrow/testdata/long/zeros.arrow", out), 128<<20+100<<20; peak > most {
			t.Errorf("to %s: %d MiB, want at most %d", extension, peak>>20, most>>20)
		}
		os.Remove(out)
	}
}

// TestWideTablesTakeTheMemoryOfTheirRows converts 2500 columns of 2500 rows to formats that write
// them row by row or one after the other.
func TestWideTablesTakeTheMemoryOfTheirRows(t *testing.T) {
	if testing.Short() || raced() {
		t.Skip("writes files of 70 MB")
	}
	const side = 2500
	folder := t.TempDir()
	elems := make([]float32, side)
	for i := range elems {
		elems[i] = float32(i%1000) / 8
	}
	in := filepath.Join(folder, "in.parquet")
	err := serialize.Save(in, "", serialize.Contents{Entries: func(yield func(serialize.Entry, error) bool) {
		for i := range side {
			if !yield(serialize.Entry{Name: fmt.Sprint("c", i), Array: storage.From(elems, side)}, nil) {
				return
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	for i, extension := range []string{".csv", ".arrow", ".csv"} {
		out := filepath.Join(folder, fmt.Sprint("out", i, extension))
		if peak, most := peakOf(t, "convert", in, out), 100<<20; peak > most {
			t.Errorf("from %s to %s: %d MiB, want at most %d", filepath.Ext(in), extension, peak>>20, most>>20)
		}
		in = out
	}
}

// TestLongTextTakesTheMemoryOfItsNumbers converts a table of two columns and of three million
// rows, whose cells would take far more memory as text.
func TestLongTextTakesTheMemoryOfItsNumbers(t *testing.T) {
	if testing.Short() || raced() {
		t.Skip("writes files of 80 MiB")
	}
	const rows = 3_000_000
	folder := t.TempDir()
	for _, header := range []string{"", "a,b\n"} {
		in, out := filepath.Join(folder, "in.csv"), filepath.Join(folder, "out.safetensors")
		text := []byte(header)
		for i := range rows {
			text = fmt.Appendf(text, "%d,0.%d\n", i%1000, i)
		}
		if err := os.WriteFile(in, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if peak, most := peakOf(t, "convert", "--force", in, out), 2*8*rows+100<<20; peak > most || header != "" && peak > most-8*rows {
			t.Errorf("header %q: %d MiB, want at most %d", header, peak>>20, most>>20)
		}
	}
}

// TestFilesThatDoNotFitAreNotBegun saves arrays of 2^57 bytes, which no disk has room for, in
// each format that holds several arrays.
func TestFilesThatDoNotFitAreNotBegun(t *testing.T) {
	large := blocks.Compute(dtype.Float32, []int{1 << 50, 32}, func(storage.Array, views.Box) error { return errors.New("was read") })
	const model = `{"class_name": "Sequential", "config": {"name": "m", "layers": [
		{"class_name": "InputLayer", "config": {"name": "in", "batch_shape": [null, 1125899906842624]}},
		{"class_name": "Dense", "config": {"name": "dense", "units": 32, "use_bias": false}}]}}`
	for _, name := range serialize.Writable() {
		format, err := serialize.ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		if format.Single || format.Table || !format.Holds(dtype.Float32) || name == "sharded" {
			continue
		}
		folder := t.TempDir()
		out := filepath.Join(folder, "out"+format.Extensions[0])
		c := serialize.Contents{Entries: func(yield func(serialize.Entry, error) bool) {
			yield(serialize.Entry{Name: "dense/kernel", Array: large}, nil)
		}}
		if strings.HasPrefix(name, "keras") {
			c.Meta = map[string]string{kerasfile.MetaConfig: model}
		}
		err = serialize.Save(out, name, c)
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "the file needs ") {
			t.Errorf("%s: %v; want that the disk has no room", name, err)
		}
		if left, _ := os.ReadDir(folder); len(left) > 0 {
			t.Errorf("%s: %v is left", name, left)
		}
	}
}

// quoted returns a text in quotes for YAML, unless it is a list.
func quoted(text string) string {
	if strings.HasPrefix(text, "[") {
		text = strings.NewReplacer("[", `["`, ", ", `", "`, "]", `"]`).Replace(text)
		return text
	}
	return strconv.Quote(text)
}

// TestStringsTakeLittleMemory converts a column of 1,000,000 short strings to each format of tables and to HDF5, and
// verifies the file. All of them were in memory while they were compared, and HDF5's global heap was cached with a map for
// each part, which took 250 MiB, and 145 to verify the file; now it takes 85 to 105.
func TestStringsTakeLittleMemory(t *testing.T) {
	if testing.Short() || raced() {
		t.Skip("measures memory, which the race detector multiplies; run it without -short and -race")
	}
	folder := t.TempDir()
	name := func(file string) string { return filepath.Join(folder, file) }
	var lines bytes.Buffer
	lines.WriteString("name,number\n")
	for i := range 1_000_000 {
		fmt.Fprintf(&lines, "name %d,%d\n", i, i)
	}
	if err := os.WriteFile(name("in.csv"), lines.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		most int // MiB
		args []string
	}{
		{112, []string{"convert", name("in.csv"), name("out.arrow")}},
		{112, []string{"convert", name("out.arrow"), name("out.parquet")}},
		{170, []string{"convert", "--verify", name("out.parquet"), name("out.h5")}},
		{120, []string{"verify", name("out.h5")}},
	} {
		if peak := peakOf(t, c.args...); peak > c.most<<20 {
			t.Errorf("%s: %d MiB, want at most %d", c.args, peak>>20, c.most)
		}
	}
}
