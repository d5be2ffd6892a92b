package matlab

import (
	"fmt"
	"slices"
	"strconv"

	convention "github.com/h5dnn/h5dnn/serialize/hdf5"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/views"
)

// subscripts returns the subscripts, counted from 1, of element i of an array of MATLAB: (1,2).
// The first one changes fastest.
func subscripts(open byte, shape []int, i int, end byte) string {
	b := []byte{open}
	for axis, n := range shape {
		if axis > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(i%n+1), 10)
		i /= n
	}
	return string(append(b, end))
}

// readStruct makes members of the elements of a struct array, whose fields are datasets of
// references without a class. Other structs are groups of variables.
func readStruct(m *convention.Meaning, o *hdf5.Object) error {
	names, err := o.Names()
	if err != nil {
		return nil // a group as HDF5 shows it
	}
	fields := make([]*hdf5.Dataset, len(names))
	for i, name := range names {
		member, err := o.File().Lookup(o.Path + "/" + name)
		if err != nil || member.Kind != hdf5.KindDataset || has(member, attrClass) {
			return nil
		}
		if fields[i], err = member.Dataset(); err != nil || fields[i].Type.Class != hdf5.ClassReference {
			return nil
		}
	}
	var all [][]convention.Member // the elements of each field
	for i, d := range fields {
		if holdsTexts(d) {
			m.Members = append(m.Members, convention.Member{Name: "/" + names[i], Path: d.Path})
			continue
		}
		list, err := elements(d, '(', "/"+names[i], ')')
		if err != nil {
			return err
		}
		all = append(all, list)
	}
	for i := 0; len(all) > 0; i++ { // element by element
		all = slices.DeleteFunc(all, func(list []convention.Member) bool { return i == len(list) })
		for _, list := range all {
			m.Members = append(m.Members, list[i])
		}
	}
	return nil
}

// elements returns the values that a dataset of references refers to as members, named by their
// subscripts and field.
func elements(d *hdf5.Dataset, open byte, field string, end byte) ([]convention.Member, error) {
	const reference = 8 // bytes
	n := d.View().Len()
	if n > d.File().Size()/reference {
		return nil, fmt.Errorf("%s: %d references in a file of %d bytes: %w", d.Path, n, d.File().Size(), storage.ErrState)
	}
	values, err := d.Values(views.View{Shape: []int{n}, Stride: []int{1}})
	if err != nil {
		return nil, err
	}
	shape := reversed(d.Shape)
	list := make([]convention.Member, n)
	for i, value := range values {
		to, _ := value.(hdf5.Reference)
		list[i] = convention.Member{Name: subscripts(open, shape, i, end) + field, Path: to.Path}
	}
	return list, nil
}
