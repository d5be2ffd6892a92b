//go:build cgo

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/h5dnn/h5dnn/collective"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/dataset/datafiles"
	"github.com/h5dnn/h5dnn/internal/atomicfile"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

func trainCommand() *cli.Command {
	return &cli.Command{
		Name:      "train",
		Usage:     "train a model on arrays in files and write a run file",
		ArgsUsage: "[CONFIG.yaml]",
		Description: "Flags override the settings of CONFIG.yaml, which may be left out; - is standard input.\n\n" +
			"Saving:      after each epoch, or after each --save-every 10m or 500steps instead; at the end; and on Ctrl-C,\n" +
			"             SIGTERM and SIGHUP, which end training. A kill loses what came after the last save.\n" +
			"             --keep 3 leaves the last three saves beside the run, which is always the latest.\n" +
			"             --resume RUN goes on and gives the same bits as a run that was not interrupted, with the same\n" +
			"             number of threads and the same instruction set, or on the same kind of GPU. Convolutions, and\n" +
			"             on some processors matrix products, are summed in parts, one for each thread.\n" +
			"             A converted model is trained so, too: --resume RUN --data FILE --x PATH --y PATH --loss NAME --lr RATE\n\n" +
			"Many files:  --data 'part_*.h5', or --data several times; --y-data as many times for --y\n" +
			"Episodes:    --x 'data/*/obs/pose' --y 'data/*/actions' --steps 8 --split mask:mask/valid\n" +
			"Growing:     a run trains on the rows that its files have when it begins; there is no --refresh. With --rows '[:N]' it\n" +
			"             can be resumed after more were added.\n" +
			"Forecasts:   --x load --y load --steps 24 --y-ahead 1; --y-steps 12 of the 12 rows from there on\n" +
			"ROWS:        [100:], PATH of a mask or of an index list, or PATH==VALUE (also != < <= > >=, also strings),\n" +
			"             PATH in [A, B] or PATH not in [A, B]; for episodes, a list of their names\n" +
			"Splits:      --split 0.1, of whole episodes where there are any; --split '{folds: 5, fold: 0, group: patient, stratify: true}'\n" +
			"             keeps the rows of a patient on one side; h5dnn help split lists all settings. Windows (--steps) are\n" +
			"             split by episode, or a single episode by time, so that no row is on both sides.\n" +
			"Processes:   mpirun -n 4 h5dnn train … divides each batch into shards: 4, by default one for each process. A run with the same\n" +
			"             shards and threads gives the same bits on 1, 2 or 4 processes, and goes on on another number; a run that begins\n" +
			"             on 1 and one that begins on 4 agree only if both name the same shards. make mpi builds what MPI needs.\n" +
			"Callbacks:   callbacks: [{limit: {minutes: 30}}] in CONFIG.yaml; h5dnn help callbacks lists them\n" +
			"Settings without a flag are in CONFIG.yaml: layers, metrics, augment, callbacks, clip_norm, clip_value, accumulate, ema, the settings of\n" +
			"losses, optimizers (such as groups) and schedules, weights and lengths of samples. h5dnn help configuration lists all.",
		Flags: flagsUnder(trainFlags()),
		Action: func(c *cli.Context) error {
			if err := join(c); err != nil {
				return err
			}
			if c.Bool("print-config") {
				return printConfig(c)
			}
			if c.Bool("summary") {
				return printModel(c)
			}
			if c.Bool("find-lr") {
				return findRate(c)
			}
			job, err := newJob(c)
			if err != nil {
				return err
			}
			defer job.close()
			if job.finished(c) {
				return job.sayFinished(c)
			}
			run := func() error { return traced(c, func() error { return job.run(c) }) }
			if !c.Bool("profile") {
				return run()
			}
			return profiled(c.App.ErrWriter, job.train.Config.Device, run)
		},
	}
}

// A job is a training run before it starts.
type job struct {
	train *train.Run
	data  *trainingData
	file  string   // the run file
	logs  []string // files of callbacks that a new run replaces
	lock  *train.FileLock
}

