package tensor_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensor/tensortest"
	"github.com/h5dnn/h5dnn/views"
)

// unread returns an array with the elements of a, read when they are needed.
func unread(a storage.Array) storage.Array {
	return blocks.Compute(a.Type, a.Shape, func(dst storage.Array, b views.Box) error { return a.With(b.Of(a.View)).CopyTo(dst) })
}

// TestSamplesOfFilesAreThoseOfMemory calls every sample with operands that are read when they are
// needed, and with one such operand beside others with gradients.
func TestSamplesOfFilesAreThoseOfMemory(t *testing.T) {
	defer tensor.SetTileSize(5)()
	tensortest.Each(t, func(t *testing.T, s tensortest.Sample) {
		in := tensortest.Draw(s, dtype.Float64)
		want := tensor.Values[float64](s.Call(tensortest.Constants(in)...))
		for mask := 1; mask < 1<<len(in); mask++ {
			xs := tensortest.Constants(in)
			for i := range xs {
				if mask>>i&1 == 1 {
					xs[i] = tensor.FromArray(unread(in[i]))
				} else if in[i].Type.IsFloat() {
					xs[i].RequireGrad()
				}
			}
			y := s.Call(xs...)
			tensortest.Near(t, fmt.Sprintf("value with files %b", mask), tensor.Values[float64](y), want, 1e-12)
			if y.RequiresGrad() && y.DType().IsFloat() {
				grads := tensor.Gradients(y.Sum())
				for i, x := range xs {
					if mask>>i&1 == 1 && grads[x] != nil {
						t.Errorf("a file has a gradient as operand %d", i)
					}
				}
			}
		}
	})
}

// layouts are ways to store a dataset of shape (6, 8, 10).
var layouts = map[string]hdf5write.Layout{
	"contiguous": {},
	"chunked":    {Chunks: []int{4, 3, 5}},
	"rows":       {Chunks: []int{2, 8, 10}},
	"compressed": {Chunks: []int{3, 8, 4}, Filters: []filter.Filter{filter.Shuffle(), filter.Deflate(1)}},
	"checked":    {Chunks: []int{4, 4, 4}, Filters: []filter.Filter{filter.Fletcher32()}},
}

// inFile writes a as a dataset and returns it as an array of the file.
func inFile(t *testing.T, a storage.Array, layout hdf5write.Layout) (name string, f *hdf5.File, b storage.Array) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "x.h5")
	w, err := hdf5write.Create(name, hdf5write.CreateOptions{NoSync: true})
	if err != nil {
		t.Skip(err) // without libhdf5
	}
	if err := errors.Join(w.WriteWith("/x", a, layout), w.Close()); err != nil {
		t.Fatal(err)
	}
	f, err = hdf5.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	d, err := f.Dataset("/x")
	if err == nil {
		b, err = d.Array()
	}
	if err != nil {
		t.Fatal(err)
	}
	return name, f, b
}

// An expression computes something from x, and from small, of a shape that broadcasts to the shape of x.
type expression struct {
	name string
	of   func(x, small *tensor.Tensor) *tensor.Tensor
}

