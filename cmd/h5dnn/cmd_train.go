package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

func trainCommand() *cli.Command {
	d := train.Defaults()
	return &cli.Command{
		Name:      "train",
		Usage:     "train a model on arrays in files, and write a run file to go on from",
		ArgsUsage: "[CONFIG.yaml]",
		Description: "What CONFIG.yaml says, flags override; flags alone will do. Ctrl-C saves; --resume RUN goes on from there,\n" +
			"bit by bit as if nothing had happened.\n\n" +
			"Many files:  --data 'part_*.h5', or --data several times; --y-data names as many for --y\n" +
			"Episodes:    --x 'data/*/obs/pose' --y 'data/*/actions' --steps 8 --split mask:mask/valid\n" +
			"ROWS:        [100:], PATH of a mask or of a list of row numbers, or PATH==VALUE (!= < <= > >= too, words too);\n" +
			"             of episodes, a list of their names\n" +
			"With --steps, a split shares no row: it takes whole episodes, or the end of the only one.",
		Flags: append(slices.Concat(dataFlags(), sampleFlags(), loadingFlags()),
			&cli.StringFlag{Name: "model", Usage: "one of " + strings.Join(nn.Presets(), ", ") + "; the YAML file can list layers", DefaultText: fmt.Sprint(d.Model)},
			&cli.StringFlag{Name: "loss", Usage: "cross_entropy, mse, sse or mae", DefaultText: fmt.Sprint(d.Loss)},
			&cli.StringFlag{Name: "optimizer", Usage: "sgd, adam or adamw", DefaultText: fmt.Sprint(d.Optimizer)},
			&cli.Float64Flag{Name: "lr", Usage: "learning `RATE`", DefaultText: "the optimizer's"},
			&cli.StringFlag{Name: "schedule", Usage: "how the rate goes down: cosine, linear or constant", DefaultText: fmt.Sprint(d.Schedule)},
			&cli.IntFlag{Name: "epochs", Usage: "`NUMBER` of times every sample is seen", DefaultText: fmt.Sprint(d.Epochs)},
			&cli.IntFlag{Name: "batch", Usage: "`NUMBER` of samples in a step", DefaultText: fmt.Sprint(d.Batch)},
			&cli.Uint64Flag{Name: "seed", Usage: "`NUMBER` that all that is random follows from", DefaultText: fmt.Sprint(d.Seed)},
			&cli.StringFlag{Name: "device", Usage: "what computes: cpu, or a GPU as h5dnn devices names it (cuda:0)", DefaultText: d.Device},
			&cli.StringFlag{Name: "precision", Usage: "of products: float32, or tf32, bf16 or fp16, which pay on GPUs only; weights stay float32", DefaultText: "float32"},
			&cli.StringFlag{Name: "resident", Usage: "whether all samples stay on the GPU: auto, yes or no", DefaultText: "auto: where half of its free memory holds them"},
			&cli.BoolFlag{Name: "graph", Usage: "record steps on a GPU once and replay them; --graph=false does not", DefaultText: "where it can be done"},
			&cli.IntFlag{Name: "threads", Usage: "`NUMBER` of threads that compute", DefaultText: "all there are"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write the run to `FILE`", DefaultText: "run.h5"},
			&cli.StringFlag{Name: "resume", Usage: "go on with the run in `FILE`"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object for each epoch; its data are resident on the GPU, in memory, or streamed out of files"},
			&cli.BoolFlag{Name: "profile", Usage: "say at the end, on standard error, what the GPU was asked for, and by whom"},
		),
		Action: func(c *cli.Context) error {
			job, err := newJob(c)
			if err != nil {
				return err
			}
			defer job.data.Close()
			if !c.Bool("profile") {
				return job.run(c)
			}
			return profiled(c.App.ErrWriter, job.train.Config.Device, func() error { return job.run(c) })
		},
	}
}

// dataFlags say where labelled samples are.
func dataFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "data", Usage: "the `FILE` of samples; several if repeated, or a pattern ('part_*.h5')"},
		&cli.StringSliceFlag{Name: "y-data", Usage: "the `FILE` of --y, if it is another; as many as of --data"},
		&cli.StringFlag{Name: "x", Usage: "`PATH` of inputs in it, and [slice] if not all; with stars ('data/*/obs/pose') those of many episodes"},
		&cli.StringFlag{Name: "y", Usage: "`PATH` of what the model should say of them"},
		&cli.StringSliceFlag{Name: "rows", Usage: "leave out all but these `ROWS`: [slice], PATH of a mask or list, or PATH==VALUE; repeated, what all allow"},
	}
}

