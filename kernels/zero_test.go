package kernels

import (
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
)

// TestZeroOptionsChangeNothing: a scale that is left out is 1, with and without an offset.
func TestZeroOptionsChangeNothing(t *testing.T) {
	x, bytes, rows := ramp(5), storage.From([]uint8{3, 1, 4, 1, 5}, 5), storage.From([]int64{0, 1, 2, 3, 4}, 5)
	for _, options := range []any{nil, ScaleOffsetOptions{}, ScaleOffsetOptions{Offset: 2}} {
		offset := 0.0
		if o, ok := options.(ScaleOffsetOptions); ok {
			offset = o.Offset
		}
		for _, c := range []struct {
			k  *Kernel
			in []storage.Array
		}{{ScaleOffset, []storage.Array{x}}, {Cast, []storage.Array{x}}, {Cast, []storage.Array{bytes}}, {GatherCast, []storage.Array{bytes, rows}}} {
			want := ok(storage.Make(storage.CPU, dtype.Float32, 5))
			convertElements(&want, &c.in[0])
			referenceMap(func(x float64) float64 { return x + offset }, want, want)
			got := ok(storage.Make(storage.CPU, dtype.Float32, 5))
			must(CPU.Run(c.k, &Call{Out: []storage.Array{got}, In: c.in, Options: options}))
			near(t, c.k.Name, got, want, 0)
			must(c.k.Reference(&Call{Out: []storage.Array{got}, In: c.in, Options: options}))
			near(t, c.k.Name+", reference", got, want, 0)
		}
	}
}
