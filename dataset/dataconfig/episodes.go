package dataconfig

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// divideEpisodes sets the runs of p, which windows do not leave, to its episodes.
func (c Config) divideEpisodes(p *part) error {
	found, path, err := p.find(p.file, c.Episodes)
	if err != nil {
		return err
	}
	if a := found.Array; a.Data != nil && (a.Rank() != 1 || !a.Type.IsInt()) {
		return fmt.Errorf("%s: %s is %v%v; want a list of integers or strings: %w", p.file, path, a.Type, a.Shape, dtype.ErrType)
	}
	if found.Array.Data != nil && found.Array.Shape[0] != p.len() {
		p.runs, err = runsBetween(found.Array, p.len())
	} else {
		var list []string
		if list, err = p.spread(found, path); err == nil {
			p.runs = runsOf(list)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %s: %w", p.file, path, err)
	}
	return nil
}

// runsBetween numbers the episodes of n rows by a list of their lengths, or of the rows where they begin,
// which may end with n.
func runsBetween(a storage.Array, n int) ([]int, error) {
	list, err := storage.Read[int64](a)
	if err != nil {
		return nil, err
	}
	starts, total := make([]int64, len(list)), int64(0)
	for i, length := range list {
		if length < 0 || length > int64(n)-total {
			total = -1
			break
		}
		starts[i], total = total, total+length
	}
	if total != int64(n) {
		starts = list
	}
	if len(starts) == 0 || starts[0] != 0 || !slices.IsSorted(starts) || starts[len(starts)-1] > int64(n) {
		return nil, fmt.Errorf("%d integers are neither a number for each of %d rows, nor lengths of episodes with this sum, nor rows from 0 on where they begin: %w", len(list), n, views.ErrShape)
	}
	runs := make([]int, n)
	for k, start := range starts {
		end := int64(n)
		if k+1 < len(starts) {
			end = starts[k+1]
		}
		for row := start; row < end; row++ {
			runs[row] = k
		}
	}
	return runs, nil
}

// mergeRuns numbers the runs of rows that are in one run of a and in one of b. A nil a is one run.
func mergeRuns(a, b []int) []int {
	if a == nil {
		return b
	}
	runs := make([]int, len(b))
	for i := 1; i < len(b); i++ {
		if runs[i] = runs[i-1]; a[i] != a[i-1] || b[i] != b[i-1] {
			runs[i]++
		}
	}
	return runs
}
