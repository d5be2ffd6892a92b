package nn

import (
	"encoding/json"
	"fmt"

	"github.com/h5dnn/h5dnn/config"
)

// A Configured module can be described by its settings, and rebuilt from them.
// Its type must be known under a name by RegisterLayer.
type Configured interface {
	Module
	Config() any // of the type that RegisterLayer's make takes
}

var layers = catalog[Module]{kind: "layer"}

// RegisterLayer makes modules of type M known by name: make builds one from
// settings of type S, a struct whose fields have JSON names. Settings that a
// configuration is silent on are as in defaults. A name that is taken is a bug.
func RegisterLayer[S any, M Configured](name string, make func(settings S) M, defaults S) bool {
	return enter(&layers, name, make, defaults)
}

// Describe returns what m is built of, in values that JSON and YAML can write:
// a layer without settings is its name, a layer with settings {name: settings},
// a Sequential a list. FromConfig rebuilds the same from it.
func Describe(m Module) (any, error) {
	s, ok := m.(Sequential)
	if !ok {
		return layers.describe(m)
	}
	list := make([]any, len(s))
	for i, one := range s {
		description, err := Describe(one)
		if err != nil {
			return nil, at(i, err)
		}
		list[i] = description
	}
	return list, nil
}

// FromConfig builds what description, as Describe returns it, describes. The
// weights are random; Init and Load give them values. Where a layer has one
// setting that matters most, {name: value} sets only that: {dense: 120}.
func FromConfig(description any) (Module, error) {
	text, err := json.Marshal(description)
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	return fromJSON(text)
}

func fromJSON(text json.RawMessage) (Module, error) {
	var list []json.RawMessage
	if json.Unmarshal(text, &list) != nil || list == nil {
		return layers.build(text)
	}
	s := make(Sequential, len(list))
	for i, one := range list {
		m, err := fromJSON(one)
		if err != nil {
			return nil, at(i, err)
		}
		s[i] = m
	}
	return s, nil
}

// A ConfigError is an error at some place in a configuration.
type ConfigError = config.Error

// at adds an outer step to the path of err.
func at(step any, err error) error { return config.At(err, step) }
