package onnxgraph

import (
	"slices"
	"strconv"
)

// labelPath are the operators between the position of the largest value and the label of a class, and the input that they take it by.
var labelPath = map[string]int{
	"Identity": 0, "Cast": 0, "Reshape": 0, "Squeeze": 0, "Flatten": 0, "LabelEncoder": 0, "ArrayFeatureExtractor": 1, "Gather": 1, "ArgMax": 0, "LinearClassifier": 0,
}

// leaveLabel leaves out the output that is the label of the class with the largest value, which classifiers have beside the values themselves, and
// returns its name and the labels in the order of the values.
func (b *builder) leaveLabel() (name string, classes []string) {
	m := b.m
	source := map[int]*node{}
	for _, n := range m.nodes {
		for _, out := range n.out {
			source[out] = n
		}
	}
	delete(source, -1) // outputs without names
	if len(m.outputs) != 2 {
		return "", nil
	}
	for i, out := range m.outputs {
		labels, of, ok := m.labelsOf(out.number, source)
		if other := m.outputs[1-i]; ok && follows(other.number, of, source) {
			if other.Classes != nil {
				labels = other.Classes
			}
			m.outputs = []Value{other}
			b.removeUnused()
			return out.Name, labels
		}
	}
	return "", nil
}

// labelsOf returns the labels of the classes, as far as they are known, of a value that is the label of the largest of others, and these; ok is false
// for other values.
func (m *Model) labelsOf(value int, source map[int]*node) (labels []string, of int, ok bool) {
	for n := source[value]; n != nil; n = source[value] {
		input, passes := labelPath[n.op]
		switch {
		case !passes || n.op == "LinearClassifier" && n.out[0] != value:
			return nil, 0, false
		case n.op == "ArgMax":
			return labels, n.in[0], true
		case n.op == "LinearClassifier":
			if labels = n.attributes["classlabels_strings"].Strings; labels == nil {
				for _, label := range n.attributes["classlabels_ints"].Ints {
					labels = append(labels, strconv.FormatInt(label, 10))
				}
			}
			return labels, n.out[1], true
		case input == 1: // of a table
			if m.known[n.in[0]] == nil {
				return nil, 0, false
			}
			if labels = slices.Clone(n.texts[0]); labels == nil {
				for _, x := range elements(m.known[n.in[0]]) {
					labels = append(labels, strconv.FormatFloat(x, 'g', -1, 64))
				}
			}
		}
		value = n.in[input]
	}
	return nil, 0, false
}

// follows reports whether a value is computed from another, or from what that is a softmax or sigmoid of.
func follows(value, from int, source map[int]*node) bool {
	seen := map[int]bool{}
	var visit func(value int)
	visit = func(value int) {
		if n := source[value]; !seen[value] && n != nil {
			for _, in := range n.in {
				visit(in)
			}
		}
		seen[value] = true
	}
	visit(value)
	for n := source[from]; !seen[from] && n != nil && slices.Contains([]string{"Softmax", "LogSoftmax", "Sigmoid", "Cast", "Identity"}, n.op); n = source[from] {
		from = n.in[0]
	}
	return seen[from]
}
