//go:build !cgo

package main

import (
	"errors"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/onnx"
)

// What computes needs cgo. Without it the program reads, slices and converts.

var errWithoutCgo = errors.New("this program was built without cgo, which computing needs; build it with CGO_ENABLED=1 and a C compiler")

// withoutCgo returns a command that only says why it does nothing.
func withoutCgo(name, usage string) *cli.Command {
	return &cli.Command{
		Name: name, Usage: usage + " (not in this program, which was built without cgo)",
		SkipFlagParsing: true,
		Action:          func(*cli.Context) error { return errWithoutCgo },
	}
}

func trainCommand() *cli.Command { return withoutCgo("train", "train a model") }
func previewCommand() *cli.Command {
	return withoutCgo("preview", "draw samples as training sees them")
}
func generateCommand() *cli.Command {
	return withoutCgo("generate", "continue a text by a model of its bytes")
}
func evalCommand() *cli.Command    { return withoutCgo("eval", "evaluate a trained model") }
func predictCommand() *cli.Command { return withoutCgo("predict", "apply a trained model") }
func runsCommand() *cli.Command    { return withoutCgo("runs", "compare run files") }
func reportCommand() *cli.Command  { return withoutCgo("report", "write a page about a run") }
func initCommand() *cli.Command    { return withoutCgo("init", "write a configuration for a data file") }
func devicesCommand() *cli.Command { return withoutCgo("devices", "show CPU, GPUs and libraries") }

const writesNoHDF5 = "This program was built without cgo, and writes no HDF5 files."

// lacks has what --help says of the commands that do less without cgo, and of the program.
var lacks = map[string]string{
	"": "This program was built without cgo: it reads, slices and converts arrays in files. It writes no HDF5 files, converts no models, and trains none.",

	"slice": writesNoHDF5, "convert": writesNoHDF5 + " It converts arrays, and no models.", "repair": writesNoHDF5, "shard": writesNoHDF5,
	"merge": writesNoHDF5, "strip": writesNoHDF5, "cast": writesNoHDF5, "repack": writesNoHDF5, "import": writesNoHDF5,
}

// missingOperators are not named: none are computed.
func missingOperators(*onnx.Graph) map[string]int { return nil }

// frameworkFlags are none: architectures need package nn.
var frameworkFlags []cli.Flag

// holdsModel reports whether the program with cgo would convert the layers of a model: copying
// their arrays as they are would leave them in the layouts of another framework.
func holdsModel(c *cli.Context, file inspect.File, in address, format string) bool {
	target, err := serialize.ByName(format)
	if err != nil || in.path != "" || target.Single || format == "hdf5" {
		return false
	}
	if strings.HasPrefix(file.Detected().Name, "keras") {
		return true
	}
	if format != "torch" && format != "safetensors" {
		return false // which keep runs as they are
	}
	arrays, done, err := arraysOf(file, openOptions(c.Context))
	if err != nil {
		return false
	}
	defer done()
	return arrays.Meta()["h5dnn_config"] != ""
}

func convertModel(*cli.Context, address, string, string) error {
	return errors.New("this program was built without cgo, which converting models needs; build it with CGO_ENABLED=1 and a C compiler")
}

// runAxes knows no layers, and refuses runs, which have a configuration of the model.
func runAxes(_ string, file serialize.File) (map[string]int, error) {
	if file.Meta()["h5dnn_config"] != "" {
		return nil, errWithoutCgo
	}
	return nil, nil
}

func flagsFor(_ error, text string) string { return text }

func showDevices(io.Writer, bool, bool) error { return errWithoutCgo }

func awaitFirst(error) {}

func withRank(err error) error { return err }

func leave(int, error) {}
