package train_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/train"
)

const tableConfig = "data: {file: f, x: x, y: y}\nmodel: [{dense: 8}, tanh, {dense: 2}]\nloss: mse\nepochs: 3\nbatch: 16"

// tableArrays returns 64 samples of a table whose columns differ in size, one of them
// constant and one with elements that are not finite, and of targets in other units.
func tableArrays() train.Arrays {
	const n = 64
	x, y := make([]float64, 3*n), make([]float64, 2*n)
	for i := range n {
		t := float64(i) / n
		x[3*i], x[3*i+1], x[3*i+2] = 1e6+1e3*math.Sin(9*t), 0.1, 1e-3*math.Cos(5*t)
		y[2*i], y[2*i+1] = 2e5+4e4*math.Sin(9*t), -3+math.Cos(5*t)
	}
	return train.Arrays{X: storage.From(x, n, 3), Y: storage.From(y, n, 2)}
}

// TestTablesAndTargetsAreStandardized compares the numbers with those of two passes over
// the columns, and the loss of an evaluation with that of the predictions.
func TestTablesAndTargetsAreStandardized(t *testing.T) {
	a := tableArrays()
	run, data, err := start(t, tableConfig, a)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		got dataconfig.Normalize
		a   storage.Array
	}{{run.Inputs[0].Normalize, a.X}, {run.Targets[0].Normalize, a.Y}} {
		values, columns := storage.Elements[float64](c.a), c.a.Shape[1]
		if len(c.got.Scale) != columns {
			t.Fatalf("%d numbers for %d columns", len(c.got.Scale), columns)
		}
		for k := range columns {
			mean, squares := 0.0, 0.0
			for i := k; i < len(values); i += columns {
				mean += values[i] / float64(c.a.Shape[0])
			}
			for i := k; i < len(values); i += columns {
				squares += (values[i] - mean) * (values[i] - mean) / float64(c.a.Shape[0])
			}
			std := math.Sqrt(squares)
			if k == 1 && columns == 3 { // constant
				std = 1
			}
			if got := 1 / c.got.Scale[k]; math.Abs(got-std) > 1e-9*std {
				t.Errorf("column %d of %v: standard deviation %v, want %v", k, c.a.Shape, got, std)
			}
			if got := -c.got.Shift[k] / c.got.Scale[k]; math.Abs(got-mean) > 1e-9*(math.Abs(mean)+std) {
				t.Errorf("column %d of %v: mean %v, want %v", k, c.a.Shape, got, mean)
			}
		}
	}
	if err := run.Fit(context.Background(), data, train.Options{}); err != nil {
		t.Fatal(err)
	}
	metrics, err := run.Evaluate(context.Background(), data.Train)
	if err != nil {
		t.Fatal(err)
	}
	p, err := run.Predictor()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Predict(a.X)
	if err != nil {
		t.Fatal(err)
	}
	loss, want := 0.0, tensor.Values[float64](tensor.FromArray(a.Y))
	for i, x := range tensor.Values[float64](tensor.FromArray(out)) {
		loss += (x - want[i]) * (x - want[i]) / float64(len(want))
	}
	if got := metrics.MeanLoss(); math.Abs(got-loss) > 1e-5*loss {
		t.Errorf("loss %v, of the predictions %v", got, loss)
	}
	if shown := run.History["loss"][2]; shown < loss/10 || shown > 1e3*loss {
		t.Errorf("training loss %v is in other units than %v", shown, loss)
	}
}

// TestStandardizingLeavesOutMissingValues: those that are filled with the mean do not count.
func TestStandardizingLeavesOutMissingValues(t *testing.T) {
	x := []float32{1, float32(math.NaN()), 2, 5, 3, float32(math.NaN())}
	config := strings.Replace(tableConfig, "y: y}", "y: y, missing: mean}", 1)
	run, _, err := start(t, config, train.Arrays{X: storage.From(x, 3, 2), Y: storage.From(make([]float32, 6), 3, 2)})
	if err != nil {
		t.Fatal(err)
	}
	std := math.Sqrt(2. / 3)
	if n := run.Inputs[0].Normalize; math.Abs(n.Scale[0]*std-1) > 1e-9 || n.Scale[1] != 1 || n.Shift[1] != -5 {
		t.Errorf("%+v, want means 2 and 5, standard deviations %v and 1", n, std)
	}
	if m := run.Config.Data.Missing; !slices.Equal(m.Fill, []float64{2, 5}) {
		t.Errorf("%+v, want the means 2 and 5", m)
	}
}

