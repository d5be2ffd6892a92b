// Package models converts the weights of models between Keras, PyTorch and the run files
// of h5dnn, layer by layer, and reports what each array becomes.
//
// A model of Keras also becomes a run of h5dnn in memory, to predict or to train further:
//
//	source, err := models.Open("model.keras")
//	plan, err := models.New(source, "h5", models.Options{}) // of which Refused and Unused should be empty
//	run, err := plan.Run(storage.CPU)
//	predictor, err := run.Predictor()
//	y, err := predictor.Predict(x)
//
// Layers and the descriptions of Keras's models belong to package models/keras, arrays that are computed
// from others to package models/weights, and files to package serialize. Other files of arrays are converted by
// package convert.
package models

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/loss"
	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/models/weights"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/kerasfile"
	"github.com/h5dnn/h5dnn/serialize/onnx"
	"github.com/h5dnn/h5dnn/serialize/transform"
	"github.com/h5dnn/h5dnn/train"
)

// The frameworks that name arrays.
const (
	Keras   = "keras"
	PyTorch = "pytorch"
	H5dnn   = "h5dnn"
)

// A Source is an open file of a model, or of arrays that may be those of one.
type Source struct {
	serialize.File
	Name      string
	Framework string            // that named the arrays: Keras, H5dnn or PyTorch
	Model     *keras.Model      // of Keras; nil if the file has no architecture
	Config    *train.Config     // of a run of h5dnn
	Entries   []serialize.Entry // of numbers, as the file has them
	Others    []serialize.Entry // of other elements, such as strings

	notes          []string // of what a conversion leaves out
	notWeights     []string // arrays of a checkpoint of TensorFlow that are no weights of its model
	unnamed        error    // of weights that have no names without the architecture
	optimizerState func(name string) bool
}

// isOptimizerState reports whether an array is part of the state of an optimizer.
func (s *Source) isOptimizerState(name string) bool {
	if s.Framework == PyTorch {
		return s.optimizerState(name)
	}
	return strings.HasPrefix(name, kerasOptimizer)
}

// byName returns the entries by their names.
func (s *Source) byName() map[string]serialize.Entry {
	entries := make(map[string]serialize.Entry, len(s.Entries))
	for _, e := range s.Entries {
		entries[e.Name] = e
	}
	return entries
}

