//go:build cgo

package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/train"
)

// printModel prints the layers of the model that c describes and the memory of its training, which it does not begin.
func printModel(c *cli.Context) error {
	if from := c.String("resume"); from != "" {
		return fmt.Errorf("--summary describes new runs; h5dnn inspect %s shows the arrays of a run", shellWord(from))
	}
	config, err := configOf(c)
	if err != nil {
		return err
	}
	data, err := openData(c.Context, config)
	if err != nil {
		return err
	}
	defer data.Close()
	s, err := train.Summarize(c.Context, config, data.Data)
	if err != nil {
		return err
	}
	if !c.Bool("json") {
		_, err = fmt.Fprint(c.App.Writer, s)
		return err
	}
	layers := make([]fields, len(s.Rows))
	for i, r := range s.Rows {
		layers[i] = fields{{"name", r.Name}, {"layer", r.Kind}, {"output", r.Output}, {"parameters", r.Params}, {"multiply_adds", r.MultiplyAdds}}
	}
	return encodeLine(c.App.Writer, fields{{"layers", layers}, {"parameters", s.Params}, {"multiply_adds", s.MultiplyAdds}, {"batch", s.Batch}, {"bytes", fields{
		{"model", s.Model}, {"gradients", s.Gradients}, {"optimizer", s.Optimizer}, {"activations", s.Activations}, {"training", s.Training}, {"saved", s.Saved}, {"prediction", s.Prediction}}}})
}
