package torch_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// BenchmarkOpen opens a file of 10,000 tensors and 4 GiB, of which the system stores only
// what is not zero.
func BenchmarkOpen(b *testing.B) {
	name := filepath.Join(b.TempDir(), "large.pt")
	const n, size = 10_000, 256 << 20 / 10_000 / 4
	zeros := storage.From(make([]float32, size), size)
	err := serialize.Save(name, "", serialize.Contents{Entries: func(yield func(serialize.Entry, error) bool) {
		for i := range n {
			if !yield(serialize.Entry{Name: fmt.Sprintf("layers.%d.weight", i), Array: zeros}, nil) {
				return
			}
		}
	}})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		f, err := serialize.Open(name)
		if err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
	info, err := os.Stat(name)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(info.Size())/(1<<30), "GiB")
}