// step draws one more operation of an expression.
func step(r *rand.Rand) expression {
	axis := r.IntN(3)
	all := []expression{
		{"neg", func(x, _ *tensor.Tensor) *tensor.Tensor { return x.Neg() }},
		{"tanh", func(x, _ *tensor.Tensor) *tensor.Tensor { return x.Tanh() }},
		{"gelu", func(x, _ *tensor.Tensor) *tensor.Tensor { return x.GELU() }},
		{"halve", func(x, _ *tensor.Tensor) *tensor.Tensor { return x.MulScalar(0.5).AddScalar(1) }},
		{"zero", func(x, _ *tensor.Tensor) *tensor.Tensor { return x.MulScalar(0) }},
		{"limit", func(x, _ *tensor.Tensor) *tensor.Tensor { return x.Hardtanh(-1, 1) }},
		{"square", func(x, _ *tensor.Tensor) *tensor.Tensor { return x.Mul(x) }},
		{"sub", func(x, small *tensor.Tensor) *tensor.Tensor { return x.Sub(small) }},
		{"center", func(x, _ *tensor.Tensor) *tensor.Tensor { return x.Sub(x.Mean(axis, tensor.KeepDims)) }},
		{"sum", func(x, _ *tensor.Tensor) *tensor.Tensor { return x.Div(x.Mul(x).Sum(tensor.KeepDims).AddScalar(1)) }},
		{"max", func(x, _ *tensor.Tensor) *tensor.Tensor { return x.Add(x.Max(axis, tensor.KeepDims)) }},
		{"where", func(x, _ *tensor.Tensor) *tensor.Tensor { return tensor.Where(x.Gt(x.Neg()), x, x.Exp()) }},
		{"double", func(x, _ *tensor.Tensor) *tensor.Tensor { return x.Cast(dtype.Float64).Abs().Cast(x.DType()) }},
		{"flip", func(x, _ *tensor.Tensor) *tensor.Tensor { return x.Flip(axis) }},
		{"swap", func(x, small *tensor.Tensor) *tensor.Tensor { return x.Transpose(0, 2).Mul(small).Transpose(0, 2) }},
		{"contiguous", func(x, _ *tensor.Tensor) *tensor.Tensor { return x.Permute(1, 2, 0).Contiguous().Permute(2, 0, 1) }},
		{"slice", func(x, _ *tensor.Tensor) *tensor.Tensor { return x.Slice(axis, 0, x.Shape()[axis], 2) }},
		{"softmax", func(x, _ *tensor.Tensor) *tensor.Tensor { return x.Softmax(axis) }},
	}
	return all[r.IntN(len(all))]
}

// TestExpressionsOfFilesAreThoseOfMemory computes random expressions of datasets in every layout,
// with tiles of several sizes, and reads random parts of the results.
func TestExpressionsOfFilesAreThoseOfMemory(t *testing.T) {
	for name, layout := range layouts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, typ := range []dtype.Type{dtype.Float32, dtype.Float64, dtype.Float16} {
				memory := tensor.Key{Seed: 1}.Randn(typ, 6, 8, 10)
				_, _, a := inFile(t, memory.Array(), layout)
				file := tensor.FromArray(a)
				r := rand.New(rand.NewPCG(7, uint64(typ.Size())))
				for range 60 {
					x, y := memory, file
					small := tensor.Key{Seed: 2}.Randn(typ, 1)
					var names []string
					for range 1 + r.IntN(6) {
						s := step(r)
						names = append(names, s.name)
						x, y = s.of(x, small), s.of(y, small)
					}
					tolerance := map[int]float64{2: 2e-2, 4: 1e-5, 8: 1e-12}[typ.Size()]
					what := fmt.Sprint(typ, names)
					if !slices.Equal(x.Shape(), y.Shape()) || x.DType() != y.DType() {
						t.Fatalf("%s: %v and %v", what, x.Array(), y.Array())
					}
					tensortest.Near(t, what, tensor.Values[float64](y), tensor.Values[float64](x), tolerance)
					for _, axes := range [][]int{nil, {0}, {1, 2}, {0, -1, tensor.KeepDims}} {
						tensortest.Near(t, what+" sum", tensor.Values[float64](y.Sum(axes...)), tensor.Values[float64](x.Sum(axes...)), tolerance)
						if n := len(axes); n > 0 && axes[n-1] != tensor.KeepDims {
							tensortest.Near(t, what+" min", tensor.Values[float64](y.Min(axes...)), tensor.Values[float64](x.Min(axes...)), tolerance)
						}
						tensortest.Near(t, what+" max", tensor.Values[float64](y.Max(axes...)), tensor.Values[float64](x.Max(axes...)), tolerance)
					}
				}
			}
		})
	}
}

