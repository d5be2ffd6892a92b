package train_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/train"
)

// rowsOptions are the settings of a rowsOf.
type rowsOptions struct {
	Rows   int            `json:"rows"`
	Width  int            `json:"width"`
	Device storage.Device `json:"-"`
}

// rowsOf gives the rows of its weight that integers (N, T) number, as (N, width, T).
type rowsOf struct {
	rowsOptions `nn:"-"`
	Weight      *nn.Parameter
}

func newRowsOf(o rowsOptions) *rowsOf {
	return &rowsOf{o, nn.NewAllocator("rows_of", o.Device, dtype.Invalid).Param(nn.ConstantFill(0), o.Rows, o.Width)}
}

func (m *rowsOf) InputSpec() nn.InputSpec { return nn.InputSpec{Type: dtype.Int64} }
func (m *rowsOf) Config() any             { return m.rowsOptions }

func (m *rowsOf) Forward(x *tensor.Tensor) *tensor.Tensor {
	if x.DType() != dtype.Int64 {
		tensor.Fail("rows_of", dtype.ErrType, "indices of %v; want int64", x.DType())
	}
	n, steps := x.Shape()[0], x.Shape()[1]
	rows := m.Weight.Tensor.IndexSelect(0, x.Contiguous().Reshape(n*steps))
	return rows.Reshape(n, steps, m.Width).Permute(0, 2, 1)
}

var _ = nn.RegisterLayer("rows_of", newRowsOf, rowsOptions{})

// tokens is sequences of tokens, each with the class of the token, and a number beside them.
func tokens(n int) []dataset.NamedArray {
	var x []int16
	var y []uint8
	var other []float32
	for i := range n {
		for k := range 6 {
			token := (i*5 + k*k*3 + i*k) % 20
			x, y = append(x, int16(token)), append(y, uint8(token%3))
		}
		other = append(other, float32(i), 1)
	}
	return []dataset.NamedArray{
		{Name: "x", Array: storage.From(x, n, 6)}, {Name: "y", Array: storage.From(y, n, 6), Role: dataset.Target}, {Name: "other", Array: storage.From(other, n, 2)},
	}
}

// TestIntegersReachModules that declare them, in every way of loading, in graphs beside floats, and in predictions of a
// saved run. They are never normalized.
func TestIntegersReachModules(t *testing.T) {
	const text = "data: {file: none, x: x, y: y}\nmodel: [{rows_of: {rows: 20, width: 3}}]\noptimizer: {adam: {lr: 0.1}}\nbatch: 8\nepochs: "
	fields := tokens(30)
	run, m := fitFields(t, storage.CPU, text+"12", fields[:2]...)
	if a := metric(m, "accuracy"); a != 1 || len(run.Assumptions) > 0 {
		t.Errorf("accuracy %v, assumptions %v", a, run.Assumptions)
	}
	file := filepath.Join(t.TempDir(), "run.npz")
	if err := train.Save(file, run); err != nil {
		t.Fatal(err)
	}
	again, err := train.Resume(file, storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	p, err := again.Predictor()
	if err == nil {
		err = p.Classes()
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Predict(fields[0].Array)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(tensor.FromArray(out).Cast(dtype.Uint8)), fmt.Sprint(tensor.FromArray(fields[1].Array)); got != want {
		t.Errorf("predicted %s, want %s", got, want)
	}
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	_, want := fitFields(t, storage.CPU, text+"2", fields[:2]...)
	for _, w := range modes {
		_, got := fitFields(t, gpu, text+"2\ngraph: "+fmt.Sprint(w.graph)+"\n", fields[:2]...)
		if fmt.Sprintf("%.4f", got.MeanLoss()) != fmt.Sprintf("%.4f", want.MeanLoss()) {
			t.Errorf("%v: loss %v, %v on the CPU", w, got.MeanLoss(), want.MeanLoss())
		}
	}
	two := "data: {file: none, x: {x: x, other: other}, y: y}\noptimizer: {adam: {lr: 0.1}}\nepochs: 1\nbatch: 8\nmodel: {graph: {inputs: [other, x], nodes: [{name: r, layer: {rows_of: {rows: 20, width: 18}}, from: x}," +
		"{name: d, layer: {dense: 108}, from: other}, {name: q, layer: {reshape: [18, 6]}, from: d}, {name: s, layer: add, from: [r, q]}], outputs: [s]}}"
	if run, _ := fitFields(t, storage.CPU, two, fields[0], fields[2], fields[1]); run.Config.Data.Normalize.For("other").IsIdentity() {
		t.Error("floats beside integers are not normalized")
	}
	floats := fields[0]
	floats.Array = storage.From(make([]float32, 180), 30, 6)
	for config, x := range map[string]dataset.NamedArray{"model takes integers as x, and the data has float32": floats, "model takes integers as x, which are not normalized": fields[0]} {
		given := text + "1"
		if strings.Contains(config, "normalized") {
			given = strings.Replace(given, "y: y}", "y: y, normalize: {mean: 1, std: 2}}", 1)
		}
		c, err := train.ParseConfig([]byte(given))
		if err != nil {
			t.Fatal(err)
		}
		data, err := dataconfig.New(c.Data, 1, []dataset.NamedArray{x, fields[1]}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := train.New(context.Background(), c, data, storage.CPU); err == nil || !errors.Is(err, dtype.ErrType) || !strings.Contains(err.Error(), config) {
			t.Errorf("error %v, want %q", err, config)
		}
	}
}
