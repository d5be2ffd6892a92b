// Command checkpoint times saving, opening, loading and converting large checkpoints in
// each format, beside writing as many plain bytes and beside the libraries of Python.
//
//	go run ./bench/checkpoint -python PYTHON -o bench/CHECKPOINT.md
//	go run ./bench/checkpoint -base COMMIT
package main

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/h5ck"
	_ "github.com/h5dnn/h5dnn/serialize/hdf5"
	_ "github.com/h5dnn/h5dnn/serialize/native"
	_ "github.com/h5dnn/h5dnn/serialize/npy"
	_ "github.com/h5dnn/h5dnn/serialize/safetensors"
	_ "github.com/h5dnn/h5dnn/serialize/torch"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

func main() {
	python := flag.String("python", "", "interpreter with torch, safetensors and h5py; none for h5dnn alone")
	out := flag.String("o", "", "file for the table")
	folder := flag.String("made", os.TempDir(), "folder for the files, which are removed")
	gib := flag.Float64("gib", 4, "size of a file, in GiB")
	tensors := flag.Int("tensors", 10_000, "number of tensors")
	from := flag.String("convert", "", "convert this file to the one named by -to and print the peak of memory")
	to := flag.String("to", "", "see -convert")
	base := flag.String("base", "", "measure beside this program at a `COMMIT`, instead of the libraries of Python")
	work := flag.String("measure", "", "save, open or load the file named by -to once and print the seconds")
	flag.Func("formats", "the formats to measure, separated by commas", func(list string) error {
		formats = strings.Split(list, ",")
		return nil
	})
	only := flag.String("only", "", "one part: save, load or convert")
	flag.Parse()
	if *from != "" {
		check(convert(*from, *to))
		return
	}
	if *work != "" {
		check(measure(*work, *to, *tensors, int(*gib*(1<<30))))
		return
	}
	if *base != "" {
		check(compare(*base, *folder, *only, *tensors, int(*gib*(1<<30))))
		return
	}
	b := bench{python: *python, bytes: int(*gib * (1 << 30)), tensors: *tensors}
	var err error
	b.folder, err = os.MkdirTemp(*folder, "checkpoint")
	check(err)
	defer os.RemoveAll(b.folder)
	b.text = "# Checkpoints\n\n" + fmt.Sprintf("%d tensors of float32, %.3g GiB, on %d cores; Linux page cache, one run. `make bench-checkpoint` writes this page.\n", b.tensors, *gib, runtime.NumCPU())
	for _, part := range []struct {
		name string
		run  func()
	}{{"save", b.saveAndOpen}, {"load", b.load}, {"convert", b.conversions}} {
		if *only == "" || *only == part.name {
			part.run()
		}
	}
	fmt.Print(b.text)
	if *out != "" {
		check(os.WriteFile(*out, []byte(b.text), 0o666))
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
}

// formats are those that are measured, with the extension of a file.
var formats = []string{"native", "safetensors", "h5ck", "torch"}

type bench struct {
	folder, python string
	bytes, tensors int
	text           string
}

func (b *bench) printf(format string, args ...any) { b.text += fmt.Sprintf(format, args...) }

// entries yields tensors that are views of one buffer of random numbers, so that the model
// takes no memory of its own.
func entries(tensors, bytes int) func(func(serialize.Entry, error) bool) {
	each := bytes / tensors / 4
	const buffer = 16 << 20
	elems := make([]float32, max(buffer, 2*each))
	r := rand.New(rand.NewPCG(1, 1))
	for i := range elems {
		elems[i] = r.Float32()
	}
	a := storage.From(elems, len(elems))
	return func(yield func(serialize.Entry, error) bool) {
		for i := range tensors {
			a.View = views.View{Shape: []int{each}, Stride: []int{1}, Offset: (i * 64) % (len(elems) - each)}
			if !yield(serialize.Entry{Name: fmt.Sprintf("model.layers.%d.attention.weight_%d", i/8, i%8), Array: a}, nil) {
				return
			}
		}
	}
}

func (b *bench) file(format string) string {
	f, err := serialize.ByName(format)
	check(err)
	return filepath.Join(b.folder, "model"+f.Extensions[0])
}

// write writes as many bytes to a file, in blocks of 1 MiB, and flushes them to disk.
func write(name string, bytes int) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	block := make([]byte, 1<<20)
	for at := 0; at < bytes; at += len(block) {
		if _, err := f.Write(block[:min(len(block), bytes-at)]); err != nil {
			return err
		}
	}
	return f.Sync()
}

