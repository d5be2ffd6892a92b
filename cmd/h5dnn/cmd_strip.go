package main

import (
	"fmt"
	"maps"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/serialize"
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
			found, weights := false, false
			for e := range file.All() {
				found, weights = found || isState(e.Name), weights || !isState(e.Name)
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
			dropped, bytes := 0, 0
			change := func(_ *copier, arrays serialize.Contents) serialize.Contents {
				return transform.WithoutOptimizerState(arrays, isState, func(e serialize.Entry) {
					if dropped++; e.Elements == nil {
						bytes += e.Array.NBytes()
					}
				})
			}
			return arrayCopy{change: change, done: func(k *copier, out string) string {
				return fmt.Sprintf("%s written to %s, %s of optimizer state left out (%s)", plural(k.arrays, "array"), out, plural(dropped, "array"), arrayfmt.Bytes(bytes))
			}}.write(c, strippedFile{file, isState}, out)
		},
	}
}

// A strippedFile has no metadata of an optimizer, such as the settings of its parameter groups.
type strippedFile struct {
	serialize.File
	isState func(name string) bool
}

func (f strippedFile) Meta() map[string]string {
	meta := f.File.Meta()
	maps.DeleteFunc(meta, func(key, _ string) bool { return f.isState(key) })
	return meta
}
