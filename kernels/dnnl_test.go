package kernels

import (
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/gonum"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// TestPlansServeManyGoroutines runs few problems from many goroutines, while
// the number of threads changes and plans are forgotten as fast as they are made.
func TestPlansServeManyGoroutines(t *testing.T) {
	defer func(most, threads int) { plans.most = most; SetThreads(threads) }(plans.most, Threads())
	plans.Lock()
	plans.most = 2
	plans.Unlock()
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 40 {
				if g == 0 {
					SetThreads(1 + i%3)
				}
				c := 1 + (g+i)%5
				x, w, y := dense(views.ChannelsLast(2, c, 6, 6)), dense(views.Of(8, c, 3, 3)), dense(views.ChannelsLast(2, 8, 4, 4))
				want := dense(y.View)
				call := func(y storage.Array) *Call { return &Call{Out: []storage.Array{y}, In: []storage.Array{x, w}} }
				if err := CPU.Run(Conv2d, call(y)); err != nil {
					t.Error(err)
				}
				if err := Conv2d.Plain(call(want)); err != nil {
					t.Error(err)
				}
				if g == 1 {
					runtime.GC() // plans that were forgotten go for good
				}
				for k, want := range wide32(want) {
					if got := wide32(y)[k]; got-want > 1e-4 || want-got > 1e-4 {
						t.Errorf("%d channels, element %d: got %v, want %v", c, k, got, want)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	if n := len(plans.of); n > 2 {
		t.Errorf("%d plans are kept, want at most 2", n)
	}
}

func TestPlansAreUsedAgain(t *testing.T) {
	x, w, y := dense(views.ChannelsLast(1, 3, 5, 5)), dense(views.Of(8, 3, 3, 3)), dense(views.ChannelsLast(1, 8, 3, 3))
	run := func() {
		if err := CPU.Run(Conv2d, &Call{Out: []storage.Array{y}, In: []storage.Array{x, w}}); err != nil {
			t.Fatal(err)
		}
	}
	run()
	before := len(plans.of)
	run()
	if after := len(plans.of); after != before {
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
		compare(t, "product", got, want, 1e-12)
	}
	defer func() {
		if recover() == nil {
			t.Error("an operand that is too short was multiplied")
		}
	}()
	blas64.Implementation().Dgemm(blas.NoTrans, blas.NoTrans, 4, 4, 4, 1, make([]float64, 15), 4, make([]float64, 16), 4, 0, make([]float64, 16), 4)
}

// TestProductsWithoutOpenBLAS holds the way through gonum's own BLAS, which a
// machine without OpenBLAS takes, to the plain loop.
func TestProductsWithoutOpenBLAS(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, l := range layouts {
		in := operandsOf(r, true, l.of(3, 4, 5), l.of(5, 2))
		got, want := operandsOf(r, false, l.of(3, 4, 2)), operandsOf(r, false, l.of(3, 4, 2))
		gonumMatMul(&got.f64[0], &in.f64[0], &in.f64[1])
		if err := MatMul.Plain(&Call{Out: want.f64, In: in.f64}); err != nil {
			t.Fatal(err)
		}
		compare(t, l.name, wide32(got.f64[0]), wide32(want.f64[0]), 1e-12)
	}
}

func TestLibrariesSayWhatTheyAre(t *testing.T) {
	for _, l := range Libraries() {
		t.Logf("%+v", l)
		if l.Name == "" || l.Detail == "" || l.Name != "gonum" && l.Version == "" {
			t.Errorf("%+v does not say what it is", l)
		}
		if l.Name == "OpenBLAS" && runtime.GOARCH == "amd64" && strings.Contains(l.Detail, "Prescott") {
			t.Errorf("OpenBLAS takes this machine for one of 2004: %s", l.Detail)
		}
	}
}