func (j *job) close() {
	if j.data != nil {
		j.data.Close()
	}
	j.lock.Unlock()
}

func newJob(c *cli.Context) (*job, error) {
	j, open := &job{}, (*job).begin
	if c.String("resume") != "" {
		open = (*job).resume
	}
	if err := open(j, c); err != nil {
		j.close()
		return nil, err
	}
	return j, nil
}

// begin opens a new run.
func (j *job) begin(c *cli.Context) error {
	config, err := configOf(c)
	if err != nil {
		return err
	}
	j.file = cmp.Or(c.String("output"), defaultRun)
	outputs := config.Outputs(j.file)
	if err := checkDistinct(append(outputs, j.file, curvesName(j.file))); err != nil {
		return err
	}
	j.logs = slices.DeleteFunc(outputs, func(name string) bool { return !exists(name) })
	if err := j.claim(c, c.Bool("force")); err != nil {
		return err
	}
	device, err := compute(config)
	if err != nil {
		return err
	}
	if j.data, err = openData(c.Context, config); err != nil {
		return err
	}
	if err := j.checkOutputs(c, c.Bool("force")); err != nil { // none is an input
		return err
	}
	if first() {
		if j.train, err = train.New(c.Context, config, j.data.Data, device); err != nil {
			return err
		}
		for _, name := range j.logs {
			if err := os.Remove(name); err != nil {
				return err
			}
		}
		config = j.train.Config
	}
	if err := shareConfig(&config); err != nil || first() {
		return err
	}
	j.train, err = train.New(c.Context, config, j.data.Data, device)
	return err
}

// resume continues a run. Flags that cannot change when resuming are errors: some may until the first
// update, as the run may be one of a converted model.
func (j *job) resume(c *cli.Context) error {
	from := c.String("resume")
	if c.NArg() > 0 {
		return fmt.Errorf("%s: a resumed run uses its own configuration; leave the file out", c.Args().First())
	}
	var fixed string
	for _, name := range c.LocalFlagNames() {
		switch whenChanged(name) {
		case never:
			return fmt.Errorf("--%s cannot change when resuming %s", name, from)
		case untilUpdate:
			fixed = cmp.Or(fixed, name)
		}
	}
	if err := isFile(from); err != nil {
		return err
	}
	if _, err := serialize.FormatOf(from); err != nil {
		return err
	}
	j.file = from
	replace := true
	if out := c.String("output"); out != "" && !sameName(out, from) {
		j.file, replace = out, c.Bool("force")
		addInput(c.Context, from, nil)
	}
	if err := j.claim(c, replace); err != nil {
		return err
	}
	run, err := resumeWith(c.Context, from, func(config *train.Config) (storage.Device, error) {
		if err := override(c, config); err != nil {
			return nil, err
		}
		if err := config.Check(); err != nil {
			return nil, err
		}
		return compute(*config)
	})
	if err != nil {
		return err
	}
	if err := run.CheckTrainable(); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	if fixed != "" {
		if run.Position.Step > 0 {
			return fmt.Errorf("--%s cannot change when resuming %s", fixed, from)
		}
		if err := run.SetTraining(run.Config); err != nil {
			return err
		}
	}
	j.train = run
	if j.finished(c) {
		return nil
	}
	if err := checkNamedData(c); err != nil {
		return err
	}
	if err := train.CheckData(run.Config, from); err != nil {
		return err
	}
	if j.data, err = openData(c.Context, run.Config); err != nil {
		return err
	}
	return j.checkOutputs(c, replace) // none is an input
}

// checkNamedData returns an error if a data file that a flag names, or one of others, does not exist.
func checkNamedData(c *cli.Context, others ...string) error {
	for _, flag := range []string{"data", "y-data", "val-data", "val-y-data"} {
		others = append(others, c.StringSlice(flag)...)
	}
	for _, name := range others {
		if strings.ContainsAny(name, "*?[") { // a pattern
			continue
		}
		if err := isFile(name); err != nil {
			return err
		}
	}
	return nil
}

