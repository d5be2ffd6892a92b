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

	"github.com/h5dnn/h5dnn/convert/models"
	"github.com/h5dnn/h5dnn/internal/atomicfile"
	"github.com/h5dnn/h5dnn/train"
)

func initCommand() *cli.Command {
	return &cli.Command{
		Name:      "init",
		Usage:     "write a commented configuration for a data file",
		ArgsUsage: "DATA [CONFIG.yaml]",
		Description: "Looks at the arrays of DATA, chooses inputs, targets, validation data, a model and a loss, and says why\n" +
			"in comments. CONFIG.yaml is DATA with another extension unless it is given; - is standard output.",
		Flags: []cli.Flag{forceFlag(), followFlag(), fromFlag(), voidFlag()},
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

func writeConfiguration(c *cli.Context, data, out string) error {
	if data == "-" {
		return errors.New("a configuration names its data file, and standard input has no name; write it to a file first")
	}
	if models.IsKeras(data) {
		return fmt.Errorf("%s is a model; name the file of data to train on", data)
	}
	file, err := open(c.Context, data)
	if err != nil {
		return err
	}
	defer file.Close()
	list, err := candidates(file)
	if err != nil {
		return err
	}
	g, err := guessRoles(list)
	if err != nil {
		return fmt.Errorf("%s: %w", data, err)
	}
	named := data
	if out != "-" {
		if named, err = relativeTo(out, data); err != nil {
			return err
		}
	}
	text := g.configuration(named)
	if err := check(c.Context, text, out); err != nil {
		return fmt.Errorf("%s: %w", data, err)
	}
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
	_, err = fmt.Fprintf(c.App.Writer, "inputs %v\ntargets %v\nwritten to %s; train with: h5dnn train %s\n", g.x, g.y, out, out)
	return err
}

// relativeTo returns data as a file in the folder of out names it.
func relativeTo(out, data string) (string, error) {
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

// check reports why the configuration would not train.
func check(ctx context.Context, text, out string) error {
	config, err := train.ParseConfig([]byte(text), func(config *train.Config) {
		if out != "-" {
			beside(out, config.Data.File)
		}
	})
	if err != nil {
		return err
	}
	data, err := openData(ctx, config)
	if err != nil {
		return err
	}
	defer data.Close()
	device, err := compute(config)
	if err != nil {
		return err
	}
	_, err = train.New(ctx, config, data.Data, device)
	return err
}

// fewSamples are too few for a validation set of a tenth of them.
const fewSamples = 10

// configuration returns the YAML of g for a file.
func (g guess) configuration(file string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# A configuration for %s, guessed by h5dnn init from the names and shapes of its arrays.\n", filepath.Base(file))
	fmt.Fprintf(&b, "# h5dnn help configuration explains every setting.\n\ndata:\n  file: %s\n", quotedYAML(file))
	fmt.Fprintf(&b, "  x: %s   # %s\n", quotedYAML(g.x.path), g.x.elements())
	fmt.Fprintf(&b, "  y: %s   # %s\n", quotedYAML(g.y.path), g.y.elements())
	if g.valX.path != "" {
		fmt.Fprintf(&b, "  val_x: %s\n  val_y: %s\n", quotedYAML(g.valX.path), quotedYAML(g.valY.path))
	} else if rows := g.x.shape[0]; g.x.arrays == 1 && rows < fewSamples {
		fmt.Fprintf(&b, "  # split: 0.1   # share of the samples to validate on, if there were more than %d\n", rows)
	} else {
		fmt.Fprintf(&b, "  split: 0.1   # share of the samples to validate on; attr:NAME and mask:PATH are other ways\n")
	}
	for i, c := range g.others {
		if i == 0 {
			fmt.Fprintf(&b, "  # other arrays:\n")
		}
		fmt.Fprintf(&b, "  #   %v\n", c)
	}
	b.WriteString("\n" + g.model() + "\n")
	b.WriteString("optimizer: {adam: {lr: 1e-3}}\nschedule: cosine   # of the learning rate\nepochs: 10\nbatch: 64\nseed: 1\n")
	return b.String()
}

// model returns the settings of a model and a loss for the shapes and types of g.
func (g guess) model() string {
	if g.y.integer() {
		if g.images() {
			return "# Images with class labels: a small convolutional network.\nmodel: cnn   # or lenet, mlp, or a list of layers: h5dnn help layers\nloss: cross_entropy\n"
		}
		return "# Class labels: a network of one hidden layer.\nmodel: mlp   # or a list of layers: h5dnn help layers\nloss: cross_entropy\n"
	}
	return fmt.Sprintf("# Values to predict: a network of two hidden layers, with an output for each value (%d).\nmodel:\n  - flatten\n  - dense: 128\n  - relu\n  - dense: 128\n  - relu\n  - dense: %d\nloss: mse\n",
		rowSize(g.y), rowSize(g.y))
}

// images reports whether the inputs look like images that the presets take.
func (g guess) images() bool {
	const smallest = 8 // pixels: the presets pool twice
	sizes := g.x.shape[1:]
	if n := len(sizes); n == 3 && slices.Contains([]int{1, 3, 4}, sizes[n-1]) && !slices.Contains([]int{1, 3, 4}, sizes[0]) {
		sizes = sizes[:n-1] // channels last
	}
	n := len(sizes)
	return (n == 2 || n == 3) && sizes[n-1] >= smallest && sizes[n-2] >= smallest
}

// quotedYAML returns text as a YAML string.
func quotedYAML(text string) string {
	if strings.ContainsAny(text, `:#*?{}[]&!|>'"%@,`+"`") || text == "" || strings.HasPrefix(text, "-") || strings.HasPrefix(text, " ") {
		return fmt.Sprintf("%q", text)
	}
	return text
}