func timed(run func() error) time.Duration {
	start := time.Now()
	check(run())
	return time.Since(start)
}

// saves is how often a file is written in a row. A virtual machine may give free memory back to
// its host and get it again page by page, which takes several times as long as to write it. The
// kernel takes pages for files that are written in other sizes from other places. So only
// files like the one before show the rate, if any.
const saves = 5

// shortest returns the shortest time of writing a file, which is removed each time.
func shortest(name string, write func() error) time.Duration {
	best := time.Hour
	for range saves {
		best = min(best, timed(write))
		check(os.Remove(name))
	}
	return best
}

// saveAndOpen saves in each format, after plain writes, and opens the file warm.
func (b *bench) saveAndOpen() {
	b.printf("\n## Saving and opening\n\nThe shortest of %d saves in a row, with fsync, beside the shortest of %d plain writes of as many bytes, in blocks of 1 MiB, directly\nbefore. Opening lists the name, type and shape of every tensor; the shortest of 20 times.\nIn a virtual machine whose host takes back free memory, single saves and writes may take several times as long ([why](../docs/decisions/0044-write-to-disk-while-saving.md)).\n\n", saves, saves)
	b.printf("| format | save | plain write + fsync | ratio | open |\n|---|---|---|---|---|\n")
	list := entries(b.tensors, b.bytes)
	plain := filepath.Join(b.folder, "plain")
	for _, format := range formats {
		name := b.file(format)
		save := func() error { return serialize.Save(name, format, serialize.Contents{Entries: list}) }
		written := shortest(plain, func() error { return write(plain, b.bytes) }).Seconds()
		saved := shortest(name, save).Seconds()
		check(save())
		open := b.open(name)
		check(os.Remove(name))
		rate := float64(b.bytes) / 1e9
		b.printf("| %s | %.2f GB/s | %.2f GB/s | %.2f | %.1f ms |\n", format, rate/saved, rate/written, written/saved, open.Seconds()*1e3)
	}
}

// open returns the shortest time of opening a file and listing its tensors.
func (b *bench) open(name string) time.Duration {
	best := time.Hour
	for range 20 {
		runtime.GC()
		best = min(best, timed(func() error { return list(name, b.tensors) }))
	}
	return best
}

// list opens a file and reads the description of every tensor.
func list(name string, tensors int) error {
	f, err := serialize.Open(name)
	if err != nil {
		return err
	}
	n := 0
	for e, err := range f.All() {
		if err != nil {
			return err
		}
		n += len(e.Array.Shape)
	}
	if n != tensors {
		return fmt.Errorf("%d tensors", n)
	}
	return f.Close()
}

// peers load the file of a format in Python, into memory.
var peers = map[string]string{
	"safetensors": "safetensors.numpy.load_file",
	"torch":       "torch.load",
	"h5ck":        "h5py",
}

// load reads all tensors of a file of a quarter of the size into memory.
func (b *bench) load() {
	bytes := b.bytes / 4
	tensors := b.tensors / 4
	b.printf("\n## Loading\n\n%d tensors, %.3g GiB, all read into memory of their own, from the page cache; the shortest of 5 times.\n\n", tensors, float64(bytes)/(1<<30))
	b.printf("| format | h5dnn | peer | |\n|---|---|---|---|\n")
	for _, format := range formats {
		name := b.file(format)
		check(serialize.Save(name, format, serialize.Contents{Entries: entries(tensors, bytes)}))
		best, peer := time.Hour, 0.0
		for range 5 {
			runtime.GC()
			best = min(best, timed(func() error { return loadAll(name) }))
		}
		debug.FreeOSMemory()
		if b.python != "" && peers[format] != "" {
			peer = b.peer(format, name)
		}
		check(os.Remove(name))
		b.printf("| %s | %.0f ms | ", format, best.Seconds()*1e3)
		if peer > 0 {
			b.printf("%s %.0f ms | %.2f |\n", peers[format], peer*1e3, best.Seconds()/peer)
		} else {
			b.printf("| |\n")
		}
	}
}

