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
				test.o.BatchSize, test.o.Workers = benchBatch, workers
				l := must[*Loader](b)(NewLoader(must[Dataset](b)(FromArrays(input("x", test.x), target("y", y))), test.o))
				epoch := 0
				benchEpochs(b, func() {
					benchLoad(b, l, epoch)
					epoch++
				})
			})
		}
	}
}

// benchEpochs runs an epoch once, for what stays, and then measures it.
func benchEpochs(b *testing.B, epoch func()) {
	epoch()
	b.SetBytes(benchRows * benchBytes)
	b.ReportAllocs()
	busy := cpuTime()
	for b.Loop() {
		epoch()
	}
	b.ReportMetric(float64(cpuTime()-busy)/float64(b.N), "cpu-ns/op")
}

func benchLoad(b *testing.B, l *Loader, epoch int) {
	for batch, err := range l.Epoch(b.Context(), epoch, 0) {
		if err != nil {
			b.Fatal(err)
		}
		sink += len(batch.Rows)
	}
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
	benchEpochs(b, func() {
		for at := 0; at < benchRows; at += benchBatch {
			for k, row := range order[at:min(at+benchBatch, benchRows)] {
				copy(bx[k*benchBytes:(k+1)*benchBytes], images[row*benchBytes:])
				by[k] = labels[row]
			}
			sink += int(bx[0]) + int(by[0])
		}
	})
}

// BenchmarkMNIST loads epochs of the gzip-compressed training set. "decode" is
// the measure of an epoch in bounded memory: every chunk once, nothing else.
func BenchmarkMNIST(b *testing.B) {
	x, y := mnist(b)
	room := make([]byte, 60_000*784)
	b.Run("decode", func(b *testing.B) {
		benchEpochs(b, func() {
			if err := x.Data.(storage.Source).ReadView(room, x.Type, x.View); err != nil {
				b.Fatal(err)
			}
		})
	})
	for _, test := range []struct {
		name string
		o    Options
		keep bool
	}{
		{"window, 24 MiB", Options{Memory: 24 << 20}, true},
		{"window, decoded anew", Options{}, false},
		{"window, kept", Options{}, true},
		{"exact, kept", Options{Shuffle: Exact}, true},
	} {
		b.Run(test.name, func(b *testing.B) {
			test.o.BatchSize = benchBatch
			d := must[Dataset](b)(FromArrays(input("x", x), target("y", y)))
			l := must[*Loader](b)(NewLoader(d, test.o))
			epoch := 0
			benchEpochs(b, func() {
				if !test.keep {
					l = must[*Loader](b)(NewLoader(d, test.o))
				}
				benchLoad(b, l, epoch)
				epoch++
			})
		})
	}
}
