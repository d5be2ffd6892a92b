package keras

import (
	"fmt"
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
		variables: cellVariables, shapes: cellShapes, nodes: cellNodes,
		pytorch: "nn.RNN, nn.LSTM, nn.GRU", links: cellLinks,
		call: func(l *Layer) (string, error) {
			layers, _, err := layersOf(l)
			if err != nil {
				return "", err
			}
			call, err := recurrentCall(layers[0], false)
			if len(layers) > 1 {
				call = (&stack{call: call, layers: len(layers)}).module()
			}
			return call, err
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

// cellLinks returns the links of the layers of an RNN.
func cellLinks(l *Layer) (links []weights.Link, err error) {
	layers, prefixes, err := layersOf(l)
	for i, one := range layers {
		if stackKey(one) != stackKey(layers[0]) {
			return nil, notInPyTorch("cells of several kinds or sizes, which a module of PyTorch does not have")
		}
		some, err := recurrentLinks(one)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			some = (&stack{layers: i}).deeper(some)
		}
		for _, link := range some {
			link.From = prefixed(prefixes[i], link.From)
			links = append(links, link)
		}
	}
	return links, err
}

// cellVariables returns the variables of the cell of an RNN.
func cellVariables(l *Layer) ([]Variable, error) {
	cell, err := wrapped(l, "cell")
	if err != nil {
		return nil, err
	}
	list, ok, err := Variables(cell)
	if err == nil && !ok {
		err = errUnknown
	}
	return within("", "cell", list), err
}

// stackedCells returns the variables of the cells of a StackedRNNCells: "gru_cell_1/kernel" is
// one of the second GRUCell.
func stackedCells(l *Layer) (all []Variable, err error) {
	cells, groups, err := cellsOf(l)
	for i, cell := range cells {
		list, ok, err := Variables(cell)
		if err != nil || !ok {
			return nil, first(err, errUnknown)
		}
		all = append(all, within(groups[i]+"/", "cells/"+groups[i], list)...)
	}
	return all, err
}

// cellsOf returns the cells of a StackedRNNCells, and the groups of their variables.
func cellsOf(l *Layer) (cells []*Layer, groups []string, err error) {
	list, _ := l.Config["cells"].([]any)
	if len(list) == 0 {
		return nil, nil, fmt.Errorf("%s %s has no list of layers as its setting cells: %w", l.Class, l.Name, ErrConfig)
	}
	used := map[string]int{}
	for i := range list {
		one := &Layer{Class: l.Class, Name: l.Name, Config: map[string]any{"cells": list[i]}}
		cell, err := wrapped(one, "cells")
		if err != nil {
			return nil, nil, err
		}
		cells, groups = append(cells, cell), append(groups, unique(used, Snake(cell.Class)))
	}
	return cells, groups, nil
}

// cellClasses are the classes of layers that are an RNN around a cell of a class.
var cellClasses = map[string]string{"LSTMCell": "LSTM", "GRUCell": "GRU", "SimpleRNNCell": "SimpleRNN"}

// layersOf returns the layers that compute what an RNN does, one after another, with their weights: an
// LSTM for an LSTMCell. All but the last return their sequences. The names of the weights of each begin
// with its prefix in the RNN.
func layersOf(l *Layer) (layers []*Layer, prefixes []string, err error) {
	cell, err := wrapped(l, "cell")
	if err != nil {
		return nil, nil, err
	}
	cells, prefixes := []*Layer{cell}, []string{""}
	if cell.Class == "StackedRNNCells" {
		if cells, prefixes, err = cellsOf(cell); err != nil {
			return nil, nil, err
		}
	}
	for i, cell := range cells {
		class := cellClasses[cell.Class]
		if class == "" {
			return nil, nil, unsupported("cell of class %s", cell.Class)
		}
		if prefixes[i] != "" {
			prefixes[i] += "/"
		}
		layer := &Layer{Class: class, Name: l.Name, Config: maps.Clone(cell.Config), Weights: weightsBelow(l, prefixes[i])}
		maps.Copy(layer.Config, l.Config)
		delete(layer.Config, "cell")
		if i < len(cells)-1 {
			layer.Config["return_sequences"] = true
		}
		layers = append(layers, layer)
	}
	return layers, prefixes, nil
}

// weightsBelow returns the weights of l whose names begin with a prefix, without it.
func weightsBelow(l *Layer, prefix string) (below []Weight) {
	for _, have := range l.Weights {
		if name, ok := strings.CutPrefix(have.Name, prefix); ok {
			have.Name = name
			below = append(below, have)
		}
	}
	return below
}

func cellShapes(l *Layer, in [][]int) ([][]int, error) {
	layers, _, err := layersOf(l)
	for i := 0; i < len(layers) && err == nil; i++ {
		in, err = recurrentShapes(layers[i], in)
	}
	return in, err
}

func cellNodes(b *builder, u use, in []value) (value, error) {
	layers, _, err := layersOf(u.Layer)
	if err != nil {
		return value{}, err
	}
	if len(layers) > 1 {
		return value{}, unsupported("%d cells, one on another", len(layers))
	}
	return recurrentNodes(b, use{layers[0], u.path}, in)
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
