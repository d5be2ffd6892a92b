//go:build cgo

package main

import (
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/train"
)

// runAxes returns the axes of output channels of the weights of a run that are not 0. Other
// files have none.
func runAxes(name string, file serialize.File) (map[string]int, error) {
	if !train.IsRun(file.Meta()) {
		return nil, nil
	}
	c, err := train.ReadConfig(name)
	if err != nil {
		return nil, err
	}
	model, err := c.BuildModel()
	if err != nil {
		return nil, err
	}
	axes := map[string]int{}
	for module, m := range nn.Modules(model) {
		switch m.(type) {
		case *nn.ConvTranspose1d, *nn.ConvTranspose2d, *nn.ConvTranspose3d: // (in, out, …)
			axes["model/"+module+".weight"] = 1
		}
	}
	return axes, nil
}
