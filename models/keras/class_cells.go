package keras

import (
	"fmt"
	"maps"
	"strconv"
)

var (
	_ = register(class{variables: weighted("kernel", "recurrent_kernel")}, "LSTMCell", "GRUCell", "SimpleRNNCell")
	_ = register(class{variables: stackedCells}, "StackedRNNCells")
	_ = register(class{variables: cellVariables, shapes: cellShapes, nodes: cellNodes}, "RNN")
)

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
	cells, err := cellsOf(l)
	groups := map[string]int{}
	for _, cell := range cells {
		list, ok, err := Variables(cell)
		if err != nil || !ok {
			return nil, first(err, errUnknown)
		}
		group := unique(groups, Snake(cell.Class))
		all = append(all, within(group+"/", "cells/"+group, list)...)
	}
	return all, err
}

// cellsOf returns the cells of a StackedRNNCells.
func cellsOf(l *Layer) (cells []*Layer, err error) {
	list, _ := l.Config["cells"].([]any)
	if len(list) == 0 {
		return nil, fmt.Errorf("%s %s has no list of layers as its setting cells: %w", l.Class, l.Name, ErrConfig)
	}
	for i := range list {
		one := &Layer{Class: l.Class, Name: l.Name, Config: map[string]any{"cells": list[i]}}
		cell, err := wrapped(one, "cells")
		if err != nil {
			return nil, err
		}
		cells = append(cells, cell)
	}
	return cells, nil
}

// layersOf returns the layers that compute what an RNN does, one after another: an LSTM for an
// LSTMCell. All but the last return their sequences.
func layersOf(l *Layer) ([]*Layer, error) {
	cell, err := wrapped(l, "cell")
	if err != nil {
		return nil, err
	}
	cells := []*Layer{cell}
	if cell.Class == "StackedRNNCells" {
		if cells, err = cellsOf(cell); err != nil {
			return nil, err
		}
	}
	var layers []*Layer
	for i, cell := range cells {
		layer := LayerOfCell(l, cell)
		if layer == nil {
			return nil, unsupported("cell of class %s", cell.Class)
		}
		if i < len(cells)-1 {
			layer.Config = maps.Clone(layer.Config)
			layer.Config["return_sequences"] = true
		}
		layers = append(layers, layer)
	}
	return layers, nil
}

func cellShapes(l *Layer, in [][]int) ([][]int, error) {
	layers, err := layersOf(l)
	for i := 0; i < len(layers) && err == nil; i++ {
		in, err = recurrentShapes(layers[i], in)
	}
	return in, err
}

func cellNodes(b *builder, u use, in []value) (value, error) {
	layers, err := layersOf(u.Layer)
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
