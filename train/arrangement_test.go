package train_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// elementLosses are the losses that compare elements, of an output x and a target y.
var elementLosses = map[string]func(x, y float64) float64{
	"mean_squared_error":    func(x, y float64) float64 { return (x - y) * (x - y) },
	"sum_of_squared_errors": func(x, y float64) float64 { return (x - y) * (x - y) },
	"mean_absolute_error":   func(x, y float64) float64 { return math.Abs(x - y) },
	"huber":                 huber,
	"smooth_l1":             huber,
	"bce_with_logits":       entropy,
	"binary_focal": func(x, y float64) float64 {
		p := 1 / (1 + math.Exp(-x))
		return (0.25*y + 0.75*(1-y)) * entropy(x, y) * math.Pow(p+y-2*p*y, 2)
	},
	"poisson_nll": func(x, y float64) float64 { return math.Exp(x) - y*x },
	"quantile":    func(x, y float64) float64 { return math.Abs(x-y) / 2 },
	"hinge":       func(x, y float64) float64 { return max(0, 1-x*positive(y)) },
	"hinge_embedding": func(x, y float64) float64 {
		if y > 0 {
			return x
		}
		return max(0, 1-x)
	},
}

func entropy(x, y float64) float64 { return max(x, 0) - x*y + math.Log1p(math.Exp(-math.Abs(x))) }

// positive returns 1 for positive numbers and -1 for others.
func positive(y float64) float64 {
	if y > 0 {
		return 1
	}
	return -1
}

func huber(x, y float64) float64 {
	if d := math.Abs(x - y); d > 1 {
		return d - 0.5
	}
	return (x - y) * (x - y) / 2
}

// identityModels give their input back: as it is, by convolutions, by a dense layer on its elements.
var identityModels = map[string]string{
	"identity": "[identity]",
	"conv1d":   "[{conv1d: {in_channels: C, out_channels: C, kernel_size: 1, bias: false}}]",
	"conv2d":   "[{conv2d: {in_channels: C, out_channels: C, kernel_size: 1, bias: false}}]",
	"dense":    "[flatten, {dense: {out_features: N, bias: false}}]",
	"flatten":  "[flatten]",
}

// withUnits sets the weights of a model of identityModels to the identity.
func withUnits(t *testing.T, run *train.Run) {
	t.Helper()
	for _, p := range nn.Parameters(run.Model) {
		w := storage.Elements[float32](p.Array())
		clear(w)
		for i := range p.Shape()[0] {
			w[i*len(w)/p.Shape()[0]+i] = 1
		}
	}
}

// TestTargetsAreComparedByElement computes with models that give their input back the loss of targets that
// hold the elements of the input and something more, in every order of the axes, with axes of 1 and without,
// for all losses, normalized or not. Either that is an error, or the loss is that of corresponding elements,
// and predictions have the axes and the units of the targets.
func TestTargetsAreComparedByElement(t *testing.T) {
	accepted, refused := map[string]int{}, map[string]int{}
	for _, loss := range nn.Registrations() {
		if loss.Kind != "loss" || !nn.ComparesElements(must(nn.LossFromConfig(loss.Name))) || loss.Name == "cosine" || loss.Name == "kl_div" { // of vectors, and of probabilities
			continue
		}
		if elementLosses[loss.Name] == nil {
			t.Fatalf("no reference for %s", loss.Name)
		}
		inputs := [][]int{{4}, {3, 2, 4}}
		if loss.Name == "mse" {
			inputs = append(inputs, []int{}, []int{3, 4}, []int{5, 1, 3})
		}
		for model := range identityModels {
			for _, input := range inputs {
				for _, layout := range []string{"nchw", "nhwc"} {
					for _, order := range orders(len(input)) {
						for ones := range 1 << min(2, len(input)+1) {
							for _, scales := range []int{0, 1, 2} {
								c := comparedCase{loss.Name, model, layout, input, order, ones, scales}
								switch err := c.check(t); {
								case err == nil:
									accepted[model+layout]++
								case c.mustWork():
									t.Errorf("%+v: %v", c, err)
								default:
									refused[model+layout]++
								}
							}
						}
					}
				}
			}
		}
	}
	t.Logf("accepted %v, refused %v", accepted, refused)
	if accepted["conv2dnhwc"] == 0 || refused["conv2dnchw"] == 0 || accepted["densenchw"] == 0 {
		t.Errorf("accepted %v, refused %v: want some of each", accepted, refused)
	}
}

// orders lists the orders of n axes.
func orders(n int) [][]int {
	if n == 0 {
		return [][]int{{}}
	}
	var all [][]int
	for _, o := range orders(n - 1) {
		for at := range n {
			all = append(all, slices.Insert(slices.Clone(o), at, n-1))
		}
	}
	return all
}

// A comparedCase is samples of an input and a target with the axes of the input in an order, with an axis of 1
// before them (bit 0 of ones) or after them (bit 1), normalized by a number of scales.
type comparedCase struct {
	loss, model, layout string
	input, order        []int
	ones, scales        int
}

// mustWork reports whether the target has the axes of the input, and the model takes such inputs.
func (c comparedCase) mustWork() bool {
	rank := map[string]int{"conv1d": 2, "conv2d": 3}[c.model]
	return slices.IsSorted(c.order) && c.ones == 0 && c.scales == 0 && c.model != "flatten" && (rank == 0 || rank == len(c.input))
}

