package train_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/h5dnn/h5dnn/collective"
	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// shardedTexts are runs whose results depend on everything that shards have of their own.
var shardedTexts = map[string]string{
	"mlp":         "model: [flatten, {batchnorm1d: {num_features: 64}}, {dropout: 0.2}, {dense: 4}]\nclip_norm: 0.5\nema: 0.9\nmetrics: [confusion_matrix, {top_k: 2}]",
	"cnn":         "model: [{conv2d: {out_channels: 4, kernel_size: 3}}, {batchnorm2d: {num_features: 4}}, relu, flatten, {dense: 4}]\naccumulate: 3\ndrop_last: true",
	"fp16":        "model: [flatten, {dense: 16}, relu, {dropout: 0.1}, {dense: 4}]\nprecision: fp16\naccumulate: 2",
	"ignored":     "model: [flatten, {dense: 4}]\nloss: {cross_entropy: {ignore_index: 1, class_weights: [1, 3, 0.2, 2]}}",
	"adam":        "model: [flatten, {dense: 20}, relu, {dense: 12}, relu, {dense: 4}]\noptimizer: {adam: {lr: 1e-3, no_decay: [\"*.bias\"], weight_decay: 0.01}}\nclip_value: 0.01\nclip_norm: 0.1",
	"lamb":        "model: [flatten, {dense: 20}, relu, {dense: 12}, relu, {dense: 4}]\noptimizer: {lamb: {lr: 1e-2}}\nclip_norm: 0.5",
	"muon":        "model: [flatten, {dense: 12}, relu, {dense: 4}]\noptimizer: {muon: {lr: 1e-2}}\nprecision: fp16",
	"sync":        "model: [{conv2d: {out_channels: 4, kernel_size: 3}}, {batchnorm2d: {num_features: 4, sync: true}}, relu, flatten, {dense: 8}, {batchnorm1d: {num_features: 8, sync: true}}, {dropout: 0.2}, {dense: 4}]\naccumulate: 2\nclip_norm: 0.5",
	"sync short":  "model: [flatten, {dense: 8}, {batchnorm1d: {num_features: 8, sync: true}}, relu, {dense: 4}]\nbatch: 148\ncallbacks: [{swa: {start: 0.5}}]",
	"augmented":   "model: [flatten, {dense: 8}, relu, {dense: 4}]\nmetrics: [{top_k: 2}]\naugment: [{crop: {padding: 1}}, flip, {mixup: {alpha: 0.4}}, {noise: {std: 0.02}}]",
	"short epoch": "model: [flatten, {dropout: 0.3}, {dense: 4}]\nbatch: 148", // leaves 2 samples of 150 for 4 shards
}

const shardedBase = `
data: {file: blobs, x: images, y: labels, shuffle: window, window: 8}
optimizer: {sgd: {lr: 5e-2, momentum: 0.9}}
seed: 7
shards: 4
`

// newSharded returns a run of a text and its data.
func newSharded(t *testing.T, d storage.Device, text string) (*train.Run, *train.Data) {
	t.Helper()
	if !strings.Contains(text, "batch:") {
		text += "\nbatch: 32"
	}
	base := shardedBase
	if strings.Contains(text, "optimizer:") {
		base = strings.Replace(base, "optimizer: {sgd: {lr: 5e-2, momentum: 0.9}}\n", "", 1)
	}
	return newRun(t, d, mode{}, base+text)
}

// fitTogether trains a run on a number of processes, each a goroutine, and returns what each has, and its error.
func fitTogether(ctx context.Context, processes int, begin func() (*train.Run, *train.Data), options func(rank int) train.Options) ([]*train.Run, []error) {
	errs := make([]error, processes)
	var runs []*train.Run
	var all sync.WaitGroup
	for rank, g := range collective.Local(processes) {
		run, data := begin()
		o := options(rank)
		o.Group = g
		runs = append(runs, run)
		all.Go(func() { errs[rank] = run.Fit(ctx, data, o) })
	}
	all.Wait()
	return runs, errs
}

