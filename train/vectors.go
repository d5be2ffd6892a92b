package train

import (
	"cmp"
	"fmt"
	"maps"

	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// maxVectorText is the maximum length of a vector in the configuration of a run file. Longer vectors are arrays:
// attributes of HDF5 files are small.
const maxVectorText = 64

// mapVectors returns c with other values for its vectors, which have a number for each column or channel: the scales and
// shifts of normalizations, and the means that fill missing values. value gets a vector, nil if c has none there, and
// the name of its array in a run file.
func mapVectors(c dataconfig.Config, value func(name string, v []float64) []float64) dataconfig.Config {
	inputs := c.InputNames()
	normalize := func(name string, n dataconfig.Normalize) dataconfig.Normalize {
		n.Scale, n.Shift = value("normalize/"+name+"/scale", n.Scale), value("normalize/"+name+"/shift", n.Shift)
		return n
	}
	if c.Normalize.Fields == nil && len(inputs) == 1 {
		c.Normalize = normalize(inputs[0], c.Normalize)
	} else if c.Normalize.Fields != nil {
		fields := map[string]dataconfig.Normalize{}
		for _, name := range append(inputs, c.TargetNames()...) {
			if n := normalize(name, c.Normalize.Fields[name]); !n.IsAuto() {
				fields[name] = n
			}
		}
		c.Normalize.Fields = fields
	}
	if c.Missing.Fields == nil && len(inputs) == 1 {
		c.Missing.Fill = value("missing/"+inputs[0], c.Missing.Fill)
	} else if c.Missing.Fields != nil {
		c.Missing.Fields = maps.Clone(c.Missing.Fields)
		for name, m := range c.Missing.Fields {
			m.Fill = value("missing/"+name, m.Fill)
			c.Missing.Fields[name] = m
		}
	}
	return c
}

// splitVectors returns c as the configuration in a run file has it, and the arrays that the file holds instead of its
// long vectors.
func splitVectors(c dataconfig.Config) (short dataconfig.Config, long map[string]storage.Array) {
	long = map[string]storage.Array{}
	short = mapVectors(c, func(name string, v []float64) []float64 {
		if len(v) <= maxVectorText {
			return v
		}
		long[name] = storage.From(v, len(v))
		return nil
	})
	return short, long
}

// loadVectors completes the configuration by the arrays of the file. No input may be left without its numbers.
func (r *Run) loadVectors(arrays named) (err error) {
	stored := maps.Collect(arrays)
	r.Config.Data = mapVectors(r.Config.Data, func(name string, v []float64) []float64 {
		a, ok := stored[name]
		if !ok {
			return v
		}
		v, failed := storage.Read[float64](a)
		if failed == nil && a.Rank() != 1 {
			failed = fmt.Errorf("shape %v; want a vector: %w", a.Shape, serialize.ErrFormat)
		}
		if failed != nil {
			err = cmp.Or(err, fmt.Errorf("%s: %w", name, failed))
		}
		return v
	})
	if err != nil {
		return err
	}
	inputs := r.Config.Data.InputNames()
	for i, name := range append(inputs, r.Config.Data.TargetNames()...) {
		switch n := r.Config.Data.Normalize.For(name); {
		case i < len(inputs) && n.IsAuto():
			return fmt.Errorf("normalize/%s is missing: %w", name, serialize.ErrFormat)
		case len(n.Scale) != len(n.Shift):
			return fmt.Errorf("normalize/%s: want a scale and a shift of one length: %w", name, serialize.ErrFormat)
		}
	}
	for _, in := range r.Inputs {
		if r.needsMeans(in) {
			return fmt.Errorf("missing/%s is not in the file: %w", in.Name, serialize.ErrFormat)
		}
	}
	return nil
}