// TestReductionsOfFilesDoNotDependOnTiles sums the same dataset in tiles of several sizes: integers and
// maxima are equal, sums of floats nearly.
func TestReductionsOfFilesDoNotDependOnTiles(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	elems := make([]float32, 6*8*10)
	for i := range elems {
		elems[i] = float32(r.NormFloat64() + 1000)
	}
	for name, layout := range layouts {
		_, _, a := inFile(t, storage.From(elems, 6, 8, 10), layout)
		x := tensor.FromArray(a)
		for _, axes := range [][]int{{}, {0}, {1}, {2}, {0, 2}} {
			want := tensor.Values[float64](tensor.FromSlice(elems, 6, 8, 10).Cast(dtype.Float64).Sum(axes...))
			for _, tile := range []int{1, 7, 64, 1 << 16} {
				restore := tensor.SetTileSize(tile)
				tensortest.Near(t, fmt.Sprint(name, axes, tile), tensor.Values[float64](x.Sum(axes...)), want, 1e-7)
				n := tensor.Values[int64](x.Cast(dtype.Int64).Sum(axes...))
				if want := tensor.Values[int64](tensor.FromSlice(elems, 6, 8, 10).Cast(dtype.Int64).Sum(axes...)); !slices.Equal(n, want) {
					t.Errorf("%s, axes %v, tiles of %d: sums of integers %v, want %v", name, axes, tile, n, want)
				}
				restore()
			}
		}
	}
}

// TestReductionsOfFilesDoNotDependOnTime reduces a dataset of more chunks than are divided into tiles of their own, each of which
// takes another while to read, with and without room for parts that wait; then one read fails.
func TestReductionsOfFilesDoNotDependOnTime(t *testing.T) {
	defer tensor.SetTileSize(6)()
	memory := tensor.Key{Seed: 3}.Randn(dtype.Float64, 40, 8, 10)
	_, _, a := inFile(t, memory.Array(), hdf5write.Layout{Chunks: []int{2, 4, 5}})
	r := rand.New(rand.NewPCG(1, 2))
	var mu sync.Mutex
	reads, failing := 0, 0
	slow := tensor.FromArray(blocks.Derive(a, a.Type, func(dst []byte, v views.View) error {
		mu.Lock()
		wait := r.IntN(8) == 0
		reads++
		failed := reads == failing
		mu.Unlock()
		if wait {
			time.Sleep(100 * time.Microsecond)
		}
		if failed {
			return errors.New("damaged")
		}
		return a.With(v).CopyTo(storage.Array{Data: storage.Wrap(dst), Type: a.Type, View: views.Of(v.Shape...)})
	}))
	for _, axes := range [][]int{{}, {0}, {0, 2}, {1, 2}} {
		var want []float64
		for _, most := range []int{1 << 20, 1 << 20, 100, 0} {
			restore := tensor.SetMostWaiting(most)
			variance, mean := slow.VarMean(axes...)
			got := slices.Concat(tensor.Values[float64](variance), tensor.Values[float64](mean), tensor.Values[float64](slow.Sum(axes...)))
			if restore(); want == nil {
				want = got
				tensortest.Near(t, fmt.Sprint("variance along ", axes), tensor.Values[float64](variance), tensor.Values[float64](memory.Var(axes...)), 1e-5)
			}
			if !slices.Equal(got, want) {
				t.Errorf("axes %v, %d bytes may wait: %v, want %v", axes, most, got, want)
			}
		}
	}
	for _, after := range []int{1, 50, 150} {
		reads, failing = 0, after
		if err := tensor.Try(func() { slow.Sum(0) }); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("read %d fails: error %v", after, err)
		}
	}
}

