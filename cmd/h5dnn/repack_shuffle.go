package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/serialize/anndata"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// shuffle returns the order in which repack --shuffle writes datasets, and notes which have as many rows and keep their order.
func (w *wantedLayout) shuffle(f *hdf5.File, seed uint64) (func(*hdf5.Dataset) *hdf5write.Reorder, error) {
	rows := w.largestRows
	if anndata.Is(f) {
		rows = anndata.Observations
	}
	n, arrays, err := rows(f)
	if err != nil {
		return nil, fmt.Errorf("%s: not shuffled: %w", f.Name(), err)
	}
	order, err := hdf5write.NewRowOrder(rand.New(rand.NewPCG(seed, 0)).Perm(n))
	if err != nil {
		return nil, err
	}
	orders, offsets := map[uint64]*hdf5write.Reorder{}, map[string][]int64{}
	for _, a := range arrays {
		if a.Offsets != "" && offsets[a.Offsets] == nil {
			if offsets[a.Offsets], err = readOffsets(f, a.Offsets); err != nil {
				return nil, err
			}
		}
		o, err := f.Lookup(a.Path)
		if err != nil {
			return nil, err
		}
		address, _ := o.Address()
		orders[address] = nil
		if a.Numbers || !a.Fixed {
			orders[address] = reorderOf(a, order, offsets[a.Offsets], seed)
		}
	}
	if err := w.noteUnshuffled(f, n, orders); err != nil {
		return nil, err
	}
	return func(d *hdf5.Dataset) *hdf5write.Reorder {
		address, _ := d.Address()
		return orders[address]
	}, nil
}

// reorderOf returns how an array is written in an order of rows.
func reorderOf(a anndata.RowArray, order *hdf5write.RowOrder, offsets []int64, seed uint64) *hdf5write.Reorder {
	o := &hdf5write.Reorder{Rows: order, Offsets: offsets, IsOffsets: a.Path == a.Offsets, Attr: hdf5write.Attr{Name: dataconfig.ShuffleAttribute, Value: seed}}
	if a.Fixed {
		o.Rows = nil
	}
	if a.Numbers {
		o.Numbers = order
	}
	if a.Columns {
		o.Columns = order
	}
	return o
}

func readOffsets(f *hdf5.File, path string) ([]int64, error) {
	d, err := f.Dataset(path)
	if err != nil {
		return nil, err
	}
	a, err := d.Array()
	if err != nil {
		return nil, err
	}
	return storage.Read[int64](a)
}

// largestRows returns the datasets and sparse matrices that --shuffle writes in random order: those at and below --path, which have as
// many rows, or else the largest one and all that have as many.
func (w *wantedLayout) largestRows(f *hdf5.File) (n int, all []anndata.RowArray, err error) {
	type candidate struct {
		path        string
		rows, bytes int
		arrays      []anndata.RowArray
	}
	var found []candidate
	within := "" // a sparse matrix, whose parts are no candidates
	for o, err := range f.Walk() {
		if err != nil {
			return 0, nil, err
		}
		if !w.concerns(o.Path) || o.Kind != hdf5.KindGroup && o.Kind != hdf5.KindDataset || within != "" && strings.HasPrefix(o.Path, within) {
			continue
		}
		c := candidate{path: o.Path}
		c.rows, c.arrays, err = anndata.Rows(o, false)
		switch {
		case errors.Is(err, anndata.ErrNoRows):
			continue
		case err != nil && len(w.paths) > 0:
			return 0, nil, err
		case err != nil:
			w.notes = append(w.notes, hdf5.Finding{Path: o.Path, Message: fmt.Sprintf("not shuffled: %v", err)})
			continue
		}
		for _, a := range c.arrays {
			d, err := f.Dataset(a.Path)
			if err != nil {
				return 0, nil, err
			}
			elements, _ := d.Len()
			c.bytes += elements * d.Type.Size
		}
		if o.Kind == hdf5.KindGroup {
			within = o.Path + "/"
		}
		found = append(found, c)
	}
	if len(found) == 0 {
		return 0, nil, errors.New("there is no dataset with rows")
	}
	largest := slices.MaxFunc(found, func(a, b candidate) int { return a.bytes - b.bytes })
	for _, c := range found {
		switch {
		case c.rows == largest.rows:
			all = append(all, c.arrays...)
		case len(w.paths) > 0:
			return 0, nil, fmt.Errorf("%s has %d rows, and %s %d; name datasets with the same number of rows", c.path, c.rows, largest.path, largest.rows)
		default:
			w.notes = append(w.notes, hdf5.Finding{Path: c.path, Message: fmt.Sprintf("not shuffled: %d rows, where %s has %d", c.rows, largest.path, largest.rows)})
		}
	}
	return largest.rows, all, nil
}

// noteUnshuffled notes datasets that have as many rows as those that are shuffled, and keep their order.
func (w *wantedLayout) noteUnshuffled(f *hdf5.File, n int, orders map[uint64]*hdf5write.Reorder) error {
	for o, err := range f.Walk() {
		if err != nil {
			return err
		}
		address, _ := o.Address()
		if _, known := orders[address]; known || o.Kind != hdf5.KindDataset {
			continue
		}
		if d, err := o.Dataset(); err == nil && len(d.Shape) > 0 && d.Shape[0] == n && n > 1 {
			w.notes = append(w.notes, hdf5.Finding{Path: o.Path, Message: fmt.Sprintf("not shuffled, though it has %d rows", n)})
		}
	}
	return nil
}