// Open opens the named file. Files that neither Keras nor h5dnn wrote are taken to have
// PyTorch's names.
func Open(name string, options ...serialize.Options) (*Source, error) {
	f, err := serialize.Open(name, options...)
	if err != nil {
		return nil, err
	}
	s := &Source{File: f, Name: name, Framework: PyTorch, optimizerState: transform.OptimizerState(f.Meta())}
	if err := s.read(); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

func (s *Source) read() (err error) {
	for e, err := range s.File.All() {
		if errors.Is(err, keras.ErrConfig) && e.Array.Data != nil {
			s.unnamed, err = cmp.Or(s.unnamed, err), nil
		}
		if err != nil && (e.Elements == nil || !errors.Is(err, dtype.ErrType)) {
			return e.Wrap(err)
		}
		if e.Elements != nil { // strings, or of a type that is listed and not read
			s.Others = append(s.Others, e)
		} else {
			s.Entries = append(s.Entries, e)
		}
	}
	if k, ok := s.File.(*kerasfile.File); ok {
		s.Framework, s.Model = Keras, k.Model()
		return nil
	}
	if train.IsRun(s.Meta()) {
		c, err := train.ReadConfig(s.Name)
		s.Framework, s.Config = H5dnn, &c
		return err
	}
	if text := s.Meta()[kerasfile.MetaConfig]; text != "" { // that Plan has kept
		if s.Model, err = keras.Parse(text); errors.Is(err, keras.ErrProgram) {
			err = nil
		}
	}
	return err
}

// KindOf returns the framework of an open file as Open does, without reading arrays.
func KindOf(f serialize.File) string {
	if _, ok := f.(*kerasfile.File); ok {
		return Keras
	}
	if train.IsRun(f.Meta()) {
		return H5dnn
	}
	return PyTorch
}

// IsKeras reports whether the named file is one of Keras.
func IsKeras(name string) bool {
	f, err := serialize.FormatOf(name)
	return err == nil && strings.HasPrefix(f.Name, "keras")
}

// A MissingArchitectureError is the error of a file that has weights and does not say of
// what model. Options.Architecture says it.
type MissingArchitectureError struct {
	Name      string // of the file
	Framework string // that named its arrays
}

func (e *MissingArchitectureError) Error() string {
	return e.Name + " has weights and no architecture"
}

// ErrOwnArchitecture is the error of a file that says of what model its weights are, where
// Options.Architecture names another.
var ErrOwnArchitecture = errors.New("the file has an architecture of its own, and takes no other")

// ErrThroughRun is the error of weights of PyTorch that are to become a model of Keras with the layers
// of h5dnn: a run has both.
var ErrThroughRun = errors.New("the architecture has layers of h5dnn, and only the conversion of a run makes layers of Keras of them: convert the weights to a run first")

// FrameworkOf returns the framework whose names files of a format usually have: Keras's
// for its own formats, h5dnn's for .h5 and PyTorch's for the others.
func FrameworkOf(format string) string {
	switch {
	case strings.HasPrefix(format, "keras"):
		return Keras
	case format == "hdf5":
		return H5dnn
	}
	return PyTorch
}

// keepsRuns reports whether files of a format hold a run as a whole, with its optimizer,
// history and configuration.
func keepsRuns(format string) bool {
	return format == "hdf5" || format == "native" || strings.HasPrefix(format, "h5ck")
}

// Frameworks are the names that Options.Framework takes.
var Frameworks = []string{Keras, PyTorch, H5dnn}

// An Architecture is a model without its weights.
type Architecture struct {
	Keras  *keras.Model
	Text   string // Keras's description of it
	Config *train.Config
	shapes map[string][]int // of the weights in its file
}

// ReadArchitecture reads the architecture of the model in the named file: one of Keras, a
// config.json of Keras, a run of h5dnn, or the configuration of one.
func ReadArchitecture(name string) (a Architecture, err error) {
	switch ext := strings.ToLower(filepath.Ext(name)); ext {
	case ".json", ".yaml", ".yml":
		text, err := os.ReadFile(name)
		if err != nil {
			return a, err
		}
		if ext == ".json" {
			if a.Keras, err = keras.Parse(string(text)); err == nil {
				a.Text = string(text)
				return a, nil
			}
			if !errors.Is(err, keras.ErrConfig) || bytes.Contains(text, []byte(`"class_name"`)) {
				return a, fmt.Errorf("%s: %w", name, err)
			}
		}
		c, err := train.ParseModel(text)
		if err != nil {
			return a, fmt.Errorf("%s: %w", name, err)
		}
		a.Config = &c
		return a, nil
	}
	s, err := Open(name)
	if err != nil {
		return a, err
	}
	defer s.Close()
	a = Architecture{Keras: s.Model, Text: s.Meta()[kerasfile.MetaConfig], Config: s.Config}
	if a.Keras != nil {
		a.shapes = map[string][]int{}
		for path, l := range a.Keras.All() {
			for _, w := range l.Weights {
				a.shapes[path+"/"+w.Name] = w.Array.Shape
			}
			l.Weights = nil
		}
	}
	if a.Keras == nil && a.Config == nil {
		return a, fmt.Errorf("%s has no architecture: want a whole model of Keras, its config.json, a run of h5dnn or the configuration of one", name)
	}
	return a, nil
}

// Options configure a conversion.
type Options struct {
	Framework    string // whose names the output has; that of FrameworkOf if empty
	Architecture Architecture
	Flatten      map[string][]int // see keras.LinkOptions
	Rules        *weights.Rules   // a user's own; nil without
	Optimizer    bool             // convert the optimizer's state, too
	InputShapes  map[string][]int // of samples of inputs by name, for runs of h5dnn, where the architecture does not say; "" is every input
}

// inputShape returns the shape of a sample of an input, or nil.
func (o Options) inputShape(input string) []int {
	if shape := o.InputShapes[input]; shape != nil {
		return shape
	}
	return o.InputShapes[""]
}

// checkInputs returns an error for the shape of an input that the model does not have.
func (o Options) checkInputs(inputs []string) error {
	for _, name := range slices.Sorted(maps.Keys(o.InputShapes)) {
		if name != "" && !slices.Contains(inputs, name) {
			return fmt.Errorf("a shape for input %s; the inputs of the model are %s", name, strings.Join(inputs, ", "))
		}
	}
	return nil
}

// New plans the conversion of s to a format, named as in package serialize.
func New(s *Source, format string, o Options) (*Plan, error) {
	target, err := serialize.ByName(format)
	if err != nil {
		return nil, err
	}
	format = target.Name // which may be called by an extension, such as h5
	if o.Framework == "" {
		o.Framework = FrameworkOf(format)
		if s.Framework == H5dnn && keepsRuns(format) {
			o.Framework = H5dnn
		}
	}
	if !slices.Contains(Frameworks, o.Framework) {
		return nil, fmt.Errorf("unknown framework %q; known are %s", o.Framework, strings.Join(Frameworks, ", "))
	}
	if file, ok := s.File.(onnx.Model); ok && o.Framework != PyTorch && o.Architecture.Keras == nil && o.Architecture.Config == nil && o.Rules == nil {
		if s, err = s.fromONNX(file, o); err != nil {
			return nil, err
		}
	}
	if err := s.take(o.Architecture); err != nil {
		return nil, err
	}
	p := &Plan{Source: s, Format: target, From: s.Framework, To: o.Framework, options: o}
	if o.Rules != nil {
		if err := p.custom(*o.Rules); err != nil {
			return nil, err
		}
	}
	convert, ok := conversions[[2]string{p.From, p.To}]
	if !ok {
		return nil, fmt.Errorf("%s: no conversion from %s to %s", s.Name, p.From, p.To)
	}
	if err := convert(p); err != nil {
		return nil, err
	}
	if err := p.forKeras3(); err != nil {
		return nil, err
	}
	if o, ok := s.File.(serialize.Omitter); ok {
		p.Lost = append(p.Lost, o.Omitted()...)
	}
	p.Notes = append(p.Notes, s.notes...)
	p.noteTraining()
	for _, e := range s.Others {
		p.Lost.Add(e.Name, loss.Array, 1, "elements of type %s are not weights", e.Elements.Type)
	}
	for _, name := range s.notWeights {
		p.Lost.Add(name, loss.Array, 1, "no weight of the model; the state of optimizers of TensorFlow's checkpoints is not converted")
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	if err := p.noteNames(); err != nil {
		return nil, err
	}
	return p, nil
}

// noteNames notes the arrays that are stored under the name of another, and those whose
// names in the source are others.
func (p *Plan) noteNames() error {
	if p.Format.AliasNote("") != "" {
		var known serialize.Aliases
		for e, err := range p.Contents(context.Background()).Entries {
			if err != nil {
				return err
			}
			if first := known.Of(e); first != "" {
				p.Notes = append(p.Notes, e.Name+" is "+p.Format.AliasNote(first))
			}
		}
	}
	for _, e := range p.Source.Entries {
		if e.Renamed != "" {
			p.Notes = append(p.Notes, fmt.Sprintf("the name of %s in the file is %q", e.Name, e.Renamed))
		}
	}
	return nil
}

// take gives s the architecture that the options name, and checks that its weights can be
// named after it. A list of layers may replace Keras's description. PyTorch's files keep only
// what they were converted from.
func (s *Source) take(a Architecture) error {
	described := s.Model != nil && s.Framework == Keras && a.Keras != nil
	if described || s.Config != nil && (a.Keras != nil || a.Config != nil) {
		return fmt.Errorf("%s: %w", s.Name, ErrOwnArchitecture)
	}
	if a.Keras != nil && s.Framework == PyTorch && s.isTFCheckpoint() {
		if err := s.takeTFCheckpoint(a.Keras); err != nil {
			return err
		}
	}
	if a.Keras != nil && s.Framework == PyTorch {
		s.Model = a.Keras
	}
	if err := s.describe(a); err != nil {
		return err
	}
	if s.unnamed != nil && a.Config == nil {
		return fmt.Errorf("%s: %w", s.Name, s.unnamed)
	}
	if s.Model != nil && s.Framework == Keras {
		if l := s.Model.Layer(OptimizerPath); l != nil {
			return fmt.Errorf("%s: the layer %s (%s) has the name under which the state of optimizers is kept; rename it in Keras", s.Name, l.Name, l.Class)
		}
	}
	return nil
}

// describe gives s the architecture of its model, if the file does not have it.
func (s *Source) describe(a Architecture) (err error) {
	if s.Model != nil || a.Keras == nil {
		return nil
	}
	s.Model = a.Keras
	if k, ok := s.File.(*kerasfile.File); ok {
		if err := k.SetModel(a.Keras); err != nil {
			return err
		}
		s.unnamed = nil
		s.Entries, err = serialize.Collect(k)
	}
	return err
}

// conversions are the functions that add the steps of a plan, by the frameworks.
var conversions = map[[2]string]func(p *Plan) error{
	{Keras, PyTorch}:   (*Plan).kerasToPyTorch,
	{PyTorch, Keras}:   (*Plan).pyTorchToKeras,
	{Keras, H5dnn}:     (*Plan).kerasToRun,
	{Keras, Keras}:     (*Plan).copyAll,
	{PyTorch, PyTorch}: (*Plan).copyAll,
	{H5dnn, PyTorch}:   (*Plan).runToPyTorch,
	{H5dnn, Keras}:     (*Plan).runToKeras,
	{H5dnn, H5dnn}:     (*Plan).copyAll,
	{PyTorch, H5dnn}:   (*Plan).pyTorchToRun,
}