// TestOnlyPartsThatAreNeededAreRead counts the bytes read.
func TestOnlyPartsThatAreNeededAreRead(t *testing.T) {
	_, _, a := inFile(t, storage.From(make([]float32, 6*8*10), 6, 8, 10), layouts["chunked"])
	x := tensor.FromArray(a)
	read := func(f func()) int {
		before := tensor.BytesRead()
		f()
		return int(tensor.BytesRead() - before)
	}
	var y *tensor.Tensor
	for _, c := range []struct {
		name string
		f    func()
		want int
	}{
		{"expression", func() { y = x.Mul(x).AddScalar(1).Sub(x.Neg()) }, 0},
		{"views", func() { y.Transpose(0, 2).Flip(1).Select(0, 3) }, 0},
		{"one element of a result of three uses", func() { y.Index("2, 3, 4").Item() }, 4},
		{"a row", func() { tensor.Values[float32](y.Select(0, 1)) }, 320},
		{"a product of a part with a broadcast part", func() { tensor.Values[float32](x.Slice(0, 0, 2, 1).Add(x.Index("3:4, :1"))) }, 2*320 + 40},
		{"sum", func() { y.Sum(0, 1) }, 1920},
		{"values", func() { tensor.Values[float32](x) }, 1920},
		{"matmul", func() { x.Index("0").MatMul(x.Index("1").T()) }, 640},
	} {
		if got := read(c.f); got != c.want {
			t.Errorf("%s: %d bytes read, want %d", c.name, got, c.want)
		}
	}
}

// TestDeepExpressionsReadOnce doubles an operand fifty times: without a memory of what a tile computed
// before, that reads it 2⁵⁰ times.
func TestDeepExpressionsReadOnce(t *testing.T) {
	x := tensor.FromArray(unread(storage.From([]float64{1, 2, 3}, 3)))
	before := tensor.BytesRead()
	for range 50 {
		x = x.Add(x)
	}
	if got, want := tensor.Values[float64](x), []float64{1 << 50, 2 << 50, 3 << 50}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if n := tensor.BytesRead() - before; n != 24 {
		t.Errorf("%d bytes read, want 24", n)
	}
}

// TestDamagedFilesAreErrors reads a dataset one byte of which changed, a file that was cut short and one that was
// closed, through expressions.
func TestDamagedFilesAreErrors(t *testing.T) {
	elems := make([]float32, 6*8*10)
	for i := range elems {
		elems[i] = 1.5
	}
	uses := map[string]func(x *tensor.Tensor){
		"values": func(x *tensor.Tensor) { tensor.Values[float32](x.AddScalar(1)) },
		"sum":    func(x *tensor.Tensor) { x.Neg().Sum(0) },
		"matmul": func(x *tensor.Tensor) { x.MatMul(x.T()) },
		"read":   func(x *tensor.Tensor) { x.CPU() },
		"clone":  func(x *tensor.Tensor) { x.CloneDetached() },
	}
	for _, kind := range []string{"changed", "cut", "closed"} {
		for layout := range layouts {
			if kind == "changed" && layout != "checked" {
				continue
			}
			name, f, a := inFile(t, storage.From(elems, 6, 8, 10), layouts[layout])
			switch kind {
			case "changed":
				b, err := os.ReadFile(name)
				if err == nil {
					b[strings.Index(string(b), "\xc0\x3f\x00\x00\xc0\x3f")] ^= 1
					err = os.WriteFile(name, b, 0o666)
				}
				if err != nil {
					t.Fatal(err)
				}
			case "cut":
				if err := os.Truncate(name, 2048); err != nil {
					t.Fatal(err)
				}
			case "closed":
				f.Close()
			}
			for use, with := range uses {
				err := tensor.Try(func() { with(tensor.FromArray(a)) })
				if err == nil || kind == "closed" && !errors.Is(err, tensor.ErrState) {
					t.Errorf("%s file, %s, %s: error %v", kind, layout, use, err)
				}
			}
		}
	}
}

