package train

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// Accumulate returns a hook that adds up the gradients of n batches and makes one update with them: with the
// gradients of one batch of n times the size, by the denominators of the losses. The last update of an
// epoch is made with the batches that are left. Training fails if n is less than 1.
func Accumulate(n int) StatefulHook { return &accumulate{every: n} }

type accumulate struct {
	every        int
	sums         map[string]storage.Array // of denominator·gradient since the last update, by parameter and part
	denominators map[string]storage.Array // their sums, float64, by part, where they are not numbers of samples
	resumed      bool                     // whether a run file has the first batches of this group
}

// isAccumulate reports whether h is of Accumulate.
func isAccumulate(h Hook) bool { _, is := h.(*accumulate); return is }

// A group is the batches of one update.
type group struct {
	index       int // of the batch in the group
	last        bool
	samples     int // in all batches of the group
	fullBatches bool
}

func (a *accumulate) groupOf(b BatchInfo) group {
	index := b.Index % a.every
	start := (b.Index - index) * b.Size
	samples := min(b.EpochSamples-start, a.every*b.Size)
	return group{index, index == a.every-1 || b.Last(), samples, samples == a.every*b.Size}
}

// Gradients adds the gradients to the sums. The last batch of a group divides these by the sums of the
// denominators.
func (a *accumulate) Gradients(s *Step) error {
	if a.every < 1 {
		return fmt.Errorf("accumulate gradients of %d batches; want at least 1", a.every)
	}
	g := a.groupOf(s.BatchInfo)
	if !g.last {
		s.HoldUpdate()
	}
	if a.sums == nil {
		a.sums, a.denominators = map[string]storage.Array{}, map[string]storage.Array{}
	}
	if g.index == 0 {
		a.resumed = false
	}
	scales := make([]scaling, len(s.Parts))
	for i := range s.Parts {
		var err error
		if scales[i], err = a.scaling(g, s, i); err != nil {
			return fmt.Errorf("accumulate denominators: %w", err)
		}
	}
	for i := range s.Gradients {
		d := &s.Gradients[i]
		sum, err := addTo(a.sums, partName(d.Name, d.Part), scales[d.Part].add(d.Grad), g)
		if err != nil {
			return fmt.Errorf("accumulate %s: %w", d.Name, err)
		}
		if g.last {
			d.Grad = scales[d.Part].finish(sum)
		}
	}
	if g.last && len(s.Parts) > 1 {
		s.joinParts()
	}
	return nil
}

// partName is the name of a sum in run files.
func partName(name string, part int) string {
	if part == 0 {
		return name
	}
	return fmt.Sprintf("%s%s%d", name, partMark, part)
}

const (
	partMark          = ":" // between the name of a parameter and the number of a part
	denominatorPrefix = "denominator/"
)

// A scaling is what the gradients of a part are multiplied by before they are added, and what their sums are
// divided by.
type scaling struct {
	denominator, total *tensor.Tensor // nil: the numbers, which multiply both
	before, after      float64
}

func (c scaling) add(gradient *tensor.Tensor) *tensor.Tensor {
	if c.denominator != nil {
		return gradient.Mul(c.denominator.Cast(gradient.DType()))
	}
	return timesNumber(gradient, c.before)
}

func (c scaling) finish(sum *tensor.Tensor) *tensor.Tensor {
	if c.total != nil {
		return sum.Div(c.total.Add(c.total.EqScalar(0).Cast(dtype.Float64)).Cast(sum.DType()))
	}
	return timesNumber(sum, c.after)
}

func timesNumber(x *tensor.Tensor, factor float64) *tensor.Tensor {
	if factor == 1 {
		return x
	}
	return x.MulScalar(factor)
}

