package tensortest

import (
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// To returns the arrays of host on d, in the layout that lay gives them: their memory is
// copied whole, and seen through the same view.
func To(t *testing.T, host []storage.Array, d storage.Device, lay func(storage.Array) storage.Array) []storage.Array {
	t.Helper()
	there := make([]storage.Array, len(host))
	for i, a := range host {
		a = lay(a)
		data, err := d.Alloc(a.Data.Len())
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Upload(data, 0, a.Data.(storage.Host).Bytes()); err != nil {
			t.Fatal(err)
		}
		there[i] = storage.Array{Data: data, Type: a.Type, View: a.View}
	}
	return there
}

// RowMajor returns a as it is drawn.
func RowMajor(a storage.Array) storage.Array { return a }

// Layouts are ways for the same elements to lie in memory.
var Layouts = map[string]func(a storage.Array) storage.Array{
	"permuted": func(a storage.Array) storage.Array { // axes in reverse order
		order := make([]int, a.Rank())
		for axis := range order {
			order[axis] = a.Rank() - 1 - axis
		}
		return relaid(a, func(v views.View) views.View { return must(v.Transpose(order...)) }, func(n int) int { return n })
	},
	"channels last": func(a storage.Array) storage.Array {
		if a.Rank() < 3 {
			return a
		}
		order := []int{0, a.Rank() - 1} // in memory: N, …, C
		for axis := 1; axis < a.Rank()-1; axis++ {
			order = append(order, axis)
		}
		return relaid(a, func(v views.View) views.View { return must(v.Transpose(order...)) }, func(n int) int { return n })
	},
	"gapped and flipped": func(a storage.Array) storage.Array {
		return relaid(a, func(v views.View) views.View {
			for axis := range v.Shape {
				v = must(v.Slice(axis, 1, v.Shape[axis], 2))
				v = must(v.Flip(axis))
			}
			return v
		}, func(n int) int { return 2*n + 1 })
	},
}

// relaid returns a copy of a in memory of which see makes a's shape: that memory has
// size(n) elements for each axis of n, permuted as see undoes.
func relaid(a storage.Array, see func(views.View) views.View, size func(n int) int) storage.Array {
	sizes := make([]int, a.Rank())
	for axis, n := range a.Shape {
		sizes[axis] = size(n)
	}
	v := see(views.Of(sizes...))
	if !slices.Equal(v.Shape, a.Shape) { // see permutes: start from the permuted shape
		axes := make([]int, a.Rank())
		for i := range axes {
			axes[i] = i
		}
		permuted := make([]int, a.Rank())
		for k, axis := range see(views.Of(axes...)).Shape {
			permuted[axis] = sizes[k]
		}
		v = see(views.Of(permuted...))
	}
	b, err := storage.Make(storage.CPU, a.Type, sizes...)
	if err != nil {
		panic(err)
	}
	tensor.FromArray(b.With(v)).Assign(tensor.FromArray(a))
	return b.With(v)
}

func must(v views.View, err error) views.View {
	if err != nil {
		panic(err)
	}
	return v
}
