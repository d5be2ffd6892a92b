package nn

import (
	"encoding/json"
	"fmt"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/storage"
)

var layers = factory[Module]{kind: "layer"}

// RegisterLayer makes modules of type M available to configurations under name.
// The function make builds one from settings of type S, a struct whose fields
// have JSON names. A setting that a configuration leaves out is taken from
// defaults; make must take zeros as they are. M embeds S, or is [Configured].
// RegisterLayer panics if the name is taken.
func RegisterLayer[S any, M Module](name string, make func(settings S) M, defaults S) bool {
	return register(&layers, name, make, defaults)
}

// Describe returns the structure of m in values that JSON and YAML can write. A
// layer without settings is its name, a layer with settings is {name: settings}
// and a Sequential is a list. FromConfig rebuilds the model.
func Describe(m Module) (any, error) {
	s, ok := m.(Sequential)
	if !ok {
		return layers.describe(m)
	}
	list := make([]any, len(s))
	for i, one := range s {
		description, err := Describe(one)
		if err != nil {
			return nil, config.At(err, config.Item{Kind: "layer", Index: i})
		}
		list[i] = description
	}
	return list, nil
}

// FromConfig builds the model that description, as returned by Describe,
// describes. The weights are random; Init and Load set them. A single value in
// the place of the settings sets the first of them: {dense: 120}.
func FromConfig(description any) (Module, error) { return FromConfigOn(description, nil) }

// FromConfigOn is FromConfig with the parameters on device d. On tensor.Meta they
// take no memory, which serves to check a description and to measure the model.
func FromConfigOn(description any, d storage.Device) (Module, error) {
	text, err := json.Marshal(description)
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	return fromJSON(text, d)
}

func fromJSON(text json.RawMessage, d storage.Device) (Module, error) {
	var list []json.RawMessage
	if json.Unmarshal(text, &list) != nil || list == nil {
		return layers.build(text, d)
	}
	s := make(Sequential, len(list))
	for i, one := range list {
		m, err := fromJSON(one, d)
		if err != nil {
			return nil, config.At(err, config.Item{Kind: "layer", Index: i})
		}
		s[i] = m
	}
	return s, nil
}

// A ConfigError is an error at some place in a configuration.
type ConfigError = config.Error
