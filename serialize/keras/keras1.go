package keras

import (
	"fmt"
	"strings"

	"github.com/h5dnn/h5dnn/checkpoint"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// isKeras1 reports whether a file is of Keras 1, which does not store its version.
func (l legacy) isKeras1() bool {
	version := l.file.Meta()[MetaVersion]
	return version == "" || strings.HasPrefix(version, "1.")
}

// kernelOrders are the axes of kernels of Keras 1 in the order of later versions, by class
// and whether the channels are first. Other kernels have the order that they have now.
var kernelOrders = map[string]map[bool][]int{
	"Conv1D":          {false: {2, 3, 1, 0}, true: {2, 3, 1, 0}},
	"Conv2D":          {true: {2, 3, 1, 0}},
	"Conv3D":          {true: {2, 3, 4, 1, 0}},
	"Conv2DTranspose": {false: {0, 1, 3, 2}, true: {2, 3, 0, 1}},
}

// modernize gives a weight of Keras 1 the order of axes of later versions. Recurrent
// layers, which have an array for each gate, and kernels of layers whose class the file
// does not say, are refused.
func modernize(d *checkpoint.Layer, e *serialize.Entry) error {
	name := last(e.Name)
	if d == nil {
		if name == "kernel" && e.Array.Rank() > 2 {
			return fmt.Errorf("%s: the order of axes in Keras 1 depends on the model, which the file does not have: %w", e.Name, storage.ErrState)
		}
		return nil
	}
	if d.Class == "LSTM" || d.Class == "GRU" {
		return fmt.Errorf("%s: a %s of Keras 1 has an array for each gate, which is not read; save the model by Keras 2 first: %w", e.Name, d.Class, storage.ErrState)
	}
	order := kernelOrders[d.Class][d.Config["data_format"] == "channels_first"]
	if name != "kernel" || len(order) != e.Array.Rank() {
		return nil
	}
	v, err := e.Array.View.Transpose(order...)
	if err == nil && d.Class == "Conv1D" { // (length, 1, in, out)
		v, err = v.Select(1, 0)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", e.Name, err)
	}
	e.Array = e.Array.With(v)
	return nil
}
