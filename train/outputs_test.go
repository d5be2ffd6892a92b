package train_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/train"
)

// columnNames are the names of the columns of x, of the outputs that return them, and of the targets.
var columnNames = []string{"a", "b", "c"}

// columnsIn returns samples of three columns, and targets of the same names that are these columns, in an order.
func columnsIn(order []string) []dataset.NamedArray {
	const n = 4
	x := make([]float32, 3*n)
	for i := range x {
		x[i] = float32(i*i%11) + 1
	}
	all := []dataset.NamedArray{{Name: "x", Array: storage.From(x, n, 3)}}
	for _, name := range order {
		y := make([]float32, n)
		for i := range y {
			y[i] = x[3*i+slices.Index(columnNames, name)]
		}
		all = append(all, dataset.NamedArray{Name: name, Array: storage.From(y, n), Role: dataset.Target})
	}
	return all
}

// columnModel returns the configuration of a graph whose outputs, in an order, are the columns of their names.
func columnModel(order []string) string {
	var text strings.Builder
	text.WriteString("data: {file: none, x: x, y: {a: a, b: b, c: c}, normalize: none}\nloss: mse\nmetrics: [mae]\noptimizer: {sgd: {lr: 1e-9}}\nepochs: 1\nmodel:\n  graph:\n    nodes:\n")
	for _, name := range columnNames {
		fmt.Fprintf(&text, "    - {name: %s, layer: {dense: {in_features: 3, out_features: 1, bias: false}}, from: x}\n", name)
	}
	fmt.Fprintf(&text, "    outputs: [%s]\n", strings.Join(order, ", "))
	return text.String()
}

// giveColumns makes the outputs of a model of columnModel the columns of x.
func giveColumns(model nn.Module) {
	for name, p := range nn.Parameters(model) {
		w := storage.Elements[float32](p.Array())
		clear(w)
		w[slices.Index(columnNames, name[:1])] = 1
	}
}

// namedColumns is a model of Go code that gives the columns of x in an order.
type namedColumns struct {
	order []string
	Scale *nn.Parameter
}

func newColumns(order []string) namedColumns {
	return namedColumns{order, nn.NewParameter(storage.From([]float32{1}, 1))}
}

func (m namedColumns) OutputNames() []string                   { return m.order }
func (m namedColumns) Forward(x *tensor.Tensor) *tensor.Tensor { return nn.ForwardOne(m, x) }

func (m namedColumns) ForwardAll(inputs []*tensor.Tensor) (outputs []*tensor.Tensor) {
	for _, name := range m.order {
		outputs = append(outputs, inputs[0].Slice(1, slices.Index(columnNames, name), slices.Index(columnNames, name)+1, 1).Mul(m.Scale.Tensor))
	}
	return outputs
}

// TestOutputsMeetTargetsOfTheirNames in every order of the outputs and of the targets: in new runs, saved and resumed ones,
// those of imported models, and by Fit. The outputs are the targets of their names, so that the loss is 0.
func TestOutputsMeetTargetsOfTheirNames(t *testing.T) {
	ctx := context.Background()
	file := filepath.Join(t.TempDir(), "run.ckpt.h5")
	for _, outputs := range orders(3) {
		for _, targets := range orders(3) {
			outputs, targets := named(outputs), named(targets)
			what := fmt.Sprintf("outputs %v, targets %v", outputs, targets)
			c, err := train.ParseConfig([]byte(columnModel(outputs)))
			if err != nil {
				t.Fatal(err)
			}
			data, err := dataconfig.New(c.Data, c.Seed, columnsIn(targets), columnsIn(targets))
			if err != nil {
				t.Fatal(err)
			}
			run, err := train.New(ctx, c, data, storage.CPU)
			if err != nil {
				t.Fatal(err)
			}
			giveColumns(run.Model)
			isRight(t, what, run, data.Train)
			if err := run.Fit(ctx, data, train.Options{File: file}); err != nil {
				t.Fatal(err)
			}
			for name, values := range run.History {
				if (strings.Contains(name, "loss") || strings.Contains(name, "error")) && values[0] > 1e-6 {
					t.Errorf("%s: %s is %v", what, name, values[0])
				}
			}
			again, err := train.Resume(file, storage.CPU)
			if err != nil {
				t.Fatal(err)
			}
			isRight(t, what+", resumed", again, data.Train)
			isRight(t, what+", without the names in the file", withTargets(t, file, ""), data.Train)
			fitsColumns(t, what, outputs, targets)
		}
	}
}

func named(order []int) (names []string) {
	for _, k := range order {
		names = append(names, columnNames[k])
	}
	return names
}

