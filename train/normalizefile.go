package train

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// maxNormalizeText is the maximum number of scales in the configuration of a run file. Longer
// normalizations are arrays, normalize/FIELD/scale and normalize/FIELD/shift: attributes of HDF5
// files are small.
const maxNormalizeText = 64

// splitNormalize returns n as the configuration in a run file has it, and what the file
// holds as arrays, by field.
func splitNormalize(n dataconfig.Normalize, inputs []string) (text dataconfig.Normalize, arrays map[string]dataconfig.Normalize) {
	if n.Fields == nil {
		if len(n.Scale) <= maxNormalizeText || len(inputs) != 1 {
			return n, nil
		}
		return dataconfig.Normalize{}, map[string]dataconfig.Normalize{inputs[0]: n}
	}
	text.Fields, arrays = map[string]dataconfig.Normalize{}, map[string]dataconfig.Normalize{}
	for name, one := range n.Fields {
		if len(one.Scale) > maxNormalizeText {
			arrays[name] = one
		} else {
			text.Fields[name] = one
		}
	}
	return text, arrays
}

// normalizeArrays yields the normalizations that the file of r holds as arrays.
func (r *Run) normalizeArrays() iter.Seq2[string, storage.Array] {
	return func(yield func(string, storage.Array) bool) {
		_, arrays := splitNormalize(r.Config.Data.Normalize, r.Config.Data.InputNames())
		for _, name := range slices.Sorted(maps.Keys(arrays)) {
			n := arrays[name]
			if !yield(name+"/scale", storage.From(n.Scale, len(n.Scale))) || !yield(name+"/shift", storage.From(n.Shift, len(n.Shift))) {
				return
			}
		}
	}
}

// loadNormalize completes the normalizations in the configuration by the arrays of the
// file. None may be left to be estimated.
func (r *Run) loadNormalize(f []serialize.Entry) error {
	arrays := maps.Collect(under(f, "normalize/"))
	n := &r.Config.Data.Normalize
	inputs := r.Config.Data.InputNames()
	for _, name := range append(inputs, r.Config.Data.TargetNames()...) {
		scale, ok := arrays[name+"/scale"]
		if !ok {
			continue
		}
		one, err := readNormalize(scale, arrays[name+"/shift"])
		if err != nil {
			return fmt.Errorf("normalize/%s: %w", name, err)
		}
		if n.Fields == nil && len(inputs) == 1 && name == inputs[0] {
			*n = one
		} else if n.Fields == nil {
			return fmt.Errorf("normalize/%s: not in the configuration: %w", name, serialize.ErrFormat)
		} else {
			n.Fields[name] = one
		}
	}
	for _, name := range inputs {
		if n.For(name).IsAuto() {
			return fmt.Errorf("normalize/%s is missing: %w", name, serialize.ErrFormat)
		}
	}
	return nil
}

func readNormalize(scale, shift storage.Array) (n dataconfig.Normalize, err error) {
	if shift.Data == nil || scale.Rank() != 1 || !slices.Equal(scale.Shape, shift.Shape) {
		return n, fmt.Errorf("want a scale and a shift of one length: %w", serialize.ErrFormat)
	}
	if n.Scale, err = storage.Read[float64](scale); err == nil {
		n.Shift, err = storage.Read[float64](shift)
	}
	return n, err
}
