package train_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/collective"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// callbackTexts has settings of each registered callback, which the laws are tried with.
var callbackTexts = map[string]string{
	"checkpoint":     "{best: 2, monitor: val_accuracy, last: 2}",
	"csv":            "{every: 3}",
	"early_stopping": "{patience: 1, min_delta: 0.05}",
	"jsonl":          "{every: 2}",
	"fast_dev_run":   "{batches: 2}",
	"overfit":        "2",
	"validation":     "3",
	"gradient_norms": "{every: 3}",
	"guard":          "{every: 2, continue: true, factor: 1.5}",
	"limit":          "{steps: 3, epochs: 2}",
	"swa":            "{start: 0.5, lr: 0.01}",
	"outside":        "{every: 3}",
	"report":         "{}",
	"tensorboard":    "{every: 2}",
}

// outside is a callback as another package writes it, with exported names only: it adds up the losses of every third step,
// and stops the run where the sum has reached a limit.
type outside struct {
	train.OnlyProgress
	outsideOptions
	sum []float64
}

type outsideOptions struct {
	Every int     `json:"every"`
	Most  float64 `json:"most"`
}

func (o *outside) StepEnd(p train.Progress) error {
	if p.Step%uint64(o.Every) == 0 {
		o.sum = append(o.sum, p.MeanLoss())
	}
	return nil
}

func (o *outside) EpochEnd(e train.Epoch) error {
	total := 0.0
	for _, x := range o.sum {
		total += x
	}
	if e.Numbers["outside"] = total; o.Most > 0 && total > o.Most {
		return train.Stop("outside: the sum is %.3f", total)
	}
	return nil
}

func (o *outside) Config() any  { return o.outsideOptions }
func (o *outside) Name() string { return "outside" }

func (o *outside) State() iter.Seq2[string, storage.Array] {
	return maps.All(map[string]storage.Array{"sum": storage.From(o.sum, len(o.sum))})
}

func (o *outside) Load(_ iter.Seq2[string, *nn.Parameter], state iter.Seq2[string, storage.Array]) (err error) {
	for _, a := range state {
		o.sum, err = storage.Read[float64](a)
	}
	return err
}

var _ = train.RegisterCallback("outside", func(o outsideOptions) *outside { return &outside{outsideOptions: o} }, outsideOptions{Every: 2})

// fileState is all arrays of the run file of r but times.
func fileState(t *testing.T, r *train.Run) map[string]string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "run.ckpt.h5")
	if err := train.Save(file, r); err != nil {
		t.Fatal(err)
	}
	f, err := serialize.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	entries, err := serialize.Collect(f)
	if err != nil {
		t.Fatal(err)
	}
	position := timeless(r.Position)
	position.Running.Waited = 0
	all := map[string]string{"position": fmt.Sprintf("%+v", position)}
	for _, e := range entries {
		values, err := storage.Read[float64](e.Array)
		if err != nil {
			t.Fatal(err)
		}
		if e.Name != "history/seconds" {
			all[e.Name] = fmt.Sprint(e.Array.Shape, values)
		}
	}
	return all
}

// toTheEnd trains a run on a number of processes until it is complete, resuming it from its file where it pauses.
func toTheEnd(t *testing.T, text string, processes int, interruptAt ...uint64) *train.Run {
	t.Helper()
	file := filepath.Join(t.TempDir(), "run.ckpt.h5")
	for attempt := 0; ; attempt++ {
		begin := func() (*train.Run, *train.Data) {
			run, data := setUp(t, text)
			if attempt > 0 {
				var err error
				if run, err = train.Resume(file, storage.CPU); err != nil {
					t.Fatal(err)
				}
			}
			return run, data
		}
		ctx, cancel := context.WithCancel(context.Background())
		runs, errs := fitTogether(ctx, processes, begin, func(rank int) train.Options {
			o := train.Options{File: file}
			if rank == 0 && attempt < len(interruptAt) {
				o.Callbacks = append(o.Callbacks, train.CallbackFuncs{OnStepEnd: func(p train.Progress) error {
					if p.Step >= interruptAt[attempt] {
						cancel()
					}
					return nil
				}})
			}
			return o
		})
		cancel()
		for _, err := range errs {
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Fatalf("%s, %d processes: %v", text, processes, err)
			}
		}
		if runs[0].Complete() {
			return runs[0]
		}
		if attempt > 100 {
			t.Fatalf("%s: the run is not complete, at %+v", text, runs[0].Position)
		}
	}
}

