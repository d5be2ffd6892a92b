package train_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/train"
)

// TestLabelsAreCheckedBeforeTraining wants labels of any shape and type to be trained on or to be an error of New that says
// what to do.
func TestLabelsAreCheckedBeforeTraining(t *testing.T) {
	const n = 12
	ints := func(f func(i int) int64, shape ...int) storage.Array {
		y := make([]int64, n*max(1, len(shape)*3))
		size := n
		for _, k := range shape {
			size *= k
		}
		for i := range y[:size] {
			y[i] = f(i)
		}
		return storage.From(y[:size], append([]int{n}, shape...)...)
	}
	two := func(i int) int64 { return int64(i % 2) }
	fromOne := func(i int) int64 { return int64(i%3) + 1 }
	flags := tensor.FromArray(ints(two)).Cast(dtype.Bool).CPU().Array()
	for _, c := range []struct {
		name, config string
		y            storage.Array
		want         string // in the error; "" for none
		assumed      string
	}{
		{"labels", "model: mlp", ints(two), "", ""},
		{"an axis of 1", "model: mlp", ints(two, 1), "", ""},
		{"bools", "model: mlp", flags, "", ""},
		{"from 1", "model: mlp", ints(fromOne), "", `count from 1 to 3, and the output 0 is of no class; class_names: ["1", …, "3"] makes them the classes 0 to 2`},
		{"from 1, 3 outputs", "model: [flatten, {dense: 3}]", ints(fromOne), `count from 1 to 3, and the model has 3 outputs, for the labels 0 to 2; class_names: ["1", …, "3"] makes them the classes 0 to 2`, ""},
		{"more than outputs", "model: [flatten, {dense: 1}]", ints(two), "are 0 to 1, and the model has 1 outputs", ""},
		{"for each step", "model: mlp", ints(two, 3), "labels for each place need an output (classes, 3)", ""},
		{"numbers", "model: mlp", storage.From(make([]float32, n), n), "cross_entropy takes labels, integers that count classes from 0", ""},
		{"images of classes", "model: [{conv2d: {out_channels: 2, kernel_size: 1}}]", ints(two), "the output of the model is [2 8 8]", ""},
	} {
		config, err := train.ParseConfig([]byte("data: {file: none, x: x, y: y}\nepochs: 1\n" + c.config))
		if err != nil {
			t.Fatal(err)
		}
		x, _ := blobs(n)
		data, err := train.NewData(config, train.Arrays{X: x, Y: c.y})
		if err != nil {
			t.Fatal(err)
		}
		run, err := train.New(context.Background(), config, data, storage.CPU)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, tensor.ErrShape) && !errors.Is(err, dtype.ErrType) {
				t.Errorf("%s: error %v, want %q", c.name, err, c.want)
			}
			continue
		}
		if err == nil {
			err = run.Fit(context.Background(), data, train.Options{})
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if c.assumed != "" && !slices.ContainsFunc(run.Assumptions, func(a train.Assumption) bool { return strings.Contains(a.Text, c.assumed) }) {
			t.Errorf("%s: assumed %v, want %q", c.name, fmt.Sprint(run.Assumptions), c.assumed)
		}
	}
}

// TestOneHotLabelsOfEveryTargetAreChecked: a label beyond the classes has no encoding, in any target.
func TestOneHotLabelsOfEveryTargetAreChecked(t *testing.T) {
	c, err := train.ParseConfig([]byte("data: {file: f, x: x, y: {a: a, b: b}, one_hot: true}\nmodel:\n  graph:\n    nodes:\n      - {name: a, layer: {dense: 3}}\n      - {name: b, layer: {dense: 3}, from: x}\n    outputs: [a, b]\nloss: mse\nbatch: 2\nepochs: 1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []string{"", "a", "b"} {
		labels := map[string][]int64{"a": {0, 1, 2, 0}, "b": {2, 1, 0, 1}}
		if c.Classes = 3; wrong != "" {
			labels[wrong][3] = 3
		}
		data, err := dataconfig.New(c.Data, 1, []dataset.NamedArray{
			{Name: "x", Array: storage.From([]float32{1, 2, 3, 4}, 4, 1)},
			{Name: "a", Array: storage.From(labels["a"], 4), Role: dataset.Target}, {Name: "b", Array: storage.From(labels["b"], 4), Role: dataset.Target},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		run, err := train.New(t.Context(), c, data, storage.CPU)
		if err == nil {
			err = run.Fit(t.Context(), data, train.Options{})
		}
		if wrong == "" && err != nil || wrong != "" && (err == nil || !strings.Contains(err.Error(), "label 3 of sample 3")) {
			t.Errorf("label 3 of %q: error %v", wrong, err)
		}
	}
}
