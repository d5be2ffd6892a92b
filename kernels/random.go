package kernels

import (
	"fmt"
	"math"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// The random kernels are counter-based (Salmon et al., doi:10.1145/2063384.2063405):
// an element is a function of Seed, Stream and its row-major index only, not of the
// layout, the number of threads, the device or the type. Element i uses the upper 24 bits of
// word i mod 4 of Philox4x32-10 with key Seed and counter (i div 4, Stream).

// RandomOptions are the options of Uniform, in [A, B), and Normal, with mean A and
// standard deviation B. An input, a single uint64, is added to Stream.
type RandomOptions struct {
	Seed, Stream uint64
	A, B         float64
}

// DropoutOptions are the options of Dropout: the probability P of a zero, in [0, 1].
type DropoutOptions struct {
	P            float64
	Seed, Stream uint64
}

// Uniform fills y with numbers from [A, B).
var Uniform = define("uniform", checkRandom,
	func(c *Call, options RandomOptions) error {
		options.Stream += c.stream(0)
		draw(&c.Out[0], func(i int) float64 {
			return options.A + (options.B-options.A)*fraction(Philox(options.Seed, options.Stream, uint64(i/4))[i%4])
		})
		return nil
	},
	func(c *Call, options RandomOptions) (bool, error) {
		return nativeDraw(native.Uniform, c, nil, options), nil
	})

// Normal fills y with normal numbers of mean A and standard deviation B, two from each two
// words (Box and Muller, doi:10.1214/aoms/1177706645).
var Normal = define("normal", checkRandom,
	func(c *Call, options RandomOptions) error {
		options.Stream += c.stream(0)
		draw(&c.Out[0], func(i int) float64 {
			words := Philox(options.Seed, options.Stream, uint64(i/4))
			radius := math.Sqrt(-2 * math.Log(fraction(words[i%4&^1])+0x1p-24)) // of (0, 1]
			sin, cos := math.Sincos(2 * math.Pi * fraction(words[i%4|1]))
			if i%2 == 1 {
				cos = sin
			}
			return options.A + options.B*radius*cos
		})
		return nil
	},
	func(c *Call, options RandomOptions) (bool, error) {
		return nativeDraw(native.Normal, c, nil, options), nil
	})

// Dropout is y = x/(1 − P), but 0 with probability P. The same options drop
// the same elements, so that it is its own derivative. A second input, a single
// uint64, is added to Stream.
var Dropout = updatesInPlace(define("dropout",
	func(c *Call, options DropoutOptions) error {
		if !(options.P >= 0 && options.P <= 1) {
			return fmt.Errorf("probability %v; want 0 to 1: %w", options.P, storage.ErrState)
		}
		if err := c.checkOperands(1, max(1, min(len(c.In), 2))); err != nil {
			return err
		}
		if err := c.checkStream(1); err != nil {
			return err
		}
		dropped := Call{Out: c.Out, In: c.In[:1]}
		if err := dropped.oneShape(); err != nil {
			return err
		}
		return dropped.allFloats()
	},
	func(c *Call, options DropoutOptions) error {
		options.Stream += c.stream(1)
		kept := zeros(c.Out[0].Shape)
		draw(&kept, func(i int) float64 {
			if Philox(options.Seed, options.Stream, uint64(i/4))[i%4]>>8 < options.least() {
				return 0
			}
			return 1
		})
		referenceZip(func(x, kept float64) float64 {
			if kept == 0 {
				return 0
			}
			return x / (1 - options.P)
		}, c.Out[0], c.In[0], kept)
		return nil
	},
	func(c *Call, options DropoutOptions) (bool, error) {
		return nativeDraw(native.Dropout, c, &c.In[0], RandomOptions{options.Seed, options.Stream + c.stream(1), float64(options.least()), 1 / (1 - options.P)}), nil
	}))

// stream returns what the input i, if there is one, adds to the random stream.
func (c *Call) stream(i int) uint64 {
	if len(c.In) <= i {
		return 0
	}
	return storage.Elements[uint64](c.In[i])[c.In[i].Offset]
}

// checkStream returns an error unless the input i is a single uint64 or is missing.
func (c *Call) checkStream(i int) error {
	if len(c.In) <= i {
		return nil
	}
	return checkVector(&c.In[i], dtype.Uint64, 1)
}

// least returns the least of the 24 random bits that keep an element.
func (s DropoutOptions) least() uint32 { return uint32(math.Round(s.P * (1 << 24))) }

func checkRandom(c *Call, _ RandomOptions) error {
	if err := c.checkOperands(1, min(len(c.In), 1)); err != nil {
		return err
	}
	if err := c.checkStream(0); err != nil {
		return err
	}
	return allFloats(c.Out[0])
}

// draw sets every element of y to f of its row-major index.
func draw(y *storage.Array, f func(i int) float64) {
	var elems [block]float64
	blocks(func(at, step []int, n int) {
		for i := range n {
			elems[i] = f(at[1] + i*step[1])
		}
		store(y, at[0], step[0], elems[:n])
	}, *y, storage.Array{View: views.Of(y.Shape...)})
}

// fraction returns 24 of word's bits as a number in [0, 1).
func fraction(word uint32) float64 { return float64(word>>8) * 0x1p-24 }

// Philox returns the four words of a block of Philox4x32-10, with key seed and counter (index, stream).
func Philox(seed, stream, index uint64) [4]uint32 {
	c := [4]uint32{uint32(index), uint32(index >> 32), uint32(stream), uint32(stream >> 32)}
	k0, k1 := uint32(seed), uint32(seed>>32)
	for range 10 {
		p, q := 0xD2511F53*uint64(c[0]), 0xCD9E8D57*uint64(c[2])
		c = [4]uint32{uint32(q>>32) ^ c[1] ^ k0, uint32(q), uint32(p>>32) ^ c[3] ^ k1, uint32(p)}
		k0 += 0x9E3779B9
		k1 += 0xBB67AE85
	}
	return c
}

// nativeDraw fills the output, from x unless it is nil. A call without x may have an input that is added to the stream.
func nativeDraw(kind native.Random, c *Call, x *storage.Array, options RandomOptions) bool {
	y := &c.Out[0]
	if x == nil {
		x = y
		options.Stream += c.stream(0)
	}
	real, ok := native.ComputeTypeOf(y.Type)
	index := storage.Array{View: views.Of(y.Shape...)}
	var g native.Grid
	if !ok || !g.Over(&y.View, &x.View, &index.View) {
		return false
	}
	if !g.Empty {
		kind.Draw(real, &g, at(&g, 0, y), at(&g, 1, x), options.Seed, options.Stream, options.A, options.B)
	}
	return true
}
