package tensor_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/pythontest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensor/tensortest"
)

// TestQuantizedTensorsAreKeptOrRefused: every registered call gives a quantized tensor or floats that
// stand for the result on dequantized operands, or refuses by name.
func TestQuantizedTensorsAreKeptOrRefused(t *testing.T) {
	kept := map[string]bool{}
	tensortest.Each(t, func(t *testing.T, s tensortest.Sample) {
		if strings.Contains(s.Name, "quantize") {
			t.Skip("makes a quantized tensor of its operand")
		}
		xs, floats := make([]*tensor.Tensor, len(s.In)), make([]*tensor.Tensor, len(s.In))
		for i, in := range s.In {
			ints := slices.Repeat([]int16{3}, product(in.Shape))
			x, err := tensor.NewFormat(storage.From(ints, in.Shape...), tensor.Format{Quantized: &tensor.Quantization{Scales: []float64{0.5}, ZeroPoints: []int{1}}})
			if err != nil {
				t.Fatal(err)
			}
			xs[i], floats[i] = x, x.Dequantize()
		}
		var y *tensor.Tensor
		if err := tensor.Try(func() { y = s.Call(xs...) }); err != nil {
			if !errors.Is(err, tensor.ErrState) {
				t.Errorf("error %v, want one of kind %v", err, tensor.ErrState)
			}
			return
		}
		kept[s.Name] = true
		tensortest.Near(t, "value", tensor.Values[float64](y.Dequantize()), tensor.Values[float64](s.Call(floats...)), 0)
	})
	for _, name := range []string{"permute", "slice", "reshape", "matmul", "contiguous"} {
		if !kept[name] {
			t.Errorf("%s refuses quantized tensors", name)
		}
	}
}

func product(shape []int) int {
	n := 1
	for _, size := range shape {
		n *= size
	}
	return n
}