// scaling adds the denominator of a part to the others of the group. Without denominators a full batch adds
// its gradients as they are, and the last batch makes of the sums the mean over the samples. So does a group
// that an older version began, whose run file has no denominators.
func (a *accumulate) scaling(g group, s *Step, part int) (c scaling, err error) {
	p, name := s.Parts[part], strconv.Itoa(part)
	_, begun := a.denominators[name]
	switch {
	case p.Sum:
		return scaling{before: 1, after: 1}, nil
	case p.Denominator == nil || a.resumed && !begun:
		return scaling{before: float64(s.Samples) / float64(s.Size), after: float64(s.Size) / float64(g.samples)}, nil
	}
	c.denominator = p.Denominator
	c.total, err = addTo(a.denominators, name, p.Denominator.Cast(dtype.Float64).Reshape(), g)
	return c, err
}

// addTo adds x to the named sum, which begins with the first batch of a group. The sum with the last is not stored.
func addTo(sums map[string]storage.Array, name string, x *tensor.Tensor, g group) (*tensor.Tensor, error) {
	if g.last && g.index == 0 {
		return x, nil
	}
	a, ok := sums[name]
	if !ok {
		var err error
		if a, err = storage.Make(x.Device(), x.DType(), x.Shape()...); err != nil {
			return nil, err
		}
		sums[name] = a
	}
	sum := tensor.FromArray(a)
	switch {
	case g.last:
		return sum.Add(x), nil
	case g.index == 0:
		sum.Assign(x)
	default:
		sum.AddInPlace(x)
	}
	return sum, nil
}

// joinParts adds the gradients of all parts.
func (s *Step) joinParts() {
	joined := s.Gradients[:0:0]
	for _, p := range s.Gradients {
		k := slices.IndexFunc(joined, func(g Gradient) bool { return g.Param == p.Param })
		if k < 0 {
			p.Part = 0
			joined = append(joined, p)
		} else {
			joined[k].Grad = joined[k].Grad.Add(p.Grad)
		}
	}
	s.Gradients, s.Parts = joined, s.Parts[:1]
}

// Variant tells apart a group's first batch, those in its middle and its last.
func (a *accumulate) Variant(b BatchInfo) (int, bool) {
	if a.every < 1 || a.resumed && b.Index%a.every > 0 {
		return 0, false
	}
	switch g := a.groupOf(b); {
	case g.last:
		return 2, g.fullBatches
	case g.index == 0:
		return 0, true
	}
	return 1, true
}

func (*accumulate) Name() string { return "accumulate" }

// State yields the sums.
func (a *accumulate) State() iter.Seq2[string, storage.Array] {
	all := maps.Clone(a.sums)
	for name, sum := range a.denominators {
		all[denominatorPrefix+name] = sum
	}
	return byName(all)
}

// Load puts state in the place of the sums.
func (a *accumulate) Load(params iter.Seq2[string, *nn.Parameter], state iter.Seq2[string, storage.Array]) error {
	known := maps.Collect(params)
	var device storage.Device
	for _, p := range known {
		device = p.Device()
	}
	sums, denominators := map[string]storage.Array{}, map[string]storage.Array{}
	for name, from := range state {
		into, t, shape := sums, dtype.Float64, []int{}
		if part, ok := strings.CutPrefix(name, denominatorPrefix); ok {
			into, name = denominators, part
		} else {
			param, _, _ := strings.Cut(name, partMark)
			p, ok := known[param]
			if !ok {
				return fmt.Errorf("sum of the gradients of %s %v: no such parameter: %w", name, from.Shape, views.ErrShape)
			}
			t, shape = p.DType(), p.Shape()
		}
		if !slices.Equal(shape, from.Shape) {
			return fmt.Errorf("sum of the gradients of %s is %v; want %v: %w", name, from.Shape, shape, views.ErrShape)
		}
		to, err := storage.Make(device, t, shape...)
		if err == nil {
			err = from.CopyTo(to)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		into[name] = to
	}
	a.sums, a.denominators, a.resumed = sums, denominators, true
	return nil
}
