package train_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/npy"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/train"
	"github.com/h5dnn/h5dnn/views"
)

// blobs returns n images of bytes whose classes differ in which quarter is bright.
func blobs(n int) (x, y storage.Array) { return blobsFrom(1, n) }

// unseen returns n other images of the kind, to validate on.
func unseen(n int) (x, y storage.Array) { return blobsFrom(2, n) }

func blobsFrom(noise uint32, n int) (x, y storage.Array) {
	const size, classes = 8, 4
	pixels, labels := make([]uint8, n*size*size), make([]int64, n)
	for i := range labels {
		noise = noise*1664525 + 1013904223
		labels[i] = int64(noise >> 16 % classes)
		for p := range size * size {
			noise = noise*1664525 + 1013904223
			quarter := p/size/4*2 + p%size/4
			pixels[i*size*size+p] = uint8(noise >> 26)
			if int64(quarter) == labels[i] {
				pixels[i*size*size+p] += 60
			}
		}
	}
	return storage.From(pixels, n, size, size), storage.From(labels, n)
}

const settings = `
data: {file: blobs, x: images, y: labels}
model:
  - conv2d: {out_channels: 4, kernel_size: 3, padding: 1}
  - relu
  - maxpool2d: 2
  - batchnorm2d: {num_features: 4}
  - flatten
  - dropout: 0.2
  - dense: 4
optimizer: {adam: {lr: 5e-3}}
epochs: 3
batch: 16
seed: 7
`

