package kernels

import (
	"fmt"
	"math"
	"testing"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

type geometry struct {
	n, ci, h, w, co, kh, kw int
	stride, pad             [2]int
}

var geometries = []geometry{
	{2, 1, 8, 8, 4, 3, 3, [2]int{1, 1}, [2]int{1, 1}},
	{1, 1, 1, 1, 1, 1, 1, [2]int{1, 1}, [2]int{0, 0}},
	{3, 3, 9, 7, 5, 3, 2, [2]int{2, 1}, [2]int{1, 0}},
	{2, 16, 5, 6, 32, 3, 3, [2]int{1, 1}, [2]int{1, 1}},
	{2, 17, 6, 5, 33, 1, 1, [2]int{1, 1}, [2]int{0, 0}},
	{2, 6, 8, 8, 16, 5, 5, [2]int{1, 1}, [2]int{0, 0}},
	{1, 1, 13, 14, 6, 5, 5, [2]int{1, 1}, [2]int{2, 2}},
	{2, 4, 11, 13, 8, 3, 5, [2]int{3, 2}, [2]int{2, 4}},
	{2, 2, 5, 5, 3, 2, 2, [2]int{4, 4}, [2]int{0, 0}},
	{1, 3, 4, 4, 2, 4, 4, [2]int{1, 1}, [2]int{3, 3}},
	{0, 3, 4, 4, 2, 3, 3, [2]int{1, 1}, [2]int{1, 1}},
	{3, 1, 12, 12, 32, 3, 3, [2]int{1, 1}, [2]int{1, 1}},
}

func (g geometry) out() (h, w int) {
	return (g.h+2*g.pad[0]-g.kh)/g.stride[0] + 1, (g.w+2*g.pad[1]-g.kw)/g.stride[1] + 1
}

// everywhere calls test for every geometry, with x, w, b and y in many layouts.
func everywhere(t *testing.T, test func(t *testing.T, options Conv2dOptions, x, w, b, y views.View)) {
	for _, g := range geometries {
		t.Run(fmt.Sprintf("%+v", g), func(t *testing.T) {
			ho, wo := g.out()
			for _, lx := range layouts {
				for _, ly := range layouts {
					if lx.name != ly.name && lx.name != "channels-last" && ly.name != "channels-last" {
						continue
					}
					test(t, Conv2dOptions{Stride: g.stride, Padding: g.pad}, lx.of(g.n, g.ci, g.h, g.w), tightly.of(g.co, g.ci, g.kh, g.kw), tightly.of(g.co), ly.of(g.n, g.co, ho, wo))
				}
				test(t, Conv2dOptions{Stride: g.stride, Padding: g.pad}, imagewise.of(g.n, g.ci, g.h, g.w), lx.of(g.co, g.ci, g.kh, g.kw), lx.of(g.co), imagewise.of(g.n, g.co, ho, wo))
			}
		})
	}
}

func TestConv2dAgreesHoweverImagesLie(t *testing.T) {
	everywhere(t, func(t *testing.T, options Conv2dOptions, x, w, b, y views.View) {
		agree(t, Conv2d, []views.View{y}, []views.View{x, w, b}, options, 1e-4)
		options.Act = ReLUActivation
		agree(t, Conv2d, []views.View{y}, []views.View{x, w}, options, 1e-4)
	})
}

func TestConv2dFusesEveryActivation(t *testing.T) {
	for act := NoActivation; act <= SigmoidActivation; act++ {
		agree(t, Conv2d, []views.View{imagewise.of(2, 8, 6, 6)}, []views.View{imagewise.of(2, 4, 6, 6), tightly.of(8, 4, 3, 3), tightly.of(8)}, Conv2dOptions{Padding: [2]int{1, 1}, Act: act}, 1e-4)
	}
}

func TestConv2dGradXAgrees(t *testing.T) {
	everywhere(t, func(t *testing.T, options Conv2dOptions, x, w, b, y views.View) {
		agree(t, Conv2dGradX, []views.View{x}, []views.View{y, w}, options, 1e-4)
	})
}

func TestConv2dGradWAgrees(t *testing.T) {
	everywhere(t, func(t *testing.T, options Conv2dOptions, x, w, b, y views.View) {
		agree(t, Conv2dGradW, []views.View{w, b}, []views.View{x, y}, options, 1e-3)
		agree(t, Conv2dGradW, []views.View{w}, []views.View{x, y}, options, 1e-3)
	})
}

// TestNaNIsNotHidden wants a NaN that goes into a product to come out, through
// every activation: else training that went wrong would look alive.
func TestNaNIsNotHidden(t *testing.T) {
	nan := float32(math.NaN())
	for act := NoActivation; act <= SigmoidActivation; act++ {
		for _, channels := range []int{1, 16} {
			x, y := dense(views.ChannelsLast(1, channels, 6, 6)), dense(views.ChannelsLast(1, 16, 6, 6))
			storage.Elements[float32](x)[0] = nan
			if err := CPU.Run(Conv2d, &Call{Out: []storage.Array{y}, In: []storage.Array{x, dense(views.Of(16, channels, 3, 3)), dense(views.Of(16))}, Options: Conv2dOptions{Padding: [2]int{1, 1}, Act: act}}); err != nil {
				t.Fatal(err)
			}
			if got := storage.Elements[float32](y)[0]; got == got {
				t.Errorf("%v of a convolution of NaN in %d channels is %v", act, channels, got)
			}
		}
		for _, rows := range []int{1, 16} {
			x, y := dense(views.Of(rows, 32)), dense(views.Of(rows, 16))
			storage.Elements[float32](x)[3] = nan
			if err := CPU.Run(Linear, &Call{Out: []storage.Array{y}, In: []storage.Array{x, dense(views.Of(16, 32)), dense(views.Of(16))}, Options: LinearOptions{act}}); err != nil {
				t.Fatal(err)
			}
			if got := storage.Elements[float32](y)[0]; got == got {
				t.Errorf("%v of %d rows of which one is NaN is %v", act, rows, got)
			}
		}
	}
}
