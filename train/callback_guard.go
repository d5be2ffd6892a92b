package train

import (
	"fmt"
	"iter"
	"maps"
	"math"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// GuardOptions are the settings of [Guard].
type GuardOptions struct {
	Factor   float64 `json:"factor"`   // a loss or norm is an outlier if it is this many times the mean of those before; 10 if 0
	Every    int     `json:"every"`    // steps between two gradients that are looked at; 100 if 0
	Continue bool    `json:"continue"` // outliers are noted, and training goes on
}

// Guard ends training by an error at a gradient that is infinite or NaN, and at an outlier: a loss, or a gradient of a parameter, that is many
// times as large as before. The error names the step, the parameter and the samples of the batch. The run file stays as it was saved before. A loss
// that is infinite or NaN is such an error without this callback.
type Guard struct {
	OnlyProgress
	GuardOptions
	look
	training *Training
	means    map[string]float64 // of losses, and of norms by parameter
	counts   map[string]float64
	last     Metrics
}

var guardDefaults = GuardOptions{Factor: 10, Every: 100}

// guardCount is the number of values that come before the first outlier, and guardDecay the weight of the mean beside another value.
const (
	guardCount = 10
	guardDecay = 0.95
)

// NewGuard returns a callback that ends training where it goes wrong.
func NewGuard(o GuardOptions) *Guard {
	if o.Factor == 0 {
		o.Factor = guardDefaults.Factor
	}
	if o.Every == 0 {
		o.Every = guardDefaults.Every
	}
	if !(o.Factor > 1) {
		tensor.Fail("guard", nn.ErrConfig, "factor %v; want more than 1", o.Factor)
	}
	return &Guard{GuardOptions: o, look: newLook("guard", o.Every), means: map[string]float64{}, counts: map[string]float64{}}
}

// RunBegin takes note of the run.
func (g *Guard) RunBegin(p Plan) error {
	g.training = p.Training
	return g.begin(p)
}

// StepEnd looks at the loss since the last step that is known.
func (g *Guard) StepEnd(p Progress) error {
	n := p.Metrics.Samples - g.last.Samples
	loss := (p.Loss - g.last.Loss) / float64(n)
	if g.last = p.Metrics; n <= 0 {
		return nil
	}
	return g.check("loss", "the loss", loss, fmt.Sprintf("by step %d", p.Step))
}

// EpochEnd begins the losses of the next epoch.
func (g *Guard) EpochEnd(Epoch) error {
	g.last = Metrics{}
	return nil
}

// Gradients looks at the gradients of a step.
func (g *Guard) Gradients(s *Step) error {
	if !g.due(s) {
		return nil
	}
	at := fmt.Sprintf("step %d, %s", s.BatchInfo.Step+1, g.training.batch(s.Consumed))
	for name, norm := range norms(s) {
		switch {
		case isFinite(norm):
			if err := g.check("gradient/"+name, "the norm of the gradient of "+name, norm, at); err != nil {
				return err
			}
		case s.LossScale == nil: // else the update is left out, and the scale falls
			return fmt.Errorf("guard: %s: the gradient of %s is infinite or NaN; lower the learning rate, or clip gradients: %w", at, name, storage.ErrState)
		}
	}
	return nil
}

// check compares a value with the mean of those before.
func (g *Guard) check(key, what string, x float64, at string) error {
	mean, count := g.means[key], g.counts[key]
	if count >= guardCount && math.Abs(x) > g.Factor*math.Abs(mean) {
		text := fmt.Sprintf("guard: %s: %s is %.4g, %.3g times its mean", at, what, x, x/mean)
		if g.Continue {
			return g.training.Note(text)
		}
		return fmt.Errorf("%s; clip gradients, or look at these samples: %w", text, storage.ErrState)
	}
	decay := min(guardDecay, count/(count+1))
	g.means[key], g.counts[key] = decay*mean+(1-decay)*x, count+1
	return nil
}

// Name returns the name of the state.
func (g *Guard) Name() string { return "guard" }

// State yields the means, the counts of values in them, and the loss of the epoch so far.
func (g *Guard) State() iter.Seq2[string, storage.Array] {
	all := map[string]storage.Array{"epoch": storage.From([]float64{float64(g.last.Samples), g.last.Loss}, 2)}
	for key, mean := range g.means {
		all["mean/"+key] = storage.From([]float64{mean, g.counts[key]}, 2)
	}
	return byName(all)
}

// Load takes what State yields.
func (g *Guard) Load(_ iter.Seq2[string, *nn.Parameter], state iter.Seq2[string, storage.Array]) error {
	all := maps.Collect(state)
	last, err := numbersOf(all, "epoch", 2)
	if err != nil {
		return err
	}
	g.last = Metrics{Samples: int(last[0]), Loss: last[1]}
	for key := range under(byName(all), "mean/") {
		numbers, err := numbersOf(all, "mean/"+key, 2)
		if err != nil {
			return err
		}
		g.means[key], g.counts[key] = numbers[0], numbers[1]
	}
	return nil
}

var _ = RegisterCallback("guard", NewGuard, guardDefaults)