// smallBuckets makes each parameter of more than a few elements a bucket.
func smallBuckets(t *testing.T) { t.Cleanup(train.SetBucketBytes(64)) }

func noOptions(int) train.Options { return train.Options{} }

// TestRunsDoNotDependOnProcesses: 1, 2 and 4 processes give the same bits of weights, optimizer, history, metrics and
// running statistics, and every process has them.
func TestRunsDoNotDependOnProcesses(t *testing.T) {
	smallBuckets(t)
	for name, text := range shardedTexts {
		t.Run(name, func(t *testing.T) {
			run, data := newSharded(t, storage.CPU, text)
			if err := run.Fit(context.Background(), data, train.Options{}); err != nil {
				t.Fatal(err)
			}
			want := state(t, run)
			one, data := newSharded(t, storage.CPU, strings.Replace(text, "shards: 4", "", 1))
			one.Config.Shards = 0
			if err := one.Fit(context.Background(), data, train.Options{}); err == nil && fmt.Sprint(state(t, one)) == fmt.Sprint(want) {
				t.Error("one shard gives the same as four")
			}
			for _, n := range []int{2, 4} {
				runs, errs := fitTogether(context.Background(), n, func() (*train.Run, *train.Data) { return newSharded(t, storage.CPU, text) }, noOptions)
				if err := errors.Join(errs...); err != nil {
					t.Fatalf("%d processes: %v", n, err)
				}
				for rank, run := range runs {
					sameState(t, fmt.Sprintf("%d processes, rank %d", n, rank), state(t, run), want)
				}
			}
		})
	}
}

// TestRunsGoOnWithOtherProcesses: a run that is saved or interrupted on one number of processes and resumed on another
// gives the bits of one that was not.
func TestRunsGoOnWithOtherProcesses(t *testing.T) {
	smallBuckets(t)
	for name, text := range shardedTexts {
		whole, data := newSharded(t, storage.CPU, text)
		if err := whole.Fit(context.Background(), data, train.Options{}); err != nil {
			t.Fatal(err)
		}
		want := state(t, whole)
		for i, processes := range [][2]int{{1, 4}, {4, 1}, {2, 4}, {4, 2}} {
			file := filepath.Join(t.TempDir(), "run.npz")
			stop := errors.New("power failure")
			_, errs := fitTogether(context.Background(), processes[0], func() (*train.Run, *train.Data) { return newSharded(t, storage.CPU, text) }, func(rank int) train.Options {
				steps := 0
				return train.Options{File: file, SaveEvery: train.Interval{Steps: 1}, Callbacks: []train.Callback{train.CallbackFuncs{OnSaved: func(string) error {
					if steps++; steps > i && rank == 0 {
						return stop
					}
					return nil
				}}}}
			})
			if !errors.Is(errs[0], stop) {
				t.Fatalf("%s: %v; want that it was stopped", name, errs)
			}
			for rank, err := range errs[1:] {
				if err != nil && (!errors.Is(err, collective.ErrGroup) || !strings.Contains(err.Error(), "rank 0")) { // nil: it was at the end
					t.Errorf("%s, rank %d: %v; want that rank 0 has ended", name, rank+1, err)
				}
			}
			runs, errs := fitTogether(context.Background(), processes[1], func() (*train.Run, *train.Data) {
				run, err := train.Resume(file, storage.CPU)
				if err != nil {
					t.Fatal(err)
				}
				_, data := newSharded(t, storage.CPU, text)
				return run, data
			}, noOptions)
			if err := errors.Join(errs...); err != nil {
				t.Fatalf("%s, from %d to %d processes: %v", name, processes[0], processes[1], err)
			}
			for rank, run := range runs {
				sameState(t, fmt.Sprintf("%s, from %d to %d processes, rank %d", name, processes[0], processes[1], rank), state(t, run), want)
			}
		}
	}
}

// wholeHook wants the whole gradients, so that no process updates a piece.
type wholeHook struct{}

func (wholeHook) Gradients(*train.Step) error { return nil }

