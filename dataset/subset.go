package dataset

import (
	"fmt"
	"math"
	"slices"

	"github.com/h5dnn/h5dnn/views"
)

// A subset is some samples of another dataset.
type subset struct {
	reader
	rows      []int
	ascending bool // rows are ascending, without duplicates
}

// Subset returns the dataset whose sample i is sample rows[i] of d. Ascending rows
// keep the samples of a chunk together, which makes reading chunked data faster.
func Subset(d Dataset, rows []int) (Dataset, error) {
	if err := checkRows(rows, d.Len()); err != nil {
		return nil, err
	}
	ascending := true
	for k := 1; k < len(rows) && ascending; k++ {
		ascending = rows[k-1] < rows[k]
	}
	return &subset{readerOf(d), slices.Clone(rows), ascending}, nil
}

// maxListedRows is the maximum length of a list of rows, which takes 8 bytes for each.
const maxListedRows = 1 << 30

// Split divides d at random, as PyTorch's random_split: val gets the given fraction of the samples, train
// the others, both in d's order. The same seed gives the same split.
func Split(d Dataset, fraction float64, seed uint64) (train, val Dataset, err error) {
	rest, chosen, err := SplitRows(d.Len(), fraction, seed)
	if err != nil {
		return nil, nil, err
	}
	of := readerOf(d)
	return &subset{of, rest, true}, &subset{of, chosen, true}, nil
}

// SplitRows divides n samples at random: chosen gets the given fraction of them,
// rest the others. The same seed gives the same split.
func SplitRows(n int, fraction float64, seed uint64) (rest, chosen RowSet, err error) {
	few := int(math.Round(fraction * float64(n)))
	if !(fraction > 0 && fraction < 1) || few == 0 || few == n {
		return nil, nil, fmt.Errorf("dataset: a fraction of %v leaves one side of a split of %d samples empty; choose one nearer to 0.5: %w", fraction, n, views.ErrShape)
	}
	if n > maxListedRows {
		return nil, nil, fmt.Errorf("dataset: %d samples are too many for a random split, which lists at most %d; split the file, or slice it", n, maxListedRows)
	}
	chosen, rest = make(RowSet, 0, few), make(RowSet, 0, n-few)
	p := permute(n, mix(seed, splitKey))
	for row := range n {
		if p.at(row) < few {
			chosen = append(chosen, row)
		} else {
			rest = append(rest, row)
		}
	}
	return rest, chosen, nil
}

func (s *subset) Len() int { return len(s.rows) }

func (s *subset) Read(into Batch, rows []int) error { return readInto(into, s, rows) }

func (s *subset) scatter(to destination, rows []int) error {
	work := scratches.Get().(*scratch)
	defer scratches.Put(work)
	below := work.ints(len(rows))
	for k, row := range rows {
		below[k] = s.rows[row]
	}
	return s.reader.scatter(to, below)
}

// Blocks implements Blocked.
func (s *subset) Blocks() (ends []int, decoded int) { return s.blocks(s.reader.describe().BlockEnds) }

// blocks returns the blocks of the whole dataset as far as the subset uses them.
func (s *subset) blocks(whole []int) (ends []int, decoded int) {
	if whole == nil || !s.ascending {
		return nil, len(s.rows)
	}
	start, used := 0, 0
	for _, end := range whole {
		upto, _ := slices.BinarySearch(s.rows, end)
		if upto > used {
			ends = append(ends, upto)
			decoded += end - start
		}
		start, used = end, upto
	}
	return ends, decoded
}
