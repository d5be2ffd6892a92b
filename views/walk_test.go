package views

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestWalkVisitsEveryElementOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		v := randomView(r)
		var got []int
		Walk(func(at, step []int, n int) {
			for k := range n {
				got = append(got, at[0]+k*step[0])
			}
		}, v)
		want := listOf(v).at
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("%+v: walked %v, want %v", v, got, want)
		}
	}
}

func TestWalkKeepsViewsInStep(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		a := randomView(r)
		b := Of(a.Shape...)
		want := listOf(a).at // b's positions are 0, 1, …
		Walk(func(at, step []int, n int) {
			for k := range n {
				if got, want := at[1]+k*step[1], want[at[0]+k*step[0]]; got != want {
					t.Fatalf("%+v: %d paired with %d, want %d", a, at[0]+k*step[0], got, want)
				}
			}
		}, b, a)
	}
}

func TestCoalesceJoinsContiguousAxes(t *testing.T) {
	for _, test := range []struct {
		name string
		view View
		want []int
	}{
		{"row-major", Of(2, 3, 4), []int{24}},
		{"transposed", must(Of(2, 3, 4).Transpose(2, 1, 0)), []int{24}},
		{"row slice", must(Of(6, 4).Slice(0, 1, 3, 1)), []int{8}},
		{"column slice", must(Of(6, 4).Slice(1, 0, 2, 1)), []int{6, 2}},
		{"flipped", must(Of(6, 4).Flip(0, 1)), []int{24}},
		{"scalar", Of(), []int{1}},
		{"channels-last", ChannelsLast(2, 3, 4, 5), []int{120}},
	} {
		if shape, _ := Coalesce(test.view); !slices.Equal(shape, test.want) {
			t.Errorf("%s: shape %v, want %v", test.name, shape, test.want)
		}
	}
}

// TestWalkAllocatesNothing allows for the race detector, under which a sync.Pool
// forgets some of what it is given; a walk without its pool allocates five times.
func TestWalkAllocatesNothing(t *testing.T) {
	a, b := Of(8, 6, 4), must(Of(4, 6, 8).Transpose())
	sum := 0
	visit := func(at, step []int, n int) { sum += n }
	if got := testing.AllocsPerRun(100, func() { Walk(visit, a, b) }); got > 2 {
		t.Errorf("a walk allocates %v times, want 0, or at most 2 with the race detector", got)
	}
	if got := testing.AllocsPerRun(100, func() { Coalesce(a, b) }); got > 2 {
		t.Errorf("coalescing allocates %v times, want 2 at most", got)
	}
	if got := testing.AllocsPerRun(100, func() { Like(b) }); got > 1 {
		t.Errorf("Like allocates %v times, want 1 at most", got)
	}
}

func BenchmarkWalk(b *testing.B) {
	for name, v := range map[string]View{
		"contiguous": Of(64, 128),
		"transposed": must(Of(128, 64).Transpose()),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			w := Of(64, 128)
			for b.Loop() {
				Walk(func(at, step []int, n int) {}, w, v)
			}
		})
	}
}

func BenchmarkCoalesce(b *testing.B) {
	b.ReportAllocs()
	v := Of(64, 128)
	for b.Loop() {
		Coalesce(v, v, v)
	}
}