// TestCallbacksKeepTheirLaws: each registered callback is described by its settings, and a run that has it gives the same bits
// however often it is interrupted, and on any number of processes.
func TestCallbacksKeepTheirLaws(t *testing.T) {
	for _, r := range train.Registrations() {
		t.Run(r.Name, func(t *testing.T) {
			settings, ok := callbackTexts[r.Name]
			if !ok {
				t.Fatal("no settings to try it with; add a line to callbackTexts")
			}
			text := strings.Replace(callbackBase, "CALLBACKS", fmt.Sprintf("[{%s: %s}]", r.Name, settings), 1)
			if r.Name == "swa" {
				text = strings.Replace(text, "ema: 0.8", "", 1)
			}
			c, err := train.ParseConfig([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			made, err := train.CallbackFromConfig(c.Callbacks[0])
			if err != nil {
				t.Fatal(err)
			}
			described, err := train.DescribeCallback(made)
			if err != nil {
				t.Fatal(err)
			}
			again, err := train.CallbackFromConfig(described)
			if a, b := configOf(t, made), configOf(t, again); err != nil || a != b || train.CallbackName(again) != r.Name {
				t.Errorf("%s becomes %s, %v", a, b, err)
			}
			want := fileState(t, toTheEnd(t, text, 1))
			random := rand.New(rand.NewPCG(30, uint64(len(r.Name))))
			for _, processes := range []int{1, 2, 4} {
				sameState(t, fmt.Sprintf("%d processes", processes), fileState(t, toTheEnd(t, text, processes)), want)
				stops := []uint64{uint64(1 + random.IntN(5)), uint64(6 + random.IntN(6))}
				sameState(t, fmt.Sprintf("%d processes, stopped after %d", processes, stops), fileState(t, toTheEnd(t, text, processes, stops...)), want)
			}
		})
	}
}

// callbackBase is a run with all that resuming may get wrong: batch statistics, random numbers, averages, four shards.
const callbackBase = `
data: {file: blobs, x: images, y: labels}
model: [flatten, {dense: 6}, {batchnorm1d: {num_features: 6}}, relu, {dropout: 0.2}, {dense: 4}]
optimizer: {adam: {lr: 5e-2}}
ema: 0.8
epochs: 4
batch: 32
shards: 4
seed: 7
callbacks: CALLBACKS
`

func configOf(t *testing.T, c train.Callback) string {
	t.Helper()
	text, err := json.Marshal(nn.Settings(c))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestStopsAreAgreed: a stop completes the run with its reason, one that not all processes make is an error, and the pause of
// one pauses all.
func TestStopsAreAgreed(t *testing.T) {
	text := strings.Replace(callbackBase, "CALLBACKS", "[{outside: {every: 1, most: 3}}]", 1)
	run := toTheEnd(t, text, 2)
	if p := run.Position; p.Epoch >= 4 || !p.Finished || !strings.HasPrefix(p.Stopped, "outside: the sum is ") {
		t.Errorf("position %+v; want that the run has ended early", p)
	}
	if numbers := run.History["outside"]; len(numbers) != run.Position.Epoch || numbers[0] <= 0 {
		t.Errorf("numbers %v of %d epochs", numbers, run.Position.Epoch)
	}
	plainText := strings.Replace(callbackBase, "CALLBACKS", "[]", 1)
	begin := func() (*train.Run, *train.Data) { return setUp(t, plainText) }
	_, errs := fitTogether(context.Background(), 2, begin, func(rank int) train.Options {
		return train.Options{Callbacks: []train.Callback{train.CallbackFuncs{OnStepEnd: func(p train.Progress) error {
			if rank == 1 && p.Step == 2 {
				return train.Stop("enough")
			}
			return nil
		}}}}
	})
	if !strings.Contains(fmt.Sprint(errs[0]), "rank 1 sends") || !errors.Is(errs[1], collective.ErrGroup) && !errors.Is(errs[1], storage.ErrState) {
		t.Errorf("errors %v; want that rank 1 stops alone", errs)
	}
	runs, errs := fitTogether(context.Background(), 4, begin, func(rank int) train.Options {
		var training *train.Training
		return train.Options{Callbacks: []train.Callback{train.CallbackFuncs{
			OnRunBegin: func(p train.Plan) error { training = p.Training; return nil },
			OnStepEnd: func(p train.Progress) error {
				if rank == 2 && p.Step == 3 {
					training.Pause("the clock of one")
				}
				return nil
			},
		}}}
	})
	for rank, run := range runs {
		if errs[rank] != nil || run.Position.Step != 4 || run.Complete() {
			t.Errorf("rank %d: %v, position %+v; want that it pauses after step 4", rank, errs[rank], run.Position)
		}
	}
}
