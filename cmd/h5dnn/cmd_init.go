//go:build cgo

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/dataset/datafiles"
	"github.com/h5dnn/h5dnn/internal/atomicfile"
	"github.com/h5dnn/h5dnn/models"
	"github.com/h5dnn/h5dnn/propose"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

func initCommand() *cli.Command {
	return &cli.Command{
		Name:      "init",
		Usage:     "write a commented configuration for a data file",
		ArgsUsage: "DATA [CONFIG.yaml]",
		Description: "Looks at the names, shapes, attributes and sampled values of the arrays of DATA, chooses inputs, target,\n" +
			"task, split, model, loss and metrics, and prints the reason of each, and the second choice: a label or numbers\n" +
			"of each sample, a label of each pixel, step or token, forecasts. It never proposes\n" +
			"identifiers, constants or row numbers, and fails where nothing is likely. CONFIG.yaml is DATA with\n" +
			"another extension unless it is given; - is standard output.\n\n" +
			"Splits that the file has are used: arrays of training and validation data, masks, lists of rows or of\n" +
			"episodes, columns of words or folds, attributes of episodes. Otherwise groups such as patients, and\n" +
			"episodes, stay whole, and uneven classes are stratified. Known conventions: AnnData, NetCDF, NeXus,\n" +
			"robomimic, MNE, tables of PyTables and pandas, the names of Keras.",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "x", Usage: "dataset `PATH` of inputs; repeat it for several columns"},
			&cli.StringSliceFlag{Name: "y", Usage: "dataset `PATH` of the target (labels); repeat it for several outputs"},
			&cli.StringFlag{Name: "task", Usage: "`TASK` to learn: " + taskNames()},
			&cli.StringFlag{Name: "group", Usage: "only arrays at and below `PATH`"},
			forceFlag(), followFlag(), fromFlag(), voidFlag(),
		},
		Action: func(c *cli.Context) error {
			if c.NArg() == 1 {
				return writeConfiguration(c, c.Args().First(), strings.TrimSuffix(filepath.Base(c.Args().First()), filepath.Ext(c.Args().First()))+".yaml")
			}
			args, err := arguments(c, "DATA", "CONFIG.yaml")
			if err != nil {
				return err
			}
			return writeConfiguration(c, args[0], args[1])
		},
	}
}

// taskNames lists the tasks.
func taskNames() string {
	names := make([]string, len(propose.Tasks))
	for i, t := range propose.Tasks {
		names[i] = string(t)
	}
	return choice(names)
}

// wishesOf returns what the flags ask for.
func wishesOf(c *cli.Context) (propose.Wishes, error) {
	w := propose.Wishes{X: c.StringSlice("x"), Y: c.StringSlice("y"), Task: propose.Task(c.String("task")), Group: rooted(c.String("group"))}
	if w.Task != "" && !slices.Contains(propose.Tasks, w.Task) {
		return w, fmt.Errorf("--task %s: want %s", w.Task, taskNames())
	}
	for _, paths := range [][]string{w.X, w.Y} {
		for i := range paths {
			paths[i] = rooted(paths[i])
		}
	}
	return w, nil
}

// rooted returns a path with a slash in front, as inspect prints it; "" stays.
func rooted(p string) string {
	if p == "" {
		return ""
	}
	return "/" + strings.Trim(p, "/")
}

func writeConfiguration(c *cli.Context, data, out string) error {
	if data == "-" {
		return errors.New("a configuration names its data file, and standard input has no name; write it to a file first")
	}
	if models.IsKeras(data) {
		return fmt.Errorf("%s is a model; name the file of data to train on", data)
	}
	wishes, err := wishesOf(c)
	if err != nil {
		return err
	}
	proposals, err := proposalsFor(c.Context, data, wishes)
	if err != nil {
		return err
	}
	named := data
	if out != "-" {
		if named, err = relativeTo(out, data); err != nil {
			return err
		}
	}
	text := configuration(proposals[0], named, formatFrom(c.Context))
	if _, err := newRun(c.Context, text, out); err != nil {
		return fmt.Errorf("%s: %w", data, err)
	}
	text = storage.WithoutSecrets(text) // others read it
	if out == "-" {
		_, err := fmt.Fprint(c.App.Writer, text)
		return err
	}
	if err := checkOutput(c, out); err != nil {
		return err
	}
	if err := atomicfile.Write(out, func(f *atomicfile.File) error { _, err := f.WriteString(text); return err }); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.App.Writer, "%swritten to %s; train with: h5dnn train %s\n", summaryOf(proposals), out, out)
	return err
}

// proposalsFor returns what a file can be trained for, the best first.
func proposalsFor(ctx context.Context, data string, w propose.Wishes) ([]propose.Proposal, error) {
	file, err := open(ctx, data)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if len(w.X)+len(w.Y) == 0 && isModel(file) {
		return nil, fmt.Errorf("%s holds the weights of a model; name the file of data to train on, or inputs with -x and a target with -y", data)
	}
	found, err := surveyOf(ctx, file, slices.Concat(w.X, w.Y))
	if err != nil {
		return nil, err
	}
	proposals, err := propose.From(found, w)
	if refusal := (*propose.Refusal)(nil); errors.As(err, &refusal) {
		way := "name inputs with -x and a target with -y"
		if len(w.X) > 0 && len(w.Y) > 0 {
			way = "name others, or write your own (h5dnn help configuration)"
		}
		if ask := flagsOf(refusal.Ask); ask != "" {
			way += ", or ask for " + ask
		}
		return nil, fmt.Errorf("%s: %w; %s", data, err, way)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", data, err)
	}
	for _, path := range append(slices.Clone(proposals[0].X), proposals[0].Y...) {
		if packed := datafiles.Packed(file, path); len(packed) > 0 {
			proposals[0].Notes = append(proposals[0].Notes, fmt.Sprintf("%s has %s, which are not applied to a plain HDF5 file; --from netcdf applies them", path, strings.Join(packed, ", ")))
			break
		}
	}
	return proposals, nil
}

