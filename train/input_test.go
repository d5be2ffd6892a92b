package train_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/train"
	"github.com/h5dnn/h5dnn/views"
)

// start returns a run on the given arrays.
func start(t *testing.T, config string, a train.Arrays) (*train.Run, *train.Data, error) {
	t.Helper()
	c, err := train.ParseConfig([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	data, err := train.NewData(c, a)
	if err != nil {
		t.Fatal(err)
	}
	run, err := train.New(context.Background(), c, data, storage.CPU)
	return run, data, err
}

// TestEachChannelIsNormalisedByItsOwn: images by their first axis, once it is
// first, and rows of a table by their columns.
func TestEachChannelIsNormalisedByItsOwn(t *testing.T) {
	const by = "normalize: {mean: [1, 2], std: [2, 4]}"
	for _, test := range []struct {
		name, config string
		x            storage.Array
		want         []float32
	}{
		{"images", "data: {file: f, x: x, y: y, " + by + "}\nmodel: [globalavgpool2d, flatten, {dense: 2}]",
			storage.From([]uint8{1, 3, 2, 10}, 1, 2, 1, 2), []float32{0, 1, 0, 2}},
		{"images, channels last", "data: {file: f, x: x, y: y, layout: nhwc, " + by + "}\nmodel: [globalavgpool2d, flatten, {dense: 2}]",
			storage.From([]uint8{1, 2, 3, 10}, 1, 1, 2, 2), []float32{0, 1, 0, 2}},
		{"table", "data: {file: f, x: x, y: y, " + by + "}\nmodel: [{dense: 2}]",
			storage.From([]float32{3, 10}, 1, 2), []float32{1, 2}},
		{"series", "data: {file: f, x: x, y: y, " + by + "}\nmodel: [flatten, {dense: 2}]",
			storage.From([]float32{1, 10, 3, 2}, 1, 2, 2), []float32{0, 2, 1, 0}},
	} {
		run, _, err := start(t, test.config, train.Arrays{X: test.x, Y: storage.From([]int64{1}, 1)})
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if got := tensor.Values[float32](run.Inputs[0].Apply(tensor.FromArray(test.x))); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
	_, _, err := start(t, "data: {file: f, x: x, y: y, "+by+"}\nmodel: [{dense: 2}]", train.Arrays{X: storage.From([]float32{1, 2, 3}, 1, 3), Y: storage.From([]int64{1}, 1)})
	if !errors.Is(err, views.ErrShape) {
		t.Errorf("two means for three columns: %v", err)
	}
}

func TestNormalizeReadsWhatItWrites(t *testing.T) {
	for text, want := range map[string]string{
		"auto": `"auto"`, "none": `{"scale":1,"shift":0}`,
		"4/2": `{"scale":0.5,"shift":-2}`, "4,1/2,1": `{"scale":[0.5,1],"shift":[-2,-1]}`,
	} {
		n, err := dataconfig.ParseNormalize(text)
		written, _ := json.Marshal(n)
		var back dataconfig.Normalize
		if err == nil {
			err = json.Unmarshal(written, &back)
		}
		again, _ := json.Marshal(back)
		if err != nil || string(written) != want || string(again) != want {
			t.Errorf("%s: written %s, read and written again %s, %v; want %s", text, written, again, err, want)
		}
	}
	for _, text := range []string{"", "mean", "1", "1/0", "1/-2", "1,2/3", "a/b", "1/2]}"} {
		if n, err := dataconfig.ParseNormalize(text); err == nil {
			t.Errorf("%q is %v", text, n)
		}
	}
	for _, text := range []string{`{"scale":[1,0]}`, `{"scale":[]}`, `{"shift":1}`, `{"mean":1,"scale":2}`, `{"std":[1,2],"mean":[1]}`, `[]`} {
		if err := json.Unmarshal([]byte(text), new(dataconfig.Normalize)); err == nil {
			t.Errorf("%s is read", text)
		}
	}
}

// TestOneHotComparesWithRowsOfZerosAndAOne: one layer without bias, input 1 and
// weights w: the loss is the mean over classes of (w − one hot)².
func TestOneHotComparesWithRowsOfZerosAndAOne(t *testing.T) {
	config := "data: {file: f, x: x, y: y, one_hot: true, normalize: none}\nmodel: [{linear: {in_features: 1, out_features: 3, bias: false}}]\nloss: mse\nepochs: 1"
	x, y := storage.From([]float32{1, 1}, 2, 1), storage.From([]uint8{2, 0}, 2)
	run, data, err := start(t, config, train.Arrays{X: x, Y: y})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range nn.Parameters(run.Model) {
		p.Detach().Fill(0.5)
	}
	got, err := run.Evaluate(context.Background(), data.Train)
	if err != nil {
		t.Fatal(err)
	}
	if want := 0.25; got.MeanLoss() != want {
		t.Errorf("loss %v, want %v", got.MeanLoss(), want)
	}
	short := strings.Replace(config, "loss:", "classes: 2\nloss:", 1)
	run, data, err = start(t, strings.Replace(short, "out_features: 3", "out_features: 2", 1), train.Arrays{X: x, Y: y})
	if err == nil {
		err = run.Fit(context.Background(), data, train.Options{})
	}
	if !errors.Is(err, views.ErrShape) || !strings.Contains(err.Error(), "label 2 of sample 0; there are 2 classes") {
		t.Errorf("label 2 of two classes: %v", err)
	}
}
