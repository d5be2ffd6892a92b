package native_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// TestResultsAroundCacheAreEqual compares the results that are written around the cache
// with those that are not, bit for bit, and checks that nothing beside them is written.
func TestResultsAroundCacheAreEqual(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	layouts := []struct {
		name  string
		shape []int
		view  func(v views.View, operand int) views.View // of the operand; the output is 0
	}{
		{"one tile", []int{1000}, nil},
		{"tiles", []int{40000}, nil},
		{"an offset", []int{5003}, func(v views.View, operand int) views.View { v.Offset = 1 + operand; return v }},
		{"gaps between rows", []int{30, 100}, func(v views.View, operand int) views.View { v.Stride = []int{103, 1}; return v }},
		{"transposed input", []int{70, 90}, func(v views.View, operand int) views.View {
			if operand == 1 {
				v.Stride = []int{1, 70}
			}
			return v
		}},
		{"broadcast row", []int{30, 2100}, func(v views.View, operand int) views.View {
			if operand > 0 {
				v.Stride = []int{0, 1}
			}
			return v
		}},
		{"broadcast column", []int{30, 2100}, func(v views.View, operand int) views.View {
			if operand == 2 {
				v.Stride = []int{1, 0}
			}
			return v
		}},
	}
	compared := 0
	types := []dtype.Type{dtype.Float32, dtype.Float64, dtype.BFloat16, dtype.Int8, dtype.Int64, dtype.Bool}
	for _, layout := range layouts {
		for _, k := range []*kernels.Kernel{kernels.Add, kernels.Exp, kernels.MultiplyAdd, kernels.Less, kernels.Where, kernels.Copy, kernels.Cast} {
			for _, typ := range types {
				inputs := k.Elementwise()
				switch k {
				case kernels.Copy, kernels.Cast:
					inputs = 1
				case kernels.Where:
					inputs = 3
				}
				var all []storage.Array
				for operand := range inputs + 1 {
					a := storage.Array{Type: typ, View: views.Of(layout.shape...)}
					if layout.view != nil {
						a.View = layout.view(a.View, operand)
					}
					if k == kernels.Where && operand == 1 || k == kernels.Less && operand == 0 {
						a.Type = dtype.Bool
					}
					if k == kernels.Cast && operand == 0 {
						a.Type = dtype.Float32
					}
					elems := make([]byte, 80000*a.Type.Size()+64)
					for i := range elems {
						elems[i] = byte(r.Uint32()) & 0x3f
						if a.Type == dtype.Bool {
							elems[i] &= 1
						}
					}
					a.Data = storage.Wrap(elems)
					all = append(all, a)
				}
				out := all[0].Data.(storage.Host).Bytes()
				before := slices.Clone(out)
				result := func(cache int) ([]byte, error) {
					native.SetCache(cache)
					defer native.ResetCache()
					copy(out, before)
					err := kernels.CPU.Run(k, &kernels.Call{Out: all[:1], In: all[1:]})
					return slices.Clone(out), err
				}
				want, err := result(1 << 40)
				if err != nil {
					continue // not defined on the type
				}
				compared++
				got, err := result(0)
				if name := fmt.Sprintf("%s of %v, %s", k.Name, typ, layout.name); err != nil {
					t.Errorf("%s: %v", name, err)
				} else if !bytes.Equal(got, want) {
					t.Errorf("%s: differs from the result in the cache", name)
				}
			}
		}
	}
	if want := 5 * len(layouts) * len(types); compared < want {
		t.Errorf("%d calls were compared, want %d at least", compared, want)
	}
}
