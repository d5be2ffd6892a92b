package main

import (
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/serialize/transform"
)

// dataFormats are formats of several arrays that are rather data than checkpoints.
var dataFormats = []string{"hdf5", "npz", "csv", "parquet", "arrow", "arrow-stream", "anndata", "matlab", "netcdf", "octave"}

// checkpointTotal counts what a checkpoint holds: arrays, bytes, shared elements, and the state of
// an optimizer. It is empty for other files, and for a part of one.
func checkpointTotal(c *cli.Context, file inspect.File, at address) string {
	format, err := formatOf(file)
	if err != nil || format.Single || inspect.Clean(at.path) != "/" || slices.Contains(dataFormats, format.Name) || c.Bool("json") {
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