func setUp(t testing.TB, text string) (*train.Run, *train.Data) {
	t.Helper()
	c, err := train.ParseConfig([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	x, y := blobs(150)
	vx, vy := unseen(60)
	data, err := train.NewData(c, train.Arrays{X: x, Y: y, ValX: vx, ValY: vy})
	if err != nil {
		t.Fatal(err)
	}
	run, err := train.New(context.Background(), c, data, storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	return run, data
}

func TestTrainingLearns(t *testing.T) {
	run, data := setUp(t, settings)
	if err := run.Fit(context.Background(), data, train.Options{}); err != nil {
		t.Fatal(err)
	}
	loss := run.History["loss"]
	if len(loss) != 3 || loss[2] >= loss[0] {
		t.Errorf("losses %v, want three that fall", loss)
	}
	if accuracy, _ := run.History.Last("val_accuracy"); accuracy < 0.95 {
		t.Errorf("validation accuracy %v, want at least 0.95", accuracy)
	}
}

// state is all of a run that a file keeps, as text.
func state(t *testing.T, r *train.Run) map[string]string {
	t.Helper()
	all := map[string]string{"position": fmt.Sprintf("%+v", timeless(r.Position))}
	for name, a := range nn.StateDict(r.Model) {
		all["model/"+name] = fmt.Sprint(tensor.Values[float32](tensor.FromArray(a)))
	}
	for name, a := range r.Optimizer.State() {
		all["optimizer/"+name] = fmt.Sprint(tensor.Values[float64](tensor.FromArray(a)))
	}
	for _, name := range r.History.Names() {
		if name != "seconds" {
			all["history/"+name] = fmt.Sprint(r.History[name])
		}
	}
	return all
}

func timeless(c train.Position) train.Position {
	c.Running.Seconds = 0
	return c
}

// TestInterruptedRunsReturnErrorsOfSaving: an interrupted run is not reported as saved.
func TestInterruptedRunsReturnErrorsOfSaving(t *testing.T) {
	run, data := setUp(t, settings)
	ctx, cancel := context.WithCancel(context.Background())
	folder := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	err := run.Fit(ctx, data, train.Options{File: filepath.Join(folder, "run.npz"), Callbacks: []train.Callback{train.CallbackFuncs{OnStepEnd: func(train.Progress) error {
		cancel()
		return os.RemoveAll(folder)
	}}}})
	if !errors.Is(err, fs.ErrNotExist) || errors.Is(err, context.Canceled) {
		t.Errorf("error %v; want only that there is no such folder", err)
	}
}

// interrupted trains run until that many steps are done, and returns it as it is resumed
// from its file, on the same device.
func interrupted(t *testing.T, run *train.Run, data *train.Data, steps int) *train.Run {
	t.Helper()
	file := filepath.Join(t.TempDir(), "run.npz")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	err := run.Fit(ctx, data, train.Options{File: file, Callbacks: []train.Callback{train.CallbackFuncs{OnStepEnd: func(train.Progress) error {
		if int(run.Position.Step) == steps {
			cancel()
		}
		return nil
	}}}})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("stopped after step %d: error %v, want that it was cancelled", steps, err)
	}
	again, err := train.Resume(file, run.Device)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// TestResumedRunsGoOnBitByBit interrupts training after every step there is,
// saves, resumes, and expects the result of an uninterrupted run.
func TestResumedRunsGoOnBitByBit(t *testing.T) {
	whole, data := setUp(t, settings)
	if err := whole.Fit(context.Background(), data, train.Options{}); err != nil {
		t.Fatal(err)
	}
	want := state(t, whole)
	steps := int(whole.Position.Step)
	if steps != 30 { // 150 samples in batches of 16, three times
		t.Fatalf("%d steps, want 30", steps)
	}
	for stop := 1; stop <= steps; stop++ {
		run, data := setUp(t, settings)
		again := interrupted(t, run, data, stop)
		if err := again.Fit(context.Background(), data, train.Options{}); err != nil {
			t.Fatal(err)
		}
		sameState(t, fmt.Sprintf("stopped after step %d", stop), state(t, again), want)
	}
}

func TestRunFileContents(t *testing.T) {
	run, data := setUp(t, settings)
	run.Config.Epochs = 1
	file := filepath.Join(t.TempDir(), "run.npz")
	if err := run.Fit(context.Background(), data, train.Options{File: file}); err != nil {
		t.Fatal(err)
	}
	f, err := serialize.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var names []string
	for e, err := range f.All() {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, e.Name)
	}
	for _, want := range []string{"model/0.weight", "model/3.running_var", "model/6.bias", "optimizer/step", "optimizer/first_moment/0.weight", "history/val_accuracy"} {
		if !slices.Contains(names, want) {
			t.Errorf("no %s among %q", want, names)
		}
	}
	if meta := f.Meta(); !strings.Contains(meta["h5dnn_config"], `"in_features":64`) || meta["h5dnn_version"] != train.Version {
		t.Errorf("meta %v, want the built layers and the version", meta)
	}
}

func TestChangedDataIsNoticed(t *testing.T) {
	run, data := setUp(t, settings)
	run.Config.Epochs = 1
	if err := run.Fit(context.Background(), data, train.Options{}); err != nil {
		t.Fatal(err)
	}
	run.Config.Epochs = 2
	x, y := blobs(140)
	other, err := train.NewData(run.Config, train.Arrays{X: x, Y: y})
	if err != nil {
		t.Fatal(err)
	}
	err = run.Fit(context.Background(), other, train.Options{})
	if !errors.Is(err, storage.ErrState) || !strings.Contains(err.Error(), "140 samples") {
		t.Errorf("error %v, want one that says how many samples there are", err)
	}
}

// TestOtherSamplesAreNoticed where a run is resumed with as many of them.
func TestOtherSamplesAreNoticed(t *testing.T) {
	run, data := setUp(t, settings)
	file := filepath.Join(t.TempDir(), "run.npz")
	run.Config.Epochs = 1
	if err := run.Fit(context.Background(), data, train.Options{File: file}); err != nil {
		t.Fatal(err)
	}
	for _, changed := range []bool{false, true} {
		again, err := train.Resume(file, storage.CPU)
		if err != nil {
			t.Fatal(err)
		}
		again.Config.Epochs = 2
		x, y := blobs(150)
		if changed {
			for i, v := range storage.Elements[uint8](x) {
				storage.Elements[uint8](x)[i] = v / 2
			}
		}
		other, err := train.NewData(again.Config, train.Arrays{X: x, Y: y})
		if err != nil {
			t.Fatal(err)
		}
		err = again.Fit(context.Background(), other, train.Options{})
		if errors.Is(err, storage.ErrState) != changed || !changed && err != nil {
			t.Errorf("samples changed %v: error %v", changed, err)
		}
	}
}

func TestNaNStopsTraining(t *testing.T) {
	c, err := train.ParseConfig([]byte("data: {file: f, x: x, y: y, shuffle: none, normalize: none}\nmodel: [{dense: 2}]\nbatch: 2\nepochs: 1"))
	if err != nil {
		t.Fatal(err)
	}
	x := storage.From([]float32{1, 1, 1, 1, 1, float32(math.NaN()), 1, 1}, 8, 1)
	data, err := train.NewData(c, train.Arrays{X: x, Y: storage.From(make([]int64, 8), 8)})
	if err != nil {
		t.Fatal(err)
	}
	c.Classes = 2
	run, err := train.New(context.Background(), c, data, storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	err = run.Fit(context.Background(), data, train.Options{})
	if want := "epoch 1, step 3: the loss is NaN: x row 5, column 0 is NaN; set data.missing: mean"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	if w, _ := maps.Collect(nn.Parameters(run.Model))["0.weight"]; run.Position.Step != 2 || math.IsNaN(float64(tensor.Values[float32](w.Tensor)[0])) {
		t.Errorf("after %d steps; want 2, and weights as they left them", run.Position.Step)
	}
}

// TestLoadingToValidateHasAQuarterOfTheMemory: batches that fit but for that do not.
func TestLoadingToValidateHasAQuarterOfTheMemory(t *testing.T) {
	const sample, allowed = 64 + 8, 1 << 20
	inHand := min(runtime.GOMAXPROCS(0), 16) + 2
	most := allowed / sample / inHand
	c, err := train.ParseConfig(fmt.Appendf(nil, "data: {file: blobs, x: images, y: labels, memory_mb: 1}\nmodel: [flatten, {dense: 4}]\nbatch: %d", most*9/10))
	if err != nil {
		t.Fatal(err)
	}
	x, y := blobs(most)
	vx, vy := unseen(10)
	enough := errors.New("enough seen")
	for _, validated := range []bool{false, true} {
		arrays := train.Arrays{X: x, Y: y}
		if validated {
			arrays.ValX, arrays.ValY = vx, vy
		}
		data, err := train.NewData(c, arrays)
		if err != nil {
			t.Fatal(err)
		}
		run, err := train.New(context.Background(), c, data, storage.CPU)
		if err != nil {
			t.Fatal(err)
		}
		err = run.Fit(context.Background(), data, train.Options{Callbacks: []train.Callback{train.CallbackFuncs{OnStepEnd: func(train.Progress) error { return enough }}}})
		if fits := errors.Is(err, enough); fits == validated {
			t.Errorf("validated %v: %v", validated, err)
		}
	}
}

// TestEvaluationChangesNothing, neither the run nor what a predictor says that is there already.
func TestEvaluationChangesNothing(t *testing.T) {
	run, data := setUp(t, settings)
	p, err := run.Predictor()
	if err != nil {
		t.Fatal(err)
	}
	x, _ := blobs(20)
	predict := func() string {
		predictions, err := p.Predict(x)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(tensor.Values[float32](tensor.FromArray(predictions)))
	}
	before, want := state(t, run), predict()
	if _, err := run.Evaluate(context.Background(), data.Val); err != nil {
		t.Fatal(err)
	}
	if got := predict(); got != want {
		t.Errorf("it predicts %.60s, and before %.60s", got, want)
	}
	sameState(t, "evaluated", state(t, run), before)
}

func TestPredictionsDoNotDependOnBlocks(t *testing.T) {
	run, data := setUp(t, settings)
	p, err := run.Predictor()
	if err != nil {
		t.Fatal(err)
	}
	x, _ := blobs(150)
	p.BatchSize = 150
	whole, err := p.Predict(x)
	if err != nil {
		t.Fatal(err)
	}
	want := tensor.Values[float32](tensor.FromArray(whole))
	for _, rows := range []int{1, 7, 64} {
		p.BatchSize = rows
		got, err := p.Predict(x)
		if err != nil {
			t.Fatal(err)
		}
		if d := distance(tensor.Values[float32](tensor.FromArray(got)), want); d > 1e-5 {
			t.Errorf("%d samples at a time: off by %v", rows, d)
		}
	}
	var streamed []float32
	for out, err := range p.Stream(context.Background(), data.Train, dataset.Options{}) {
		if err != nil {
			t.Fatal(err)
		}
		streamed = append(streamed, tensor.Values[float32](tensor.FromArray(out))...)
	}
	if d := distance(streamed, want); d > 1e-5 || len(streamed) != len(want) {
		t.Errorf("streamed %d numbers, off by %v; want %d", len(streamed), d, len(want))
	}
	if _, err := p.Predict(storage.From(make([]uint8, 8), 2, 4)); !errors.Is(err, views.ErrShape) {
		t.Errorf("samples of another shape: error %v", err)
	}
}

func distance(a, b []float32) (far float64) {
	for i := range min(len(a), len(b)) {
		far = max(far, math.Abs(float64(a[i]-b[i])))
	}
	return far
}

func TestEvaluationIsNotTraining(t *testing.T) {
	run, data := setUp(t, settings)
	before := state(t, run)
	first, err := run.Evaluate(context.Background(), data.Val)
	if err != nil {
		t.Fatal(err)
	}
	second, err := run.Evaluate(context.Background(), data.Val)
	if err != nil {
		t.Fatal(err)
	}
	if first.Loss != second.Loss || first.Correct != second.Correct || first.Samples != 60 {
		t.Errorf("%+v, then %+v; want the same of 60 samples", first, second)
	}
	if !maps.Equal(before, state(t, run)) {
		t.Error("evaluation changed the run")
	}
}

// TestZeroLearningRate trains at a learning rate of zero, so that epochs differ by random
// numbers only.
func TestZeroLearningRate(t *testing.T) {
	still := "data: {file: f, x: x, y: y, shuffle: none}\noptimizer: {sgd: 0}\nepochs: 2\nbatch: 16\n"
	plain, data := setUp(t, still+"model: [flatten, {dense: 4}]")
	if err := plain.Fit(context.Background(), data, train.Options{}); err != nil {
		t.Fatal(err)
	}
	whole, err := plain.Evaluate(context.Background(), data.Train)
	if err != nil {
		t.Fatal(err)
	}
	for _, loss := range plain.History["loss"] { // the last batch has 6 samples and counts for no more
		if math.Abs(loss-whole.MeanLoss()) > 1e-6 {
			t.Errorf("loss %v over batches, %v over samples", loss, whole.MeanLoss())
		}
	}
	dropping, data := setUp(t, strings.Replace(still, "batch: 16", "batch: 150", 1)+"model: [flatten, {dropout: 0.5}, {dense: 4}]")
	if err := dropping.Fit(context.Background(), data, train.Options{}); err != nil {
		t.Fatal(err)
	}
	if loss := dropping.History["loss"]; math.Abs(loss[0]-loss[1]) < 1e-4 {
		t.Errorf("losses %v: two steps dropped the same", loss)
	}
}

func TestRegressionFitsALine(t *testing.T) {
	c, err := train.ParseConfig([]byte("data: {file: f, x: x, y: y, normalize: none}\nmodel: [{dense: 1}]\nloss: mse\noptimizer: {sgd: {lr: 0.1}}\nepochs: 60\nbatch: 8"))
	if err != nil {
		t.Fatal(err)
	}
	x, y := make([]float32, 64), make([]float64, 64)
	for i := range x {
		x[i] = float32(i)/32 - 1
		y[i] = 3*float64(x[i]) + 1
	}
	data, err := train.NewData(c, train.Arrays{X: storage.From(x, 64, 1), Y: storage.From(y, 64)})
	if err != nil {
		t.Fatal(err)
	}
	run, err := train.New(context.Background(), c, data, storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Fit(context.Background(), data, train.Options{}); err != nil {
		t.Fatal(err)
	}
	params := maps.Collect(nn.Parameters(run.Model))
	w, b := params["0.weight"].Item(), params["0.bias"].Item()
	if math.Abs(w-3) > 0.01 || math.Abs(b-1) > 0.01 {
		t.Errorf("y = %vx + %v, want 3x + 1", w, b)
	}
}

func TestIntegersAreStandardised(t *testing.T) {
	run, data := setUp(t, settings)
	var sum, squares, n float64
	x, _ := blobs(150)
	for _, v := range tensor.Values[float32](run.Inputs[0].Apply(tensor.FromArray(x))) {
		sum, squares, n = sum+float64(v), squares+float64(v)*float64(v), n+1
	}
	if mean, deviation := sum/n, math.Sqrt(squares/n); math.Abs(mean) > 1e-4 || math.Abs(deviation-1) > 1e-4 {
		t.Errorf("mean %v, deviation %v; want 0 and 1", mean, deviation)
	}
	_ = data
}

func TestImageLayoutsAreConverted(t *testing.T) {
	bytes := tensor.FromArray(storage.From([]uint8{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 1, 2, 2, 3))
	in := train.Input{Normalize: dataconfig.Normalize{Scale: []float64{2}, Shift: []float64{1}}, ChannelsLast: true}
	y := in.Apply(bytes)
	if got, want := tensor.Values[float32](y), []float32{3, 9, 15, 21, 5, 11, 17, 23, 7, 13, 19, 25}; !slices.Equal(got, want) {
		t.Errorf("channels first: %v, want %v", got, want)
	}
	if got, want := in.SampleShape([]int{2, 2, 3}), y.Shape()[1:]; !slices.Equal(got, want) {
		t.Errorf("sample %v, want %v", got, want)
	}
}

func TestConfigMistakesSayWhere(t *testing.T) {
	good := "data: {file: f, x: x, y: y}\n"
	for _, c := range []struct{ text, want string }{
		{good + "epoch: 3", "2:1: epoch: no such setting; did you mean epochs?"},
		{"data:\n  file: f\n  x: x\n  yy: y\n", "4:3: data: yy: no such setting; did you mean y?"},
		{"data: {x: x, y: y}", "1:7: data: file: name the file of samples"},
		{good + "epochs: many", `2:1: epochs: cannot be "many"; want an integer`},
		{good + "epochs: 1.5", "2:1: epochs: cannot be 1.5; want an integer"},
		{good + "epochs: 0", "2:1: epochs: cannot be 0; want at least 1"},
		{good + "model: lenett", "2:8: model: lenett: no such preset; did you mean lenet?"},
		{good + "model:\n  - relu\n  - conv2d:\n      out_channels: 3\n      kernal_size: 3", "6:7: model: layer 1: conv2d: kernal_size: no such setting; did you mean kernel_size?"},
		{good + "model:\n  - relu\n  - {dnse: 3}", "4:6: model: layer 1: dnse: no such layer; did you mean dense?"},
		{good + "metrics: [accuracy, {top_k: {n: 5}}]", "2:30: metrics: metric 1: top_k: n: no such setting"},
		{good + "metrics:\n  - mae\n  - mae", "4:5: metrics: metric 1: duplicate metric mean_absolute_error"},
		{good + "optimizer: {adam: {groups: [{params: '*.bias'}, {params: '*', learning_rate: 1}]}}", "2:63: optimizer: adam: groups: item 1: learning_rate: no such setting"},
		{good + "optimizer: {adam: {groups: 3}}", "2:20: optimizer: adam: groups: want a list"},
		{good + "model: 3", "2:1: model: 3 is not a layer"},
		{good + "optimizer: {adam: {lr: fast}}", `2:20: optimizer: adam: lr: cannot be "fast"; want a number`},
		{good + "optimizer: adm", "2:12: optimizer: adm: no such optimizer; did you mean adam?"},
		{good + "loss: crossentropi", "2:7: loss: crossentropi: no such loss; did you mean cross_entropy?"},
		{"data: {file: f, x: x, y: y, split: 0.1, val_x: a, val_y: b}", "1:29: data: split: there is val_x too"},
		{"data: {file: f, x: x, y: y, val_x: a}", "1:1: data: val_x and val_y go together"},
		{"data: {file: f, x: x, y: y, normalize: {mean: 1}}", "1:29: data: normalize: cannot be"},
		{"data: {file: f, x: x, y: y, shuffle: wild}", "1:29: data: shuffle: no shuffle \"wild\""},
		{"data: {file: [f", "1:"},
		{"data: *x", "1:"},
		{"a: &x {b: c}\nd: *x", "1:4: a YAML anchor is not understood here"},
		{"", "data: file: name the file of samples"},
		{"a: 1\n---\nb: 2", "2 documents"},
		{strings.Repeat("[", 5000), "line 1 has 5000 bytes"},
		{strings.Repeat("\n", 70000), "70000 bytes; want at most 65536"},
	} {
		_, err := train.ParseConfig([]byte(c.text))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.60q: error %v\nwant %s", c.text, err, c.want)
		}
	}
}

func TestConfigsReadNumbersAsPeopleWriteThem(t *testing.T) {
	c, err := train.ParseConfig([]byte("data: {file: f, x: x, y: y, normalize: {mean: 33.3, std: 78.6}}\noptimizer: {sgd: {lr: 5e-2, momentum: .9}}\nmodel: lenet"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(c.Optimizer), "map[sgd:map[lr:0.05 momentum:0.9]]"; got != want {
		t.Errorf("optimizer %s, want %s", got, want)
	}
	if got := c.Data.Normalize; math.Abs(got.Scale[0]*33.3+got.Shift[0]) > 1e-12 {
		t.Errorf("normalize %v, want the mean to become 0", got)
	}
	c.SetLearningRate(1)
	if got, want := fmt.Sprint(c.Optimizer), "map[sgd:map[lr:1 momentum:0.9]]"; got != want {
		t.Errorf("optimizer %s, want %s", got, want)
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add(settings)
	f.Add("data: {file: f, x: x, y: y, split: 0.1}\nmodel: lenet\noptimizer: sgd")
	f.Add("- a\n- b: {c: [1, 2]}\n")
	f.Add("data: {file: [f, g], x: a/*/b, y: y, rows: ['[1:]', 'a>=2'], split: 'mask:m', steps: 4}\nmodel: mlp")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "000") { // large layers are legal, and slow
			return
		}
		c, err := train.ParseConfig([]byte(text))
		if err != nil {
			return
		}
		if err := c.Check(); err != nil {
			t.Errorf("parsed, but %v", err)
		}
	})
}

func TestHostileRunFilesAreErrors(t *testing.T) {
	run, data := setUp(t, settings)
	run.Config.Epochs = 1
	file := filepath.Join(t.TempDir(), "run.npz")
	if err := run.Fit(context.Background(), data, train.Options{File: file}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ key, from, to, want string }{
		{"h5dnn_config", `"in_features":64`, `"in_features":63`, "load model: 6.weight is [4 64]; want [4 63]"},
		{"h5dnn_config", `"in_features":64`, `"in_features":500000000`, "more than the file has"},
		{"h5dnn_config", `"adam"`, `"madam"`, "no such optimizer"},
		{"h5dnn_position", `"consumed":0`, `"consumed":-1`, "no run is ever there"},
		{"h5dnn_schema", `4`, `5`, "schema 5, written by h5dnn 0.1; this version reads schemas 1 to 4"},
		{"h5dnn_schema", `4`, `two`, "want a number"},
		{"h5dnn_config", `{`, ``, "h5dnn_config"},
	} {
		bad := filepath.Join(t.TempDir(), "bad.npz")
		rewrite(t, file, bad, c.key, c.from, c.to)
		if _, err := train.Resume(bad, storage.CPU); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %s: error %v, want %q", c.key, c.to, err, c.want)
		}
	}
	if _, err := train.Resume(file, storage.CPU, serialize.Options{Budget: storage.NewBudget(1 << 20)}); err != nil {
		t.Errorf("a run that is stored takes nothing out of a budget: %v", err)
	}
	if _, err := train.Resume(filepath.Join(t.TempDir(), "none.npz"), storage.CPU); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v, want that there is no such file", err)
	}
}

// largeSize matches integers from 100 on, and not the digits of fractions.
var largeSize = regexp.MustCompile(`(^|[^.0-9])[0-9]{3,}|[0-9][eE]\+?[0-9]`)

// TestRunsHoldNumbersOnly: strings among the arrays of a run are refused by name.
func TestRunsHoldNumbersOnly(t *testing.T) {
	run, _ := setUp(t, settings)
	file := filepath.Join(t.TempDir(), "run.npz")
	if err := train.Save(file, run); err != nil {
		t.Fatal(err)
	}
	saved, err := serialize.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer saved.Close()
	text := serialize.Entry{Name: "model/text", Elements: &serialize.Elements{View: views.Of(1), Type: "string", Values: func(views.View) ([]any, error) { return []any{"a"}, nil }}}
	entries := func(yield func(serialize.Entry, error) bool) {
		for e, err := range saved.All() {
			if !yield(e, err) {
				return
			}
		}
		yield(text, nil)
	}
	with := filepath.Join(t.TempDir(), "with.npz")
	if err := serialize.Save(with, "", serialize.Contents{Entries: entries, Meta: saved.Meta()}); err != nil {
		t.Fatal(err)
	}
	if _, err := train.Resume(with, storage.CPU); !errors.Is(err, serialize.ErrFormat) || !strings.Contains(err.Error(), "model/text has elements of type string") {
		t.Errorf("error %v, want that model/text is not of numbers", err)
	}
}

// FuzzRunFile resumes from run files of other metadata: they are refused, both times for the
// same reason, or resumed.
func FuzzRunFile(f *testing.F) {
	run, _ := setUp(f, settings)
	file := filepath.Join(f.TempDir(), "run.npz")
	if err := train.Save(file, run); err != nil {
		f.Fatal(err)
	}
	saved, err := serialize.Open(file)
	if err != nil {
		f.Fatal(err)
	}
	defer saved.Close()
	meta := saved.Meta()
	if found := largeSize.FindString(meta["h5dnn_config"] + meta["h5dnn_inputs"]); found != "" {
		f.Fatalf("the seed has %s, so that nothing would be resumed", found)
	}
	f.Add(meta["h5dnn_config"], meta["h5dnn_position"], meta["h5dnn_inputs"], meta["h5dnn_paths"], meta["h5dnn_schema"])
	f.Fuzz(func(t *testing.T, config, position, inputs, paths, schema string) {
		if largeSize.MatchString(config + inputs) { // large layers are legal, and slow
			return
		}
		changed := withMeta{saved, map[string]string{"h5dnn_config": config, "h5dnn_position": position, "h5dnn_inputs": inputs, "h5dnn_paths": paths, "h5dnn_schema": schema}}
		_, first := train.ResumeFile(changed, "fuzzed", storage.CPU)
		_, second := train.ResumeFile(changed, "fuzzed", storage.CPU)
		if fmt.Sprint(first) != fmt.Sprint(second) {
			t.Errorf("%v\nand then %v", first, second)
		}
	})
}

// withMeta is a file with other metadata.
type withMeta struct {
	serialize.File
	meta map[string]string
}

func (f withMeta) Meta() map[string]string { return maps.Clone(f.meta) }

func rewrite(t *testing.T, from, to, key, old, new string) {
	t.Helper()
	f, err := serialize.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	meta := f.Meta()
	if !strings.Contains(meta[key], old) {
		t.Fatalf("%s is %s, without %s", key, meta[key], old)
	}
	meta[key] = strings.Replace(meta[key], old, new, 1)
	if err := serialize.Save(to, "", serialize.Contents{Entries: f.All(), Meta: meta}); err != nil {
		t.Fatal(err)
	}
}

func Example() {
	c, err := train.ParseConfig([]byte(`
data: {file: blobs.h5, x: images, y: labels, split: 0.2}
model: mlp
epochs: 5
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	x, y := blobs(400) // as package storage/hdf5 would open them
	data, err := train.NewData(c, train.Arrays{X: x, Y: y})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	run, err := train.New(ctx, c, data, storage.CPU)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := run.Fit(ctx, data, train.Options{}); err != nil {
		fmt.Println(err)
	}
	val, err := run.Evaluate(ctx, data.Val)
	fmt.Println(val.Samples, val.Accuracy(), err)
	// Output: 80 1 <nil>
}

// TestRunsSavedBetweenEpochsResumeBitByBit: the file that is written at the end of an epoch,
// before a step of the next, leads to the same result.
func TestRunsSavedBetweenEpochsResumeBitByBit(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	for _, d := range []storage.Device{storage.CPU, gpu} {
		whole, data := newRun(t, d, mode{}, settings)
		folder := t.TempDir()
		file, first := filepath.Join(folder, "run.npz"), filepath.Join(folder, "first.npz")
		copied := false
		err := whole.Fit(context.Background(), data, train.Options{File: file, Callbacks: []train.Callback{train.CallbackFuncs{OnSaved: func(string) error {
			if copied {
				return nil
			}
			copied = true
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			return os.WriteFile(first, text, 0o666)
		}}}})
		if err != nil {
			t.Fatal(err)
		}
		again, err := train.Resume(first, d)
		if err != nil {
			t.Fatal(err)
		}
		if p := again.Position; p.Epoch != 1 || p.Consumed != 0 {
			t.Fatalf("%v: the first file is of epoch %d after %d samples; want 1 and 0", d, p.Epoch, p.Consumed)
		}
		if err := again.Fit(context.Background(), data, train.Options{}); err != nil {
			t.Fatal(err)
		}
		sameState(t, d.String(), state(t, again), state(t, whole))
	}
}
