package tensor_test

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// TestValuesRefusesLostElements: it fails where storage.Read does, and agrees with it elsewhere.
func TestValuesRefusesLostElements(t *testing.T) {
	for _, elems := range [][]float64{{0, 1, 255}, {256}, {-1}, {0.5}, {math.NaN()}, {math.Inf(1)}, {1e300}, {1 << 63}, {-128, 127}} {
		for _, from := range []dtype.Type{dtype.Float64, dtype.Float32, dtype.Int64, dtype.Uint64, dtype.Int8} {
			x := tensor.FromSlice(elems, len(elems)).Cast(from)
			readsAlike[uint8](t, x)
			readsAlike[int8](t, x)
			readsAlike[int64](t, x)
			readsAlike[uint64](t, x)
			readsAlike[float32](t, x)
			readsAlike[bool](t, x)
		}
	}
}

func readsAlike[T dtype.Go](t *testing.T, x *tensor.Tensor) {
	t.Helper()
	want, wantErr := storage.Read[T](x.Array())
	var got []T
	err := tensor.Try(func() { got = tensor.Values[T](x) })
	if !slices.EqualFunc(got, want, func(x, y T) bool { return x == y || x != x && y != y }) {
		t.Errorf("values of %v as %v: %v; want %v", x.Array(), dtype.Of[T](), got, want)
	}
	if (err == nil) != (wantErr == nil) || err != nil && err.Error() != "values: "+wantErr.Error() {
		t.Errorf("values of %v as %v: error %v; want %v", x.Array(), dtype.Of[T](), err, wantErr)
	}
}

// TestIntegersCompareExactly, of every pair of types and at the limits of each, also beyond the
// integers that float64 holds.
func TestIntegersCompareExactly(t *testing.T) {
	ints := []int64{math.MinInt64, math.MinInt64 + 1, -1 << 53, -(1<<53 + 1), -1, 0, 1, 127, 1 << 53, 1<<53 + 1, math.MaxInt64 - 1, math.MaxInt64}
	uints := []uint64{0, 1, 255, 1 << 53, 1<<53 + 1, math.MaxInt64 - 1, math.MaxInt64, 1 << 63, 1<<63 + 1, math.MaxUint64}
	var types []*tensor.Tensor
	for _, typ := range dtype.All() {
		switch {
		case typ.IsSigned():
			types = append(types, tensor.FromSlice(ints, len(ints)).Cast(typ))
		case typ.IsUnsigned():
			types = append(types, tensor.FromSlice(uints, len(uints)).Cast(typ))
		}
	}
	comparisons := map[string]struct {
		call  func(x, y *tensor.Tensor) *tensor.Tensor
		holds func(order int) bool
	}{
		"less":          {(*tensor.Tensor).Lt, func(order int) bool { return order < 0 }},
		"less equal":    {(*tensor.Tensor).Le, func(order int) bool { return order <= 0 }},
		"greater":       {(*tensor.Tensor).Gt, func(order int) bool { return order > 0 }},
		"greater equal": {(*tensor.Tensor).Ge, func(order int) bool { return order >= 0 }},
		"equal":         {(*tensor.Tensor).Eq, func(order int) bool { return order == 0 }},
		"not equal":     {(*tensor.Tensor).Ne, func(order int) bool { return order != 0 }},
	}
	for _, x := range types {
		for _, y := range types {
			xs, ys := bigs(x), bigs(y)
			for name, c := range comparisons {
				got := tensor.Values[bool](c.call(x.Reshape(x.Len(), 1), y))
				for i, holds := range got {
					a, b := xs[i/len(ys)], ys[i%len(ys)]
					if want := c.holds(a.Cmp(b)); holds != want {
						t.Errorf("%v %v %s %v %v: %v", x.Array().Type, a, name, y.Array().Type, b, holds)
					}
				}
			}
		}
	}
}

// bigs returns the elements of x, which are integers.
func bigs(x *tensor.Tensor) (elems []*big.Int) {
	if x.Array().Type == dtype.Uint64 {
		for _, v := range tensor.Values[uint64](x) {
			elems = append(elems, new(big.Int).SetUint64(v))
		}
		return elems
	}
	for _, v := range tensor.Values[int64](x) {
		elems = append(elems, big.NewInt(v))
	}
	return elems
}
