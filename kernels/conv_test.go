package kernels

import (
	"fmt"
	"math"
	"testing"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A geometry is a convolution: the shapes of x and of a window, and how that moves.
type geometry struct {
	n, ci, co int
	size, k   []int
	ConvOptions
}

var geometries = []geometry{
	{2, 1, 4, []int{8, 8}, []int{3, 3}, ConvOptions{Padding: Pad(1, 1)}},
	{1, 1, 1, []int{1, 1}, []int{1, 1}, ConvOptions{}},
	{3, 3, 5, []int{9, 7}, []int{3, 2}, ConvOptions{Stride: [3]int{2, 1}, Padding: Pad(1, 0)}},
	{2, 16, 32, []int{5, 6}, []int{3, 3}, ConvOptions{Padding: Pad(1, 1)}},
	{2, 17, 33, []int{6, 5}, []int{1, 1}, ConvOptions{}},
	{2, 6, 16, []int{8, 8}, []int{5, 5}, ConvOptions{}},
	{1, 1, 6, []int{13, 14}, []int{5, 5}, ConvOptions{Padding: Pad(2, 2)}},
	{2, 4, 8, []int{11, 13}, []int{3, 5}, ConvOptions{Stride: [3]int{3, 2}, Padding: Pad(2, 4)}},
	{2, 2, 3, []int{5, 5}, []int{2, 2}, ConvOptions{Stride: [3]int{4, 4}}},
	{1, 3, 2, []int{4, 4}, []int{4, 4}, ConvOptions{Padding: Pad(3, 3)}},
	{0, 3, 2, []int{4, 4}, []int{3, 3}, ConvOptions{Padding: Pad(1, 1)}},
	{3, 1, 32, []int{12, 12}, []int{3, 3}, ConvOptions{Padding: Pad(1, 1)}},
	{3, 16, 32, []int{11, 12}, []int{3, 3}, ConvOptions{Padding: [3][2]int{{1, 1}, {2, 0}}}}, // by Winograd's algorithm
	{3, 32, 32, []int{45}, []int{4}, ConvOptions{Padding: [3][2]int{{1, 2}}}},                // likewise
	{2, 32, 32, []int{3, 23}, []int{1, 5}, ConvOptions{Padding: [3][2]int{{1, 0}, {2, 1}}}},  // likewise
	{2, 32, 32, []int{22, 3}, []int{6, 1}, ConvOptions{Padding: [3][2]int{{2, 4}, {0, 1}}}},  // likewise
	{2, 3, 5, []int{11}, []int{3}, ConvOptions{Padding: [3][2]int{{2, 0}}}},
	{2, 16, 32, []int{20}, []int{5}, ConvOptions{Stride: [3]int{2}, Dilation: [3]int{2}, Padding: Pad(3)}},
	{1, 2, 3, []int{5, 4, 6}, []int{3, 2, 2}, ConvOptions{Stride: [3]int{1, 2, 1}, Padding: [3][2]int{{1, 1}, {0, 1}, {2, 0}}}},
	{2, 16, 16, []int{4, 5, 5}, []int{3, 3, 3}, ConvOptions{Padding: Pad(1, 1, 1)}},
	{2, 4, 6, []int{9, 8}, []int{3, 2}, ConvOptions{Dilation: [3]int{2, 3}, Padding: Pad(2, 1)}},
	{2, 4, 6, []int{7, 8}, []int{3, 3}, ConvOptions{Groups: 2, Padding: Pad(1, 1)}},
	{2, 32, 32, []int{7, 8}, []int{3, 3}, ConvOptions{Groups: 32, Stride: [3]int{2, 1}, Padding: Pad(1, 1)}},
	{1, 3, 6, []int{6, 6}, []int{3, 3}, ConvOptions{Groups: 3, Dilation: [3]int{2, 1}, Padding: [3][2]int{{2, 1}, {0, 1}}}},
	{2, 6, 4, []int{9}, []int{4}, ConvOptions{Groups: 2, Stride: [3]int{3}, Padding: Pad(1)}},
	{1, 8, 8, []int{4, 4, 3}, []int{2, 3, 2}, ConvOptions{Groups: 4, Dilation: [3]int{2, 1, 1}}},
}

// shapes returns the shapes of x, w, b and y.
func (g geometry) shapes() (x, w, b, y []int) {
	win, err := windowOf([3]int{}, g.Stride, g.Dilation, g.Padding, len(g.size), g.k)
	if err != nil {
		panic(err)
	}
	y = []int{g.n, g.co}
	for axis, size := range g.size {
		n, err := win.count(axis+3-len(g.size), size, false)
		if err != nil {
			panic(err)
		}
		y = append(y, n)
	}
	return append([]int{g.n, g.ci}, g.size...), append([]int{g.co, g.ci / max(g.Groups, 1)}, g.k...), []int{g.co}, y
}

// everywhere calls test for every geometry, with x, w, b and y in many layouts.
func everywhere(t *testing.T, test func(t *testing.T, set ConvOptions, x, w, b, y views.View)) {
	for _, g := range geometries {
		t.Run(fmt.Sprintf("%+v", g), func(t *testing.T) {
			x, w, b, y := g.shapes()
			for _, lx := range layouts {
				for _, ly := range layouts {
					if lx.name != ly.name && lx.name != "channels-last" && ly.name != "channels-last" {
						continue
					}
					test(t, g.ConvOptions, lx.of(x...), rowMajorLayout.of(w...), rowMajorLayout.of(b...), ly.of(y...))
				}
				test(t, g.ConvOptions, channelsLastLayout.of(x...), lx.of(w...), lx.of(b...), channelsLastLayout.of(y...))
			}
		})
	}
}

func TestConvMatchesReferenceInEveryLayout(t *testing.T) {
	everywhere(t, func(t *testing.T, set ConvOptions, x, w, b, y views.View) {
		agree(t, Conv, []views.View{y}, []views.View{x, w, b}, set, 1e-4)
		set.Act = ReLUActivation
		agree(t, Conv, []views.View{y}, []views.View{x, w}, set, 1e-4)
	})
}

// TestConvFusesEveryActivation has results with and without the operand of the activation, of convolutions
// that are computed in one part and in several, by oneDNN and by Winograd's algorithm.
func TestConvFusesEveryActivation(t *testing.T) {
	for act := NoActivation; act.check() == nil; act++ {
		for _, s := range []geometry{
			{2, 4, 8, []int{6, 6}, []int{3, 3}, ConvOptions{Padding: Pad(1, 1)}},
			{3, 16, 32, []int{12, 12}, []int{3, 3}, ConvOptions{Padding: Pad(1, 1)}},
			{3, 32, 32, []int{37}, []int{5}, ConvOptions{Padding: Pad(2)}},
		} {
			for i, l := range layouts {
				if l.name != channelsLastLayout.name && i%3 != int(act)%3 { // each activation in three layouts
					continue
				}
				xs, ws, bs, ys := s.shapes()
				x, y, w, b := channelsLastLayout.of(xs...), l.of(ys...), rowMajorLayout.of(ws...), rowMajorLayout.of(bs...)
				set := s.ConvOptions
				set.Act = act
				if s.ci >= 16 && l.name == channelsLastLayout.name {
					g := convOperands(&Call{Out: []storage.Array{dense(y)}, In: []storage.Array{dense(x), dense(w)}})
					must(g.set(set))
					if _, ok := g.winograd(); !ok {
						t.Fatalf("%v is not by Winograd's algorithm", s)
					}
				}
				agree(t, Conv, []views.View{y}, []views.View{x, w, b}, set, 1e-4)
				agree(t, Conv, []views.View{y, y}, []views.View{x, w, b}, set, 1e-4)
				agree(t, Conv, []views.View{channelsLastLayout.of(y.Shape...), y}, []views.View{x, w}, set, 1e-4)
			}
		}
	}
}

// TestWinogradIsTried wants geometries by Winograd's algorithm for windows along each axis.
func TestWinogradIsTried(t *testing.T) {
	tried := map[[2]int64]int{}
	for _, s := range geometries {
		x, w, _, y := s.shapes()
		g := convOperands(&Call{Out: []storage.Array{dense(channelsLastLayout.of(y...))}, In: []storage.Array{dense(channelsLastLayout.of(x...)), dense(views.Of(w...))}})
		must(g.set(s.ConvOptions))
		if f, ok := g.winograd(); ok {
			tried[f.Window]++
		}
	}
	for _, window := range [][2]int64{{3, 3}, {1, 4}, {1, 5}, {1, 6}} {
		if tried[window] == 0 {
			t.Errorf("no geometry has a window of %v and is by Winograd's algorithm", window)
		}
	}
}

func TestConvGradXMatchesReference(t *testing.T) {
	everywhere(t, func(t *testing.T, set ConvOptions, x, w, b, y views.View) {
		agree(t, ConvGradX, []views.View{x}, []views.View{y, w}, set, 1e-4)
	})
}

func TestConvGradWMatchesReference(t *testing.T) {
	everywhere(t, func(t *testing.T, set ConvOptions, x, w, b, y views.View) {
		agree(t, ConvGradW, []views.View{w, b}, []views.View{x, y}, set, 1e-3)
		agree(t, ConvGradW, []views.View{w}, []views.View{x, y}, set, 1e-3)
	})
}

// TestNaNIsNotHidden checks that a NaN that goes into a product comes out, through
// every activation: else training that went wrong would look alive.
func TestNaNIsNotHidden(t *testing.T) {
	nan := float32(math.NaN())
	for act := NoActivation; act.check() == nil; act++ {
		for _, channels := range []int{1, 16} {
			x, y := dense(views.ChannelsLast(1, channels, 6, 6)), dense(views.ChannelsLast(1, 16, 6, 6))
			storage.Elements[float32](x)[0] = nan
			if err := CPU.Run(Conv, &Call{Out: []storage.Array{y}, In: []storage.Array{x, dense(views.Of(16, channels, 3, 3)), dense(views.Of(16))}, Options: ConvOptions{Padding: Pad(1, 1), Act: act}}); err != nil {
				t.Fatal(err)
			}
			if got := storage.Elements[float32](y)[0]; got == got {
				t.Errorf("%v of a convolution of NaN in %d channels is %v", act, channels, got)
			}
		}
		for _, rows := range []int{1, 16} {
			x, y := dense(views.Of(rows, 32)), dense(views.Of(rows, 16))
			storage.Elements[float32](x)[3] = nan
			if err := CPU.Run(Linear, &Call{Out: []storage.Array{y}, In: []storage.Array{x, dense(views.Of(16, 32)), dense(views.Of(16))}, Options: LinearOptions{Act: act}}); err != nil {
				t.Fatal(err)
			}
			if got := storage.Elements[float32](y)[0]; got == got {
				t.Errorf("%v of %d rows of which one is NaN is %v", act, rows, got)
			}
		}
	}
}
