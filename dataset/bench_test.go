package dataset

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/h5dnn/h5dnn/storage"
)

// The set that benchmarks load: as many samples, as large, as MNIST has.
const benchRows, benchBytes, benchBatch = 60_000, 784, 128

func benchPairs() (x, y storage.Array) {
	images := make([]uint8, benchRows*benchBytes)
	for i := range images {
		images[i] = uint8(i / benchBytes)
	}
	return storage.From(images, benchRows, 28, 28), storage.From(make([]uint8, benchRows), benchRows)
}

// BenchmarkEpoch loads shuffled epochs; "slice" is the measure, the same gather
// written out over slices in memory, with its order drawn beforehand.
func BenchmarkEpoch(b *testing.B) {
	x, y := benchPairs()
	b.Run("slice", func(b *testing.B) { benchSlice(b, x, y) })
	for _, test := range []struct {
		name string
		x    storage.Array
		o    Options
	}{
		{"host/exact", x, Options{Shuffle: Exact}},
		{"host/none", x, Options{Shuffle: None}},
		{"chunks kept/window", newFake(x, 256).Array(), Options{Shuffle: Window}},
		{"chunks kept/exact", newFake(x, 256).Array(), Options{Shuffle: Exact}},
	} {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/workers=%d", test.name, workers), func(b *testing.B) {
				test.o.Batch, test.o.Workers = benchBatch, workers
				benchLoad(b, Named{"x", test.x}, Named{"y", y}, test.o)
			})
		}
	}
}

func benchLoad(b *testing.B, x, y Named, o Options) {
	l := must[*Loader](b)(NewLoader(must[Dataset](b)(Of(x, y)), o))
	epoch := 0
	load := func() {
		for batch, err := range l.Epoch(b.Context(), epoch, 0) {
			if err != nil {
				b.Fatal(err)
			}
			sink += len(batch.Rows)
		}
		epoch++
	}
	load() // decodes what stays
	b.SetBytes(benchRows * benchBytes)
	b.ReportAllocs()
	busy := cpuTime()
	for b.Loop() {
		load()
	}
	b.ReportMetric(float64(cpuTime()-busy)/float64(b.N), "cpu-ns/op")
}

// cpuTime returns the time processors spent on this process, which other
// processes do not add to.
func cpuTime() time.Duration {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

var sink int

func benchSlice(b *testing.B, x, y storage.Array) {
	images, labels := storage.Elements[uint8](x), storage.Elements[uint8](y)
	order := rand.New(rand.NewPCG(1, 2)).Perm(benchRows)
	bx, by := make([]uint8, benchBatch*benchBytes), make([]uint8, benchBatch)
	b.SetBytes(benchRows * benchBytes)
	busy := cpuTime()
	for b.Loop() {
		for at := 0; at < benchRows; at += benchBatch {
			for k, row := range order[at:min(at+benchBatch, benchRows)] {
				copy(bx[k*benchBytes:(k+1)*benchBytes], images[row*benchBytes:])
				by[k] = labels[row]
			}
			sink += int(bx[0]) + int(by[0])
		}
	}
	b.ReportMetric(float64(cpuTime()-busy)/float64(b.N), "cpu-ns/op")
}
