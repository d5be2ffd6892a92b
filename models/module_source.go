package models

import (
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/transform"
	"github.com/h5dnn/h5dnn/train"
)

// FromModule returns a source with a model of package nn, as Open returns one of its run file: New
// plans a file of Keras or a state_dict of PyTorch. samples are the shapes of a sample of each input, as
// the model takes them: images with the channels first. The layers of the model are those that have
// names in configurations.
func FromModule(m nn.Module, samples ...[]int) (*Source, error) {
	c := train.Defaults()
	c.Data.Layout = "nchw"
	var err error
	if c.Model, err = nn.Describe(m); err != nil {
		return nil, err
	}
	features, err := train.InputsOf(m, c, samples...)
	if err != nil {
		return nil, err
	}
	meta, _, err := train.ImportedRun(c, features)
	if err != nil {
		return nil, err
	}
	if c, err = train.ParseConfig([]byte(meta[metaConfig])); err != nil {
		return nil, err
	}
	list := serialize.NewList(len(samples), meta, nil)
	s := &Source{File: list, Name: "model", Framework: H5dnn, Config: &c, optimizerState: transform.OptimizerState(meta)}
	for name, a := range nn.StateDict(m) {
		e := serialize.Entry{Name: runModel + name, Array: a}
		if err := list.Add(e, nil); err != nil {
			return nil, err
		}
		s.Entries = append(s.Entries, e)
	}
	return s, nil
}