func TestQuantizedTensorsBecomeFloats(t *testing.T) {
	q, err := tensor.NewFormat(storage.From([]int8{-1, 0, 3, 4, 5, 6}, 2, 3), tensor.Format{
		Names:     []string{"row", "column"},
		Quantized: &tensor.Quantization{Scales: []float64{0.5, 2}, ZeroPoints: []int{1, -1}, Axis: 0},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []float32{-1, -0.5, 1, 10, 12, 14}
	for name, x := range map[string]*tensor.Tensor{
		"as it is": q, "twice transposed": q.T().T(), "with an axis": q.Unsqueeze(0).Squeeze(0), "copied": q.T().Clone().T().Clone(),
		"cloned": q.CloneDetached(), "renamed": q.Rename("a", "b"), "contiguous": q.T().Contiguous().T(),
	} {
		d := x.Dequantize()
		if got := tensor.Values[float32](d); !slices.Equal(got, want) || len(d.Names()) != 2 {
			t.Errorf("%s: %v with axes %q, want %v", name, got, d.Names(), want)
		}
	}
	if got, want := tensor.Values[float32](q.Slice(1, 0, 3, 2).T().Dequantize()), []float32{-1, 10, 1, 14}; !slices.Equal(got, want) {
		t.Errorf("columns %v, want %v", got, want)
	}
	if d := q.To(tensor.Meta).Dequantize(); !d.IsMeta() || d.DType() != dtype.Float32 || !slices.Equal(d.Shape(), []int{2, 3}) {
		t.Errorf("meta: %v", d)
	}
	if got := tensor.Values[int8](q.IntRepr()); !slices.Equal(got, []int8{-1, 0, 3, 4, 5, 6}) {
		t.Errorf("integers %v", got)
	}
	x := tensor.FromSlice([]float32{1, 2}, 1, 2).RequireGrad()
	y := x.Unnamed().MatMul(q.Unnamed())
	if got, want := tensor.Values[float32](y), []float32{19, 23.5, 29}; !slices.Equal(got, want) {
		t.Errorf("product %v, want %v", got, want)
	}
	y.Sum().Backward()
	if got, want := tensor.Values[float32](x.Grad), []float32{-0.5, 36}; !slices.Equal(got, want) {
		t.Errorf("gradient %v, want %v", got, want)
	}
	for want, f := range map[string]func(){
		"slice: of the channels, axis 0, of a quantized tensor; call Dequantize first":   func() { q.Select(0, 1) },
		"flip: of the channels, axis 0, of a quantized tensor; call Dequantize first":    func() { q.Flip(0) },
		"reshape: of the channels, axis 0, of a quantized tensor; call Dequantize first": func() { q.Reshape(6) },
		"add: has no rule for quantized tensors; call Dequantize first":                  func() { q.Add(q) },
		"int repr: float32[1 2] on cpu is not quantized":                                 func() { x.IntRepr() },
	} {
		if err := tensor.Try(f); fmt.Sprint(err) != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestFormatsAreChecked(t *testing.T) {
	a := storage.From([]float32{1, 2}, 1, 2)
	bytes := storage.From([]uint8{1, 2}, 1, 2)
	quantized := func(scales []float64, zeros []int, axis int) tensor.Format {
		return tensor.Format{Quantized: &tensor.Quantization{Scales: scales, ZeroPoints: zeros, Axis: axis}}
	}
	for name, c := range map[string]struct {
		a storage.Array
		f tensor.Format
	}{
		"one name for two axes":          {a, tensor.Format{Names: []string{"n"}}},
		"a name twice":                   {a, tensor.Format{Names: []string{"n", "n"}}},
		"quantized floats":               {a, quantized([]float64{1}, []int{0}, 0)},
		"a scale of 0":                   {bytes, quantized([]float64{0}, []int{0}, 0)},
		"a scale that is NaN":            {bytes, quantized([]float64{math.NaN()}, []int{0}, 0)},
		"a scale too large":              {bytes, quantized([]float64{1e300}, []int{0}, 0)},
		"a zero point beyond the type":   {bytes, quantized([]float64{1}, []int{256}, 0)},
		"no scale":                       {bytes, quantized(nil, nil, 0)},
		"fewer zero points than scales":  {bytes, quantized([]float64{1, 1}, []int{0}, 1)},
		"as many scales as another axis": {bytes, quantized([]float64{1, 1}, []int{0, 0}, 0)},
		"an axis that the array has not": {bytes, quantized([]float64{1, 1}, []int{0, 0}, 2)},
		"an axis counted from the end":   {bytes, quantized([]float64{1, 1}, []int{0, 0}, -1)},
	} {
		if _, err := tensor.NewFormat(c.a, c.f); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestFormatsAreAttributes: names, scales and zero points are found again in attributes.
func TestFormatsAreAttributes(t *testing.T) {
	bytes := storage.From([]uint8{1, 2, 3, 4}, 2, 2)
	for _, f := range []tensor.Format{
		{},
		{Names: []string{"n", ""}},
		{Quantized: &tensor.Quantization{Scales: []float64{0.25}, ZeroPoints: []int{3}}},
		{Names: []string{"n", "c"}, Quantized: &tensor.Quantization{Scales: []float64{0.25, 0.5}, ZeroPoints: []int{3, 0}, Axis: 1}},
	} {
		x, err := tensor.NewFormat(bytes, f)
		if err != nil {
			t.Fatal(err)
		}
		y, err := tensor.WithAttributes(bytes, x.Attributes())
		if err != nil || !reflect.DeepEqual(y.Format(), f) {
			t.Errorf("format %+v, error %v; want %+v", y.Format(), err, f)
		}
	}
	for name, attrs := range map[string]map[string]any{
		"labels of another rank": {"DIMENSION_LABELS": []string{"n"}},
		"labels twice":           {"DIMENSION_LABELS": []string{"n", "n"}},
		"a scale of text":        {"scale": "large"},
		"a scale alone":          {"scale": storage.From([]float32{2})},
	} {
		if x, err := tensor.WithAttributes(bytes, attrs); err != nil || x.Attributes() != nil {
			t.Errorf("%s: format %+v, error %v; want an ordinary tensor", name, x.Format(), err)
		}
	}
	for name, attrs := range map[string]map[string]any{
		"fewer zero points":         {"scale": storage.From([]float32{1, 1}, 2), "zero_point": storage.From([]int8{1})},
		"a zero point of a half":    {"scale": storage.From([]float32{1}), "zero_point": storage.From([]float64{0.5})},
		"a scale of no channel":     {"scale": storage.From([]float32{1, 1, 1}, 3), "zero_point": storage.From([]int8{0, 0, 0}, 3)},
		"an axis that is not there": {"scale": storage.From([]float32{1, 1}, 2), "zero_point": storage.From([]int8{0, 0}, 2), "axis": storage.From([]int8{7})},
	} {
		if _, err := tensor.WithAttributes(bytes, attrs); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if x, err := tensor.WithAttributes(storage.From([]float32{1}, 1), map[string]any{"scale": storage.From([]float32{2}), "zero_point": storage.From([]int8{0})}); err != nil || x.Attributes() != nil {
		t.Errorf("floats with a scale: %v, error %v; want an ordinary tensor", x, err)
	}
}

// TestQuantizedAsByPyTorch compares integers and floats with PyTorch's, bit by bit.
func TestQuantizedAsByPyTorch(t *testing.T) {
	x := tensor.Key{Seed: 5}.Randn(dtype.Float32, 64, 50).MulScalar(3)
	scales, zeros := []float64{}, []int{}
	for i := range 50 {
		scales, zeros = append(scales, 0.01+float64(i)*0.0037), append(zeros, i-20)
	}
	for name, c := range map[string]struct {
		q    *tensor.Tensor
		call string
	}{
		"int8 per tensor":  {x.QuantizePerTensor(0.0273, -7, dtype.Int8), "torch.quantize_per_tensor(x, 0.0273, -7, torch.qint8)"},
		"uint8 per tensor": {x.QuantizePerTensor(0.05, 128, dtype.Uint8), "torch.quantize_per_tensor(x, 0.05, 128, torch.quint8)"},
		"int8 per channel": {x.QuantizePerChannel(scales, zeros, 1, dtype.Int8), "torch.quantize_per_channel(x, scales, zeros, 1, torch.qint8)"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			bytes, _ := x.Array().Bytes()
			if err := os.WriteFile(folder+"/x", bytes, 0o666); err != nil {
				t.Fatal(err)
			}
			pythontest.Run(t, []string{"torch", "numpy"}, fmt.Sprintf(`import torch, numpy as np
x = torch.from_numpy(np.fromfile(%q, np.float32).reshape(64, 50).copy())
scales = torch.tensor([0.01 + i * 0.0037 for i in range(50)], dtype=torch.float64)
zeros = torch.arange(50) - 20
q = %s
q.int_repr().numpy().tofile(%q)
q.dequantize().numpy().tofile(%q)`, folder+"/x", c.call, folder+"/q", folder+"/d"))
			for file, got := range map[string]*tensor.Tensor{"/q": c.q.IntRepr(), "/d": c.q.Dequantize()} {
				want, err := os.ReadFile(folder + file)
				if err != nil {
					t.Fatal(err)
				}
				bytes, _ := got.Contiguous().Array().Bytes()
				differ := 0
				for i := range want {
					if want[i] != bytes[i] {
						differ++
					}
				}
				if differ > 0 {
					t.Errorf("%s: %d of %d bytes differ", file, differ, len(want))
				}
			}
		})
	}
}
