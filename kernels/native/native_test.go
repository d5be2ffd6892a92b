package native_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/gonum"

	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

func dense(v views.View) storage.Array {
	elems := make([]float32, v.Len())
	for i := range elems {
		elems[i] = float32(i%7)*0.1 - 0.3
	}
	return storage.From(elems, len(elems)).With(v)
}

// TestPlansServeManyGoroutines runs few problems from many goroutines, while
// the number of threads changes and plans are evicted as fast as they are made.
func TestPlansServeManyGoroutines(t *testing.T) {
	defer native.SetThreads(native.Threads())
	defer native.SetMostPlans(native.SetMostPlans(2))
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 40 {
				if g == 0 {
					native.SetThreads(1 + i%3)
				}
				c := 1 + (g+i)%5
				x, w, y := dense(views.ChannelsLast(2, c, 6, 6)), dense(views.Of(8, c, 3, 3)), dense(views.ChannelsLast(2, 8, 4, 4))
				want := dense(y.View)
				call := func(y storage.Array) *kernels.Call {
					return &kernels.Call{Out: []storage.Array{y}, In: []storage.Array{x, w}}
				}
				if err := kernels.CPU.Run(kernels.Conv, call(y)); err != nil {
					t.Error(err)
				}
				if err := kernels.Conv.Reference(call(want)); err != nil {
					t.Error(err)
				}
				if g == 1 {
					runtime.GC() // evicted plans are freed
				}
				for k, want := range storage.Elements[float32](want) {
					if got := storage.Elements[float32](y)[k]; got-want > 1e-4 || want-got > 1e-4 {
						t.Errorf("%d channels, element %d: got %v, want %v", c, k, got, want)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	if n := native.Plans(); n > 2 {
		t.Errorf("%d plans are kept, want at most 2", n)
	}
}

func TestPlansAreUsedAgain(t *testing.T) {
	x, w, y := dense(views.ChannelsLast(1, 3, 5, 5)), dense(views.Of(8, 3, 3, 3)), dense(views.ChannelsLast(1, 8, 3, 3))
	run := func() {
		if err := kernels.CPU.Run(kernels.Conv, &kernels.Call{Out: []storage.Array{y}, In: []storage.Array{x, w}}); err != nil {
			t.Fatal(err)
		}
	}
	run()
	before := native.Plans()
	run()
	if after := native.Plans(); after != before {
		t.Errorf("the same convolution has %d more plans", after-before)
	}
	if allocs := testing.AllocsPerRun(10, run); allocs > 4 {
		t.Errorf("a convolution allocates %v times, want at most its call's 4", allocs)
	}
}

// TestGonumMultipliesByOpenBLAS compares gonum's products with its own in Go,
// and wants its panics where operands are too short.
func TestGonumMultipliesByOpenBLAS(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		m, n, k, extra := r.IntN(40), r.IntN(40), r.IntN(40), r.IntN(3)
		a, b := make([]float64, 43*43), make([]float64, 43*43)
		got, want := make([]float64, 43*43), make([]float64, 43*43)
		for i := range a {
			a[i], b[i] = r.NormFloat64(), r.NormFloat64()
			got[i] = r.NormFloat64()
			want[i] = got[i]
		}
		tA, tB := []blas.Transpose{blas.NoTrans, blas.Trans}[r.IntN(2)], []blas.Transpose{blas.NoTrans, blas.Trans}[r.IntN(2)]
		lda, ldb, ldc := max(1, k, m)+extra, max(1, n, k)+extra, max(1, n)+extra
		blas64.Implementation().Dgemm(tA, tB, m, n, k, 1.5, a, lda, b, ldb, 0.5, got, ldc)
		gonum.Implementation{}.Dgemm(tA, tB, m, n, k, 1.5, a, lda, b, ldb, 0.5, want, ldc)
		for i := range want {
			if !(math.Abs(got[i]-want[i]) <= 1e-12*(1+math.Abs(want[i]))) {
				t.Fatalf("product: element %d is %v, want %v", i, got[i], want[i])
			}
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("an operand that is too short was multiplied")
		}
	}()
	blas64.Implementation().Dgemm(blas.NoTrans, blas.NoTrans, 4, 4, 4, 1, make([]float64, 15), 4, make([]float64, 16), 4, 0, make([]float64, 16), 4)
}

func TestLibrariesSayWhatTheyAre(t *testing.T) {
	for _, l := range native.Libraries() {
		t.Logf("%+v", l)
		if l.Name == "" || l.Detail == "" || l.Name != "gonum" && l.Version == "" {
			t.Errorf("%+v does not name itself", l)
		}
		if l.Name == "OpenBLAS" && runtime.GOARCH == "amd64" && strings.Contains(l.Detail, "Prescott") {
			t.Errorf("OpenBLAS takes this machine for one of 2004: %s", l.Detail)
		}
	}
}
