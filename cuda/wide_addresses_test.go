package cuda_test

import (
	"runtime"
	"testing"

	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// farBytes is more bytes than 32 bits count, and more elements of any size up to 4.
const farBytes = 1 << 34

// scattered is host's matrix on d, its rows so far apart.
func scattered(t *testing.T, d *cuda.Device, host storage.Array) (a storage.Array, rows []storage.Storage) {
	t.Helper()
	bytes := host.Data.(storage.Host).Bytes()
	n := len(bytes) / host.Shape[0]
	for i := range host.Shape[0] {
		row, err := d.Alloc(n)
		if err != nil {
			t.Fatal(err)
		}
		cudatest.SkipAddresses(d, farBytes)
		if err := d.Upload(row, 0, bytes[i*n:][:n]); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	base, step := d.Address(rows[0]), int(d.Address(rows[1])-d.Address(rows[0]))
	a = storage.Array{Data: d.UnownedMemory(base, (len(rows)-1)*step+n), Type: host.Type}
	a.View = views.View{Shape: host.Shape, Stride: []int{step / host.Type.Size(), 1}}
	return a, rows
}

// TestStridesBeyond32Bits runs kernels on matrices of two rows, farther apart than 32 bits
// can address, and reads their results row by row.
func TestStridesBeyond32Bits(t *testing.T) {
	if cudatest.RealGPU() {
		t.Skip("addresses are the driver's there")
	}
	d := cudatest.Devices(t, cudatest.Eager)[0]
	m, odd := of(2, 64), of(2, 63)
	for _, c := range []trial{
		{k: kernels.Add, out: list(m), in: list(m, m)}, {k: kernels.Add, out: list(odd), in: list(odd, odd)},
		{k: kernels.Exp, out: list(m), in: list(m), tolerance: 1e-6}, {k: kernels.Add, out: list(m.as(dtype.Int16)), in: list(m.as(dtype.Int16), m.as(dtype.Int16))},
		{k: kernels.Copy, out: list(m), in: list(m)}, {k: kernels.Copy, out: list(odd), in: list(odd)}, {k: kernels.Fill, set: kernels.FillOptions{Value: 3}, out: list(m)},
		{k: kernels.Where, out: list(m), in: list(m.as(dtype.Bool).up(2), m, m)},
		{k: kernels.Cast, set: kernels.CastOptions{Scale: 2}, out: list(m), in: list(m.as(dtype.Uint8).up(99))}, {k: kernels.Cast, out: list(m.as(dtype.Int32)), in: list(m)},
		{k: kernels.Sum, out: list(of(2, 1)), in: list(m), tolerance: 1e-5}, {k: kernels.Max, out: list(of(1, 64)), in: list(m)}, {k: kernels.Sum, out: list(of(1, 1)), in: list(odd), tolerance: 1e-5},
		{k: kernels.Softmax, set: kernels.SoftmaxOptions{Axis: 1}, out: list(m), in: list(m), tolerance: 1e-6}, {k: kernels.Softmax, set: kernels.SoftmaxOptions{Axis: 0}, out: list(m), in: list(m), tolerance: 1e-6},
		{k: kernels.SGD, set: kernels.SGDOptions{Rate: 0.1}, out: list(m), in: list(m), tolerance: 1e-6},
		{k: kernels.MatMul, out: list(of(2, 2)), in: list(m, of(64, 2)), tolerance: 1e-4},
	} {
		t.Run(c.String(), func(t *testing.T) {
			defer cudatest.Reset()
			host, there := c.call(t, d)
			var rows [][]storage.Storage
			for i, a := range host.Out {
				if a.Shape[0] == 2 {
					far, lie := scattered(t, d, a)
					there.Out[i], rows = far, append(rows, lie)
				}
			}
			for i, a := range host.In {
				if a.Shape[0] == 2 {
					far, lie := scattered(t, d, a)
					there.In[i], rows = far, append(rows, lie)
				}
			}
			if err := c.k.Reference(&host); err != nil {
				t.Fatal(err)
			}
			if err := d.Run(c.k, &there); err != nil {
				t.Fatal(err)
			}
			for i, want := range host.Out {
				got := there.Out[i]
				if got.Shape[0] != 2 {
					same(t, "the result", got, want, c.tolerance)
					continue
				}
				for r, row := range rows[i] {
					v, _ := want.Slice(0, r, r+1, 1)
					same(t, "a row", storage.Array{Data: row, Type: got.Type, View: views.Of(v.Shape...)}, want.With(v), c.tolerance)
				}
			}
			runtime.KeepAlive(rows)
		})
	}
}
