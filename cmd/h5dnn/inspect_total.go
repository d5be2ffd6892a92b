package main

import (
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/serialize"
	h5format "github.com/h5dnn/h5dnn/serialize/hdf5"
	"github.com/h5dnn/h5dnn/serialize/transform"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

// isData reports whether files of a format are rather data than checkpoints.
func isData(f serialize.Format) bool {
	return f.Single || f.Table || f.Name == "hdf5" || f.Name == "npz" || h5format.IsConvention(f.Name)
}

// runAttribute is in the root of the files of runs, by train.IsRun.
const runAttribute = "h5dnn_config"

// isModel reports whether a file is a checkpoint or a run rather than data.
func isModel(file inspect.File) bool {
	if !isData(file.Detected()) {
		return true
	}
	h5, ok := file.(inspect.HDF5)
	if !ok {
		return false
	}
	root, err := h5.Lookup("/")
	if err != nil {
		return false
	}
	attributes, _ := root.Attributes() // an attribute that cannot be read says nothing
	return slices.ContainsFunc(attributes, func(a hdf5.Attribute) bool { return a.Name == runAttribute })
}

// checkpointTotal counts what a checkpoint holds: arrays, bytes, shared elements, and the state of
// an optimizer. It is empty for other files, and for a part of one.
func checkpointTotal(c *cli.Context, file inspect.File, at address) string {
	if isData(file.Detected()) || inspect.Clean(at.path) != "/" || c.Bool("json") {
		return ""
	}
	list, done, err := arraysOf(file, inputOptions(c.Context))
	if err != nil {
		return ""
	}
	defer done()
	arrays, shared, bytes, state, stateBytes := 0, 0, 0, 0, 0
	seen, isState := map[string]bool{}, transform.OptimizerState(list.Meta())
	for e := range list.All() {
		arrays++
		n := 0
		if e.Array.Data != nil {
			n = e.Array.NBytes()
		}
		if isState(e.Name) {
			if state++; e.Shared == "" || !seen[e.Shared] {
				stateBytes += n
			}
		}
		if e.Shared != "" && seen[e.Shared] {
			shared++
			continue
		}
		seen[e.Shared] = true
		bytes += n
	}
	text := fmt.Sprintf("%s, %s", plural(arrays, "array"), arrayfmt.Bytes(bytes))
	if shared > 0 {
		text += fmt.Sprintf(", %d shared with others", shared)
	}
	if state == 0 {
		return text + "; no optimizer state"
	}
	return text + fmt.Sprintf("; optimizer state: %s, %s", plural(state, "array"), arrayfmt.Bytes(stateBytes))
}