// summaryOf returns the best proposal with its reasons, and the second.
func summaryOf(proposals []propose.Proposal) string {
	var b strings.Builder
	p := proposals[0]
	loss := propose.Choice{Text: p.Loss, Reason: p.LossWhy}
	if len(p.Targets) > 0 {
		loss = propose.Choice{Text: p.Loss + " and others", Reason: "targets of several kinds have losses of their own"}
	}
	for _, line := range []struct {
		name string
		propose.Choice
	}{{"inputs", p.Input}, {"target", p.Target}, {"task", p.Goal}, {"split", p.Split}, {"model", p.Network},
		{"loss", loss}, {"metrics", propose.Choice{Text: p.Metrics, Reason: p.MetricsWhy}}} {
		if line.Text != "" {
			fmt.Fprintf(&b, "%-8s %s: %s\n", line.name, printable(line.Text), printable(line.Reason))
		}
	}
	for _, s := range p.Data {
		if s.Key == "missing" || s.Key == "weights" || s.Key == "rows" {
			fmt.Fprintf(&b, "%-8s %s: %s\n", s.Key, printable(s.Value), printable(s.Comment))
		}
	}
	for _, note := range p.Notes {
		fmt.Fprintf(&b, "note: %s\n", printable(note))
	}
	if len(proposals) > 1 {
		q := proposals[1]
		wishes := propose.Wishes{X: q.X, Y: q.Y}
		if slices.Equal(q.X, q.Y) {
			wishes = propose.Wishes{X: q.X, Task: q.Task}
		}
		fmt.Fprintf(&b, "second choice: %s with %s: %s\n", q.Task, flagsOf(wishes), q.Target.Reason)
	}
	return b.String()
}

// flagsOf returns the flags that express wishes.
func flagsOf(w propose.Wishes) string {
	var flags []string
	for _, x := range w.X {
		flags = append(flags, "-x "+shellWord(x))
	}
	for _, y := range w.Y {
		flags = append(flags, "-y "+shellWord(y))
	}
	if w.Task != "" {
		flags = append(flags, "--task "+string(w.Task))
	}
	return strings.Join(flags, " ")
}

// relativeTo returns data as a file in the folder of out names it.
func relativeTo(out, data string) (string, error) {
	if storage.IsURL(data) {
		return data, nil
	}
	folder, err := filepath.Abs(filepath.Dir(out))
	if err != nil {
		return "", err
	}
	whole, err := filepath.Abs(data)
	if err != nil {
		return "", err
	}
	return filepath.Rel(folder, whole)
}

// newRun starts the run of a configuration that is to be written to out, or says why train would not.
func newRun(ctx context.Context, text, out string) (*train.Run, error) {
	config, err := train.ParseConfig([]byte(text), func(config *train.Config) {
		if out != "-" {
			beside(out, config.Data.File)
		}
	})
	if err != nil {
		return nil, err
	}
	data, err := openData(ctx, config)
	if err != nil {
		return nil, err
	}
	defer data.Close()
	device, err := compute(config)
	if err != nil {
		return nil, err
	}
	return train.New(ctx, config, data.Data, device)
}

// configuration returns the YAML of a proposal for a file.
func configuration(p propose.Proposal, file, format string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# A configuration for %s, proposed by h5dnn init from its names, shapes and values.\n", printable(filepath.Base(file)))
	fmt.Fprintf(&b, "# h5dnn help configuration explains every setting.\n\ndata:\n  file: %s\n", propose.Quoted(file))
	if format != "" {
		fmt.Fprintf(&b, "  format: %s   # as asked\n", format)
	}
	for _, s := range p.Data {
		fmt.Fprintf(&b, "  %s: %s%s\n", s.Key, s.Value, comment(s.Comment))
	}
	fmt.Fprintf(&b, "\n# %s: %s.\n", p.Task, printable(p.Network.Reason))
	if len(p.Model) == 1 { // a preset
		fmt.Fprintf(&b, "model: %s   # or a list of layers: h5dnn help layers\n", p.Model[0])
	} else {
		fmt.Fprintf(&b, "model:\n  %s\n", strings.Join(p.Model, "\n  "))
	}
	if len(p.Targets) > 0 {
		fmt.Fprintf(&b, "targets:\n  %s\n", strings.Join(p.Targets, "\n  "))
	} else {
		fmt.Fprintf(&b, "loss: %s%s\n", p.Loss, comment(p.LossWhy))
		if p.Metrics != "" {
			fmt.Fprintf(&b, "metrics: %s%s\n", p.Metrics, comment(p.MetricsWhy))
		}
	}
	b.WriteString("\noptimizer: {adam: {lr: 1e-3}}\nschedule: cosine   # of the learning rate\nepochs: 10\nbatch: 64\nseed: 1\n")
	return b.String()
}

// comment returns a comment at the end of a line of YAML, or "".
func comment(text string) string {
	if text == "" {
		return ""
	}
	return "   # " + printable(text)
}
