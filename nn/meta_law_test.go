package nn_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// optionsOf lists the settings, by their names in configurations, that losses and metrics are
// tried with. TestMetaIsTheCPU fails for settings that it lacks.
var optionsOf = map[string][]any{
	"label_smoothing": {0.1}, "class_weights": {[]float64{1, 2, 3}}, "ignore_index": {1}, "probabilities": {true},
	"reduction": {"mean", "sum"}, "pos_weight": {3}, "delta": {0.5}, "beta": {0.5}, "k": {2}, "gamma": {1.5}, "alpha": {0.4}, "smooth": {0.5}, "masks": {true}, "margin": {0.5}, "p": {2}, "swap": {true},
	"log_target": {true}, "logits": {true}, "log_input": {true, false}, "full": {true}, "eps": {1e-4}, "log_variance": {true, false}, "squared": {true}, "q": {0.9},
	"blank": {2}, "padding": {-5}, "average": {"macro", "micro", "weighted", "none"}, "threshold": {0.5}, "bins": {20},
}

// An evaluation computes results from outputs, targets and weights on d.
type evaluation func(outputs, targets, weights *tensor.Tensor) ([]*tensor.Tensor, error)

// TestMetaIsTheCPU computes every registered loss with its gradient, and every metric's state,
// with each of their settings, on meta tensors: results have the types and shapes that the
// CPU's have, and are meta.
func TestMetaIsTheCPU(t *testing.T) {
	for _, name := range nn.LossNames() {
		for _, description := range described(t, name, nn.LossSettings(name)) {
			l := lossFrom(t, description)
			everyTarget(t, "loss "+description, func(y, target, w *tensor.Tensor) ([]*tensor.Tensor, error) {
				y = tensor.FromArray(y.Array()).RequireGrad()
				loss := l.Forward(y, target, w).Value()
				return []*tensor.Tensor{loss.Detach(), tensor.Gradients(loss)[y]}, nil
			})
		}
	}
	for _, name := range nn.MetricNames() {
		for _, description := range described(t, name, nn.MetricSettings(name)) {
			everyTarget(t, "metric "+description, func(y, target, w *tensor.Tensor) (sums []*tensor.Tensor, err error) {
				m := metricFrom(t, description)
				for range 2 { // the first makes the state
					m.Update(y, target, w)
				}
				for _, sum := range m.State() {
					sums = append(sums, tensor.FromArray(sum))
				}
				m.Reset()
				if _, err := m.Result(); err != nil && !y.IsMeta() {
					return nil, err
				}
				return sums, nil
			})
		}
	}
}

// described returns the configurations of a loss or metric: without settings, and with each one.
func described(t *testing.T, name string, settings any) []string {
	all := []string{fmt.Sprintf("%q", name)}
	for _, field := range reflect.VisibleFields(reflect.TypeOf(settings)) {
		key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		values, ok := optionsOf[key]
		if !ok {
			t.Errorf("%s: no value of the setting %q to try", name, key)
		}
		for _, value := range values {
			text, err := json.Marshal(map[string]any{name: map[string]any{key: value}})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(text))
		}
	}
	return all
}

// targetKinds are shapes of outputs with targets: labels, values, values of half of the columns, sequences of labels, pairs and triplets.
var targetKinds = []struct {
	outputs []int
	target  *tensor.Tensor
}{
	{[]int{4, 3}, tensor.FromSlice([]int64{2, 0, 1, 2}, 4)}, {[]int{4, 3}, tensor.Full(dtype.Float32, 0.5, 4, 3)}, {[]int{4, 6}, tensor.Full(dtype.Float32, 0.5, 4, 3)},
	{[]int{4, 3, 5}, tensor.FromSlice([]int64{1, 1, 1, 1, 1, 1, 1, 1}, 4, 2)}, {[]int{4, 2, 3}, tensor.Full(dtype.Float32, 1, 4)}, {[]int{4, 3, 2}, tensor.Full(dtype.Float32, 1, 4)},
}

// everyTarget compares evaluate on meta with the CPU, for all kinds of targets, of two types of outputs, with weights and
// without. One kind at least must be accepted.
func everyTarget(t *testing.T, about string, evaluate evaluation) {
	accepted := 0
	for _, kind := range targetKinds {
		target := kind.target
		for _, typ := range []dtype.Type{dtype.Float32, dtype.Float16} {
			for _, w := range []*tensor.Tensor{nil, tensor.FromSlice([]float32{1, 0, 2, 1}, 4)} {
				outputs := tensor.Full(typ, 0.25, kind.outputs...)
				want, err := results(evaluate, outputs, target, w)
				if err != nil {
					continue // as for targets of the other kind
				}
				accepted++
				got, err := results(evaluate, onMeta(outputs), onMeta(target), onMeta(w))
				if err != nil {
					t.Errorf("%s of %v and %v, weights %v: on meta: %v", about, outputs.Array(), target.Array(), w != nil, err)
					continue
				}
				alike(t, about, got, want)
			}
		}
	}
	if accepted == 0 {
		t.Errorf("%s takes no targets", about)
	}
}

func results(evaluate evaluation, y, target, w *tensor.Tensor) (all []*tensor.Tensor, err error) {
	if failed := tensor.Try(func() { all, err = evaluate(y, target, w) }); failed != nil {
		return nil, failed
	}
	return all, err
}

// onMeta returns a meta tensor of the type and shape of x, or nil.
func onMeta(x *tensor.Tensor) *tensor.Tensor {
	if x == nil {
		return nil
	}
	return tensor.NewMeta(x.Array().Type, x.Array().Shape...)
}

func alike(t *testing.T, about string, got, want []*tensor.Tensor) {
	t.Helper()
	if len(got) != len(want) || len(got) == 0 {
		t.Errorf("%s: %d results on meta, %d on the CPU", about, len(got), len(want))
		return
	}
	for i, g := range got {
		w := want[i]
		if g.Array().Type != w.Array().Type || !slices.Equal(g.Array().Shape, w.Array().Shape) {
			t.Errorf("%s: result %d is %v on meta, %v on the CPU", about, i, g.Array(), w.Array())
		}
		if !g.IsMeta() || w.Device() != storage.CPU {
			t.Errorf("%s: result %d is on %v and %v", about, i, g.Device(), w.Device())
		}
	}
}
