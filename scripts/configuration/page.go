package main

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/augment"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/train"
)

const introduction = `# Configuration

The settings of ` + "`h5dnn train CONFIG.yaml`" + `. [examples/digits.yaml](../examples/digits.yaml) and
[examples/resnet.yaml](../examples/resnet.yaml) are complete configurations; others are of a
[forecast](../examples/forecast.yaml), an [autoencoder](../examples/autoencoder/autoencoder.yaml), [several outputs](../examples/outputs.yaml), [labels of pixels](../examples/segmentation/unet.yaml), [targets with losses](../examples/targets/targets.yaml)
and [tokens](../examples/tagger/tagger.yaml). ` + "`h5dnn init DATA.h5`" + ` writes one for a file, and
` + "`h5dnn train --print-config`" + ` prints all settings of a run, with defaults and what follows from
the data, each with its origin: a flag, a line, the data or the default. Saved in the same folder, the output is a configuration of the same run.

A layer, initializer, loss, metric, optimizer, schedule, augmentation or callback is a name (` + "`relu`" + `), or a name with settings
(` + "`dropout: {p: 0.3}`" + `); a single value is that of the first setting (` + "`dropout: 0.3`" + `). Names are read without
regard to case, blanks, ` + "`_`" + ` and ` + "`-`" + `. A setting without a default is 0, false or empty if it is left out.

Written by ` + "`make golden`" + ` from the code. ` + "`h5dnn help NAME`" + ` prints a section.
`

// lengths says how a model learns where padding begins.
const lengths = `Rows of different lengths end in zeros, and the padding of other arrays is what they have there. A model of the inputs x and x_lengths, which
is named after x, leaves it out; to all others it is data.

    data: {file: words.h5, x: values, x_offsets: indptr, lengths: auto, y: labels}   # or lengths: PATH
    model:
      graph:
        inputs: [x, x_lengths]
        nodes:
          - {name: last, from: [x, x_lengths], layer: {gru: {hidden_size: 32, masked: true}}}
          - {name: out, from: last, layer: {dense: 2}}
        outputs: [out]
`

// sections are the kinds of registrations, in the order of the page.
var sections = []struct{ kind, heading, text string }{
	{"layer", "Layers", "A model is a list of layers, or the name of a [preset](#presets). " +
		"N is the number of samples, C of channels or features, L, D, H and W are sizes."},
	{"initializer", "Initializers", "The initial values of the weights of a layer: `initializer: orthogonal`, `initializer: {normal: {std: 0.02}}`. The fan-in of a layer is its number of " +
		"inputs times the size of its window, the fan-out likewise of its outputs. The names of Keras and of PyTorch have their laws: `he_normal` is truncated, `kaiming_normal` is not."},
	{"loss", "Losses", "What training minimizes."},
	{"metric", "Metrics", "What is reported besides the loss."},
	{"optimizer", "Optimizers", "How gradients change the parameters. `betas: [0.9, 0.999]`, as PyTorch has them, are `beta1` and `beta2`. " +
		"[training.md](training.md) lists what each is compared with."},
	{"schedule", "Schedules", "How the learning rate changes during training."},
	{"augmentation", "Augmentations", "How the samples to train on are changed each time that they are read, after they are gathered and before they are normalized: " +
		"`augment: [flip, {crop: {padding: 4}}]`. `augment_fields` says which fields move with an image. What becomes of a sample depends on the seed, the epoch and its row alone. " +
		"Samples to validate on and to predict are not changed. `h5dnn preview` draws augmented samples. [training.md](training.md#augmentation) says how to write one."},
	{"callback", "Callbacks", "What else happens while training goes on: `callbacks: [{limit: {minutes: 30}}]`. Their state is in the run file, so that a " +
		"run that is resumed gives the same results. [training.md](training.md#callbacks) says how to write one."},
}

// registrations are what configurations can name.
func registrations() []nn.Registration {
	return slices.Concat(nn.Registrations(), augment.Registrations(), train.Registrations())
}

// page returns the text of docs/configuration.md. The source code is in root.
func page(root string) (string, error) {
	source := comments{}
	for _, folder := range []string{"nn", "augment", "train", "dataset/dataconfig"} {
		if err := source.read(filepath.Join(root, folder)); err != nil {
			return "", err
		}
	}
	var b strings.Builder
	b.WriteString(introduction)
	b.WriteString("\n## train\n\nThe outermost settings.\n\n")
	defaults := train.Defaults()
	source.settings(&b, reflect.ValueOf(defaults))
	b.WriteString("\n### targets\n\nThe settings of each target in `targets: {NAME: …}`; a loss alone is `NAME: mse`.\n\n")
	source.settings(&b, reflect.ValueOf(train.TargetConfig{}))
	b.WriteString("\n### initial\n\nThe settings of `initial:`; a file alone is `initial: model.pt`.\n\n")
	source.settings(&b, reflect.ValueOf(train.Initial{}))
	b.WriteString("\n## data\n\nThe settings in `data:`, which say what the samples are. `h5dnn help train` explains ROWS.\n\n")
	source.settings(&b, reflect.ValueOf(dataconfig.Config{}))
	b.WriteString("\n### split\n\nThe settings in `data: split:`, where it is not text.\n\n")
	source.settings(&b, reflect.ValueOf(dataconfig.Split{}))
	b.WriteString("\n### lengths\n\n" + lengths)
	b.WriteString("\n## Presets\n\nWhole models by name, without settings: `model: resnet18`, and `classes: 7` where the data do not say it. Shapes are of a sample.\n")
	for _, name := range nn.Presets() {
		fmt.Fprintf(&b, "\n### %s\n\n%s\n", name, nn.AboutPreset(name))
	}
	for _, s := range sections {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", s.heading, s.text)
		for _, r := range registrations() {
			if r.Kind == s.kind {
				source.registration(&b, r)
			}
		}
	}
	return b.String(), nil
}

// registration writes the section of a layer, a loss and so on.
func (c comments) registration(b *strings.Builder, r nn.Registration) {
	fmt.Fprintf(b, "\n### %s\n\n", r.Name)
	t := r.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	w := wording{}
	for _, other := range registrations() {
		w.add(other.Type.String()[strings.LastIndexByte(other.Type.String(), '.')+1:], other.Name)
	}
	defaults := reflect.ValueOf(r.Defaults)
	if defaults.Kind() == reflect.Struct {
		w.addFields(defaults.Type())
	}
	text := w.sentence(c[t.Name()], t.Name())
	if len(r.Aliases) > 0 {
		text += " Also " + strings.Join(quoted(r.Aliases), ", ") + "."
	}
	fmt.Fprintln(b, text)
	if defaults.Kind() == reflect.Struct && defaults.NumField() > 0 {
		fmt.Fprintln(b)
		c.settings(b, defaults)
	}
}

// settings writes a line for each field of a struct with its defaults.
func (c comments) settings(b *strings.Builder, defaults reflect.Value) {
	t := defaults.Type()
	w := wording{}
	w.addFields(t)
	for i := range t.NumField() {
		f := t.Field(i)
		switch name := settingName(f); {
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			c.settings(b, defaults.Field(i))
		case name != "":
			s := newSetting(name, defaults.Field(i), c[t.Name()+"."+f.Name])
			s.byDefault, s.comment = w.tidy(s.byDefault), w.tidy(s.comment)
			fmt.Fprintln(b, s)
		}
	}
}

func quoted(names []string) []string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = "`" + name + "`"
	}
	return list
}
