package dataset_test

import (
	"testing"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/storage"
)

// BenchmarkMNIST loads epochs of the gzip-compressed training set. "decode" is
// the measure of an epoch in bounded memory: every chunk once, nothing else.
func BenchmarkMNIST(b *testing.B) {
	x, y := mnist(b)
	room := make([]byte, 60_000*784)
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(len(room)))
		for b.Loop() {
			if err := x.Data.(storage.Source).ReadView(room, x.Type, x.View); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, test := range []struct {
		name string
		o    dataset.Options
		keep bool
	}{
		{"window, 24 MiB", dataset.Options{Memory: 24 << 20}, true},
		{"window, decoded anew", dataset.Options{}, false},
		{"window, kept", dataset.Options{}, true},
		{"exact, kept", dataset.Options{Shuffle: dataset.Exact}, true},
	} {
		b.Run(test.name, func(b *testing.B) {
			b.SetBytes(int64(len(room)))
			test.o.Batch = 128
			var l *dataset.Loader
			epoch := 0
			load := func() {
				if l == nil || !test.keep {
					var err error
					if l, err = dataset.NewLoader(pair(b, x, y), test.o); err != nil {
						b.Fatal(err)
					}
				}
				for _, err := range l.Epoch(b.Context(), epoch, 0) {
					if err != nil {
						b.Fatal(err)
					}
				}
				epoch++
			}
			load()
			for b.Loop() {
				load()
			}
		})
	}
}