// sampleFlags say what else there is to samples, and which to validate on.
func sampleFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "x-offsets", Usage: "`PATH` of where --x is cut into rows of different lengths (indptr)"},
		&cli.StringFlag{Name: "x-columns", Usage: "`PATH` of the columns of a sparse --x (CSR)"},
		&cli.IntFlag{Name: "length", Usage: "`NUMBER` that rows of different lengths are cut or padded to", DefaultText: "the longest"},
		&cli.IntFlag{Name: "steps", Usage: "`NUMBER` of neighbouring rows that make a sample", DefaultText: "1"},
		&cli.IntFlag{Name: "y-steps", Usage: "`NUMBER` of them, from the last, that the model should say something of", DefaultText: "all"},
		&cli.StringFlag{Name: "normalize", Usage: "none or MEAN/STD, of all or by channel (0.5,0.4/0.2,0.2)", DefaultText: "auto: by the data if they are integers"},
		&cli.StringFlag{Name: "layout", Usage: "of images: nchw or nhwc", DefaultText: "nchw"},
		&cli.BoolFlag{Name: "one-hot", Usage: "compare with rows of zeros and a one in the place that --y says"},
		&cli.IntFlag{Name: "classes", Usage: "`NUMBER` of classes", DefaultText: "as many as the labels have"},
		&cli.StringFlag{Name: "split", Usage: "validate on a `PART` of the samples: 0.1, attr:NAME (an attribute that says train or valid), or mask:ROWS", DefaultText: "none"},
		&cli.StringSliceFlag{Name: "val-data", Usage: "the `FILE` of --val-x and --val-y, if it is another"},
		&cli.StringSliceFlag{Name: "val-y-data", Usage: "the `FILE` of --val-y, if that is yet another"},
		&cli.StringFlag{Name: "val-x", Usage: "`PATH` of inputs to validate on"},
		&cli.StringFlag{Name: "val-y", Usage: "`PATH` of what the model should say of them"},
		&cli.StringSliceFlag{Name: "val-rows", Usage: "leave out all but these `ROWS` of them, as --rows"},
	}
}

// loadingFlags say how samples are loaded.
func loadingFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "shuffle", Usage: "exact, window (of chunks) or none", DefaultText: "auto: window where there are chunks"},
		&cli.IntFlag{Name: "window", Usage: "`NUMBER` of chunks that are open under window shuffling", DefaultText: "by their size"},
		&cli.Int64Flag{Name: "memory", Usage: "`MIB` that loading may take, a quarter of it to validate", DefaultText: "512 for each"},
	}
}

// A job is a training about to begin.
type job struct {
	train *train.Run
	data  *trainingData
	file  string // where the run is kept
}

func newJob(c *cli.Context) (*job, error) {
	if c.String("resume") != "" {
		return resumedJob(c)
	}
	config, err := configOf(c)
	if err != nil {
		return nil, err
	}
	j := &job{file: c.String("output")}
	if j.file == "" {
		j.file = "run.h5"
		if exists(j.file) {
			return nil, fmt.Errorf("%s is there already; go on with it by --resume %s, or name another file with -o", j.file, j.file)
		}
	}
	if err := canWrite(j.file); err != nil {
		return nil, err
	}
	device, err := compute(config)
	if err != nil {
		return nil, err
	}
	if j.data, err = openData(config); err != nil {
		return nil, err
	}
	if j.train, err = train.New(c.Context, config, j.data.Data, device); err != nil {
		j.data.Close()
		return nil, err
	}
	return j, nil
}

