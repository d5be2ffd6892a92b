package keras

import (
	"maps"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/models/weights"
)

// RNN: around one cell it is the layer of that cell, and around several ones, of the same kind
// and size, a module of PyTorch with num_layers.
var (
	_ = register(class{variables: weighted("kernel", "recurrent_kernel")}, "LSTMCell", "GRUCell", "SimpleRNNCell")
	_ = register(class{variables: stackedCells}, "StackedRNNCells")
	_ = register(class{
		variables: func(l *settings) []Variable { return within("", "cell", variablesOf(l.wrapped("cell"))) },
		shapes: func(l *settings, in [][]int) [][]int {
			layers, _ := layersOf(l)
			for _, one := range layers {
				in = recurrentShapes(one, in)
			}
			return in
		},
		module: func(l *settings, in [][]int) *module {
			layers, _ := layersOf(l)
			m := recurrentModule(layers[0], in)
			m.pytorch["num_layers"] = len(layers)
			return m
		},
		outputs: cellOutputs, several: true,
		links: cellLinks,
		own: func(l *settings) (links []weights.Link) {
			layers, prefixes := layersOf(l)
			for i, one := range layers {
				for _, link := range ownRecurrentLinks(one) {
					link.From, link.To = affixed(prefixes[i], link.From, ""), affixed(partOf(i, len(layers)), link.To, "")
					links = append(links, link)
				}
			}
			return links
		},
		samples: []Layer{
			sample(map[string]any{"cell": map[string]any{"class_name": "LSTMCell", "config": map[string]any{"units": 2.0}}},
				w("kernel", 3, 8), w("recurrent_kernel", 2, 8), w("bias", 8)),
			sample(map[string]any{"cell": map[string]any{"class_name": "StackedRNNCells", "config": map[string]any{"cells": []any{
				map[string]any{"class_name": "GRUCell", "config": map[string]any{"units": 2.0}},
				map[string]any{"class_name": "GRUCell", "config": map[string]any{"units": 2.0}},
			}}}},
				w("gru_cell/kernel", 3, 6), w("gru_cell/recurrent_kernel", 2, 6), w("gru_cell/bias", 2, 6),
				w("gru_cell_1/kernel", 2, 6), w("gru_cell_1/recurrent_kernel", 2, 6), w("gru_cell_1/bias", 2, 6)),
		},
	}, "RNN")
)

// cellOutputs adds the layers of an RNN, one after another.
func cellOutputs(b *builder, l *settings, in []value) []value {
	layers, _ := layersOf(l)
	if len(layers) > 1 && (len(in) > 1 || l.Bool("return_state", false)) {
		l.refuse("states of %d cells, one on another", len(layers))
	}
	for i, one := range layers {
		m := recurrentModule(one, shapesOfValues(in))
		b.setRecurrence(one, m)
		m.part = strings.TrimSuffix(partOf(i, len(layers)), ".")
		shapes := recurrentShapes(one, shapesOfValues(in))
		if in = b.recur(l, one, m, in, 1); l.failed() != nil {
			return nil
		}
		in[0].shape = shapes[0]
	}
	return in
}

// partOf returns what the names of parameters of cell i of n begin with.
func partOf(i, n int) string {
	if n == 1 {
		return ""
	}
	return "cell" + strconv.Itoa(i) + "."
}

// cellLinks returns the links of the layers of an RNN.
func cellLinks(l *settings) (links []weights.Link) {
	layers, prefixes := layersOf(l)
	for i, one := range layers {
		if stackKey(one.Layer) != stackKey(layers[0].Layer) {
			l.fail(notInPyTorch("cells of several kinds or sizes, which a module of PyTorch does not have"))
		}
		for _, link := range deeper(recurrentLinks(one), i) {
			link.From = affixed(prefixes[i], link.From, "")
			links = append(links, link)
		}
	}
	return links
}

// stackedCells returns the variables of the cells of a StackedRNNCells: "gru_cell_1/kernel" is
// one of the second GRUCell.
func stackedCells(l *settings) (all []Variable) {
	cells, groups := cellsOf(l)
	for i, cell := range cells {
		all = append(all, within(groups[i]+"/", "cells/"+groups[i], variablesOf(cell))...)
	}
	return all
}

// cellsOf returns the cells of a StackedRNNCells, and the groups of their variables.
func cellsOf(l *settings) (cells []*settings, groups []string) {
	list, _ := l.Config["cells"].([]any)
	if len(list) == 0 {
		l.invalid("%s %s has no list of layers as its setting cells", l.Class, l.Name)
	}
	used := map[string]int{}
	for i := range list {
		cell := l.of(&Layer{Class: l.Class, Name: l.Name, Config: map[string]any{"cells": list[i]}}).wrapped("cells")
		cells, groups = append(cells, cell), append(groups, unique(used, Snake(cell.Class)))
	}
	return cells, groups
}

// cellClasses are the classes of layers that are an RNN around a cell of a class.
var cellClasses = map[string]string{"LSTMCell": "LSTM", "GRUCell": "GRU", "SimpleRNNCell": "SimpleRNN"}

// layersOf returns the layers that compute what an RNN does, one after another, with their weights: an
// LSTM for an LSTMCell. All but the last return their sequences. The names of the weights of each begin
// with its prefix in the RNN. There is one at least, of no class if it fails.
func layersOf(l *settings) (layers []*settings, prefixes []string) {
	cells, prefixes := []*settings{l.wrapped("cell")}, []string{""}
	if cells[0].Class == "StackedRNNCells" {
		cells, prefixes = cellsOf(cells[0])
	}
	for i, cell := range cells {
		class := cellClasses[cell.Class]
		if class == "" {
			l.refuse("cell of class %s", cell.Class)
		}
		if prefixes[i] != "" {
			prefixes[i] += "/"
		}
		layer := &Layer{Class: class, Name: l.Name, Config: map[string]any{}, Weights: weightsBelow(l, prefixes[i])}
		maps.Copy(layer.Config, cell.Config)
		maps.Copy(layer.Config, l.Config)
		delete(layer.Config, "cell")
		if i < len(cells)-1 {
			layer.Config["return_sequences"] = true
		}
		if i > 0 {
			delete(layer.Config, "go_backwards") // the first has turned the steps round
		}
		layers = append(layers, l.of(layer))
	}
	if len(layers) == 0 {
		return []*settings{l.of(&Layer{})}, []string{""}
	}
	return layers, prefixes
}

// weightsBelow returns the weights of l whose names begin with a prefix, without it.
func weightsBelow(l *settings, prefix string) (below []Weight) {
	for _, have := range l.Weights {
		if name, ok := strings.CutPrefix(have.Name, prefix); ok {
			have.Name = name
			below = append(below, have)
		}
	}
	return below
}

// unique returns name, numbered from the second use on.
func unique(used map[string]int, name string) string {
	n, again := used[name]
	used[name] = n + 1
	if again {
		return name + "_" + strconv.Itoa(n)
	}
	return name
}
