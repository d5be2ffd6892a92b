package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/serialize/onnx"
)

// showGraph prints the computation of an ONNX model: inputs, outputs, opsets, producer, parameters, size, and the
// number of nodes of each operator.
func showGraph(w io.Writer, model onnx.Model) error {
	g, err := model.Graph()
	if err != nil {
		fmt.Fprintf(w, "  an ONNX model whose graph cannot be read: %s\n", printable(err.Error()))
		return nil
	}
	var opsets []string
	for _, domain := range slices.Sorted(maps.Keys(g.Opsets)) {
		opsets = append(opsets, strings.TrimSpace(fmt.Sprintf("%s opset %d", domain, g.Opsets[domain])))
	}
	parameters := 0
	for _, t := range g.Initializers {
		if t.Err == nil && t.Array.Type.IsFloat() {
			parameters += t.Array.Len()
		}
	}
	fmt.Fprintf(w, "  ONNX model %s of %s, %s: %s, %s, %s\n", printable(g.Name), printable(cmp.Or(g.Producer, "an unnamed program")),
		printable(strings.Join(opsets, ", ")), plural(len(g.Nodes), "node"), plural(parameters, "parameter"), arrayfmt.Bytes(int(g.Size)))
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	show := func(kind string, values []onnx.Value) {
		for _, v := range values {
			if _, constant := g.Initializers[v.Name]; constant {
				continue
			}
			sizes := "?"
			if v.Shape != nil {
				sizes = strings.Trim(strings.ReplaceAll(fmt.Sprint(v.Shape), " ", "×"), "[]")
			}
			fmt.Fprintf(columns, "    %s\t%s\t%s\t%s\n", kind, printable(v.Name), strings.ToLower(v.Type), printable(sizes))
		}
	}
	show("input", g.Inputs)
	show("output", g.Outputs)
	if err := columns.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "    operators  %s\n", printable(strings.Join(onnx.Counted(g.Counts()), ", ")))
	if missing := missingOperators(g); len(missing) > 0 {
		fmt.Fprintf(w, "    not computed by h5dnn  %s\n", printable(strings.Join(onnx.Counted(missing), ", ")))
	}
	return nil
}
