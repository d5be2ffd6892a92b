package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/convert"
	"github.com/h5dnn/h5dnn/serialize/transform"
)

func stripCommand() *cli.Command {
	return &cli.Command{
		Name:      "strip",
		Usage:     "copy a checkpoint without the state of the optimizer",
		ArgsUsage: "IN OUT",
		Description: "Leaves out arrays and metadata whose names begin with optimizer/, optim/, optimizer.state. and the like,\n" +
			"and optimizers of PyTorch, which have param_groups, under any name.\n" +
			"A file without any is an error. The original is unchanged.\n" +
			"IN may be - for standard input, and OUT for standard output, with --format.",
		Flags: copyFlags(),
		Action: func(c *cli.Context) error {
			file, in, out, err := openIn(c)
			if err != nil {
				return err
			}
			defer file.Close()
			isState := transform.OptimizerState(file.Meta())
			found, weights, dropped, droppedBytes := false, false, 0, 0
			for e := range file.All() {
				if !isState(e.Name) {
					weights = true
					continue
				}
				found, dropped = true, dropped+1
				if e.Array.Data != nil {
					droppedBytes += e.Array.NBytes()
				}
			}
			for key := range file.Meta() {
				found = found || isState(key)
			}
			switch {
			case !found:
				return fmt.Errorf("%s has no optimizer state that is known by its name", in)
			case !weights:
				return fmt.Errorf("%s has nothing but optimizer state", in)
			}
			selected := func(name string) bool { return !isState(name) }
			return arrayCopy{Options: convert.Options{Select: selected}, done: func(arrays, _ int, out string) string {
				return fmt.Sprintf("%s written to %s, %s of optimizer state left out (%s)", plural(arrays, "array"), out, plural(dropped, "array"), arrayfmt.Bytes(droppedBytes))
			}}.write(c, file, in, out)
		},
	}
}
