package keras

import (
	"fmt"
	"maps"
	"strings"

	"github.com/h5dnn/h5dnn/models/weights"
)

// RNN: around one cell it is the layer of that cell, and around several ones, of the same kind
// and size, a module of PyTorch with num_layers.
var _ = registerRule(Rule{
	Class: "RNN", Counterpart: "nn.RNN, nn.LSTM, nn.GRU",
	Links: func(l *Layer) (links []weights.Link, err error) {
		layers, err := cellLayers(l)
		for i, one := range layers {
			prefix := ""
			if hasStack(l) {
				prefix = cellGroup(layers, i) + "/"
			}
			some, err := recurrentLinks(one, recurrentGates[one.Class])
			if err != nil {
				return nil, err
			}
			for _, link := range some {
				link.From = prefixed(prefix, link.From)
				links = append(links, link)
			}
			if i > 0 {
				deeper := (&stack{layers: i}).deeper(links[len(links)-len(some):])
				links = append(links[:len(links)-len(some)], deeper...)
			}
		}
		return links, err
	},
	Module: func(l *Layer) (string, error) {
		layers, err := cellLayers(l)
		if err != nil {
			return "", err
		}
		call, err := recurrentCall(layers[0], rules[layers[0].Class].Counterpart, 0, false)
		if len(layers) > 1 {
			call = (&stack{call: call, layers: len(layers)}).module()
		}
		return call, err
	},
	Samples: []Layer{
		sample("RNN", map[string]any{"cell": map[string]any{"class_name": "LSTMCell", "config": map[string]any{"units": 2.0}}},
			w("kernel", 3, 8), w("recurrent_kernel", 2, 8), w("bias", 8)),
		sample("RNN", map[string]any{"cell": map[string]any{"class_name": "StackedRNNCells", "config": map[string]any{"cells": []any{
			map[string]any{"class_name": "GRUCell", "config": map[string]any{"units": 2.0}},
			map[string]any{"class_name": "GRUCell", "config": map[string]any{"units": 2.0}},
		}}}},
			w("gru_cell/kernel", 3, 6), w("gru_cell/recurrent_kernel", 2, 6), w("gru_cell/bias", 2, 6),
			w("gru_cell_1/kernel", 2, 6), w("gru_cell_1/recurrent_kernel", 2, 6), w("gru_cell_1/bias", 2, 6)),
	},
})

// cellClasses are the classes of layers that are an RNN around a cell of a class.
var cellClasses = map[string]string{"LSTMCell": "LSTM", "GRUCell": "GRU", "SimpleRNNCell": "SimpleRNN"}

// LayerOfCell returns the layer, such as an LSTM, that computes what an RNN around the cell
// does, without weights. It returns nil for cells of other classes.
func LayerOfCell(l, cell *Layer) *Layer {
	class := cellClasses[cell.Class]
	if class == "" {
		return nil
	}
	config := maps.Clone(cell.Config)
	for name, value := range l.Config {
		if name != "cell" {
			config[name] = value
		}
	}
	return &Layer{Class: class, Name: l.Name, Config: config}
}

// cellLayers returns the layers that compute what an RNN does, with their weights: several if
// its cells are a stack that one module of PyTorch can be.
func cellLayers(l *Layer) ([]*Layer, error) {
	cell, err := innerLayer(l, "cell")
	if err != nil {
		return nil, err
	}
	cells := []*Layer{cell}
	if hasStack(l) {
		if cells, err = cellsWithin(cell); err != nil {
			return nil, err
		}
	}
	layers := make([]*Layer, len(cells))
	for i, cell := range cells {
		if layers[i] = LayerOfCell(l, cell); layers[i] == nil {
			return nil, notInPyTorch("cell of class %s", cell.Class)
		}
		if stackKey(layers[i]) != stackKey(layers[0]) {
			return nil, notInPyTorch("cells of several kinds or sizes, which a module of PyTorch does not have")
		}
	}
	for i, one := range layers {
		prefix := ""
		if hasStack(l) {
			prefix = cellGroup(layers, i) + "/"
		}
		for _, have := range l.Weights {
			if name, ok := strings.CutPrefix(have.Name, prefix); ok {
				have.Name = name
				one.Weights = append(one.Weights, have)
			}
		}
	}
	return layers, nil
}

// hasStack reports whether the cell of an RNN is a StackedRNNCells.
func hasStack(l *Layer) bool {
	cell, err := innerLayer(l, "cell")
	return err == nil && cell.Class == "StackedRNNCells"
}

// cellsWithin returns the cells of a StackedRNNCells.
func cellsWithin(l *Layer) (cells []*Layer, err error) {
	list, _ := l.Config["cells"].([]any)
	if len(list) == 0 {
		return nil, notInPyTorch("StackedRNNCells without cells")
	}
	for _, one := range list {
		cell, err := innerLayer(&Layer{Name: l.Name, Config: map[string]any{"cell": one}}, "cell")
		if err != nil {
			return nil, err
		}
		cells = append(cells, cell)
	}
	return cells, nil
}

// cellGroup returns the name that the weights of the cell number i begin with.
func cellGroup(layers []*Layer, i int) string {
	name := map[string]string{"LSTM": "lstm_cell", "GRU": "gru_cell", "SimpleRNN": "simple_rnn_cell"}[layers[i].Class]
	if i > 0 {
		name += fmt.Sprint("_", i)
	}
	return name
}

// recurrentGates are the orders in which PyTorch has the gates of recurrent layers of Keras.
var recurrentGates = map[string][]int{"SimpleRNN": nil, "LSTM": nil, "GRU": {1, 0, 2}}