func loadAll(name string) error {
	f, err := serialize.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	list, err := serialize.Load(f)
	if err == nil && len(list) == 0 {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// peer returns the shortest time in seconds that Python takes to load a file.
func (b *bench) peer(format, name string) float64 {
	out, err := exec.Command(b.python, "-c", `
import sys, time
format, name = sys.argv[1:]
def load():
    if format == "safetensors":
        from safetensors.numpy import load_file
        return load_file(name)
    if format == "torch":
        import torch
        return torch.load(name, weights_only=True)
    import h5py
    with h5py.File(name) as f:
        return {k: d[()] for k, d in f["model"].items()}
best = 1e9
for _ in range(5):
    start = time.perf_counter()
    x = load()
    best = min(best, time.perf_counter() - start)
    del x
print(best)
`, format, name).Output()
	check(err)
	seconds, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	check(err)
	return seconds
}

// conversions are the pairs of formats between which files of many tensors are converted.
var conversions = [][2]string{{"torch", "safetensors"}, {"safetensors", "native"}, {"native", "h5ck"}, {"h5ck", "torch"}}

// conversions converts files in processes of their own.
func (b *bench) conversions() {
	b.printf("\n## Converting\n\nThe peak of resident memory (VmHWM) of a process that converts a file, mapped pages included, and its time.\n" +
		`In such a virtual machine the time is mostly the kernel's: in two turns of the conversions of 4 GiB at a load of 15 to 20, the program itself took 0.5 to 1.1 s of
processor time, least of all in .pt to safetensors, and the kernel 7.0 to 8.0 s in that one and 3.3 to 6.2 s in the others. Pages that were taken back by the host, or freed by a
file written in other blocks, cost more to write ([why](../docs/decisions/0044-write-to-disk-while-saving.md)).` + "\n\n")
	b.printf("| | from | to | peak | time |\n|---|---|---|---|---|\n")
	b.convertTo(conversions, b.tensors, b.bytes)
	b.convertTo([][2]string{{"torch", "safetensors"}, {"safetensors", "npz"}, {"npz", "hdf5"}, {"hdf5", "h5ck"}, {"h5ck", "native"}, {"native", "torch"}}, 8, b.bytes/4)
}

// convertTo converts from the format of each pair to the other one.
func (b *bench) convertTo(pairs [][2]string, tensors, bytes int) {
	self, err := os.Executable()
	check(err)
	for _, pair := range pairs {
		from, to := b.file(pair[0]), b.file(pair[1])
		if _, err := os.Stat(from); err != nil {
			check(serialize.Save(from, pair[0], serialize.Contents{Entries: entries(tensors, bytes)}))
		}
		start := time.Now()
		child := exec.Command(self, "-convert", from, "-to", to)
		child.Stderr = os.Stderr
		out, err := child.Output()
		check(err)
		seconds := time.Since(start).Seconds()
		b.printf("| %d tensors, %.3g GiB | %s | %s | %s | %.1f s |\n", tensors, float64(bytes)/(1<<30), pair[0], pair[1], strings.TrimSpace(string(out)), seconds)
		check(os.Remove(from))
	}
	check(os.Remove(b.file(pairs[len(pairs)-1][1])))
}

// convert copies a file, and prints the peak of memory.
func convert(from, to string) error {
	f, err := serialize.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := serialize.Save(to, "", serialize.Contents{Entries: f.All(), Meta: f.Meta()}); err != nil {
		return err
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(status)) {
		if size, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.Atoi(strings.Fields(size)[0])
			if err != nil {
				return err
			}
			fmt.Printf("%.0f MiB\n", float64(kib)/1024)
		}
	}
	return nil
}
