//go:build cgo

package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/train"
)

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

// whenChanged says when a flag of that name may change as a run is resumed.
func whenChanged(name string) resumption {
	for _, f := range trainFlags() {
		if slices.Contains(f.Names(), name) {
			return f.resume
		}
	}
	return never
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
