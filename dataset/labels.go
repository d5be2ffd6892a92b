package dataset

import (
	"fmt"
	"maps"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
)

// sortedLabels describes the first field that looks like class labels in sorted
// order, or returns "".
func (d Description) sortedLabels() string {
	for _, c := range d.columns {
		if len(c.Shape) > 0 || !c.Type.IsInt() || c.chunked() {
			continue
		}
		labels, err := c.sample()
		if err != nil {
			continue // reading batches reports it
		}
		if changes, expected := labelChanges(labels); changes*5 < expected {
			return fmt.Sprintf("%s looks sorted: in a sample of %d labels the value changes %.0f times, in random order about %.0f", c.Name, len(labels), changes, expected)
		}
	}
	return ""
}

// sample returns elements of a column of integers, evenly spread over it.
func (c *column) sample() ([]int64, error) {
	const enough = 1 << 14
	n := c.data.Shape[0]
	rows := make([]int, min(n, enough))
	for k := range rows {
		rows[k] = k * (n / len(rows))
	}
	stored, labels := make([]byte, len(rows)*c.size), make([]int64, len(rows))
	if len(rows) == 0 {
		return nil, nil
	}
	if err := c.gather(destination{batch: &Batch{data: [][]byte{stored}}}, 0, rows); err != nil {
		return nil, err
	}
	return labels, dtype.Convert(dtype.Bytes(labels), dtype.Int64, stored, c.Type)
}

// labelChanges counts how often the label changes from one sample to the next, and
// how often it would in random order: n·(1-Σp²), where p is the frequency of each
// label. Both are 0 for fewer than 64 samples or more than 4096 different labels.
func labelChanges(labels []int64) (changes, expected float64) {
	const fewest, classes = 64, 4096
	counts := map[int64]int{}
	for k, label := range labels {
		if counts[label]++; len(counts) > classes {
			return 0, 0
		}
		if k > 0 && label != labels[k-1] {
			changes++
		}
	}
	if len(labels) < fewest {
		return 0, 0
	}
	same := 0.0
	for _, n := range slices.Sorted(maps.Values(counts)) { // the same sum for the same labels
		same += float64(n) / float64(len(labels)) * float64(n) / float64(len(labels))
	}
	return changes, float64(len(labels)) * (1 - same)
}
