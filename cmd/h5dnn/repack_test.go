package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// TestKilledRepackLeavesNoPartialFile kills repack at random times while it replaces a
// file. The old file or the new one is there, complete.
func TestKilledRepackLeavesNoPartialFile(t *testing.T) {
	const times = 30
	folder := t.TempDir()
	in, out := compressible(t), filepath.Join(folder, "out.h5")
	old := []byte("what was there before")
	took := timeOf(t, in, out)
	random := rand.New(rand.NewPCG(1, 2)) // any times do
	killed, replaced, tries := 0, 0, 0
	for ; killed < times; tries++ {
		if tries == 20*times {
			t.Fatalf("%d of %d were done before they could be killed", tries-killed, tries)
		}
		if err := os.WriteFile(out, old, 0o666); err != nil {
			t.Fatal(err)
		}
		cmd := program(t, "repack", in, out, "--layout", "train", "--force")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(random.Float64() * 1.2 * float64(took)))
		cmd.Process.Signal(syscall.SIGKILL)
		if cmd.Wait() != nil {
			killed++
		}
		got, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(got, old) {
			continue
		}
		replaced++
		if r, err := hdf5.Verify(context.Background(), out, nil); err != nil || len(r.Problems) > 0 || r.Bytes != 8<<20 {
			t.Fatalf("killed after a while: %v, %+v; want the old file or the whole new one", err, r)
		}
	}
	t.Logf("%d killed of %d, %d whole files", killed, tries, replaced)
}

// TestRepackMemoryLimit includes mapped pages of both files.
func TestRepackMemoryLimit(t *testing.T) {
	name := large(t)
	memoryOf := func(args ...string) int {
		cmd := program(t, args...)
		peak := measured(t, cmd)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
		return peak()
	}
	idle := memoryOf("inspect", name)
	used := memoryOf("repack", name, filepath.Join(t.TempDir(), "out.h5"), "--layout", "train", "--memory", "16MiB") - idle
	if most := leastMemory + 16<<20; used > most { // the least, and what is mapped
		t.Errorf("repack takes %d MiB more than inspect, want at most %d", used>>20, most>>20)
	}
}

func timeOf(t *testing.T, in, out string) time.Duration {
	start := time.Now()
	if said, err := program(t, "repack", in, out, "--layout", "train", "--force").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return time.Since(start)
}