// TestNormalizeOverridesStandardizing: none turns it off, numbers for the inputs are for
// them alone, and none for the target is for that alone.
func TestNormalizeOverridesStandardizing(t *testing.T) {
	for setting, want := range map[string]string{
		"none":                          "[1] [1]",
		"1000000/1000":                  "[0.001] 2",
		"{x: {mean: 0, std: 2}}":        "[0.5] 2",
		"{y: none}":                     "3 [1]",
		"{x: none, y: {scale: [2, 4]}}": "[1] [2 4]",
		"auto":                          "3 2",
	} {
		config := strings.Replace(tableConfig, "y: y}", fmt.Sprintf("y: y, normalize: %s}", setting), 1)
		run, _, err := start(t, config, tableArrays())
		if err != nil {
			t.Errorf("%s: %v", setting, err)
			continue
		}
		show := func(n dataconfig.Normalize, estimated int) string {
			if len(n.Scale) == estimated && !slices.Contains(n.Scale, 2) {
				return fmt.Sprint(len(n.Scale))
			}
			return fmt.Sprint(n.Scale)
		}
		if got := show(run.Inputs[0].Normalize, 3) + " " + show(run.Targets[0].Normalize, 2); got != want {
			t.Errorf("%s: %s, want %s", setting, got, want)
		}
	}
}

// TestManyColumnsAreSaved resumes a run with more numbers than an attribute holds.
func TestManyColumnsAreSaved(t *testing.T) {
	const n, columns = 8, 5000
	x := make([]float32, n*columns)
	for i := range x {
		x[i] = float32(i%97) * float32(i%columns+1)
	}
	config := "data: {file: f, x: x, y: y}\nmodel: [{dense: 1}]\nloss: mse\nepochs: 1"
	run, data, err := start(t, config, train.Arrays{X: storage.From(x, n, columns), Y: storage.From([]float32{1, 2, 3, 4, 5, 6, 7, 9}, n)})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "run.npz")
	if err := run.Fit(context.Background(), data, train.Options{File: name}); err != nil {
		t.Fatal(err)
	}
	again, err := train.Resume(name, storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][2]dataconfig.Normalize{{run.Inputs[0].Normalize, again.Inputs[0].Normalize}, {run.Targets[0].Normalize, again.Targets[0].Normalize}} {
		if !slices.Equal(want[0].Scale, want[1].Scale) || !slices.Equal(want[0].Shift, want[1].Shift) {
			t.Errorf("field %d: %d numbers, want %d that are the same", i, len(want[1].Scale), len(want[0].Scale))
		}
	}
}

// TestChannelsLastIsGuessed: where only the last axis can be channels, and the
// configuration does not say.
func TestChannelsLastIsGuessed(t *testing.T) {
	for _, c := range []struct {
		sample []int
		layout string
		want   string
	}{
		{[]int{8, 6, 3}, "", "nhwc"},
		{[]int{8, 6, 1}, "", "nhwc"},
		{[]int{8, 6, 4}, "", "nhwc"},
		{[]int{3, 8, 6}, "", ""},
		{[]int{8, 6, 2}, "", ""},
		{[]int{3, 6, 3}, "", ""},
		{[]int{8, 6, 3}, "nchw", "nchw"},
	} {
		setting := ""
		if c.layout != "" {
			setting = ", layout: " + c.layout
		}
		config := fmt.Sprintf("data: {file: f, x: x, y: y%s}\nmodel: [{conv2d: {out_channels: 2, kernel_size: 1}}, flatten, {dense: 2}]", setting)
		x, err := storage.Make(storage.CPU, tensor.FromSlice([]uint8{0}, 1).DType(), append([]int{2}, c.sample...)...)
		if err != nil {
			t.Fatal(err)
		}
		run, _, err := start(t, config, train.Arrays{X: x, Y: storage.From([]int64{0, 1}, 2)})
		if err != nil {
			t.Errorf("%v: %v", c, err)
			continue
		}
		if got := run.Config.Data.Layout; got != c.want || (len(run.Assumptions) > 0) != (c.want == "nhwc") {
			t.Errorf("%v: layout %q, assumed %q", c, got, run.Assumptions)
		}
	}
}

