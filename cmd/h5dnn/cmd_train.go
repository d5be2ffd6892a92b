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
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/h5dnn/h5dnn/collective"
	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/dataset/datafiles"
	"github.com/h5dnn/h5dnn/internal/atomicfile"
	"github.com/h5dnn/h5dnn/nn"
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

// A resumption says when a flag may change as a run is resumed.
type resumption int

const (
	never       resumption = iota
	untilUpdate            // of the model, as the run may be one of a converted model
	always
)

// A trainFlag is a flag of train.
type trainFlag struct {
	heading string // of --help
	resume  resumption
	cli.Flag
}

// dataFlags select labelled data, under a heading of --help.
func dataFlags(heading string) []trainFlag {
	return []trainFlag{
		{heading, always, &cli.StringSliceFlag{Name: "data", Usage: "data `FILE`; repeat it for several, or give a pattern ('part_*.h5')"}},
		{heading, always, &cli.StringSliceFlag{Name: "y-data", Usage: "`FILE` of --y if it is not the one of --x; as many as --data"}},
		{heading, untilUpdate, &cli.StringFlag{Name: "x", Usage: "dataset `PATH` of inputs, with [slice] for a part; 'data/*/obs/pose' for many episodes, age,sex,height for columns of one input"}},
		{heading, untilUpdate, &cli.StringFlag{Name: "y", Usage: "dataset `PATH` of targets (labels)"}},
		{heading, untilUpdate, &cli.StringSliceFlag{Name: "rows", Usage: "select `ROWS`: [slice], mask, index list, or PATH==VALUE; repeat it to combine them with and"}},
		{heading, untilUpdate, unknownFlag()},
		{heading, always, followFlag()},
		{heading, never, fromFlag()},
		{heading, never, voidFlag()},
	}
}

// unknownFlag maps values that have no category.
func unknownFlag() cli.Flag {
	return &cli.IntFlag{Name: "unknown", Usage: "`CODE` of strings in inputs that are not among the categories of training, such as -1 for zeros", DefaultText: "an error"}
}