// target returns the shape of a target.
func (c comparedCase) target() []int {
	var shape []int
	for _, axis := range c.order {
		shape = append(shape, c.input[axis])
	}
	if c.ones&1 != 0 {
		shape = slices.Insert(shape, 0, 1)
	}
	if c.ones&2 != 0 {
		shape = append(shape, 1)
	}
	return shape
}

// normalized returns the axis of the target that its normalization has numbers for.
func (c comparedCase) normalized() int {
	n := len(c.target())
	if c.model == "conv2d" && c.layout == "nchw" && n == 3 {
		return 0
	}
	return n - 1
}

// values returns 3 samples of the input, and of targets that are the same numbers in the order of their axes,
// normalized by scale and shift of the columns, and a number more.
func (c comparedCase) values(column func(int) int, scale, shift []float64) (x, y []float64) {
	const n = 3
	size := 1
	for _, k := range c.input {
		size *= k
	}
	x = make([]float64, n*size)
	for i := range x {
		x[i] = math.Round(8*math.Sin(float64(7*i*i+3))) / 4
	}
	permuted := storage.From(x, append([]int{n}, c.input...)...)
	axes := []int{0}
	for _, axis := range c.order {
		axes = append(axes, axis+1)
	}
	v, err := permuted.View.Transpose(axes...)
	if err != nil {
		panic(err)
	}
	y, err = storage.Read[float64](permuted.With(v))
	if err != nil {
		panic(err)
	}
	for i := range y {
		y[i] = (y[i]-shift[column(i)])/scale[column(i)] + float64(i%5)/8
	}
	return x, y
}

// check trains nothing: it evaluates and predicts. It returns errors about shapes, and reports others.
func (c comparedCase) check(t *testing.T) error {
	t.Helper()
	shape, channels := c.target(), 1
	elements := 1
	for _, n := range c.input {
		elements *= n
	}
	if len(c.input) > 0 {
		channels = c.input[0]
		if c.layout == "nhwc" && len(c.input) == 3 {
			channels = c.input[2]
		}
	}
	scale, shift := []float64{1}, []float64{0}
	normalize := "none"
	if c.scales > 0 && nn.IsRegression(must(nn.LossFromConfig(c.loss))) {
		scale, shift = []float64{2}, []float64{-1}
		if c.scales > 1 && len(shape) > 0 {
			for i := range shape[c.normalized()] - 1 {
				scale, shift = append(scale, float64(3+i)), append(shift, float64(i))
			}
		}
		normalize = fmt.Sprintf("{x: none, y: {scale: %s, shift: %s}}", list(scale), list(shift))
	}
	column := func(i int) int {
		for _, n := range shape[min(len(shape), c.normalized()+1):] {
			i /= n
		}
		return i % len(scale)
	}
	x, y := c.values(column, scale, shift)
	text := fmt.Sprintf("data: {file: none, x: x, y: y, normalize: %s, layout: '%s'}\nloss: %s\nmodel: %s\n", normalize, c.layout, c.loss,
		strings.NewReplacer("C", fmt.Sprint(channels), "N", fmt.Sprint(elements)).Replace(identityModels[c.model]))
	config, err := train.ParseConfig([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	inputs, targets := storage.From(floats32(x), append([]int{3}, c.input...)...), storage.From(floats32(y), append([]int{3}, shape...)...)
	data, err := train.NewData(config, train.Arrays{X: inputs, Y: targets})
	if err != nil {
		t.Fatal(err)
	}
	run, err := train.New(context.Background(), config, data, storage.CPU)
	if err != nil {
		return err
	}
	withUnits(t, run)
	m, err := run.Evaluate(context.Background(), data.Train)
	if err != nil {
		t.Errorf("%+v: begins, and then: %v", c, err)
		return nil
	}
	want, standardized := 0.0, 0.0
	p, err := run.Predictor()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Predict(inputs)
	if err != nil {
		t.Fatal(err)
	}
	predicted := must(storage.Read[float64](out))
	if len(predicted) != len(y) || !slices.Equal(out.Shape, targets.Shape) {
		t.Errorf("%+v: predictions %v, targets %v", c, out.Shape, targets.Shape)
		return nil
	}
	for i := range y {
		exact := y[i] - float64(i%5)/8 // the element of the input in these units
		if c.model == "dense" {
			exact = predicted[i] // its elements have the order that training gives them
		}
		if math.Abs(predicted[i]-exact) > 1e-5 {
			t.Errorf("%+v: prediction %d is %v, want %v", c, i, predicted[i], exact)
			return nil
		}
		k := column(i)
		want += elementLosses[c.loss](exact, y[i])
		standardized += elementLosses[c.loss](exact*scale[k]+shift[k], y[i]*scale[k]+shift[k])
	}
	if c.loss != "sum_of_squared_errors" {
		want, standardized = want/float64(len(y)), standardized/float64(len(y))
	}
	if got := m.MeanLoss(); math.Abs(got-want) > 1e-5*(1+math.Abs(want)) {
		t.Errorf("%+v: loss %v, want %v", c, got, want)
	}
	if a, ok := m.Values["standardized_loss"]; ok != (normalize != "none") || ok && math.Abs(a2(a)-standardized) > 1e-5*(1+standardized) {
		t.Errorf("%+v: standardized loss %v, %v; want %v", c, a, ok, standardized)
	}
	return nil
}

func a2(a storage.Array) float64 { return storage.Elements[float64](a)[0] }

func list(x []float64) string { return strings.ReplaceAll(fmt.Sprint(x), " ", ", ") }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func floats32(x []float64) []float32 {
	y := make([]float32, len(x))
	for i := range x {
		y[i] = float32(x[i])
	}
	return y
}
