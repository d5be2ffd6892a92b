package main

import (
	"context"
	"fmt"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/storage"
)

// A columnSummary is the statistics of a column of a table, or of a member of compounds.
type columnSummary struct {
	name string
	statistic
}

// mostColumns is how many columns an array may have to be taken as a table.
const mostColumns = 64

// columnStatistics returns the statistics of the columns of an array of two axes, unless it
// has many: rows are then images or signals. The attribute columns, which import writes,
// has their names.
func columnStatistics(ctx context.Context, a storage.Array, attrs []inspect.Attr) ([]columnSummary, error) {
	if a.Rank() != 2 || a.Shape[1] < 2 || a.Shape[1] > mostColumns || a.Shape[0] <= a.Shape[1] || a.Type == dtype.Uint8 {
		return nil, nil
	}
	names := columnNames(attrs, a.Shape[1])
	var all []columnSummary
	for k := range a.Shape[1] {
		v, err := a.View.Select(1, k)
		if err != nil {
			return nil, err
		}
		s, err := summarize(ctx, a.With(v))
		if err != nil {
			return nil, err
		}
		all = append(all, columnSummary{names[k], &s})
	}
	return all, nil
}

// columnNames returns the names of columns: those of the attribute, or their numbers.
func columnNames(attrs []inspect.Attr, n int) []string {
	names := make([]string, n)
	for k := range names {
		names[k] = fmt.Sprintf("[:, %d]", k)
	}
	for _, a := range attrs {
		if a.Name != "columns" {
			continue
		}
		if value, err := a.Get(); err == nil {
			if list, ok := value.([]any); ok && len(list) == n {
				for k, name := range list {
					names[k] = fmt.Sprint(name)
				}
			}
		}
	}
	return names
}

// memberStatistics returns the statistics of the members of compounds.
func memberStatistics(ctx context.Context, file inspect.File, path string) ([]columnSummary, error) {
	h5, ok := file.(inspect.HDF5)
	if !ok || h5.Meant(path) {
		return nil, nil
	}
	d, err := h5.Dataset(path)
	if err != nil {
		return nil, err
	}
	var all []columnSummary
	for _, m := range d.Type.Members {
		data, err := h5.Member(path, m.Name)
		if err != nil {
			return nil, err
		}
		s, err := statisticOf(ctx, data, false)
		if err != nil {
			return nil, err
		}
		if s != nil {
			all = append(all, columnSummary{m.Name, s})
		}
	}
	return all, nil
}
