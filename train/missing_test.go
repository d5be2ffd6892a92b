package train_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
	"github.com/h5dnn/h5dnn/views"
)

var nan, inf = math.NaN(), math.Inf(1)

// floatsOf returns values as an array of floats of a type.
func floatsOf(t *testing.T, typ dtype.Type, values []float64, shape ...int) storage.Array {
	t.Helper()
	a, err := storage.Make(storage.CPU, typ, shape...)
	if err == nil {
		err = storage.From(values, shape...).CopyTo(a)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// fitOn trains a run of config on d, saves it in the middle, and returns it as it is at the
// end of the resumed run, with the outputs for the samples to train on.
func fitOn(t *testing.T, config string, a train.Arrays, d storage.Device, w mode) (*train.Run, []float64) {
	t.Helper()
	return fitData(t, config, func(c train.Config) (*train.Data, error) { return train.NewData(c, a) }, d, w)
}

// fitData is fitOn for data that open returns.
func fitData(t *testing.T, config string, open func(train.Config) (*train.Data, error), d storage.Device, w mode) (*train.Run, []float64) {
	t.Helper()
	c, err := train.ParseConfig([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	c.Graph, c.Data.Resident = w.graph, w.resident
	data, err := open(c)
	if err != nil {
		t.Fatal(err)
	}
	run, err := train.New(context.Background(), c, data, d)
	if err != nil {
		t.Fatalf("%s: %v", config, err)
	}
	file, enough := filepath.Join(t.TempDir(), "run.ckpt.h5"), errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := train.CallbackFuncs{OnStepEnd: func(p train.Progress) error {
		if p.Epoch == 2 {
			cancel(enough)
		}
		return nil
	}}
	if err := run.Fit(ctx, data, train.Options{File: file, Callbacks: []train.Callback{stop}}); !errors.Is(err, enough) {
		t.Fatal(err)
	}
	if run, err = train.Resume(file, d); err != nil {
		t.Fatal(err)
	}
	if data, err = open(run.Config); err != nil {
		t.Fatal(err)
	}
	if err := run.Fit(context.Background(), data, train.Options{}); err != nil {
		t.Fatal(err)
	}
	p, err := run.Predictor()
	if err != nil {
		t.Fatal(err)
	}
	var out []float64
	for part, err := range p.Stream(context.Background(), data.Train, dataset.Options{}) {
		if err != nil {
			t.Fatal(err)
		}
		values, err := storage.Read[float64](part)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, values...)
	}
	return run, out
}

// TestMissingInputsAreFilled trains on inputs with missing values and on inputs that were
// filled before. Losses and predictions are equal to the bit on each device, with samples on
// the device or not, captured or not (each case in one of these modes), in windows, and after the run was resumed.
func TestMissingInputsAreFilled(t *testing.T) {
	const rows = 24
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	for i, c := range []struct {
		rule, more, layers string
		sample             []int
		inner, columns     int // element i of a sample is of column i/inner%columns
	}{
		{"mean", "", "", []int{3}, 1, 3},
		{"0.25", "", "", []int{3}, 1, 3},
		{"previous", "", "", []int{3}, 1, 3},
		{"{x: mean}", "steps: 3, y_steps: 1, ", "flatten, ", []int{3}, 1, 3},
		{"previous", "steps: 3, y_steps: 1, ", "flatten, ", nil, 1, 1},
		{"mean", "", "", nil, 1, 1},
		{"mean", "", "{conv2d: {out_channels: 2, kernel_size: 1}}, flatten, ", []int{2, 3, 2}, 6, 2},
		{"mean", "layout: nhwc, ", "{conv2d: {out_channels: 2, kernel_size: 1}}, flatten, ", []int{2, 3, 2}, 1, 2},
		{"mean", "", "{conv2d: {out_channels: 2, kernel_size: 1}}, flatten, ", []int{2, 3}, 1, 1},
		{"mean", "", "flatten, ", []int{4, 3}, 1, 3},
	} {
		shape := append([]int{rows}, c.sample...)
		each := views.Of(c.sample...).Len()
		values := make([]float64, rows*each)
		for i := range values {
			if values[i] = math.Sin(float64(3*i)) + float64(i%3); i%7 == 2 || i == 0 {
				values[i] = nan
			}
		}
		y := make([]float32, rows)
		for i := range y {
			y[i] = float32(i%5) / 3
		}
		for j, normalize := range []string{"none", "{mean: 0.5, std: 2}", "auto"} {
			for _, typ := range []dtype.Type{dtype.Float32, dtype.Float64} {
				config := func(normalize, missing string) string {
					return "data: {file: f, x: x, y: y, " + c.more + missing + "normalize: {x: " + normalize + ", y: none}}\nmodel: [" + c.layers + "{dense: 1}]\nloss: mse\noptimizer: adam\nbatch: 10\nepochs: 3"
				}
				x, target := floatsOf(t, typ, values, shape...), storage.From(y, rows, 1)
				run, out := fitOn(t, config(normalize, "missing: "+c.rule+", "), train.Arrays{X: x, Y: target, ValX: x, ValY: target}, storage.CPU, mode{})
				fill := run.Config.Data.Missing.For("x").Fill
				checkMeans(t, c.rule, fill, values, c.inner, c.columns)
				filled := slices.Clone(values)
				for i := range filled {
					if filled[i] == filled[i] {
						continue
					}
					if filled[i] = fill[i/c.inner%len(fill)]; c.rule == "previous" && i >= each {
						filled[i] = filled[i-each]
					}
				}
				text, err := run.Inputs[0].Normalize.MarshalJSON()
				if err != nil {
					t.Fatal(err)
				}
				complete := floatsOf(t, typ, filled, shape...)
				want, wantOut := fitOn(t, config(string(text), ""), train.Arrays{X: complete, Y: target, ValX: complete, ValY: target}, storage.CPU, mode{})
				what := fmt.Sprintf("%s of %v%v, %snormalize %s", c.rule, typ, shape, c.more, normalize)
				if !slices.Equal(out, wantOut) || !slices.Equal(run.History["val_loss"], want.History["val_loss"]) || out[0] != out[0] {
					t.Errorf("%s: outputs %v, losses %v; want %v and %v", what, out[:3], run.History["val_loss"], wantOut[:3], want.History["val_loss"])
				}
				if typ == dtype.Float64 || normalize == "none" {
					continue
				}
				_, wantOut = fitOn(t, config(string(text), ""), train.Arrays{X: complete, Y: target}, gpu, modes[0])
				w := modes[(i+j)%len(modes)]
				if _, out := fitOn(t, config(normalize, "missing: "+c.rule+", "), train.Arrays{X: x, Y: target}, gpu, w); !slices.Equal(out, wantOut) {
					t.Errorf("%s on a GPU, %v: outputs %v, want %v", what, w, out[:3], wantOut[:3])
				}
			}
		}
	}
}

// checkMeans compares the means of a run with the means of the values that are not missing.
func checkMeans(t *testing.T, rule string, fill, values []float64, inner, columns int) {
	t.Helper()
	if rule == "0.25" {
		return
	}
	if len(fill) != columns {
		t.Fatalf("%s: %d means, want %d", rule, len(fill), columns)
	}
	if rule == "previous" { // of filled rows
		return
	}
	for k := range columns {
		sum, n := 0.0, 0.0
		for i, x := range values {
			if i/inner%columns == k && x == x {
				sum, n = sum+x, n+1
			}
		}
		if math.Abs(fill[k]-sum/n) > 0.01 { // rows in the middle are in more windows
			t.Errorf("%s: mean of column %d is %v, want %v", rule, k, fill[k], sum/n)
		}
	}
}

// TestMissingValuesAreRefused: the first one is named before training starts where the samples
// are read, and by the step or the evaluation that meets it elsewhere.
func TestMissingValuesAreRefused(t *testing.T) {
	const n = 20
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	table := func(row, column int, x float64) storage.Array {
		values := make([]float32, 3*n)
		for i := range values {
			values[i] = float32(i % 5)
		}
		if row >= 0 {
			values[3*row+column] = float32(x)
		}
		return storage.From(values, n, 3)
	}
	good := table(-1, 0, 0)
	for _, c := range []struct {
		data string
		a    train.Arrays
		want string
	}{
		{"", train.Arrays{X: table(4, 1, nan), Y: good}, "x row 4, column 1 is NaN; set data.missing: mean, previous or a number to fill it"},
		{"", train.Arrays{X: table(4, 1, -inf), Y: good}, "x row 4, column 1 is infinite; infinities are never filled"},
		{"missing: mean, ", train.Arrays{X: table(4, 1, inf), Y: good}, "x row 4, column 1 is infinite"},
		{"", train.Arrays{X: good, Y: table(5, 2, nan)}, "y row 5, column 2 is NaN; set data.missing: ignore to leave it out of the loss"},
		{"missing: 0, ", train.Arrays{X: good, Y: table(5, 2, nan)}, "y row 5, column 2 is NaN; set data.missing: {x: 0, y: ignore}"},
		{"missing: ignore, ", train.Arrays{X: table(4, 1, nan), Y: good}, "x row 4, column 1 is NaN"},
		{"", train.Arrays{X: good, Y: good, ValX: good, ValY: table(19, 0, nan)}, "y row 19, column 0 is NaN"},
		{"normalize: none, ", train.Arrays{X: table(7, 1, nan), Y: good}, "epoch 1, step 2: the loss is NaN: x row 7, column 1 is NaN; set"},
		{"normalize: none, ", train.Arrays{X: good, Y: table(13, 0, inf)}, "epoch 1, step 4: the loss is … y row 13, column 0 is infinite"},
		{"normalize: none, ", train.Arrays{X: good, Y: good, ValX: table(6, 1, nan), ValY: good}, "evaluate: the loss is NaN: x row 6, column 1 is NaN"},
		{"normalize: none, ", train.Arrays{X: good, Y: good, ValX: good, ValY: table(6, 1, nan)}, "evaluate: the loss is NaN: y row 6, column 1 is NaN"},
		{"steps: 4, y_steps: 1, ", train.Arrays{X: table(9, 0, nan), Y: good}, "x row 9, column 0 is NaN; set"},
	} {
		for _, w := range append([]mode{{}}, modes...) {
			var d storage.Device = storage.CPU
			if w.graph != "" {
				d = gpu
			}
			config, err := train.ParseConfig([]byte("data: {file: f, x: x, y: y, y_ahead: 0, shuffle: none, " + c.data + "}\nmodel: [flatten, {dense: 3}]\nloss: mse\nbatch: 4\nepochs: 1"))
			if err != nil {
				t.Fatal(err)
			}
			config.Graph, config.Data.Resident = w.graph, w.resident
			data, err := train.NewData(config, c.a)
			if err != nil {
				t.Fatal(err)
			}
			run, err := train.New(context.Background(), config, data, d)
			if before := !strings.Contains(c.want, "loss is"); before != (err != nil) {
				t.Errorf("%s%s on %v: %v before training", c.data, c.want, d, err)
			}
			if err == nil {
				err = run.Fit(context.Background(), data, train.Options{})
			}
			begin, end, _ := strings.Cut(c.want, "…")
			if err == nil || !strings.Contains(err.Error(), begin) || !strings.Contains(err.Error(), end) {
				t.Errorf("%s on %v %v: error %v, want %q", c.data, d, w, err, c.want)
			}
			var missing *dataconfig.MissingError
			if !errors.As(err, &missing) {
				t.Errorf("%s: %v is no MissingError", c.data, err)
			}
		}
	}
}

// TestMissingInputsOfPredictionsObeyTheRun: what the run fills is filled, and everything else
// is refused by name.
func TestMissingInputsOfPredictionsObeyTheRun(t *testing.T) {
	x, y := make([]float32, 30), make([]float32, 10)
	for i := range x {
		x[i] = float32(i%7) - 2
	}
	for _, c := range []struct {
		missing string
		x       float64
		want    string
	}{
		{"error", nan, "row 5, column 2 is NaN; the model was trained without"},
		{"mean", nan, ""},
		{"0", nan, ""},
		{"mean", inf, "row 5, column 2 is infinite"},
		{"error", inf, "row 5, column 2 is infinite"},
	} {
		run, _, err := start(t, "data: {file: f, x: x, y: y, missing: "+c.missing+"}\nmodel: [{dense: 1}]\nloss: mse\nepochs: 1", train.Arrays{X: storage.From(x, 10, 3), Y: storage.From(y, 10, 1)})
		if err != nil {
			t.Fatal(err)
		}
		p, err := run.Predictor()
		if err != nil {
			t.Fatal(err)
		}
		rows := slices.Clone(x)
		rows[17] = float32(c.x)
		fits := func(err error) bool {
			return c.want == "" && err == nil || c.want != "" && err != nil && strings.Contains(err.Error(), c.want)
		}
		out, err := p.Predict(storage.From(rows, 10, 3))
		if !fits(err) {
			t.Errorf("%s, %v: error %v, want %q", c.missing, c.x, err, c.want)
		}
		if err == nil {
			if finite, _ := dataset.IsFinite(out); !finite {
				t.Errorf("%s, %v: outputs %v", c.missing, c.x, storage.Elements[float32](out))
			}
		}
		d, err := dataset.FromArrays(dataset.NamedArray{Name: "x", Array: storage.From(rows, 10, 3), From: dataset.Origin{Name: "new.h5: /x"}})
		if err != nil {
			t.Fatal(err)
		}
		err = nil
		for _, failed := range p.Stream(context.Background(), d, dataset.Options{}) {
			err = failed
		}
		if !fits(err) || err != nil && !strings.Contains(err.Error(), "new.h5: /x row 5") {
			t.Errorf("%s, %v: error %v of a stream, want %q", c.missing, c.x, err, c.want)
		}
	}
}

// TestMissingTargetsAreLeftOut trains in one batch on samples some of whose targets are
// missing, and on the others alone: parameters, losses and metrics are the same, for every loss,
// with weights of samples, with standardized targets, and on each device.
func TestMissingTargetsAreLeftOut(t *testing.T) {
	const n = 24
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	missing := func(i int) bool { return i%5 == 1 || i > 20 }
	for k, c := range []struct {
		loss, more, metric string
		labels             bool
	}{
		{"mse", "normalize: {x: none}, ", "mae", false},
		{"mse", "normalize: none, ", "mae", false},
		{"mae", "normalize: {x: none}, ", "mse", false},
		{"huber", "normalize: {x: none}, ", "mae", false},
		{"smooth_l1", "normalize: {x: none}, ", "mae", false},
		{"bce_with_logits", "normalize: {x: none}, ", "mae", false},
		{"{mse: {reduction: sum}}", "normalize: none, ", "mae", false},
		{"cross_entropy", "normalize: none, ", "accuracy", true},
		{"nll", "normalize: none, ", "accuracy", true},
		{"{cross_entropy: {label_smoothing: 0.1}}", "normalize: none, ", "{top_k: 1}", true},
		{"mse", "normalize: none, one_hot: true, ", "mae", true},
	} {
		for _, weighted := range []bool{false, true} {
			arrays := func(all bool) (fields []dataset.NamedArray) {
				var x, y, w []float32
				for i := range n {
					if !all && missing(i) {
						continue
					}
					target := float32(i*7%3) / 2
					if c.labels {
						target *= 2
					}
					if missing(i) {
						target = float32(nan)
					}
					x, y, w = append(x, float32(i%5)-2, float32(i%3)), append(y, target), append(w, 1+float32(i%4))
				}
				target := storage.From(y, len(y))
				if c.labels && !all {
					target = storage.From(make([]int64, len(y)), len(y))
					if err := storage.From(y, len(y)).CopyTo(target); err != nil {
						t.Fatal(err)
					}
				}
				fields = []dataset.NamedArray{{Name: "x", Array: storage.From(x, len(y), 2)}, {Name: "y", Array: target, Role: dataset.Target}}
				if weighted {
					fields = append(fields, dataset.NamedArray{Name: "weights", Array: storage.From(w, len(y)), Role: dataset.Weight})
				}
				return fields
			}
			fitted := func(setting string, fields []dataset.NamedArray, d storage.Device, w mode) (train.History, []float64) {
				width := 1
				if c.labels {
					width = 3
				}
				config, err := train.ParseConfig(fmt.Appendf(nil, "data: {file: f, x: x, y: y, %s%s}\nmodel: [{dense: %d}]\nloss: %s\noptimizer: {sgd: {lr: 0.05}}\nbatch: 100\nepochs: 3\nmetrics: [%s]", c.more, setting, width, c.loss, c.metric))
				if err != nil {
					t.Fatal(err)
				}
				config.Graph, config.Data.Resident = w.graph, w.resident
				data, err := dataconfig.New(config.Data, 1, fields, fields)
				if err != nil {
					t.Fatal(err)
				}
				run, err := train.New(context.Background(), config, data, d)
				if err == nil {
					err = run.Fit(context.Background(), data, train.Options{})
				}
				if err != nil {
					t.Fatalf("%s, %s: %v", c.loss, setting, err)
				}
				p, err := run.Predictor()
				if err != nil {
					t.Fatal(err)
				}
				out, err := p.Predict(arrays(true)[0].Array)
				if err != nil {
					t.Fatal(err)
				}
				values, err := storage.Read[float64](out)
				if err != nil {
					t.Fatal(err)
				}
				return run.History, values
			}
			want, wantOut := fitted("", arrays(false), storage.CPU, mode{})
			for _, w := range []mode{{}, modes[k%len(modes)], modes[(k+1)%len(modes)]} {
				var d storage.Device = storage.CPU
				if w.graph != "" {
					d = gpu
				}
				h, out := fitted("missing: ignore", arrays(true), d, w)
				what := fmt.Sprintf("%s, %sweights %v, on %v %v", c.loss, c.more, weighted, d, w)
				for i, x := range out {
					if !(math.Abs(x-wantOut[i]) < 1e-5*max(1, math.Abs(x))) {
						t.Fatalf("%s: output %d is %v, want %v", what, i, x, wantOut[i])
					}
				}
				for _, name := range want.Names() {
					for epoch, x := range want[name] {
						if name != "seconds" && (len(h[name]) != len(want[name]) || !(math.Abs(h[name][epoch]-x) < 1e-5*max(1, math.Abs(x)))) {
							t.Errorf("%s: %s %v, want %v", what, name, h[name], want[name])
							break
						}
					}
				}
			}
		}
	}
}

// TestMissingElementsOfTargets: of targets of several columns each element counts for itself,
// and of several outputs each by its own elements, in any number of batches.
func TestMissingElementsOfTargets(t *testing.T) {
	const n = 20
	x, a, b := make([]float32, n), make([]float32, 2*n), make([]float32, n)
	for i := range n {
		x[i], a[2*i], a[2*i+1], b[i] = float32(i%7)-3, float32(i%5), float32(i%4), float32(i%3)
		if i%3 == 1 {
			a[2*i] = float32(nan)
		}
		if i > 11 {
			a[2*i+1] = float32(nan)
		}
		if i%6 < 2 {
			b[i] = float32(nan)
		}
	}
	for _, normalize := range []string{"none", "auto"} {
		c, err := train.ParseConfig([]byte("data: {file: f, x: x, y: {a: a, b: b}, missing: ignore, normalize: " + normalize + "}\nmodel:\n  graph:\n    nodes:\n      - {name: hidden, layer: {dense: 3}}\n      - {name: a, layer: {dense: 2}, from: hidden}\n      - {name: b, layer: {dense: 1}, from: hidden}\n    outputs: [a, b]\nloss: mse\nbatch: 6\nepochs: 1\nmetrics: [mse]"))
		if err != nil {
			t.Fatal(err)
		}
		fields := []dataset.NamedArray{
			{Name: "x", Array: storage.From(x, n, 1)}, {Name: "a", Array: storage.From(a, n, 2), Role: dataset.Target}, {Name: "b", Array: storage.From(b, n), Role: dataset.Target},
		}
		data, err := dataconfig.New(c.Data, 1, fields, fields)
		if err != nil {
			t.Fatal(err)
		}
		run, err := train.New(context.Background(), c, data, storage.CPU)
		if err == nil {
			err = run.Fit(context.Background(), data, train.Options{})
		}
		if err != nil {
			t.Fatal(err)
		}
		m, err := run.Evaluate(context.Background(), data.Val)
		if err != nil {
			t.Fatal(err)
		}
		total := 0.0
		for output, y := range [][]float32{a, b} {
			p, err := run.Predictor()
			if err == nil {
				err = p.SelectOutput(output)
			}
			if err != nil {
				t.Fatal(err)
			}
			out, err := p.Predict(storage.From(x, n, 1))
			if err != nil {
				t.Fatal(err)
			}
			sum, count := 0.0, 0.0
			for i, got := range storage.Elements[float32](out) {
				if d := float64(got - y[i]); d == d {
					sum, count = sum+d*d, count+1
				}
			}
			total += sum / count
			name := []string{"a_mean_squared_error", "b_mean_squared_error"}[output]
			if got := storage.Elements[float64](m.Values[name])[0]; math.Abs(got-sum/count) > 1e-5*sum/count {
				t.Errorf("normalize %s: %s %v, want %v", normalize, name, got, sum/count)
			}
		}
		if math.Abs(m.MeanLoss()-total) > 1e-5*total {
			t.Errorf("normalize %s: loss %v, want %v", normalize, m.MeanLoss(), total)
		}
	}
}