// TestPiecesAreTheWhole: processes that update a piece each have the weights of processes that update all parameters.
func TestPiecesAreTheWhole(t *testing.T) {
	smallBuckets(t)
	for _, name := range []string{"cnn", "adam", "lamb", "muon"} {
		text := strings.Replace(strings.Replace(shardedTexts[name], "clip_norm", "# clip_norm", 1), "precision: fp16", "", 1)
		begin := func() (*train.Run, *train.Data) { return newSharded(t, storage.CPU, text) }
		inPieces, errs := fitTogether(t.Context(), 4, begin, noOptions)
		whole, others := fitTogether(t.Context(), 4, begin, func(int) train.Options { return train.Options{Hooks: []train.Hook{wholeHook{}}} })
		if err := errors.Join(append(errs, others...)...); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		sameState(t, name, state(t, inPieces[3]), state(t, whole[0]))
	}
}

// TestFastReductionIsNear: with sums in another order only the last bits differ, and all processes have the same.
func TestFastReductionIsNear(t *testing.T) {
	text := shardedTexts["cnn"] + "\nreduction: fast"
	run, data := newSharded(t, storage.CPU, shardedTexts["cnn"])
	if err := run.Fit(context.Background(), data, train.Options{}); err != nil {
		t.Fatal(err)
	}
	runs, errs := fitTogether(t.Context(), 2, func() (*train.Run, *train.Data) { return newSharded(t, storage.CPU, text) }, noOptions)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if !nearWeights(t, runs[0], run) {
		t.Error("the weights are not near")
	}
	sameState(t, "rank 1", state(t, runs[1]), state(t, runs[0]))
}

// TestProcessesStopTogether: the interruption of one ends all after the same step, and the first saves the run.
func TestProcessesStopTogether(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.npz")
	groups := collective.Local(4)
	var all sync.WaitGroup
	steps := make([]uint64, len(groups))
	for rank, g := range groups {
		run, data := newSharded(t, storage.CPU, shardedTexts["mlp"])
		all.Go(func() {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			err := run.Fit(ctx, data, train.Options{File: file, Group: g, Callbacks: []train.Callback{train.CallbackFuncs{OnStepEnd: func(train.Progress) error {
				if rank == 2 && run.Position.Step == 3 {
					cancel()
				}
				return nil
			}}}})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("rank %d: %v; want that it was cancelled", rank, err)
			}
			steps[rank] = run.Position.Step
		})
	}
	all.Wait()
	run, err := train.Resume(file, storage.CPU)
	if err != nil || run.Position.Step != 4 || fmt.Sprint(steps) != "[4 4 4 4]" {
		t.Errorf("stopped after the steps %v, saved %v, %v", steps, run, err)
	}
}

// TestShardsAreTheLargeBatch: without batch statistics and random numbers, shards change nothing but last bits.
func TestShardsAreTheLargeBatch(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	for _, extra := range []string{"", "accumulate: 2\n", "loss: {cross_entropy: {ignore_index: 1, class_weights: [1, 3, 0.2, 2]}}\n"} {
		text := strings.Replace(plain, "normalize", "shuffle: none, normalize", 1) + extra + "batch: "
		large := fitted(t, storage.CPU, mode{}, text+"150", train.Options{})
		for _, d := range []storage.Device{storage.CPU, gpu} {
			if run := fitted(t, d, mode{}, text+"150\nshards: 3", train.Options{}); extra != "accumulate: 2\n" && !nearWeights(t, run, large) {
				t.Errorf("%v, %q: 3 shards differ from one", d, extra)
			}
		}
	}
}

// nearBuffers reports whether running statistics are near.
func nearBuffers(t *testing.T, got, want *train.Run) bool {
	t.Helper()
	wanted := maps.Collect(nn.Buffers(want.Model))
	for name, b := range nn.Buffers(got.Model) {
		have, err := storage.Read[float64](b.Array)
		other, failed := storage.Read[float64](wanted[name].Array)
		if err = errors.Join(err, failed); err != nil {
			t.Fatal(err)
		}
		for i := range have {
			if math.Abs(have[i]-other[i]) > 1e-4*(1+math.Abs(other[i])) {
				return false
			}
		}
	}
	return true
}

