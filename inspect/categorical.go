package inspect

import (
	"fmt"
	"strings"

	"github.com/h5dnn/h5dnn/storage/hdf5"
)

// Categorical returns the codes of a categorical column as AnnData stores it, with the
// names of the categories: a group of codes and categories or, before version 0.7,
// codes whose categories are in the group __categories beside them.
//
// https://anndata.readthedocs.io/en/stable/fileformat-prose.html#categorical-arrays
func (f HDF5) Categorical(path string) (codes Selection, ok bool, err error) {
	path = Clean(path)
	column, err := f.Lookup(path)
	if err != nil {
		return codes, false, nil
	}
	codesAt, categoriesAt := path+"/codes", path+"/categories"
	if column.Kind == hdf5.KindDataset {
		slash := strings.LastIndexByte(path, '/')
		codesAt, categoriesAt = path, path[:slash]+"/__categories"+path[slash:]
	}
	categories, err := f.Lookup(categoriesAt)
	if err != nil {
		return codes, false, nil
	}
	if codes, err = f.Find(codesAt); err != nil || !codes.Numbers() || !codes.Array.Type.IsInt() {
		return codes, false, nil
	}
	d, err := categories.Dataset()
	if err != nil || len(d.Shape) != 1 {
		return codes, false, err
	}
	values, err := d.Values(d.View())
	if err != nil {
		return codes, false, err
	}
	codes.Name = path[strings.LastIndexByte(path, '/')+1:]
	codes.Names, codes.NameValues = make([]string, len(values)), nil
	for i, value := range values {
		text, isText := value.(string)
		if !isText {
			text = hdf5.Format(value)
		}
		codes.Names[i] = text
	}
	if len(codes.Names) == 0 {
		return codes, false, fmt.Errorf("%s: %s has no categories", f.Name(), categoriesAt)
	}
	return codes, true, nil
}