// trainFlags are the flags of train.
func trainFlags() []trainFlag {
	d := train.Defaults()
	return append(dataFlags("Data"), []trainFlag{
		{"Data", never, &cli.StringFlag{Name: "x-offsets", Usage: "dataset `PATH` of the row offsets (indptr) of --x, for rows of different lengths"}},
		{"Data", never, &cli.StringFlag{Name: "x-columns", Usage: "dataset `PATH` of the column indices of a sparse --x (CSR)"}},
		{"Data", never, &cli.StringFlag{Name: "genes", Usage: "columns of X, raw/X and layers of .h5ad files by name: `GENES` are union, intersection or NAME,NAME", DefaultText: "the same in all files"}},
		{"Data", never, &cli.IntFlag{Name: "length", Usage: "`LENGTH` to which rows of different lengths are cut or padded", DefaultText: "the longest"}},
		{"Data", never, &cli.IntFlag{Name: "steps", Usage: "window `LENGTH`, in rows", DefaultText: "1"}},
		{"Data", never, &cli.StringFlag{Name: "frames", Usage: "`ROWS` of a window that --x has, such as ::5 for every fifth, or NAME=ROWS by input", DefaultText: "all"}},
		{"Data", never, &cli.StringFlag{Name: "episodes", Usage: "`PATH` of what divides rows into episodes, within which windows stay: numbers or words of the rows, lengths, or first rows"}},
		{"Data", never, &cli.IntFlag{Name: "pad-before", Usage: "`NUMBER` of rows before an episode's first with which windows begin, copies of it", DefaultText: "0"}},
		{"Data", never, &cli.IntFlag{Name: "pad-after", Usage: "`NUMBER` of rows after an episode's last with which windows end, copies of it", DefaultText: "0"}},
		{"Data", never, &cli.IntFlag{Name: "y-steps", Usage: "`NUMBER` of rows at the end of the window that are targets", DefaultText: "all, or 1 with --y-ahead"}},
		{"Data", never, &cli.IntFlag{Name: "y-ahead", Usage: "`NUMBER` of rows from the last input to the first target: 1 forecasts the next row", DefaultText: "targets are rows of the window"}},
		{"Data", never, &cli.StringFlag{Name: "images", Usage: "rows of --x are PNG or JPEG files, decoded to `PIXELS`: rgb or gray, or NAME=one of these by input"}},
		{"Data", never, &cli.StringFlag{Name: "categorical", Usage: "strings, enums and categories in --x become one_hot columns, codes (integers) or values (integers as the file has them), or NAME=one of these by input", DefaultText: "one_hot"}},
		{"Data", never, &cli.StringFlag{Name: "normalize", Usage: "none or MEAN/STD, for all channels or for each (0.5,0.4/0.2,0.2)", DefaultText: "auto: tables and the targets of a regression by column, integers as a whole"}},
		{"Data", never, &cli.StringFlag{Name: "missing", Usage: "fill missing inputs (NaN) with `RULE`: mean, previous or a number; ignore leaves missing targets out of the loss; both as x=mean,y=ignore", DefaultText: "error"}},
		{"Data", never, &cli.StringFlag{Name: "layout", Usage: "image layout: nchw or nhwc", DefaultText: "as the file or the shape says"}},
		{"Data", untilUpdate, &cli.BoolFlag{Name: "one-hot", Usage: "one-hot encode integer labels"}},
		{"Data", never, &cli.IntFlag{Name: "classes", Usage: "`NUMBER` of classes", DefaultText: "from the labels"}},
		{"Validation", untilUpdate, &cli.StringFlag{Name: "split", Usage: "validate on `PART` of the samples: a fraction (0.1), attr:NAME or column:PATH (an attribute or a column with the values train and valid), mask:ROWS, or settings such as {folds: 5, fold: 0, group: PATH}", DefaultText: "none"}},
		{"Validation", always, &cli.StringSliceFlag{Name: "val-data", Usage: "`FILE` of --val-x and --val-y if it is not the one of --data"}},
		{"Validation", always, &cli.StringSliceFlag{Name: "val-y-data", Usage: "`FILE` of --val-y if it is not the one of --val-x"}},
		{"Validation", untilUpdate, &cli.StringFlag{Name: "val-x", Usage: "dataset `PATH` of validation inputs"}},
		{"Validation", untilUpdate, &cli.StringFlag{Name: "val-y", Usage: "dataset `PATH` of validation targets"}},
		{"Validation", untilUpdate, &cli.StringSliceFlag{Name: "val-rows", Usage: "select `ROWS` of the validation data, as --rows does"}},
		{"Loading", untilUpdate, &cli.StringFlag{Name: "shuffle", Usage: "exact, window (a shuffle buffer of chunks) or none", DefaultText: "auto: window for chunked data"}},
		{"Loading", untilUpdate, &cli.IntFlag{Name: "window", Usage: "size of the shuffle buffer, in `CHUNKS`", DefaultText: "from the chunk size"}},
		{"Loading", always, &cli.Int64Flag{Name: "memory", Usage: "memory limit of the loaders in `MIB`, a quarter of it for validation", DefaultText: "512 for each"}},
		{"Model", never, &cli.StringFlag{Name: "model", Usage: "preset: " + strings.Join(nn.Presets(), ", ") + "; a YAML file can list layers", DefaultText: fmt.Sprint(d.Model)}},
		{"Model", never, &cli.BoolFlag{Name: "summary", Usage: "print the layers with their shapes, parameters and multiply-adds, and the memory of training, before any sample is read, and end"}},
		{"Model", untilUpdate, &cli.StringFlag{Name: "loss", Usage: registered("loss"), DefaultText: fmt.Sprint(d.Loss)}},
		{"Training", never, &cli.StringFlag{Name: "optimizer", Usage: registered("optimizer"), DefaultText: fmt.Sprint(d.Optimizer)}},
		{"Training", untilUpdate, &cli.Float64Flag{Name: "lr", Usage: "learning `RATE`", DefaultText: "the optimizer's"}},
		{"Training", never, &cli.BoolFlag{Name: "find-lr", Usage: "try learning rates from 1e-7 to 10 in 100 steps, print the losses and the best rate, and end"}},
		{"Training", untilUpdate, &cli.StringFlag{Name: "schedule", Usage: "learning rate schedule: " + registered("schedule"), DefaultText: fmt.Sprint(d.Schedule)}},
		{"Training", always, &cli.IntFlag{Name: "epochs", Usage: "`NUMBER` of epochs", DefaultText: fmt.Sprint(d.Epochs)}},
		{"Training", untilUpdate, &cli.IntFlag{Name: "batch", Usage: "batch `SIZE`", DefaultText: fmt.Sprint(d.BatchSize)}},
		{"Training", untilUpdate, &cli.Uint64Flag{Name: "seed", Usage: "`SEED` of all random numbers", DefaultText: fmt.Sprint(d.Seed)}},
		{"Hardware", always, &cli.StringFlag{Name: "device", Usage: "cpu, or a GPU as listed by h5dnn devices (cuda:0)", DefaultText: d.Device}},
		{"Hardware", never, &cli.StringFlag{Name: "precision", Usage: "of matrix products and convolutions: float32, tf32, bf16 or fp16; weights stay float32", DefaultText: "float32"}},
		{"Hardware", always, &cli.StringFlag{Name: "resident", Usage: "keep all samples in GPU memory: auto, yes or no", DefaultText: "auto: if they fit half of the free memory"}},
		{"Hardware", always, &cli.BoolFlag{Name: "graph", Usage: "capture training steps in a CUDA graph and replay it; --graph=false launches every kernel", DefaultText: "if the device can"}},
		{"Hardware", always, &cli.IntFlag{Name: "threads", Usage: "`NUMBER` of compute threads of a process", DefaultText: "all, divided among the processes of a machine"}},
		{"Hardware", never, &cli.IntFlag{Name: "shards", Usage: "`NUMBER` of equal parts of each batch, which processes divide among them", DefaultText: "one for each process"}},
		{"Output", always, &cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write the run to `FILE`", DefaultText: defaultRun}},
		{"Output", always, &cli.StringFlag{Name: "save-every", Usage: "save the run after each `INTERVAL`: 10m, 500steps or epoch", DefaultText: "epoch"}},
		{"Output", always, &cli.IntFlag{Name: "keep", Usage: "keep the last `N` saves beside the run, named after their steps: run-step1200.h5 for run.h5", DefaultText: "none"}},
		{"Output", always, &cli.StringFlag{Name: "resume", Usage: "continue the run in `FILE`, and replace it and its plot"}},
		{"Output", always, forceFlag()},
		{"Output", always, &cli.BoolFlag{Name: "json", Usage: "print one JSON object per epoch"}},
		{"Output", never, &cli.BoolFlag{Name: "print-config", Usage: "print all settings of the run as YAML that train reads, each with its origin, and end"}},
		{"Output", always, &cli.BoolFlag{Name: "profile", Usage: "print GPU launches, copies and allocations to standard error at the end"}},
		{"Output", always, &cli.StringFlag{Name: "trace", Usage: "write what reads, decodes, copies and computes when, to `FILE.json`, a Chrome trace that chrome://tracing and ui.perfetto.dev show; steps are slower meanwhile"}},
	}...)
}

// flagsUnder returns flags as package cli takes them, under their headings of --help.
func flagsUnder(rows []trainFlag) (flags []cli.Flag) {
	for _, f := range rows {
		reflect.ValueOf(f.Flag).Elem().FieldByName("Category").SetString(f.heading)
		flags = append(flags, f.Flag)
	}
	return flags
}

// registered lists the names that a kind of setting takes: "adam, adamw or sgd".
func registered(kind string) string {
	var names []string
	for _, r := range nn.Registrations() {
		if r.Kind == kind {
			names = append(names, r.Name)
		}
	}
	return choice(names)
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
	if err := run.CheckOptimizer(); err != nil {
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

// whenChanged says when a flag of that name may change as a run is resumed.
func whenChanged(name string) resumption {
	for _, f := range trainFlags() {
		if slices.Contains(f.Names(), name) {
			return f.resume
		}
	}
	return never
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

// flagged names the flag of the setting that is wrong, instead of its path.
func flagged(err error) error {
	var wrong *config.Error
	if !errors.As(err, &wrong) {
		return err
	}
	return fmt.Errorf("--%s: %w", flagOf(err), wrong.Err)
}

// flagOf returns the flag of the setting that is wrong, without dashes, or "" if err is about none.
func flagOf(err error) string {
	var wrong *config.Error
	if !errors.As(err, &wrong) {
		return ""
	}
	steps := append(slices.Clone(wrong.Path), "")
	setting := fmt.Sprint(steps[0])
	if inside, ok := steps[1].(string); ok && setting == "data" && inside != "" {
		setting = inside
	}
	other := map[string]string{"file": "data", "y_file": "y-data", "val_file": "val-data", "val_y_file": "val-y-data", "memory_mb": "memory", "data": "val-x"}
	if name, ok := other[setting]; ok {
		return name
	}
	return strings.ReplaceAll(setting, "_", "-")
}

// sameName reports whether two names lead to one directory entry.
func sameName(a, b string) bool {
	x, err1 := filepath.EvalSymlinks(a)
	y, err2 := filepath.EvalSymlinks(b)
	x, err3 := filepath.Abs(x)
	y, err4 := filepath.Abs(y)
	return x == y && errors.Join(err1, err2, err3, err4) == nil
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

// flagsFor returns the text of an error of package train with flags instead of settings.
func flagsFor(err error, text string) string {
	if layout := (*train.LayoutError)(nil); errors.As(err, &layout) {
		return strings.Replace(text, "data.layout: ", "--layout ", 1)
	}
	if missing := (*dataconfig.MissingError)(nil); errors.As(err, &missing) && !strings.Contains(missing.Way, "{") {
		return strings.Replace(text, "set data.missing: ", "set --missing ", 1)
	}
	if memory := (*train.MemoryError)(nil); errors.As(err, &memory) {
		text = memoryFlags.Replace(text)
		if memory.Loading && errors.Is(err, dataset.ErrWindow) {
			text += ", and --window opens fewer"
		}
	}
	if errors.Is(err, train.ErrMoved) {
		return strings.TrimSuffix(text, train.ErrMoved.Error()) + "name it with --data"
	}
	return text
}
