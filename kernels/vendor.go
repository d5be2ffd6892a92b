package kernels

// #include "matmul.h"
import "C"

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A Multiplier is a GPU that may have a library for products of matrices. It is
// asked before the kernels of package device are launched.
type Multiplier interface {
	// Multiply issues p. It reports false, having issued nothing, for what it
	// leaves to the kernels.
	Multiply(p Product) (done bool, err error)
}

// A Product is z = x·y, or relu(x·y + bias), of matrices x (M,K), y (K,N) and z (M,N) of one type.
// None of its sizes is 0.
type Product struct {
	Type             dtype.Type
	M, N, K, Batches int
	X, Y, Z          Matrix
	Bias             uint64 // where N adjacent elements lie; 0 for none
	Relu             bool   // only with a bias
}

// A Matrix is where one lies in a GPU's memory. Strides count elements.
type Matrix struct {
	Address             uint64
	Down, Across, Batch int
}

// A Convolver is a GPU that may have a library for convolutions.
type Convolver interface {
	// Convolve issues c, or reports false, likewise.
	Convolve(c Convolution) (done bool, err error)
}

// A Convolution is one of the three products that Conv2d and its slopes are. Its
// arrays are not empty, and lie densely: channels-last or row-major, all alike.
type Convolution struct {
	Type            dtype.Type
	Computes        Side
	X, W, Y         Image // (N,C,H,W), (O,C,P,Q), (N,O,H,W)
	ChannelsLast    bool
	Stride, Padding [2]int
	Bias            uint64 // where O adjacent elements lie; 0 for none
	Relu            bool   // of y; there is a bias if and only if there is a relu
	// Before, unless it is nil, is called just before the convolution is issued, if it is:
	// it issues what brings W to its place.
	Before func() error
}

// A Rounder is a GPU that may have been allowed to round the factors of float32
// products to TF32, whose mantissa has 10 bits.
type Rounder interface{ RoundsToTF32() bool }

// A Side is which of a convolution's arrays is computed from the other two.
type Side int

// The sides.
const (
	SideY Side = iota // the convolution itself
	SideX             // its slope to x
	SideW             // its slope to w
)

// An Image is where an array of four axes lies in a GPU's memory.
type Image struct {
	Address      uint64
	Size, Stride [4]int
}

// libraryOf returns a GPU as what it may have a library for, whatever geometry is asked for.
func libraryOf[L any](g GPU) (library L, ok bool) {
	if s, is := g.(shaped); is {
		g = s.GPU
	}
	library, ok = g.(L)
	return library, ok
}

// multiply offers z = act(x·y + bias) to the GPU's library.
func (c *Call) multiply(p *product, z, x, y, bias *storage.Array, act Activation) (bool, error) {
	library, ok := libraryOf[Multiplier](c.gpu)
	if !ok || p.axes > 1 || p.k == 0 || !adjacent(bias) {
		return false, nil
	}
	q := Product{
		Type: z.Type, M: int(p.m), N: int(p.n), K: int(p.k), Batches: 1,
		X:    Matrix{c.first(x), int(p.x[0]), int(p.x[1]), int(p.x_batch[0])},
		Y:    Matrix{c.first(y), int(p.y[0]), int(p.y[1]), int(p.y_batch[0])},
		Z:    Matrix{c.first(z), int(p.z[0]), int(p.z[1]), int(p.z_batch[0])},
		Bias: c.first(bias), Relu: bias != nil && act == ReluActivation,
	}
	if p.axes == 1 {
		q.Batches = int(p.batch[0])
	}
	done, err := library.Multiply(q)
	if !done || err != nil || q.Relu {
		return done, err
	}
	return true, c.activate(z, act)
}

// adjacent reports whether the elements of a vector, if there is one, follow one another.
func adjacent(a *storage.Array) bool { return a == nil || a.Stride[0] == 1 || a.Shape[0] == 1 }

// convolve offers a convolution to the GPU's library. Weights, which are few,
// are brought into the order that the images have.
func (c *Call) convolve(g *conv, computes Side) (done bool, err error) {
	library, ok := libraryOf[Convolver](c.gpu)
	if !ok || g.empty() || int64(g.w.Len()) >= most { // weights that are moved are few
		return false, nil
	}
	order, last := channelsLast, true
	if !lieAs(g.x, order(g.x.Shape)) || !lieAs(g.y, order(g.y.Shape)) {
		order, last = rowMajor, false
	}
	if !lieAs(g.x, order(g.x.Shape)) || !lieAs(g.y, order(g.y.Shape)) {
		return false, nil
	}
	q := Convolution{Type: g.x.Type, Computes: computes, ChannelsLast: last, Stride: g.set.Stride, Padding: g.set.Padding}
	q.X, q.W, q.Y = c.image(g.x, order), c.image(g.w, order), c.image(g.y, order)
	if computes == SideY && g.b != nil && g.set.Act == ReluActivation && adjacent(g.b) {
		q.Bias, q.Relu = c.first(g.b), true
	}
	if lieAs(g.w, order(g.w.Shape)) {
		done, err = library.Convolve(q)
	} else {
		done, err = c.convolveMoved(library, q, g.w)
	}
	if !done || err != nil || q.Relu || computes != SideY {
		return done, err
	}
	return true, c.finish(g)
}

func (c *Call) image(a *storage.Array, order func([]int) [4]int) Image {
	return Image{c.first(a), [4]int(a.Shape), order(a.Shape)}
}

// convolveMoved convolves with weights that lie as w does, through a copy.
func (c *Call) convolveMoved(library Convolver, q Convolution, w *storage.Array) (done bool, err error) {
	err = c.beside(w, q.W.Stride, func(moved *storage.Array) error {
		q.W.Address = c.first(moved)
		if q.Computes != SideW {
			q.Before = func() error { return c.launchCopy(moved, w) }
		}
		if done, err = library.Convolve(q); !done || err != nil || q.Computes != SideW {
			return err
		}
		return c.launchCopy(w, moved)
	})
	return done, err
}

// beside lends an array like a, which lies otherwise and holds nothing yet.
func (c *Call) beside(a *storage.Array, stride [4]int, use func(moved *storage.Array) error) error {
	return c.gpu.Workspace(a.Len()*a.Type.Size(), func(address uint64) error {
		return use(&storage.Array{Type: a.Type, View: views.View{Offset: int(address), Shape: a.Shape, Stride: stride[:]}})
	})
}

// finish adds the bias to y and applies the activation.
func (c *Call) finish(g *conv) error {
	if g.b == nil {
		return c.activate(g.y, g.set.Act)
	}
	on := Call{Out: []storage.Array{*g.y}, In: []storage.Array{*g.y, *g.b}, Set: ActSet{Act: g.set.Act}}
	return BiasAct.CUDA(c.gpu, &on)
}
