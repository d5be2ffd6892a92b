package kerasfile

import (
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/models/weights"
	"github.com/h5dnn/h5dnn/storage"
)

// The CuDNNLSTM and CuDNNGRU of Keras 2 are an LSTM and a GRU whose matrices are transposed gate by gate,
// and which have a bias for the input and one for the state. Their weights are read as those of the
// others, as Keras does (_convert_rnn_weights in keras/src/saving/legacy/hdf5_format.py), which also
// tells them by the length of the bias.

// cudnnGates returns the number of gates of a layer of cuDNN that has a weight of that name, and 0 if it
// is of another layer.
func (l legacyReader) cudnnGates(group, weight string) int {
	name := last(weight)
	output := ""
	if at := strings.LastIndexByte(name, ':'); at > 0 {
		name, output = name[:at], name[at:]
	}
	if !slices.Contains([]string{"kernel", "recurrent_kernel", "bias"}, name) {
		return 0
	}
	layer := join(group, strings.TrimSuffix(weight, last(weight)))
	var shapes [2][]int
	for i, sibling := range []string{"recurrent_kernel", "bias"} {
		path := join(layer, sibling+output)
		if !l.tree.isDataset(path) {
			return 0
		}
		e, err := l.tree.entry(path, "")
		if err != nil {
			return 0
		}
		shapes[i] = e.Array.Shape
	}
	recurrent, bias := shapes[0], shapes[1]
	if len(recurrent) != 2 || len(bias) != 1 || bias[0] != 2*recurrent[1] || recurrent[0] == 0 {
		return 0
	}
	if gates := recurrent[1] / recurrent[0]; recurrent[1]%recurrent[0] == 0 && (gates == 3 || gates == 4) {
		return gates
	}
	return 0
}

// fromCuDNN returns a weight of a layer of cuDNN with that many gates as the LSTM or GRU has it, or an
// optimizer's buffer for it: the gradients of both biases are the same.
func fromCuDNN(a storage.Array, name string, gates int, isBuffer bool) (storage.Array, error) {
	switch {
	case name != "bias":
		return transposedGates(a, gates)
	case gates == 3:
		return weights.Reshape(a, 2, -1)
	}
	halves, err := weights.Split(a, 0, a.Shape[0]/2, a.Shape[0]/2)
	if err != nil {
		return a, err
	}
	if isBuffer {
		return halves[0], nil
	}
	return weights.Add(halves[0], halves[1])
}

// transposedGates returns a matrix (in, gates·units) whose blocks hold the elements of (units, in), in
// the order of (in, units).
func transposedGates(a storage.Array, gates int) (storage.Array, error) {
	in, units := a.Shape[0], a.Shape[1]/gates
	blocks, err := weights.Split(a, 1, slices.Repeat([]int{units}, gates)...)
	for i := 0; i < len(blocks) && err == nil; i++ {
		if blocks[i], err = weights.Reshape(blocks[i], units, in); err == nil {
			blocks[i], err = weights.Transpose(blocks[i], 1, 0)
		}
	}
	if err != nil {
		return a, err
	}
	return weights.Concat(1, blocks...)
}
