package train_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/train"
)

const augmented = settings + "augment: [{crop: {padding: 1}}, {rotate: {angle: 10}}, {erase: {p: 0.5}}, {cutmix: {p: 0.5}}]\nmetrics: [f1, confusion_matrix]\n"

// TestAugmentedRunsGoOnBitByBit interrupts augmented training between and in epochs.
func TestAugmentedRunsGoOnBitByBit(t *testing.T) {
	whole, data := setUp(t, augmented)
	if err := whole.Fit(context.Background(), data, train.Options{}); err != nil {
		t.Fatal(err)
	}
	want := state(t, whole)
	plain, data := setUp(t, settings)
	if err := plain.Fit(context.Background(), data, train.Options{}); err != nil {
		t.Fatal(err)
	}
	if state(t, plain)["history/loss"] == want["history/loss"] {
		t.Error("the losses are those without augmentation")
	}
	for _, stop := range []int{1, 7, 10, 13, 29} {
		run, data := setUp(t, augmented)
		again := interrupted(t, run, data, stop)
		if err := again.Fit(context.Background(), data, train.Options{}); err != nil {
			t.Fatal(err)
		}
		sameState(t, "resumed", state(t, again), want)
	}
	if accuracy, _ := whole.History.Last("val_accuracy"); accuracy < 0.9 {
		t.Errorf("validation accuracy %v, want at least 0.9", accuracy)
	}
}

// TestAugmentedSamplesAreThoseOfTheCPU compares a run on a GPU, with and without a graph, with one on the CPU.
func TestAugmentedSamplesAreThoseOfTheCPU(t *testing.T) {
	text := strings.Replace(augmented, "  - dropout: 0.2\n", "", 1)
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	want := fitted(t, storage.CPU, mode{}, text, train.Options{})
	for _, graph := range []mode{{"no", "auto"}, {"auto", "yes"}, {"auto", "no"}} {
		if got := fitted(t, gpu, graph, text, train.Options{}); !nearWeights(t, got, want) {
			t.Errorf("%v: other weights than on the CPU", graph)
		}
	}
	run, data := newRun(t, gpu, mode{"yes", "no"}, text)
	if err := run.Fit(context.Background(), data, train.Options{}); err == nil || !strings.Contains(err.Error(), "resident") {
		t.Errorf("resident: yes with augmentation: error %v", err)
	}
}

// TestSamplesToValidateOnAreCropped compares a run whose samples are cropped as they are read with one on cropped arrays.
func TestSamplesToValidateOnAreCropped(t *testing.T) {
	open := func(text string, cut func(storage.Array) storage.Array) (*train.Run, *train.Data) {
		t.Helper()
		c, err := train.ParseConfig([]byte(strings.Replace(settings, "labels}", "labels, normalize: none}", 1) + text))
		if err != nil {
			t.Fatal(err)
		}
		x, y := blobs(150)
		vx, vy := unseen(60)
		data, err := train.NewData(c, train.Arrays{X: cut(x), Y: y, ValX: cut(vx), ValY: vy})
		if err != nil {
			t.Fatal(err)
		}
		run, err := train.New(context.Background(), c, data, storage.CPU)
		if err != nil {
			t.Fatal(err)
		}
		return run, data
	}
	whole := func(x storage.Array) storage.Array { return x }
	want, cropped := open("", func(x storage.Array) storage.Array { return x.With(x.View.Narrow(1, 1, 7).Narrow(2, 1, 7)) })
	if err := want.Fit(context.Background(), cropped, train.Options{}); err != nil {
		t.Fatal(err)
	}
	const crop = "[{crop: {size: 6, center: true}}]\n"
	run, data := open("augment: "+crop+"val_augment: "+crop, whole)
	run = interrupted(t, run, data, 13)
	if err := run.Fit(context.Background(), data, train.Options{}); err != nil {
		t.Fatal(err)
	}
	sameState(t, "cropped", state(t, run), state(t, want))
	report := func(r *train.Run, d *train.Data) string {
		p, err := r.Report(context.Background(), "", d.Val)
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint(p.Matrix)
		for _, s := range p.Worst {
			text += fmt.Sprint(s.Number, s.Loss, s.Target, s.Predicted, s.Picture != nil)
		}
		return text
	}
	if got, want := report(run, data), report(want, cropped); got != want {
		t.Errorf("reported %s\nwant %s", got, want)
	}
	predictions := func(r *train.Run, d dataset.Dataset) (all string) {
		p, err := r.Predictor()
		if err != nil {
			t.Fatal(err)
		}
		for out, err := range p.Stream(context.Background(), d, dataset.Options{}) {
			if err != nil {
				t.Fatal(err)
			}
			all += fmt.Sprint(tensor.Values[float32](tensor.FromArray(out)))
		}
		return all
	}
	if got, want := predictions(run, data.Val), predictions(want, cropped.Val); got != want {
		t.Errorf("predicted %s\nwant %s", got, want)
	}
}

func TestAugmentationsThatDoNotFitAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"augment: [{crop: {size: 6}}]":                       "samples to validate and predict on",
		"val_augment: [flip]":                                "draws random numbers",
		"val_augment: [{crop: {size: 6}}]":                   "center: true",
		"val_augment: [{crop: {size: 9, center: true}}]":     "val_augment",
		"augment: [{flop: {}}]":                              "did you mean flip",
		"augment: [{flip: {axes: depth}}]":                   "width",
		"augment: [{flip: {}}]\naugment_fields: {z: mask}":   "z",
		"augment: [{flip: {}}]\naugment_fields: {x: pixels}": "pixels",
	} {
		c, err := train.ParseConfig([]byte(settings + text))
		if err == nil {
			x, y := blobs(40)
			var data *train.Data
			if data, err = train.NewData(c, train.Arrays{X: x, Y: y}); err != nil {
				t.Fatal(err)
			}
			var run *train.Run
			if run, err = train.New(context.Background(), c, data, storage.CPU); err == nil {
				err = run.Fit(context.Background(), data, train.Options{})
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		} else {
			t.Log(err)
		}
	}
}
