package train_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// TestFilesOfSchema1AreRead resumes a run file that was written before files had a schema
// number, in the middle of its second epoch.
func TestFilesOfSchema1AreRead(t *testing.T) {
	run, err := train.Resume("testdata/run_schema1.npz", storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	p := run.Position
	if p.Epoch != 1 || p.Consumed != 48 || p.Step != 13 || p.Running.Samples != 48 || p.Running.Correct != 48 || math.Abs(p.Running.Loss-15.333120822906494) > 1e-12 {
		t.Errorf("position %+v", p)
	}
	x, y := blobs(150)
	vx, vy := blobs(60) // which the file was written with
	data, err := train.NewData(run.Config, train.Arrays{X: x, Y: y, ValX: vx, ValY: vy})
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Fit(context.Background(), data, train.Options{}); err != nil {
		t.Fatal(err)
	}
	// What the program that wrote the file went on to.
	for name, want := range map[string]float64{"loss": 0.24700128595034282, "lr": 0.0025, "val_loss": 0.21781277656555176} {
		if got, _ := run.History.Last(name); len(run.History[name]) != 2 || !(math.Abs(got-want) <= 1e-4*want) {
			t.Errorf("%s is %v after the second epoch; want %v", name, run.History[name], want)
		}
	}
}

// TestOldDefaultsAreThoseOfOldFiles reads a run file as if an older program had written it: a
// fraction of episodes is of their rows then.
func TestOldDefaultsAreThoseOfOldFiles(t *testing.T) {
	run, _ := setUp(t, settings)
	run.Config.Data.X, run.Config.Data.Y = dataconfig.Path("e/*/x"), dataconfig.Path("e/*/y")
	run.Config.Data.Split = dataconfig.Split{Fraction: 0.25}
	file := filepath.Join(t.TempDir(), "run.npz")
	if err := train.Save(file, run); err != nil {
		t.Fatal(err)
	}
	for schema, want := range map[string]dataconfig.Split{"4": {Fraction: 0.25}, "3": {Fraction: 0.25, By: "rows"}} {
		again := filepath.Join(t.TempDir(), "again.npz")
		rewrite(t, file, again, "h5dnn_schema", "4", schema)
		if old, err := train.Resume(again, storage.CPU); err != nil || old.Config.Data.Split != want {
			t.Errorf("schema %s: split %v, %v; want %v", schema, old.Config.Data.Split, err, want)
		}
	}
}

// TestRunsAreSavedBetweenEpochs saves every fourth step and goes on from each file, also
// from those in the middle of an epoch.
func TestRunsAreSavedBetweenEpochs(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	for _, c := range []struct {
		d storage.Device
		w mode
	}{{storage.CPU, mode{}}, {gpu, modes[1]}, {gpu, modes[3]}} {
		folder := t.TempDir()
		run, data := newRun(t, c.d, c.w, light)
		file := filepath.Join(folder, "run.npz")
		var copies []string
		err := run.Fit(context.Background(), data, train.Options{File: file, SaveEvery: train.Interval{Steps: 4}, Callbacks: []train.Callback{train.CallbackFuncs{
			OnSaved: func(name string) error {
				content, err := os.ReadFile(name)
				if err != nil {
					return err
				}
				copies = append(copies, fmt.Sprintf("%s.%d.npz", file, len(copies)))
				return os.WriteFile(copies[len(copies)-1], content, 0o666)
			},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		want, steps := state(t, run), map[uint64]bool{}
		for _, name := range copies {
			again, err := train.Resume(name, c.d)
			if err != nil {
				t.Fatal(err)
			}
			steps[again.Position.Step] = true
			again.Config.Graph, again.Config.Data.Resident = c.w.graph, c.w.resident
			if err := again.Fit(context.Background(), data, train.Options{}); err != nil {
				t.Fatal(err)
			}
			sameState(t, fmt.Sprintf("%v, %v, from %s", c.d, c.w, name), state(t, again), want)
		}
		if len(steps) != 3 || !steps[4] || !steps[8] || !steps[10] { // 10 steps, of which the fifth ends an epoch
			t.Errorf("%v, %v: saved after the steps %v; want 4, 8 and the last", c.d, c.w, steps)
		}
	}
}

// TestRunsAreSavedByTime: after every step if the interval is shorter than a step, and at
// the end only if it is longer than the run.
func TestRunsAreSavedByTime(t *testing.T) {
	for every, want := range map[time.Duration]int{time.Nanosecond: 10, time.Hour: 1} {
		run, data := newRun(t, storage.CPU, mode{}, light)
		saved := 0
		err := run.Fit(context.Background(), data, train.Options{
			File: filepath.Join(t.TempDir(), "run.npz"), SaveEvery: train.Interval{Time: every},
			Callbacks: []train.Callback{train.CallbackFuncs{OnSaved: func(string) error { saved++; return nil }}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if saved != want && (want == 1 || saved != want+1) { // the end of the last epoch may count too
			t.Errorf("every %v: saved %d times in 10 steps, want %d", every, saved, want)
		}
	}
}

func TestIntervals(t *testing.T) {
	for text, want := range map[string]train.Interval{
		"epoch": {}, "": {}, "10m": {Time: 10 * time.Minute}, "500steps": {Steps: 500}, "1 step": {Steps: 1}, "1h30m0s": {Time: 90 * time.Minute},
	} {
		got, err := train.ParseInterval(text)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
		if again, err := train.ParseInterval(got.String()); err != nil || again != want {
			t.Errorf("%q is written as %q", text, got)
		}
	}
	for _, text := range []string{"10", "0steps", "-1m", "steps", "1.5steps", "epochs"} {
		if _, err := train.ParseInterval(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
	c, err := train.ParseConfig([]byte(light + "save_every: 7steps"))
	if err != nil || c.SaveEvery != (train.Interval{Steps: 7}) {
		t.Errorf("save_every %v, %v", c.SaveEvery, err)
	}
	if _, err := train.ParseConfig([]byte(light + "save_every: 7")); err == nil || !strings.Contains(err.Error(), "500steps") {
		t.Errorf("save_every: 7: %v", err)
	}
}

// TestFilesThatCannotBeSavedAreRefusedAtOnce, before the first step; the error names the
// import that is missing.
func TestFilesThatCannotBeSavedAreRefusedAtOnce(t *testing.T) {
	run, data := newRun(t, storage.CPU, mode{}, light)
	for name, want := range map[string]string{
		"run.h5":                                 `import _ "github.com/h5dnn/h5dnn/serialize/hdf5"`,
		"run.other":                              `no format has the extension ".other"`,
		"run.npy":                                "does not hold several arrays",
		"run.own":                                "the format other metadata does not hold several arrays with metadata of a run",
		filepath.Join(t.TempDir(), "a", "b.npz"): "no such file or directory",
		filepath.Join(os.Args[0], "b.npz"):       "is no directory",
	} {
		err := run.Fit(context.Background(), data, train.Options{File: name})
		if err == nil || !strings.Contains(err.Error(), want) || run.Position.Step != 0 {
			t.Errorf("%s: error %v after %d steps; want %q before the first", name, err, run.Position.Step, want)
		}
	}
}

// slowly makes a write of the format "slow" wait for the test.
var slowly struct {
	begun  chan map[string]string // what is being written
	finish chan error
}

func init() {
	unread := func(serialize.Input) (serialize.File, error) { return nil, errors.ErrUnsupported }
	serialize.Register(serialize.Format{
		Name: "other metadata", Extensions: []string{".own"}, Meta: true, Open: unread,
		FitsMeta: func(map[string]string) error { return errors.ErrUnsupported },
		SaveFile: func(string, serialize.Contents) error { return errors.ErrUnsupported },
	})
	serialize.Register(serialize.Format{Name: "slow", Extensions: []string{".slow"}, Meta: true, Open: unread, SaveFile: func(_ string, c serialize.Contents) error {
		written := map[string]string{}
		read := func() error {
			for e, err := range c.Entries {
				if err != nil {
					return err
				}
				if e.Name != "model/1.bias" {
					continue
				}
				values, err := storage.Read[float32](e.Array)
				if err != nil {
					return err
				}
				written[e.Name] = fmt.Sprint(values)
			}
			return nil
		}
		if err := read(); err != nil {
			return err
		}
		slowly.begun <- written
		err := <-slowly.finish
		before := fmt.Sprint(written)
		if failed := read(); failed != nil || fmt.Sprint(written) != before {
			return fmt.Errorf("what is written changes: %v", failed)
		}
		return err
	}})
}

// TestTrainingGoesOnWhileTheRunIsSaved makes four steps while one file is written. What is
// written is the state after the step it was saved at.
func TestTrainingGoesOnWhileTheRunIsSaved(t *testing.T) {
	for _, d := range []storage.Device{storage.CPU, cudatest.Devices(t, cudatest.Deferred)[0]} {
		slowly.begun, slowly.finish = make(chan map[string]string), make(chan error)
		run, data := newRun(t, d, mode{}, bare)
		var written map[string]string
		var want string
		saved := 0
		err := run.Fit(context.Background(), data, train.Options{File: filepath.Join(t.TempDir(), "run.slow"), SaveEvery: train.Interval{Steps: 6}, Callbacks: []train.Callback{train.CallbackFuncs{
			OnStepEnd: func(train.Progress) error {
				switch run.Position.Step {
				case 6:
					want = state(t, run)["model/1.bias"]
				case 7:
					written = <-slowly.begun
				case 10:
					if saved != 0 {
						t.Errorf("%v: saved before it was", d)
					}
					slowly.finish <- nil
					go func() { // the three other times
						for range 3 {
							<-slowly.begun
							slowly.finish <- nil
						}
					}()
				}
				return nil
			},
			OnSaved: func(string) error { saved++; return nil },
		}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := written["model/1.bias"]; got != want || saved != 4 {
			t.Errorf("%v: the file of step 6 holds the bias %s, which was %s; %d files", d, got, want, saved)
		}
	}
}

// TestErrorsOfSavingEndTraining after the step that was being made.
func TestErrorsOfSavingEndTraining(t *testing.T) {
	run, data := newRun(t, storage.CPU, mode{}, bare)
	folder := filepath.Join(t.TempDir(), "folder")
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	err := run.Fit(context.Background(), data, train.Options{File: filepath.Join(folder, "run.npz"), SaveEvery: train.Interval{Steps: 2}, Callbacks: []train.Callback{train.CallbackFuncs{
		OnStepEnd: func(train.Progress) error {
			if run.Position.Step == 2 {
				return os.RemoveAll(folder)
			}
			time.Sleep(10 * time.Millisecond)
			return nil
		},
	}}})
	if !errors.Is(err, fs.ErrNotExist) || run.Position.Step > 6 {
		t.Errorf("error %v after %d steps", err, run.Position.Step)
	}
}

const killed = "H5DNN_TEST_TRAIN_FILE"

// TestKilledRunsLeaveAWholeFile kills a process that saves after every step, again and
// again, and goes on from the file that it leaves.
func TestKilledRunsLeaveAWholeFile(t *testing.T) {
	text := strings.Replace(bare, "{dense: 4}", "{dense: 2000}, relu, {dense: 4}", 1)
	if file := os.Getenv(killed); file != "" {
		run, data := newRun(t, storage.CPU, mode{}, text)
		if again, err := train.Resume(file, storage.CPU); err == nil {
			run = again
		} else if !errors.Is(err, fs.ErrNotExist) {
			fmt.Println("DAMAGED", err)
			os.Exit(3)
		}
		run.Config.Epochs = 1 << 20
		err := run.Fit(context.Background(), data, train.Options{File: file, SaveEvery: train.Interval{Steps: 1}})
		fmt.Println("ENDED", err)
		os.Exit(3)
	}
	file, last := filepath.Join(t.TempDir(), "run.npz"), uint64(0)
	for i := range 12 {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestKilledRunsLeaveAWholeFile$")
		cmd.Env = append(os.Environ(), killed+"="+file)
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for began := time.Now(); ; time.Sleep(time.Millisecond) { // until it has saved something anew
			if run, err := train.Resume(file, storage.CPU); err == nil && run.Position.Step > last {
				break
			} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("while it is being replaced: %v", err)
				break
			}
			if time.Since(began) > time.Minute {
				t.Fatal("nothing is saved: ", out.String())
			}
		}
		time.Sleep(time.Duration(rand.IntN(8_000)) * time.Microsecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil || cmd.ProcessState.Exited() {
			t.Fatalf("it ended by itself: %s", out.String())
		}
		run, err := train.Resume(file, storage.CPU)
		if err != nil {
			t.Fatalf("killed for the %dth time: %v", i+1, err)
		}
		if run.Position.Step <= last {
			t.Errorf("step %d, after %d before", run.Position.Step, last)
		}
		last = run.Position.Step
	}
}