// isRight wants a loss and metrics of 0, and predictions that are the targets of the name of the output.
func isRight(t *testing.T, what string, run *train.Run, d dataset.Dataset) {
	t.Helper()
	m, err := run.Evaluate(context.Background(), d)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	if len(m.Values) != 3 || m.MeanLoss() > 1e-6 {
		t.Errorf("%s: loss %v, metrics %v", what, m.MeanLoss(), m.Values)
	}
	for name, a := range m.Values {
		if value := storage.Elements[float64](a)[0]; value > 1e-6 {
			t.Errorf("%s: %s is %v", what, name, value)
		}
	}
	p, err := run.Predictor()
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range p.Outputs() {
		if err := p.SelectOutput(i); err != nil {
			t.Fatal(err)
		}
		fields := columnsIn([]string{name})
		out, err := p.Predict(fields[0].Array)
		if err != nil || !close32(must(storage.Read[float32](out)), storage.Elements[float32](fields[1].Array)) {
			t.Errorf("%s: prediction of %s: %v, %v", what, name, out, err)
		}
	}
}

func close32(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return x-y < 1e-4 && y-x < 1e-4 })
}

// withTargets returns the run of a file whose names of targets are others, or none.
func withTargets(t *testing.T, file, names string) *train.Run {
	t.Helper()
	f, err := serialize.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	meta := f.Meta()
	if meta["h5dnn_targets"] = names; names == "" {
		delete(meta, "h5dnn_targets")
	}
	run, err := train.ResumeFile(withMeta{f, meta}, file, storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// fitsColumns trains a model of Go code by Fit.
func fitsColumns(t *testing.T, what string, outputs, targets []string) {
	t.Helper()
	d, err := dataset.FromArrays(columnsIn(targets)...)
	if err != nil {
		t.Fatal(err)
	}
	loader, err := dataset.NewLoader(d, dataset.Options{BatchSize: 2})
	if err != nil {
		t.Fatal(err)
	}
	history, err := train.Fit(context.Background(), newColumns(outputs), nn.MSELoss{}, nn.NewSGD(nn.SGDOptions{LearningRate: 1e-3}), loader, train.FitOptions{})
	if err != nil || history["loss"][0] != 0 {
		t.Errorf("%s, by Fit: %v, %v", what, history, err)
	}
}

// TestNamesOfOutputsAndTargetsThatDiffer are errors that have both lists, before training.
func TestNamesOfOutputsAndTargetsThatDiffer(t *testing.T) {
	ctx := context.Background()
	c, err := train.ParseConfig([]byte(columnModel(columnNames)))
	if err != nil {
		t.Fatal(err)
	}
	right := columnsIn(columnNames)
	other := slices.Clone(right)
	other[2].Name = "z"
	for what, fields := range map[string][]dataset.NamedArray{"another name": other, "one missing": right[:3], "one alone": right[:2]} {
		data, err := dataconfig.New(c.Data, c.Seed, fields, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = train.New(ctx, c, data, storage.CPU)
		if !errors.Is(err, tensor.ErrShape) || !strings.Contains(err.Error(), `outputs ["a" "b" "c"]`) || !strings.Contains(err.Error(), `targets ["a"`) {
			t.Errorf("%s: error %v", what, err)
		}
		loader, err := dataset.NewLoader(data.Train, dataset.Options{BatchSize: 2})
		if err != nil {
			t.Fatal(err)
		}
		_, err = train.Fit(ctx, newColumns(columnNames), nn.MSELoss{}, nn.NewSGD(nn.SGDOptions{}), loader, train.FitOptions{})
		if !errors.Is(err, tensor.ErrShape) || !strings.Contains(err.Error(), `outputs ["a" "b" "c"]`) {
			t.Errorf("%s, by Fit: error %v", what, err)
		}
	}
}

// TestRunsOfOlderVersionsWithOutputsOfOtherNames predict as they did. They are trained further only if no output has the name
// of another's target.
func TestRunsOfOlderVersionsWithOutputsOfOtherNames(t *testing.T) {
	ctx := context.Background()
	c, err := train.ParseConfig([]byte(columnModel([]string{"c", "a", "b"})))
	if err != nil {
		t.Fatal(err)
	}
	data, err := dataconfig.New(c.Data, c.Seed, columnsIn(columnNames), nil)
	if err != nil {
		t.Fatal(err)
	}
	run, err := train.New(ctx, c, data, storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	giveColumns(run.Model)
	file := filepath.Join(t.TempDir(), "run.ckpt.h5")
	if err := train.Save(file, run); err != nil {
		t.Fatal(err)
	}
	crossed := withTargets(t, file, `["a", "b", "c"]`)
	for _, err := range []error{crossed.Fit(ctx, data, train.Options{}), lastOf(crossed.Evaluate(ctx, data.Train)), crossed.CheckOutputs()} {
		if !errors.Is(err, storage.ErrState) || !strings.Contains(err.Error(), `["c" "a" "b"]`) || !strings.Contains(err.Error(), `["a" "b" "c"]`) {
			t.Errorf("error %v", err)
		}
	}
	p, err := crossed.Predictor()
	if err != nil {
		t.Fatal(err)
	}
	fields := columnsIn([]string{"c"})
	if out, err := p.Predict(fields[0].Array); err != nil || !close32(must(storage.Read[float32](out)), storage.Elements[float32](fields[1].Array)) {
		t.Errorf("prediction of the first output: %v, %v", out, err)
	}
}

func lastOf(_ train.Metrics, err error) error { return err }