// TestSingleNumbersAndSignalsAreInputs: samples without axes, and signals for
// convolutions, get an axis of channels.
func TestSingleNumbersAndSignalsAreInputs(t *testing.T) {
	for config, x := range map[string]storage.Array{
		"model: [{dense: 1}]": storage.From([]float32{1, 2, 3, 4}, 4),
		"model: [{conv1d: {out_channels: 2, kernel_size: 3}}, flatten, {dense: 1}]": storage.From([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, 4, 4),
	} {
		run, data, err := start(t, "data: {file: f, x: x, y: y}\nloss: mse\nepochs: 1\n"+config, train.Arrays{X: x, Y: storage.From([]float32{1, 2, 4, 3}, 4)})
		if err != nil {
			t.Errorf("%s: %v", config, err)
			continue
		}
		if len(run.Inputs[0].Scale) != 1 {
			t.Errorf("%s: %d numbers, want 1", config, len(run.Inputs[0].Scale))
		}
		if err := run.Fit(context.Background(), data, train.Options{}); err != nil {
			t.Errorf("%s: %v", config, err)
		}
	}
}

// TestRunsFindTheirData: relative to the run file first, then at the absolute path.
func TestRunsFindTheirData(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name string) {
		err := os.MkdirAll(filepath.Dir(name), 0o777)
		if err == nil {
			err = os.WriteFile(name, []byte("data"), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("project/data/f.h5")
	if err := os.Mkdir("project/runs", 0o777); err != nil {
		t.Fatal(err)
	}
	config := strings.Replace(tableConfig, "file: f,", "file: project/data/f.h5,", 1)
	run, _, err := start(t, config, tableArrays())
	if err != nil {
		t.Fatal(err)
	}
	if err := train.Save("project/runs/run.npz", run); err != nil {
		t.Fatal(err)
	}
	where := func(file string) (string, error) {
		t.Helper()
		c, err := train.ReadConfig(file)
		if err != nil {
			t.Fatal(err)
		}
		return c.Data.File[0], train.CheckData(c, file)
	}
	if got, err := where("project/runs/run.npz"); got != "project/data/f.h5" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	// The run file alone is moved: the absolute path is left.
	text, err := os.ReadFile("project/runs/run.npz")
	if err != nil {
		t.Fatal(err)
	}
	write("elsewhere/run.npz")
	if err := os.WriteFile("elsewhere/run.npz", text, 0o666); err != nil {
		t.Fatal(err)
	}
	if got, err := where("elsewhere/run.npz"); !filepath.IsAbs(got) || err != nil {
		t.Errorf("%s, %v; want the absolute path", got, err)
	}
	// Both are moved: the relative path is right, even if there is a file at the old one.
	write("moved/data/f.h5")
	if err := os.Mkdir("moved/runs", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("moved/runs/run.npz", bytes.Clone(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if got, err := where("moved/runs/run.npz"); got != "moved/data/f.h5" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if err := errors.Join(os.RemoveAll("project/data"), os.RemoveAll("moved/data")); err != nil {
		t.Fatal(err)
	}
	if _, err := where("moved/runs/run.npz"); err == nil || !strings.Contains(err.Error(), "relative to itself") || !strings.Contains(err.Error(), "project/data/f.h5 either") {
		t.Errorf("%v; want both paths", err)
	}
}

// TestStandardizedRegressionsTrainAlike: on the CPU, and on a GPU with captured steps.
func TestStandardizedRegressionsTrainAlike(t *testing.T) {
	c, err := train.ParseConfig([]byte(tableConfig))
	if err != nil {
		t.Fatal(err)
	}
	var losses [][]float64
	for _, d := range []storage.Device{storage.CPU, cudatest.Devices(t, cudatest.Deferred)[0]} {
		data, err := train.NewData(c, tableArrays())
		if err != nil {
			t.Fatal(err)
		}
		run, err := train.New(context.Background(), c, data, d)
		if err == nil {
			err = run.Fit(context.Background(), data, train.Options{})
		}
		if err != nil {
			t.Fatalf("%v: %v", d, err)
		}
		losses = append(losses, run.History["loss"])
	}
	for i, cpu := range losses[0] {
		if gpu := losses[1][i]; math.Abs(cpu-gpu) > 1e-3*cpu {
			t.Errorf("loss of epoch %d is %v on a GPU, %v on the CPU", i+1, gpu, cpu)
		}
	}
}
