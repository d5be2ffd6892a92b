package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/kerasfile"
	"github.com/h5dnn/h5dnn/serialize/onnx"
	"github.com/h5dnn/h5dnn/serialize/transform"
)

// showModel prints what a file of Keras holds: the layers with their shapes and numbers of
// parameters, and the optimizer; and the graph of an ONNX model. It prints nothing for other files, and why the model
// cannot be read for damaged ones.
func showModel(w io.Writer, file inspect.File, options serialize.Options) error {
	format := file.Detected().Name
	if !strings.HasPrefix(format, "keras") && format != "onnx" {
		return nil
	}
	f, done, err := arraysOf(file, options)
	if err != nil {
		fmt.Fprintf(w, "  a file of Keras whose model cannot be read: %s\n", printable(err.Error()))
		return nil
	}
	defer done()
	if model, ok := f.(onnx.Model); ok {
		return showGraph(w, model)
	}
	k, ok := f.(*kerasfile.File)
	if !ok {
		return nil
	}
	if k.Model() == nil {
		return showWeights(w, f)
	}
	return showLayers(w, k)
}

// showWeights prints what a file of weights only holds.
func showWeights(w io.Writer, f serialize.File) error {
	layers, parameters, optimizer := map[string]int{}, 0, 0
	var names []string
	for e, err := range f.All() {
		if err != nil {
			continue // as the list of arrays shows
		}
		if strings.HasPrefix(e.Name, "optimizer/") {
			optimizer++
			continue
		}
		layer := e.Name[:max(0, strings.LastIndexByte(e.Name, '/'))]
		if _, ok := layers[layer]; !ok {
			names = append(names, layer)
		}
		layers[layer] += e.Array.Len()
		parameters += e.Array.Len()
	}
	state := "no optimizer state"
	if optimizer > 0 {
		state = plural(optimizer, "array") + " of the optimizer"
	}
	fmt.Fprintf(w, "  weights of Keras without their architecture: %s, %s, %s\n", plural(len(layers), "layer"), plural(parameters, "parameter"), state)
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, name := range names {
		fmt.Fprintf(columns, "    %s\t%d\n", printable(name), layers[name])
	}
	return columns.Flush()
}

func showLayers(w io.Writer, f *kerasfile.File) error {
	m, parameters := f.Model(), 0
	for _, l := range m.All() {
		parameters += size(l)
	}
	optimizer := "no optimizer state"
	if o := m.Optimizer; o != nil {
		optimizer = fmt.Sprintf("optimizer %s after %s", o.Class, plural(int(o.Step), "update"))
	} else if n := optimizerArrays(f); n > 0 {
		optimizer = plural(n, "array") + " of an optimizer whose settings are missing"
	}
	version := ""
	if m.Version != "" {
		version = " " + m.Version
	}
	fmt.Fprintf(w, "  %s model %s of Keras%s: %s, %s\n", m.Class, printable(m.Name), printable(version), plural(parameters, "parameter"), printable(optimizer))
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for path, l := range m.All() {
		shape := "?"
		if len(l.OutputShapes) > 0 && l.OutputShapes[0] != nil {
			shape = strings.ReplaceAll(arrayfmt.Shape(l.OutputShapes[0]), "-1", "?")
		}
		from := ""
		if m.Class == "Functional" {
			from = inputsOf(l)
		}
		line := fmt.Sprintf("    %s\t%s\t%s\t%d\t%s", printable(path), printable(l.Class), shape, size(l), printable(from))
		fmt.Fprintln(columns, strings.TrimSuffix(line, "\t"))
	}
	return columns.Flush()
}

// optimizerArrays returns the number of arrays of the state of an optimizer.
func optimizerArrays(f serialize.File) (n int) {
	isState := transform.OptimizerState(f.Meta())
	for e := range f.All() {
		if isState(e.Name) {
			n++
		}
	}
	return n
}

// size returns the number of elements of the weights of a layer.
func size(l *keras.Layer) (n int) {
	for _, w := range l.Weights {
		n += w.Array.Len()
	}
	return n
}

// inputsOf returns the names of the layers that a layer takes its inputs from, in each of
// its calls.
func inputsOf(l *keras.Layer) string {
	var calls []string
	for _, call := range l.Calls {
		var names []string
		for _, r := range call {
			names = append(names, r.Layer)
		}
		if len(names) > 0 {
			calls = append(calls, strings.Join(names, ", "))
		}
	}
	if len(calls) == 0 {
		return ""
	}
	return "<- " + strings.Join(calls, "; ")
}