// TestOperandsThatChangedAreErrors writes to a tensor in memory between a call and reading its result.
func TestOperandsThatChangedAreErrors(t *testing.T) {
	x := tensor.FromArray(unread(storage.From([]float32{1, 2}, 2)))
	m := tensor.FromSlice([]float32{3, 4}, 2)
	y := x.Mul(m)
	m.Fill(1)
	if err := tensor.Try(func() { tensor.Values[float32](y) }); !errors.Is(err, tensor.ErrState) {
		t.Errorf("error %v, want one of kind ErrState", err)
	}
	m.Assign(x)
	m.AddInPlace(x.Neg())
	if got := tensor.Values[float32](m); !slices.Equal(got, []float32{0, 0}) {
		t.Errorf("x − x of a file, in place: %v", got)
	}
	if err := tensor.Try(func() { x.Fill(1) }); !errors.Is(err, tensor.ErrDevice) {
		t.Errorf("writing to a file: error %v, want one of kind ErrDevice", err)
	}
}

// TestLargeOperandsAreRefused sets a limit that a product of matrices would exceed.
func TestLargeOperandsAreRefused(t *testing.T) {
	defer tensor.SetReadLimit(tensor.SetReadLimit(100))
	x := tensor.FromArray(unread(storage.From(make([]float32, 64), 8, 8)))
	err := tensor.Try(func() { x.MatMul(x) })
	if !errors.Is(err, tensor.ErrState) || !strings.Contains(err.Error(), "256 bytes") {
		t.Errorf("error %v, want one of kind ErrState with the size", err)
	}
	x.Slice(0, 0, 2, 1).MatMul(x.Index("0:8, :2")) // smaller parts are read
	x.Neg().Sum()
}

// TestResultsOfFilesAreWrittenAsTheyAreMade standardizes a dataset into another one, in every pair of layouts.
func TestResultsOfFilesAreWrittenAsTheyAreMade(t *testing.T) {
	memory := tensor.Key{Seed: 1}.Randn(dtype.Float32, 6, 8, 10)
	result := func(x *tensor.Tensor) *tensor.Tensor {
		return x.Sub(x.Mean(0, tensor.KeepDims)).MulScalar(2).Transpose(0, 1)
	}
	for from, layout := range layouts {
		_, _, a := inFile(t, memory.Array(), layout)
		for _, to := range layouts {
			name := filepath.Join(t.TempDir(), "y.h5")
			w, err := hdf5write.Create(name, hdf5write.CreateOptions{NoSync: true})
			if err != nil {
				t.Fatal(err)
			}
			if to.Chunks != nil {
				to.Chunks = []int{3, 2, 10}
			}
			d, err := w.CreateDataset("/y", dtype.Float32, []int{8, 6, 10}, to)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(result(tensor.FromArray(a)).WriteTo(t.Context(), d), w.Close()); err != nil {
				t.Fatal(err)
			}
			f, err := hdf5.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			d2, err := f.Dataset("/y")
			if err != nil {
				t.Fatal(err)
			}
			y, err := d2.Array()
			if err != nil {
				t.Fatal(err)
			}
			tensortest.Near(t, from, tensor.Values[float64](tensor.FromArray(y)), tensor.Values[float64](result(memory)), 1e-6)
			f.Close()
		}
	}
}