// TestSynchronizedBatchNormIsTheLargeBatch: with statistics of all shards, shards change nothing but last bits.
func TestSynchronizedBatchNormIsTheLargeBatch(t *testing.T) {
	for _, sync := range []bool{true, false} {
		text := fmt.Sprintf(`
data: {file: blobs, x: images, y: labels, shuffle: none}
model: [{conv2d: {out_channels: 4, kernel_size: 3}}, {batchnorm2d: {num_features: 4, sync: %[1]v}}, relu, flatten, {dense: 8}, {batchnorm1d: {num_features: 8, sync: %[1]v}}, {dense: 4}]
optimizer: {sgd: {lr: 5e-2}}
batch: 150
epochs: 3
`, sync)
		large := fitted(t, storage.CPU, mode{}, text, train.Options{})
		parts := fitted(t, storage.CPU, mode{}, text+"shards: 3", train.Options{})
		if nearWeights(t, parts, large) != sync || nearBuffers(t, parts, large) != sync {
			t.Errorf("sync %v: 3 shards are near one: %v, running statistics %v", sync, nearWeights(t, parts, large), nearBuffers(t, parts, large))
		}
		if !sync {
			continue
		}
		gpu := cudatest.Devices(t, cudatest.Deferred)[0]
		run, data := newRun(t, gpu, mode{}, text+"shards: 3")
		if err := run.Fit(context.Background(), data, train.Options{}); err == nil || !strings.Contains(err.Error(), "2 layers of batch normalization with sync: true on cuda") {
			t.Errorf("on a GPU: %v", err)
		}
	}
}

func TestShardsThatCannotBeAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"batch: 64\nshards: 3":  "batch: 64 samples for 3 shards; want an equal part for each, such as 63 or 66",
		"batch: 4\nshards: 8":   "batch: 4 samples for 8 shards; want an equal part for each, such as 8",
		"reduction: slow":       `reduction: no reduction "slow"; want ordered or fast`,
		"batch: 64\nshards: -1": "shards: cannot be -1; want a number of parts of a batch",
	} {
		if _, err := train.ParseConfig([]byte(strings.Replace(light, "batch: 32", text, 1))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
	_, errs := fitTogether(context.Background(), 3, func() (*train.Run, *train.Data) { return newSharded(t, storage.CPU, shardedTexts["mlp"]) }, noOptions)
	for _, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "3 processes for the 4 shards of the run; start as many as divide the shards") {
			t.Errorf("3 processes: %v", err)
		}
	}
}

// TestProcessesThatDifferAreRefused: all have to begin with the same weights.
func TestProcessesThatDifferAreRefused(t *testing.T) {
	seed := 7
	_, errs := fitTogether(context.Background(), 2, func() (*train.Run, *train.Data) {
		seed++
		return newRun(t, storage.CPU, mode{}, strings.Replace(shardedBase, "seed: 7", fmt.Sprintf("seed: %d", seed), 1)+shardedTexts["mlp"]+"\nbatch: 32")
	}, noOptions)
	for _, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "rank 1 has other samples, weights or steps than rank 0") {
			t.Errorf("%v; want that the weights differ", err)
		}
	}
}

// TestProcessesBeginWithAShardEach unless the configuration says how many shards there are.
func TestProcessesBeginWithAShardEach(t *testing.T) {
	text := strings.Replace(shardedBase, "shards: 4", "", 1) + shardedTexts["mlp"] + "\nbatch: 32"
	runs, errs := fitTogether(context.Background(), 2, func() (*train.Run, *train.Data) { return newRun(t, storage.CPU, mode{}, text) }, noOptions)
	if err := errors.Join(errs...); err != nil || runs[0].Config.Shards != 2 {
		t.Fatalf("%d shards, %v", runs[0].Config.Shards, err)
	}
	var buffers int
	for range nn.Buffers(runs[0].Model) {
		buffers++
	}
	if buffers == 0 {
		t.Error("the model has no buffers")
	}
}