// finished reports whether a resumed run is complete.
func (j *job) finished(c *cli.Context) bool {
	return c.String("resume") != "" && j.train.Complete()
}

// sayFinished reports that there is nothing to do, which is an error if the run was to
// be written to another file.
func (j *job) sayFinished(c *cli.Context) error {
	text := fmt.Sprintf("%s: all %d epochs are done; continue with more --epochs", c.String("resume"), j.train.Config.Epochs)
	if p := j.train.Position; p.Epoch < j.train.Config.Epochs {
		text = fmt.Sprintf("%s: training has ended after epoch %d: %s", c.String("resume"), p.Epoch, p.Stopped)
	}
	if j.file != c.String("resume") {
		return fmt.Errorf("%s; %s is not written", text, j.file)
	}
	w := c.App.Writer
	if c.Bool("json") {
		w = c.App.ErrWriter
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

// configOf returns the configuration in the YAML file, if one is named, with the flags applied.
func configOf(c *cli.Context) (train.Config, error) {
	config := train.Defaults()
	if c.NArg() > 1 {
		return config, fmt.Errorf("%q is one argument too many; see h5dnn train --help", c.Args().Get(1))
	}
	if name := c.Args().First(); name != "" {
		text, err := readConfig(c.Context, name)
		if err != nil {
			return config, err
		}
		var failed error
		config, err = train.ParseConfig(text, func(config *train.Config) {
			for _, names := range []dataconfig.Names{config.Data.File, config.Data.YFile, config.Data.ValFile, config.Data.ValYFile} {
				beside(name, names)
			}
			initial := []string{config.Initial.File}
			if beside(name, initial); initial[0] != "" {
				config.Initial.File = initial[0]
				addInput(c.Context, initial[0], nil)
			}
			failed = override(c, config)
		})
		if failed != nil {
			return config, failed
		}
		if flag := flagOf(err); flag != "" && c.IsSet(flag) {
			err = flagged(err)
		} else if err != nil {
			err = fmt.Errorf("%s:%w", name, err)
		}
		return config, err
	}
	if err := override(c, &config); err != nil {
		return config, err
	}
	return config, flagged(config.Check())
}

// configLimit is more than ParseConfig accepts.
const configLimit = 1 << 20

// configFromPipe reads the configuration that - names.
var configFromPipe = sync.OnceValues(func() ([]byte, error) {
	if term.IsTerminal(0) {
		return nil, errors.New("-: standard input is a terminal; pipe a configuration into the command, or name one")
	}
	return io.ReadAll(io.LimitReader(os.Stdin, configLimit))
})

// readConfig returns the text of a configuration; - is standard input, whose paths are relative to the working directory.
func readConfig(ctx context.Context, name string) ([]byte, error) {
	if name == "-" && processes() > 1 {
		return nil, errors.New("-: the first of several processes alone has the standard input; name a file")
	}
	if name == "-" {
		return configFromPipe()
	}
	if storage.IsURL(name) {
		return nil, fmt.Errorf("%s: a configuration is a file, which may name data at URLs; download it, or name the data with --data", name)
	}
	if err := isFile(name); err != nil {
		return nil, err
	}
	addInput(ctx, name, nil)
	f, err := storage.OpenFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, configLimit))
	if bytes.IndexByte(text, 0) >= 0 {
		return nil, fmt.Errorf("%s is a data file, not a configuration; name it with --data, or write a configuration for it with h5dnn init %s", name, name)
	}
	return text, err
}

// beside turns paths relative to the file named config into paths relative to the
// working directory.
func beside(config string, paths []string) {
	for i, path := range paths {
		if path != "" && !filepath.IsAbs(path) && !storage.IsURL(path) {
			paths[i] = filepath.Join(filepath.Dir(config), path)
		}
	}
}

// checkDistinct refuses a file that two outputs name.
func checkDistinct(outputs []string) error {
	known := map[string]bool{}
	for _, name := range outputs {
		path, err := filepath.Abs(name)
		if err != nil {
			return err
		}
		if known[path] {
			return fmt.Errorf("%s is written by two of the run file, its plot and the callbacks; name another file for one", name)
		}
		known[path] = true
	}
	return nil
}