// TestWritesThatFailLeaveNoFile stops writing by its context, and by a file that was closed.
func TestWritesThatFailLeaveNoFile(t *testing.T) {
	for _, kind := range []string{"context", "closed", "shape"} {
		_, f, a := inFile(t, storage.From(make([]float32, 6*8*10), 6, 8, 10), layouts["chunked"])
		name := filepath.Join(t.TempDir(), "y.h5")
		w, err := hdf5write.Create(name, hdf5write.CreateOptions{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Abort()
		shape := []int{6, 8, 10}
		if kind == "shape" {
			shape = []int{8, 6, 10}
		}
		d, err := w.CreateDataset("/y", dtype.Float32, shape, hdf5write.Layout{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		y := tensor.FromArray(a).AddScalar(1)
		want := tensor.ErrState
		switch kind {
		case "context":
			cancel()
			want = context.Canceled
		case "closed":
			f.Close()
		case "shape":
			want = tensor.ErrShape
		}
		if err := y.WriteTo(ctx, d); !errors.Is(err, want) {
			t.Errorf("%s: error %v, want %v", kind, err, want)
		}
		if kind == "shape" { // refused before anything was written
			continue
		}
		if err := w.Close(); err == nil {
			t.Errorf("%s: the writer does not know that the dataset is incomplete", kind)
		}
		if _, err := os.Stat(name); err == nil {
			t.Errorf("%s: the file exists", kind)
		}
	}
}

// TestBlocksAreWhole joins the blocks of a dataset and of a transposed one.
func TestBlocksAreWhole(t *testing.T) {
	_, _, a := inFile(t, tensor.Key{Seed: 1}.Randn(dtype.Float32, 6, 8, 10).Array(), layouts["chunked"])
	for _, x := range []*tensor.Tensor{tensor.FromArray(a), tensor.FromArray(a).T(), tensor.FromArray(a).Slice(0, 0, 0, 1)} {
		y := tensor.Zeros(x.DType(), x.Shape()...)
		for start, b := range x.Blocks(100) {
			into := y
			for axis, n := range b.Shape() {
				into = into.Narrow(axis, start[axis], n)
			}
			into.Assign(b)
		}
		tensortest.Near(t, "blocks", tensor.Values[float64](y), tensor.Values[float64](x), 0)
	}
}

// TestProfilesNameFiles reads a file in an operation.
func TestProfilesNameFiles(t *testing.T) {
	name, _, a := inFile(t, storage.From(make([]float32, 6*8*10), 6, 8, 10), layouts["chunked"])
	x := tensor.FromArray(a)
	bytes := map[string]int{}
	for _, p := range tensor.Profile(func() { x.Neg().Sum() }) {
		bytes[p.Name] = p.Bytes
	}
	if bytes["read file:"+name] != 1920 || bytes["neg"] != 2*1920 {
		t.Errorf("bytes by operation: %v", bytes)
	}
	nan := tensor.FromArray(unread(storage.From([]float32{-1}, 1)))
	if err := tensor.Try(func() { tensor.DetectAnomaly(func() { nan.Log().Sum() }) }); err == nil || !strings.Contains(err.Error(), "log: ") {
		t.Errorf("a NaN of a file: error %v", err)
	}
}

// TestMomentsOfFilesAreThoseOfFloat64 computes means and standard deviations of numbers far from 0, in tiles of several
// sizes and shapes, whose parts are joined or merged.
func TestMomentsOfFilesAreThoseOfFloat64(t *testing.T) {
	x := tensor.Key{Seed: 5}.Randn(dtype.Float64, 70, 40, 3).AddScalar(100)
	for _, axes := range [][]int{{}, {0, 1}, {0}, {2}, {0, 2}, {1, 2}} {
		std, mean := x.StdMean(axes...)
		for _, tile := range []int{17, 1000, 1 << 16} {
			restore := tensor.SetTileSize(tile)
			for typ, tolerance := range map[dtype.Type]float64{dtype.Float64: 1e-12, dtype.Float32: 3e-6} {
				read := tensor.BytesRead()
				s, m := tensor.FromArray(unread(x.Cast(typ).Array())).StdMean(axes...)
				what := fmt.Sprint(typ, axes, tile)
				tensortest.Near(t, what+" mean", tensor.Values[float64](m), tensor.Values[float64](mean), tolerance)
				tensortest.Near(t, what+" std", tensor.Values[float64](s), tensor.Values[float64](std), tolerance)
				if n := tensor.BytesRead() - read; n != int64(x.Len()*typ.Size()) {
					t.Errorf("%s: %d bytes read for %d elements", what, n, x.Len())
				}
			}
			restore()
		}
	}
}
