package train_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// TestLengthsSayWherePaddingBegins: a masked model that takes the lengths of its input computes the same whatever the padding is, and
// sees all other steps. A model that takes no lengths says that padding is data.
func TestLengthsSayWherePaddingBegins(t *testing.T) {
	const n, steps = 40, 6
	samples := func(padding, last float32) []dataset.NamedArray {
		x, y, lengths := make([]float32, n*steps), make([]int64, n), make([]int64, n)
		for i := range n {
			y[i], lengths[i] = int64(i%2), int64(1+i*7%steps)
			row, end := x[i*steps:][:steps], int(lengths[i])
			for k := range row {
				row[k] = float32(math.Sin(float64(i + k)))
			}
			row[end-1] = last
			copy(row[end:], slices.Repeat([]float32{padding}, steps))
		}
		return []dataset.NamedArray{
			{Name: "x", Array: storage.From(x, n, steps, 1)},
			{Name: "x lengths", Array: storage.From(lengths, n), Role: dataset.Length, LengthOf: "x"},
			{Name: "y", Array: storage.From(y, n), Role: dataset.Target},
		}
	}
	loss := func(model string, padding, last float32) (float64, *train.Run) {
		c, err := train.ParseConfig([]byte("{data: {file: f, x: x, y: y, lengths: n}, epochs: 1, model: " + model + "}"))
		if err != nil {
			t.Fatal(err)
		}
		data, err := dataconfig.New(c.Data, 1, samples(padding, last), nil)
		if err != nil {
			t.Fatal(err)
		}
		run, err := train.New(t.Context(), c, data, storage.CPU)
		if err != nil {
			t.Fatal(err)
		}
		m, err := run.Evaluate(t.Context(), data.Train)
		if err != nil {
			t.Fatal(err)
		}
		return m.MeanLoss(), run
	}
	const masked = "{graph: {inputs: [x, x_lengths], nodes: [{name: h, from: [x, x_lengths], layer: {gru: {hidden_size: 4, masked: true}}}, {name: y, from: h, layer: {dense: 2}}], outputs: [y]}}"
	want, _ := loss(masked, 0, 1)
	if got, _ := loss(masked, 99, 1); got != want {
		t.Errorf("loss %v with another padding, want %v", got, want)
	}
	if got, _ := loss(masked, 0, 2); got == want {
		t.Errorf("loss %v with other last steps, too", got)
	}
	_, run := loss("[{gru: 4}, {dense: 2}]", 0, 1)
	if !slices.ContainsFunc(run.Assumptions, func(a train.Assumption) bool { return strings.Contains(a.Text, "the padding of x is data") }) {
		t.Errorf("assumed %v", run.Assumptions)
	}
}
