package train

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// Accumulate returns a hook that averages the gradients of n batches, weighted by their
// numbers of samples, and makes one update with them: the gradients of one batch of n times
// the size, if the loss is a mean in which all samples count alike. Batches whose weights,
// missing values or ignored labels differ still count by their samples. The last update of an
// epoch is made with the batches that are left. Training fails if n is less than 1.
func Accumulate(n int) StatefulHook { return &accumulate{every: n} }

type accumulate struct {
	every int
	sums  map[string]storage.Array // of gradients since the last update, by parameter
}

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

// Gradients adds the gradients to the sums. The last batch of a group makes of them
// the mean over the group's samples.
func (a *accumulate) Gradients(s *Step) error {
	if a.every < 1 {
		return fmt.Errorf("accumulate gradients of %d batches; want at least 1", a.every)
	}
	g := a.groupOf(s.BatchInfo)
	if !g.last {
		s.HoldUpdate()
	}
	if a.sums == nil {
		a.sums = map[string]storage.Array{}
	}
	for i := range s.Gradients {
		if err := a.add(g, s, &s.Gradients[i]); err != nil {
			return fmt.Errorf("accumulate %s: %w", s.Gradients[i].Name, err)
		}
	}
	return nil
}

// add adds one gradient, weighted by the samples of its batch, to its sum. What a
// full batch adds has the weight 1.
func (a *accumulate) add(g group, s *Step, gradient *Gradient) error {
	d := gradient.Grad
	if s.Samples != s.Size {
		d = d.MulScalar(float64(s.Samples) / float64(s.Size))
	}
	sum, err := a.sum(gradient)
	if err != nil {
		return err
	}
	switch {
	case g.last && g.index > 0:
		d = sum.Add(d)
		fallthrough
	case g.last:
		gradient.Grad = d.MulScalar(float64(s.Size) / float64(g.samples))
	case g.index == 0:
		sum.Assign(d)
	default:
		sum.AddInPlace(d)
	}
	return nil
}

// sum returns the memory for the sum of a parameter's gradients.
func (a *accumulate) sum(g *Gradient) (*tensor.Tensor, error) {
	sum, ok := a.sums[g.Name]
	if !ok {
		var err error
		if sum, err = storage.Make(g.Grad.Device(), g.Grad.DType(), g.Grad.Shape()...); err != nil {
			return nil, err
		}
		a.sums[g.Name] = sum
	}
	return tensor.FromArray(sum), nil
}

// Variant tells apart a group's first batch, those in its middle and its last.
func (a *accumulate) Variant(b BatchInfo) (int, bool) {
	if a.every < 1 {
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
func (a *accumulate) State() iter.Seq2[string, storage.Array] { return byName(a.sums) }

// Load puts state in the place of the sums.
func (a *accumulate) Load(params iter.Seq2[string, *nn.Parameter], state iter.Seq2[string, storage.Array]) error {
	known := maps.Collect(params)
	sums := map[string]storage.Array{}
	for name, from := range state {
		p, ok := known[name]
		if !ok || !slices.Equal(p.Shape(), from.Shape) {
			return fmt.Errorf("sum of the gradients of %s %v: no such parameter, or of another shape: %w", name, from.Shape, views.ErrShape)
		}
		to, err := storage.Make(p.Device(), p.DType(), p.Shape()...)
		if err == nil {
			err = from.CopyTo(to)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		sums[name] = to
	}
	a.sums = sums
	return nil
}