// resumedJob goes on with a run. Flags that would make it another run are refused.
func resumedJob(c *cli.Context) (*job, error) {
	j := &job{file: c.String("resume")}
	if c.NArg() > 0 {
		return nil, fmt.Errorf("%s: a run is resumed with its own configuration; leave the file out", c.Args().First())
	}
	for _, name := range c.LocalFlagNames() {
		switch name {
		case "resume", "output", "o", "data", "y-data", "val-data", "val-y-data", "epochs", "device", "resident", "graph", "threads", "memory", "json", "profile":
		default:
			return nil, fmt.Errorf("--%s would make another run of %s; start one without --resume", name, j.file)
		}
	}
	run, err := resumeWith(j.file, func(config *train.Config) (storage.Device, error) {
		if err := override(c, config); err != nil {
			return nil, err
		}
		if err := config.Check(); err != nil {
			return nil, err
		}
		return compute(*config)
	})
	if err != nil {
		return nil, err
	}
	if j.train = run; c.String("output") != "" {
		j.file = c.String("output")
	}
	if run.Position.Epoch >= run.Config.Epochs {
		return nil, fmt.Errorf("%s: all its %d epochs are done; ask for more with --epochs", c.String("resume"), run.Config.Epochs)
	}
	if err := canWrite(j.file); err != nil {
		return nil, err
	}
	j.data, err = openData(run.Config)
	return j, err
}

// configOf returns what the YAML file says, if there is one, and what the flags say.
func configOf(c *cli.Context) (train.Config, error) {
	config := train.Defaults()
	if c.NArg() > 1 {
		return config, fmt.Errorf("%q is one argument too many; see h5dnn train --help", c.Args().Get(1))
	}
	if name := c.Args().First(); name != "" {
		text, err := readConfig(name)
		if err != nil {
			return config, err
		}
		var failed error
		config, err = train.ParseConfig(text, func(config *train.Config) {
			for _, names := range []train.Names{config.Data.File, config.Data.YFile, config.Data.ValFile, config.Data.ValYFile} {
				beside(name, names)
			}
			failed = override(c, config)
		})
		if failed != nil {
			return config, failed
		}
		if err != nil {
			err = fmt.Errorf("%s:%w", name, err)
		}
		for _, warning := range config.Warnings {
			fmt.Fprintf(c.App.ErrWriter, "h5dnn train: warning: %s:%s\n", name, warning)
		}
		return config, err
	}
	if err := override(c, &config); err != nil {
		return config, err
	}
	return config, flagged(config.Check())
}

func readConfig(name string) ([]byte, error) {
	if err := isFile(name); err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const most = 1 << 20 // more than a configuration may have; ParseConfig says so
	return io.ReadAll(io.LimitReader(f, most))
}

// beside makes paths that are relative to the file named config ones that are
// relative to where we are.
func beside(config string, paths []string) {
	for i, path := range paths {
		if path != "" && !filepath.IsAbs(path) {
			paths[i] = filepath.Join(filepath.Dir(config), path)
		}
	}
}

// override puts what flags say in the place of what config says.
func override(c *cli.Context, config *train.Config) error {
	d := &config.Data
	for name, to := range map[string]*train.Names{
		"data": &d.File, "y-data": &d.YFile, "rows": &d.Rows,
		"val-data": &d.ValFile, "val-y-data": &d.ValYFile, "val-rows": &d.ValRows,
	} {
		if c.IsSet(name) {
			*to = c.StringSlice(name)
		}
	}
	for name, to := range map[string]*string{
		"x": &d.X, "y": &d.Y, "val-x": &d.ValX, "val-y": &d.ValY, "x-offsets": &d.XOffsets, "x-columns": &d.XColumns,
		"shuffle": &d.Shuffle, "layout": &d.Layout, "device": &config.Device,
		"precision": &config.Precision,
	} {
		if c.IsSet(name) {
			*to = c.String(name)
		}
	}
	for name, to := range map[string]*int{
		"length": &d.Length, "steps": &d.Steps, "y-steps": &d.YSteps, "window": &d.Window,
		"classes": &config.Classes, "epochs": &config.Epochs, "batch": &config.Batch, "threads": &config.Threads,
	} {
		if c.IsSet(name) {
			*to = c.Int(name)
		}
	}
	if c.IsSet("normalize") {
		n, err := train.ParseNormalize(c.String("normalize"))
		if err != nil {
			return fmt.Errorf("--normalize %w", err)
		}
		d.Normalize = n
	}
	d.OneHot = d.OneHot || c.Bool("one-hot")
	if c.IsSet("memory") {
		d.Memory = c.Int64("memory")
	}
	if c.IsSet("seed") {
		config.Seed = c.Uint64("seed")
	}
	if c.IsSet("model") {
		config.Model = c.String("model")
	}
	if c.IsSet("loss") {
		config.Loss = c.String("loss")
	}
	if c.IsSet("schedule") {
		config.Schedule = c.String("schedule")
	}
	if c.IsSet("optimizer") {
		config.Optimizer = c.String("optimizer")
	}
	if c.IsSet("lr") {
		config.SetLearningRate(c.Float64("lr"))
	}
	if err := overrideChoices(c, config); err != nil {
		return err
	}
	return overrideSplit(c, d)
}