// claim locks the run file, once it is known that it may be written.
func (j *job) claim(c *cli.Context, replace bool) (err error) {
	if !first() {
		return nil
	}
	if err := canWrite(j.file); err != nil {
		return err
	}
	if j.lock, err = train.LockFile(j.file); err != nil {
		return err
	}
	return j.checkOutputs(c, replace)
}

// checkOutputs returns an error if the run file, its plot, its logs or a trace may not be written.
func (j *job) checkOutputs(c *cli.Context, replace bool) error {
	if !first() {
		return nil
	}
	if j.file == defaultRun && !replace && exists(j.file) {
		return fmt.Errorf("%s exists; continue it with --resume %s, use --force to replace it, or name another file with -o", j.file, j.file)
	}
	for _, name := range slices.Concat([]string{j.file, curvesName(j.file)}, j.logs, namedBy(c, "trace")) {
		if err := checkReplaced(c, name, replace); err != nil {
			return err
		}
	}
	return nil
}

// defaultRun is the run file if -o names no other.
const defaultRun = "run.h5"

// canWrite reports early why the run file cannot be written.
func canWrite(name string) error {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return isFolder(name)
	}
	format, err := serialize.ByExtension(name)
	if err != nil {
		return fmt.Errorf("%s: its extension names no format that holds a run; use .h5 or .npz", name)
	}
	if !train.HoldsRuns(format) {
		return fmt.Errorf("%s: %s files cannot hold a run; use .h5 or .npz, and convert that", name, format.Name)
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file; name another with -o", name)
	}
	if err := checkFolder(name); err != nil {
		return err
	}
	err = atomicfile.CheckWritable(name)
	if refused := (*fs.PathError)(nil); errors.As(err, &refused) {
		return fmt.Errorf("cannot write %s: %w; name another with -o", name, refused.Err)
	}
	return err
}

// trainingData is the arrays to train on, and the files they are in.
type trainingData struct {
	*train.Data
	datafiles.Files
}

func openData(ctx context.Context, config train.Config) (*trainingData, error) {
	if group() != nil || config.Shards > 1 {
		ctx = context.WithoutCancel(ctx) // processes stop after a step that all have made to its end
	}
	d := &trainingData{Files: newFiles(ctx, config.Data.Format)}
	var err error
	if d.Data, err = train.OpenData(config, d.Files); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// run trains, and shows how it goes.
func (j *job) run(c *cli.Context) error {
	if err := j.train.CheckTrainable(); err != nil {
		return err
	}
	watch := newMonitor(c, j)
	watch.begin()
	err := j.train.Fit(c.Context, j.data.Data, train.Options{File: j.file, Lock: j.lock, Group: group(), Callbacks: []train.Callback{train.CallbackFuncs{
		OnRunBegin: watch.plan, OnNote: watch.note, OnProgress: watch.batch, OnEpochEnd: watch.epoch,
	}}})
	watch.end()
	interrupted := (c.Context.Err() != nil || group() != nil) && errors.Is(err, context.Canceled)
	if errors.Is(err, collective.ErrGroup) && exists(j.file) {
		return fmt.Errorf("%w; continue with: h5dnn train --resume %s", err, j.file)
	}
	if err != nil && !interrupted {
		return err
	}
	if !first() {
		return nil
	}
	curves := ", curves to " + curvesName(j.file)
	if err := plotCurves(curvesName(j.file), j.train.History); err != nil {
		curves = ""
		fmt.Fprintf(watch.errs, "h5dnn train: warning: %s is not drawn: %s\n", curvesName(j.file), printable(err.Error()))
	}
	if interrupted {
		return interruptedError{j.file}
	}
	return watch.done(curves)
}

// memoryFlags replaces the settings that a [train.MemoryError] names by flags.
var memoryFlags = strings.NewReplacer("a larger data.memory_mb allows", "--memory allows", "data.resident: no", "--resident no", "a batch below", "a --batch below", "precision: ", "--precision ")
