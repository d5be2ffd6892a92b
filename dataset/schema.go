package dataset

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A Role is what a field of a sample is for.
type Role uint8

const (
	Input  Role = iota // what a model takes
	Target             // what the model's outputs are compared with
	Weight             // how much the sample counts in the loss
	Length             // how many rows of an input, which is padded to one length, are data
)

var roles = [...]string{Input: "input", Target: "target", Weight: "weight", Length: "length"}

func (r Role) String() string { return roles[r] }

// A Schema says which fields of a batch are for what, as indices into
// [Dataset.Fields], [Batch.Fields] and whatever else is in their order.
type Schema struct {
	Inputs  []int // in order of fields
	Targets []int
	Lengths []int // for each of Inputs: the field of its lengths, or -1
	Weight  int   // -1 if every sample counts alike
}

// SchemaOf returns the schema of fields, and an error if they hold more than one
// weight, or lengths that belong to no input.
func SchemaOf(fields []Field) (Schema, error) {
	s := Schema{Weight: -1}
	for i, f := range fields {
		switch f.Role {
		case Input:
			s.Inputs, s.Lengths = append(s.Inputs, i), append(s.Lengths, -1)
		case Target:
			s.Targets = append(s.Targets, i)
		case Weight:
			if s.Weight >= 0 {
				return s, fmt.Errorf("dataset: both %s and %s are weights of samples; name one: %w", fields[s.Weight].Name, f.Name, views.ErrShape)
			}
			s.Weight = i
		}
	}
	for i, f := range fields {
		if f.Role != Length {
			continue
		}
		k := slices.IndexFunc(s.Inputs, func(input int) bool { return fields[input].Name == f.LengthOf })
		if k < 0 || s.Lengths[k] >= 0 {
			return s, fmt.Errorf("dataset: %s are lengths of %q; want each to be of one input: %w", f.Name, f.LengthOf, views.ErrShape)
		}
		s.Lengths[k] = i
	}
	return s, nil
}

// Field returns the array of the field of that name.
func (b *Batch) Field(name string) (storage.Array, bool) {
	i := slices.IndexFunc(b.fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return storage.Array{}, false
	}
	return b.Fields[i], true
}