// overrideChoices is override of what is done where it can be, unless told.
func overrideChoices(c *cli.Context, config *train.Config) (err error) {
	if c.IsSet("graph") {
		if config.Graph, err = train.ParseChoice(fmt.Sprint(c.Bool("graph"))); err != nil {
			return fmt.Errorf("--graph %w", err)
		}
	}
	if c.IsSet("resident") {
		if config.Data.Resident, err = train.ParseChoice(c.String("resident")); err != nil {
			return fmt.Errorf("--resident %w", err)
		}
	}
	return nil
}

func overrideSplit(c *cli.Context, d *train.DataConfig) (err error) {
	if c.IsSet("split") {
		if d.Split, err = train.ParseSplit(c.String("split")); err != nil {
			return fmt.Errorf("--split: %w", err)
		}
	}
	return nil
}

// flagged names the flag that a setting was given by, or should be.
func flagged(err error) error {
	var wrong *config.Error
	if !errors.As(err, &wrong) {
		return err
	}
	steps := append(slices.Clone(wrong.Path), "")
	setting := fmt.Sprint(steps[0])
	if inside, ok := steps[1].(string); ok && setting == "data" && inside != "" {
		setting = inside
	}
	other := map[string]string{"file": "data", "memory_mb": "memory", "data": "val-x"}
	name, ok := other[setting]
	if !ok {
		name = strings.ReplaceAll(setting, "_", "-")
	}
	return fmt.Errorf("--%s: %w", name, wrong.Err)
}

// canWrite reports what will keep the run file from being written, before hours
// go into what it would hold.
func canWrite(name string) error {
	if _, err := serialize.ByExtension(name); err != nil {
		return err
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file; name another with -o", name)
	}
	probe, err := os.CreateTemp(filepath.Dir(name), ".h5dnn-*")
	var refused *fs.PathError
	if errors.As(err, &refused) {
		return fmt.Errorf("cannot write %s: %w; name another with -o", name, refused.Err)
	}
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// trainingData is the arrays to train on, and the files they are in.
type trainingData struct {
	*train.Data
	files
}

func openData(config train.Config) (*trainingData, error) {
	d := &trainingData{files: files{}}
	var err error
	if d.Data, err = train.OpenData(config, d.files); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// adviseMemory names the flags that make a run need less memory.
func adviseMemory(err error) error {
	var e *train.MemoryError
	if !errors.As(err, &e) {
		return err
	}
	if e.Loading {
		return fmt.Errorf("%w; --memory allows more", e.Err)
	}
	var ways []string
	if e.Resident {
		ways = append(ways, "--resident no")
	}
	if e.Batch > 1 {
		ways = append(ways, fmt.Sprintf("a --batch below %d", e.Batch))
	}
	if e.Precision != "" {
		ways = append(ways, "--precision "+e.Precision)
	}
	if len(ways) == 0 {
		return e.Err
	}
	return fmt.Errorf("%w; this run takes less with %s", e.Err, strings.Join(ways, ", "))
}

// A saved error says that training was interrupted, and how to go on.
type saved struct{ file string }

func (s saved) Error() string {
	return fmt.Sprintf("interrupted; go on with: h5dnn train --resume %s", s.file)
}

// run trains, and shows how it goes.
func (j *job) run(c *cli.Context) error {
	watch := newMonitor(c, j)
	watch.begin()
	err := j.train.Fit(c.Context, j.data.Data, train.Options{File: j.file, Callbacks: []train.Callback{train.CallbackFuncs{
		OnRunBegin: watch.plan, OnNote: watch.note, OnStepEnd: watch.batch, OnEpochEnd: watch.epoch,
	}}})
	watch.end()
	interrupted := c.Context.Err() != nil && errors.Is(err, context.Canceled)
	if err != nil && !interrupted {
		return adviseMemory(err)
	}
	if err := drawCurves(curvesName(j.file), j.train.History); err != nil {
		return err
	}
	if interrupted {
		return saved{j.file}
	}
	return watch.done()
}