// compressible writes 8 MiB in chunks.
func compressible(t *testing.T) string {
	name := filepath.Join(t.TempDir(), "in.h5")
	elems := make([]float32, 2<<20)
	for k := range elems {
		elems[k] = float32(k % 1000)
	}
	w, err := hdf5write.Create(name, hdf5write.CreateOptions{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	layout := hdf5write.Layout{Chunks: []int{64, 1024}, Filters: []filter.Filter{filter.Shuffle(), filter.Deflate(1)}}
	if err := errors.Join(w.WriteWith("/x", storage.From(elems, 2048, 1024), layout), w.Close()); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestVerifyReportsPositions corrupts a chunk. The report names it, and the status is 1.
func TestVerifyReportsPositions(t *testing.T) {
	name := compressible(t)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := hdf5.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	d, err := f.Dataset("/x")
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := d.StoredChunks()
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	whole[chunks[3].Offset+chunks[3].Size-2] ^= 1 // in the checksum that deflate ends with
	if err := os.WriteFile(name, whole, 0o666); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	status := run(t.Context(), []string{"h5dnn", "verify", name}, &out, &out)
	want := fmt.Sprintf("/x: chunk [192 0] at %d: ", chunks[3].Offset)
	if status != statusNegative || !strings.HasPrefix(out.String(), want) || !strings.Contains(out.String(), "1 problem") {
		t.Errorf("status %d, prints %q; want 1 and %q", status, out.String(), want)
	}
}

// TestImportsImages imports folders of images and compares their pixels.
func TestImportsImages(t *testing.T) {
	folder := t.TempDir()
	shade := func(class, k int) uint8 { return uint8(100*class + 10*k) }
	for class, name := range []string{"ants", "bees"} {
		if err := os.Mkdir(filepath.Join(folder, name), 0o777); err != nil {
			t.Fatal(err)
		}
		for k := range 3 {
			writeImage(t, filepath.Join(folder, name, fmt.Sprintf("%d.png", k)), color.Gray{shade(class, k)}, 4, 5)
		}
	}
	t.Chdir(t.TempDir())
	var out bytes.Buffer
	if status := run(t.Context(), []string{"h5dnn", "import", folder, "x.h5", "--force"}, &out, &out); status != 0 {
		t.Fatalf("status %d: %s", status, out.String())
	}
	f, err := hdf5.Open("x.h5")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	images, labels := numbersIn(t, f, "/images"), numbersIn(t, f, "/labels")
	for k, label := range labels {
		if want := shade(k/3, k%3); int(label) != k/3 || uint8(images[k*20]) != want || uint8(images[k*20+19]) != want {
			t.Errorf("image %d: label %d, pixels %d and %d, want label %d and %d", k, label, images[k*20], images[k*20+19], k/3, want)
		}
	}
	writeImage(t, filepath.Join(folder, "bees", "9.png"), color.Gray{1}, 4, 6)
	out.Reset()
	if status := run(t.Context(), []string{"h5dnn", "import", folder, "y.h5"}, &out, &out); status != statusTrouble || !strings.Contains(out.String(), "4x6") {
		t.Errorf("another size: status %d, %q", status, out.String())
	}
	os.Remove(filepath.Join(folder, "bees", "9.png"))
	writeImage(t, filepath.Join(folder, "bees", "9.jpg"), color.RGBA{200, 0, 0, 255}, 4, 5)
	if status := run(t.Context(), []string{"h5dnn", "import", folder, "x.h5", "--force"}, &out, &out); status != 0 {
		t.Fatalf("status %d: %s", status, out.String())
	}
}

func numbersIn(t *testing.T, f *hdf5.File, path string) []int32 {
	t.Helper()
	d, err := f.Dataset(path)
	if err != nil {
		t.Fatal(err)
	}
	a, err := d.Array()
	if err != nil {
		t.Fatal(err)
	}
	numbers, err := storage.Read[int32](a)
	if err != nil {
		t.Fatal(err)
	}
	return numbers
}

// writeImage writes an image of one colour.
func writeImage(t *testing.T, name string, c color.Color, width, height int) {
	t.Helper()
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	box := image.Rect(0, 0, width, height)
	if gray, ok := c.(color.Gray); ok {
		picture := image.NewGray(box)
		for k := range picture.Pix {
			picture.Pix[k] = gray.Y
		}
		err = png.Encode(file, picture)
	} else {
		picture := image.NewRGBA(box)
		for k := range picture.Pix {
			picture.Pix[k] = 200
		}
		err = jpeg.Encode(file, picture, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestImportsIDX imports idx files, and refuses truncated and overlong ones.
func TestImportsIDX(t *testing.T) {
	t.Chdir(t.TempDir())
	whole := []byte{0, 0, 0x0b, 2, 0, 0, 0, 2, 0, 0, 0, 3, 0, 1, 0, 2, 0, 3, 255, 255, 1, 0, 0, 6} // int16, 2 x 3
	for _, c := range []struct {
		data []byte
		want string
	}{
		{whole, ""},
		{whole[:22], "truncated after 1 of 2 rows"},
		{append(whole[:len(whole):len(whole)], 7), "has data after the 2 rows"},
		{whole[:9], "truncated header"},
		{[]byte{0, 0, 8, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}, "implausibly large"},
		{[]byte{0, 0, 8, 1, 255, 255, 255, 255, 1}, "truncated after"},
	} {
		os.WriteFile("a.idx", c.data, 0o666)
		var out bytes.Buffer
		status := run(t.Context(), []string{"h5dnn", "import", "a.idx", "a.h5", "--force"}, &out, &out)
		if (status == 0) != (c.want == "") || !strings.Contains(out.String(), c.want) {
			t.Errorf("%v: status %d, %q, want %q", c.data, status, out.String(), c.want)
		}
	}
	f, err := hdf5.Open("a.h5")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := fmt.Sprint(numbersIn(t, f, "/a")); got != "[1 2 3 -1 256 6]" {
		t.Errorf("got %s", got)
	}
}

// TestDoctorWarnings checks the warnings about sorted labels and NaN, and that there are
// measurements.
func TestDoctorWarnings(t *testing.T) {
	t.Chdir(t.TempDir())
	x, y := make([]float32, 4096*16), make([]int32, 4096)
	for k := range y {
		y[k] = int32(k / 512)
	}
	x[5] /= x[6] // 0/0
	w, err := hdf5write.Create("x.h5", hdf5write.CreateOptions{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	columns := hdf5write.Layout{Chunks: []int{512, 4}, Filters: []filter.Filter{filter.Deflate(1)}}
	if err := errors.Join(w.WriteWith("/x", storage.From(x, 4096, 16), columns), w.Write("/y", storage.From(y, 4096)), w.Close()); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if status := run(t.Context(), []string{"h5dnn", "doctor", "x.h5", "--json"}, &out, &out); status != 0 {
		t.Fatalf("status %d: %s", status, out.String())
	}
	var report struct {
		Datasets []struct {
			Path     string
			Warnings []string
			Measured map[string]any
		}
	}
	if err := json.Unmarshal(out.Bytes(), &report); err != nil || len(report.Datasets) != 2 {
		t.Fatalf("%v: %s", err, out.String())
	}
	bad := strings.Join(report.Datasets[0].Warnings, "; ")
	if !strings.Contains(bad, "a row spans 4 chunks") || !strings.Contains(bad, "1 of 65536 elements (below 0.1 %) are NaN, in 1 of 16 columns; the first is row 0, column 5 (all 4096 rows)") || report.Datasets[0].Measured["gain"] == nil {
		t.Errorf("of /x: %s", out.String())
	}
	if labels := strings.Join(report.Datasets[1].Warnings, "; "); !strings.Contains(labels, "sorted, if it is labels") {
		t.Errorf("of /y: %q", labels)
	}
}

// TestRowsThatCannotBeShuffledAreNamed: a sparse matrix without its parts is noted, and an error where --path names it.
func TestRowsThatCannotBeShuffledAreNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	w, err := hdf5write.Create("in.h5", hdf5write.CreateOptions{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if err := errors.Join(w.Write("/x", storage.From(make([]int8, 40), 10, 4)), w.Group("/sparse"), w.SetAttr("/sparse", "encoding-type", "csr_matrix"), w.Close()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		flags  string
		status int
	}{{"", statusFine}, {" --path /sparse", statusTrouble}} {
		var out bytes.Buffer
		status := run(t.Context(), strings.Fields("h5dnn repack in.h5 out.h5 --force --shuffle"+c.flags), &out, &out)
		if status != c.status || !strings.Contains(out.String(), "/sparse") {
			t.Errorf("with%s: status %d: %s", c.flags, status, out.String())
		}
	}
}
