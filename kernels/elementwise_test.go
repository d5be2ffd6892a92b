package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
)

// ulps is how much a result of a type may differ from the reference, relative to 1 + |want|:
// typed loops compute 16-bit floats in float32, and the functions of float32 are right to 4 ulp.
var ulps = map[dtype.Type]float64{
	dtype.Float16: 0x1p-10, dtype.BFloat16: 0x1p-7, dtype.Float32: 4e-6, dtype.Float64: 1e-12,
}

// TestTypedLoopsAgreeWithReference compares every elementwise kernel with its reference, for
// every type that it is defined on, in several layouts.
func TestTypedLoopsAgreeWithReference(t *testing.T) {
	for _, k := range All() {
		if k.Elementwise() == 0 || k.HostOnly {
			continue
		}
		loops := 0
		for _, typ := range dtype.All() {
			for _, l := range layouts {
				for seed, shape := range [][]int{{37}, {5, 33}, {64, 80}} {
					if typedLoopAgrees(t, k, typ, l, shape, uint64(seed)) {
						loops++
					}
				}
			}
		}
		if least := 4 * len(layouts) * 3; loops < least {
			t.Errorf("%s: %d calls have a typed loop, want at least %d", k.Name, loops, least)
		}
	}
}

// typedLoopAgrees reports whether k has a typed loop for a type.
func typedLoopAgrees(t *testing.T, k *Kernel, typ dtype.Type, l layout, shape []int, seed uint64) bool {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, uint64(typ.Number())))
	draw := func() storage.Array {
		v := l.of(shape...)
		_, hi := v.Bounds()
		wide := storage.From(make([]float64, hi+1), hi+1)
		for i := range wide.Len() {
			x := r.NormFloat64() * 2
			if !typ.IsFloat() {
				x = float64(r.IntN(200) - 100)
			}
			if typ.IsInt() && !typ.IsSigned() || typ == dtype.Bool {
				x = math.Abs(x)
			}
			storage.Elements[float64](wide)[i] = x
		}
		a := ok(storage.Make(storage.CPU, typ, hi+1))
		must(Cast.Reference(&Call{Out: []storage.Array{a}, In: []storage.Array{wide}}))
		return a.With(v)
	}
	c := &Call{}
	for range k.Elementwise() {
		c.In = append(c.In, draw())
	}
	output := func() storage.Array {
		v := l.of(shape...)
		_, hi := v.Bounds()
		a := ok(storage.Make(storage.CPU, typ, hi+1)).With(v)
		c.Out = []storage.Array{a}
		if k.Reference(c) != nil { // of a comparison
			a = ok(storage.Make(storage.CPU, dtype.Bool, hi+1)).With(v)
		}
		return a
	}
	want, got := output(), output()
	for _, a := range []storage.Array{want, got} {
		clear(a.Data.(storage.Host).Bytes())
	}
	c.Out = []storage.Array{want}
	if err := k.Reference(c); err != nil {
		return false // not defined on the type
	}
	c.Out = []storage.Array{got}
	done, err := k.Optimized(c)
	if err != nil {
		t.Fatal(err)
	}
	if !done {
		if typ != dtype.Bool {
			t.Errorf("%s has no loop for %v", k.Name, typ)
		}
		return false
	}
	near(t, fmt.Sprintf("%s of %v %v, %s", k.Name, typ, shape, l.name), got, want, ulps[typ])
	return true
}

// TestHalfFloatsConvertAsDtypeDoes has every 16-bit float pass through an operation that does not change it.
func TestHalfFloatsConvertAsDtypeDoes(t *testing.T) {
	for _, typ := range []dtype.Type{dtype.Float16, dtype.BFloat16} {
		x, y, want := ok(storage.Make(storage.CPU, typ, 1<<16)), ok(storage.Make(storage.CPU, typ, 1<<16)), ok(storage.Make(storage.CPU, typ, 1<<16))
		bits := x.Data.(storage.Host).Bytes()
		for i := range 1 << 16 {
			bits[2*i], bits[2*i+1] = byte(i), byte(i>>8)
		}
		must(Abs.Reference(&Call{Out: []storage.Array{want}, In: []storage.Array{x}}))
		if done, err := Abs.Optimized(&Call{Out: []storage.Array{y}, In: []storage.Array{x}}); !done || err != nil {
			t.Fatalf("abs of %v: %v, %v", typ, done, err)
		}
		a, b := ok(storage.Read[float64](want)), ok(storage.Read[float64](y))
		for i := range a {
			denormal := typ == dtype.BFloat16 && a[i] < 0x1p-126
			if a[i] != b[i] && !(a[i] != a[i] && b[i] != b[i]) && !(denormal && b[i] == 0) {
				t.Fatalf("%v %04x: %v, want %v", typ, i, b[i], a[i])
			}
		}
	}
}
