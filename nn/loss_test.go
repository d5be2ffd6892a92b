package nn_test

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

func lossFrom(t *testing.T, description string) nn.Loss {
	t.Helper()
	l, err := nn.LossFromConfig(json.RawMessage(description))
	if err != nil {
		t.Fatalf("%s: %v", description, err)
	}
	return l
}

// lossAndGrad returns the value of a loss and its gradient.
func lossAndGrad(t *testing.T, l nn.Loss, x, y storage.Array, weights []float64) (value float64, grad []float64) {
	t.Helper()
	err := tensor.Step(func(tape *tensor.Tape) error {
		var w *tensor.Tensor
		if weights != nil {
			w = tape.Input(storage.From(weights, len(weights)))
		}
		in := tape.Input(x).RequireGrad()
		loss := l.Forward(in, tape.Input(y), w).Value()
		value = loss.Item()
		grad = slices.Clone(tensor.Values[float64](tensor.Gradients(loss)[in]))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return value, grad
}

func TestLossesAgreeWithPyTorch(t *testing.T) {
	o, exact := openFile(t, "testdata/losses.npz"), precision{dtype.Float64, 1e-12}
	count := 0
	for key := range o {
		description, ok := strings.CutSuffix(key, "/x")
		if !ok {
			continue
		}
		count++
		t.Run(description, func(t *testing.T) {
			l := lossFrom(t, description)
			described, err := nn.DescribeLoss(l)
			if err != nil {
				t.Fatal(err)
			}
			again, err := nn.LossFromConfig(described)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range []nn.Loss{l, again} {
				value, grad := lossAndGrad(t, l, o[key], o[description+"/y"], nil)
				near(t, exact, "value", []float64{value}, tensor.Values[float64](tensor.FromArray(o[description+"/value"])))
				near(t, exact, "gradient", grad, tensor.Values[float64](tensor.FromArray(o[description+"/dx"])))
			}
		})
	}
	if count != 55 {
		t.Errorf("%d losses in the fixture, want 55", count)
	}
}

// TestWeightsRepeatAndMaskSamples: a sample of weight 2 counts as two and
// one of weight 0 as none.
func TestWeightsRepeatAndMaskSamples(t *testing.T) {
	rows := func(a storage.Array, which ...int) storage.Array {
		list := make([]*tensor.Tensor, len(which))
		for i, r := range which {
			list[i] = tensor.FromArray(a).Slice(0, r, r+1, 1)
		}
		return tensor.Cat(0, list...).Array()
	}
	o := openFile(t, "testdata/losses.npz")
	for key := range o {
		description, ok := strings.CutSuffix(key, "/x")
		if !ok {
			continue
		}
		x, y := o[key], o[description+"/y"]
		weights := []float64{2, 0, 1, 1, 0, 1}[:x.Shape[0]]
		var repeated []int
		for i, w := range weights {
			for range int(w) {
				repeated = append(repeated, i)
			}
		}
		l := lossFrom(t, description)
		got, grad := lossAndGrad(t, l, x, y, weights)
		want, _ := lossAndGrad(t, l, rows(x, repeated...), rows(y, repeated...), nil)
		if math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: %v by weights, %v by repetition", description, got, want)
		}
		width := x.Len() / x.Shape[0]
		if masked := grad[width : 2*width]; slices.ContainsFunc(masked, func(g float64) bool { return g != 0 }) {
			t.Errorf("%s: gradient %v of a masked sample", description, masked)
		}
		if none, grad := lossAndGrad(t, l, x, y, make([]float64, len(weights))); none != 0 || slices.ContainsFunc(grad, func(g float64) bool { return g != 0 }) {
			t.Errorf("%s: %v, gradient %v of nothing but masked samples", description, none, grad)
		}
	}
}

func TestLossMistakesAreErrors(t *testing.T) {
	for _, description := range []string{
		`"crossentropy loss"`, `{"cross_entropy": {"label_smoothing": 1}}`, `{"mse": {"reduction": "none"}}`, `{"huber": 0}`,
		`{"cross_entropy": {"class_weights": [-1]}}`, `{"bce_with_logits": {"pos_weight": -1}}`,
	} {
		if _, err := nn.LossFromConfig(json.RawMessage(description)); !errors.Is(err, nn.ErrConfig) {
			t.Errorf("%s: error %v, want one of kind %v", description, err, nn.ErrConfig)
		}
	}
	x, labels := storage.From([]float64{1, 2, 3, 4}, 2, 2), storage.From([]int64{0, 2}, 2)
	if err := tensor.Try(func() {
		lossFrom(t, `{"cross_entropy": {"class_weights": [1, 1, 1]}}`).Forward(tensor.FromArray(x), tensor.FromArray(labels), nil)
	}); err == nil {
		t.Error("three class weights for two classes were accepted")
	}
	if err := tensor.Try(func() {
		lossFrom(t, `"gaussian_nll"`).Forward(tensor.FromArray(filled(0, 2, 6, 4, 5)), tensor.FromArray(filled(0, 2, 4, 5, 3)), nil)
	}); err == nil {
		t.Error("means (N, 3, 4, 5) were compared with targets (N, 4, 5, 3)")
	}
}

// TestLabelsThatAreNoClassFail, whatever the settings; the label to ignore does not.
func TestLabelsThatAreNoClassFail(t *testing.T) {
	x, labels := tensor.FromArray(filled(-0.5, 3, 2)), tensor.FromSlice([]int64{0, 5, 1}, 3)
	for description, ignored := range map[string]bool{
		`"cross_entropy"`: false, `{"cross_entropy": {"label_smoothing": 0.1}}`: false, `"nll"`: false,
		`{"cross_entropy": {"ignore_index": 5}}`: true, `{"nll": {"ignore_index": 5}}`: true, `{"nll": {"ignore_index": 4}}`: false,
	} {
		err := tensor.Try(func() { lossFrom(t, description).Forward(x, labels, nil) })
		if ignored != (err == nil) || !ignored && (!errors.Is(err, tensor.ErrShape) || !strings.Contains(err.Error(), "row 1 has label 5; want 0 to 1")) {
			t.Errorf("%s: error %v", description, err)
		}
	}
}

// TestProbabilitiesAreLogitsAfterSoftmax compares losses of probabilities with those of the
// logits that they are of, and their gradients at 0.
func TestProbabilitiesAreLogitsAfterSoftmax(t *testing.T) {
	p := storage.From([]float32{0.5, 0.25, 0.25, 0.125, 0.125, 0.75}, 2, 3)
	labels := storage.From([]int64{1, 2}, 2)
	want := -(math.Log(0.25) + math.Log(0.75)) / 2
	for _, description := range []string{`{"cross_entropy": {"probabilities": true}}`, `{"nll": {"probabilities": true}}`} {
		if got, _ := lossAndGrad(t, lossFrom(t, description), p, labels, nil); !(math.Abs(got-want) < 1e-6) {
			t.Errorf("%s is %v; want %v", description, got, want)
		}
	}
	x, y := storage.From([]float32{0.25, 0.5}, 2, 1), storage.From([]float32{1, 0}, 2, 1)
	want = -(math.Log(0.25) + math.Log(0.5)) / 2
	got, grad := lossAndGrad(t, lossFrom(t, `{"bce_with_logits": {"probabilities": true}}`), x, y, nil)
	if !(math.Abs(got-want) < 1e-6) || !(math.Abs(grad[0]+2) < 1e-5) || !(math.Abs(grad[1]-1) < 1e-5) {
		t.Errorf("bce_with_logits is %v with gradient %v; want %v and [-2 1]", got, grad, want)
	}
	if got, _ := lossAndGrad(t, lossFrom(t, `{"cross_entropy": {"probabilities": true}}`), storage.From([]float32{0, 1}, 1, 2), storage.From([]int64{0}, 1), nil); !(math.Abs(got+math.Log(1e-7)) < 1e-4) {
		t.Errorf("a probability of 0 costs %v; want %v", got, -math.Log(1e-7))
	}
}

// TestPartsOfABatchAddUp computes every loss with its gradient whole and in three parts, with weights of
// samples and without: the fractions of the parts add up to the batch.
func TestPartsOfABatchAddUp(t *testing.T) {
	o := openFile(t, "testdata/losses.npz")
	for key := range o {
		description, ok := strings.CutSuffix(key, "/x")
		if !ok {
			continue
		}
		l, n := lossFrom(t, description), o[key].Shape[0]
		for _, weights := range [][]float64{nil, []float64{2, 0.5, 0, 3, 1, 0.25}[:n]} {
			whole := lossPart(t, l, o[key], o[description+"/y"], weights, 0, n)
			var sum fraction
			for _, at := range [][2]int{{0, 2}, {2, 3}, {3, n}} {
				part := lossPart(t, l, o[key], o[description+"/y"], weights, at[0], at[1])
				sum.numerator, sum.denominator = sum.numerator+part.numerator, sum.denominator+part.denominator
				sum.grad = append(sum.grad, part.grad...)
			}
			if whole.denominator == 0 { // a sum
				whole.denominator, sum.denominator = 1, 1
			}
			for i := range sum.grad {
				sum.grad[i], whole.grad[i] = sum.grad[i]/sum.denominator, whole.grad[i]/whole.denominator
			}
			near(t, precision{dtype.Float64, 1e-13}, description, append(sum.grad, sum.numerator/sum.denominator), append(whole.grad, whole.numerator/whole.denominator))
		}
	}
}

// A fraction is an nn.Fraction with the gradient of its numerator.
type fraction struct {
	numerator, denominator float64 // 0 for a sum
	grad                   []float64
}

// lossPart returns the loss of the samples from first to end.
func lossPart(t *testing.T, l nn.Loss, x, y storage.Array, weights []float64, first, end int) (part fraction) {
	t.Helper()
	err := tensor.Step(func(tape *tensor.Tape) error {
		rows := func(a storage.Array) *tensor.Tensor {
			return tape.Input(tensor.FromArray(a).Slice(0, first, end, 1).Contiguous().Array())
		}
		var w *tensor.Tensor
		if weights != nil {
			w = rows(storage.From(weights, len(weights)))
		}
		in := rows(x).RequireGrad()
		f := l.Forward(in, rows(y), w)
		part.numerator = f.Numerator().Item()
		factor := 1.0
		if d := f.Denominator(); d != nil {
			part.denominator = d.Item()
			factor = part.denominator
			if value := f.Value().Item(); factor != 0 && math.Abs(value*factor-part.numerator) > 1e-12*(1+math.Abs(part.numerator)) {
				t.Errorf("%T: value %v, numerator %v, denominator %v", l, value, part.numerator, factor)
			}
		}
		for _, g := range tensor.Values[float64](tensor.Gradients(f.Value())[in]) {
			part.grad = append(part.grad, factor*g)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return part
}
