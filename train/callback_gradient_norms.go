package train

import (
	"iter"
	"math"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// GradientNormsOptions are the settings of [GradientNorms].
type GradientNormsOptions struct {
	Every int `json:"every"` // steps between two gradients that are looked at; 100 if 0
}

// GradientNorms puts the norm of the gradient into the history, as gradient_norm, and those of each parameter, as gradient_norm.0.weight: the
// means over the gradients of an epoch that were looked at, before clipping.
type GradientNorms struct {
	OnlyProgress
	GradientNormsOptions
	look
	sums map[string]float64
}

var gradientNormsDefaults = GradientNormsOptions{Every: 100}

// NewGradientNorms returns a callback that reports norms.
func NewGradientNorms(o GradientNormsOptions) *GradientNorms {
	if o.Every == 0 {
		o.Every = gradientNormsDefaults.Every
	}
	return &GradientNorms{GradientNormsOptions: o, look: newLook("gradient_norms", o.Every), sums: map[string]float64{}}
}

// RunBegin takes note of the number of batches of an update.
func (g *GradientNorms) RunBegin(p Plan) error { return g.begin(p) }

// Gradients adds the norms of a step.
func (g *GradientNorms) Gradients(s *Step) error {
	if !g.due(s) {
		return nil
	}
	g.sums["count"]++
	total := 0.0
	for name, norm := range norms(s) {
		g.sums["gradient_norm."+name] += norm
		total += norm * norm
	}
	g.sums["gradient_norm"] += math.Sqrt(total)
	return nil
}

// EpochEnd gives the epoch its means.
func (g *GradientNorms) EpochEnd(e Epoch) error {
	for name, sum := range g.sums {
		if name != "count" {
			e.Numbers[name] = sum / g.sums["count"]
		}
	}
	clear(g.sums)
	return nil
}

// Name returns the name of the state.
func (g *GradientNorms) Name() string { return "gradient_norms" }

// State yields the sums of the epoch.
func (g *GradientNorms) State() iter.Seq2[string, storage.Array] {
	all := map[string]storage.Array{}
	for name, sum := range g.sums {
		all[name] = storage.From([]float64{sum}, 1)
	}
	return byName(all)
}

// Load takes what State yields.
func (g *GradientNorms) Load(_ iter.Seq2[string, *nn.Parameter], state iter.Seq2[string, storage.Array]) error {
	for name, a := range state {
		sum, err := numbersOf(map[string]storage.Array{name: a}, name, 1)
		if err != nil {
			return err
		}
		g.sums[name] = sum[0]
	}
	return nil
}

var _ = RegisterCallback("gradient_norms", NewGradientNorms, gradientNormsDefaults)

// A look says at which updates a callback looks at gradients. The steps of others are replayed in graphs.
type look struct{ every, batches int }

func newLook(callback string, every int) look {
	if every < 1 {
		tensor.Fail(callback, nn.ErrConfig, "every %d steps; want at least 1", every)
	}
	return look{every: every, batches: 1}
}

// begin sets the number of batches of an update.
func (l *look) begin(p Plan) error {
	l.batches = max(1, p.Training.Run().Config.Accumulate)
	return nil
}

// Variant names the steps whose gradients are not read.
func (l *look) Variant(b BatchInfo) (int, bool) { return 0, !l.looks(b) }

func (l *look) looks(b BatchInfo) bool {
	end := int(b.Step) + 1
	return end/l.every > (end-l.batches)/l.every
}

// due reports whether the gradients of s are to be read: s makes an update.
func (l *look) due(s *Step) bool { return !s.hold && l.looks(s.BatchInfo) }

// norms yields the norm of each parameter's gradient.
func norms(s *Step) iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		for _, g := range s.Gradients {
			d := s.Unscaled(g)
			if !yield(g.Name, math.Sqrt(float64(d.Mul(d).Sum().Item()))) {
				return
			}
		}
	}
}
