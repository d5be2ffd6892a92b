package byname_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensor/byname"
	"github.com/h5dnn/h5dnn/views"
)

var rewrite = flag.Bool("rewrite", false, "write python/h5dnn/ops.py")

const module = "../../python/h5dnn/ops.py"

// TestPythonHasAllOperations compares the functions of the Python package with the table.
func TestPythonHasAllOperations(t *testing.T) {
	want := python()
	if *rewrite {
		if err := os.WriteFile(module, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(module)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the table says; go test ./tensor/byname -rewrite writes it", module)
	}
}

// python returns the module of all operations.
func python() string {
	names := []string{`"set_num_threads"`, `"vjp"`}
	var text strings.Builder
	for _, op := range byname.Operations() {
		names = append(names, fmt.Sprintf("%q", op.Name))
		text.WriteString("\n\n" + function(op))
	}
	return `"""Operations on arrays of NumPy and tensors of PyTorch, with PyTorch's names and parameters. With out=, a result is written to
the memory of an array, or of one for each result; without, it is a new array of the operands' kind.

This file is written by go test ./tensor/byname -rewrite.
"""
from ._compute import compute as _compute, set_num_threads, vjp

__all__ = [` + strings.Join(names, ", ") + "]\n" + text.String()
}

// function returns the Python function of an operation.
func function(op byname.Operation) string {
	var parameters, names, operands, settings []string
	list := ""
	for _, p := range op.Parameters {
		text := p.Name
		if p.Default != "" {
			text += "=" + p.Default
		}
		parameters = append(parameters, text)
		switch p.Kind {
		case byname.Operands:
			list = strings.TrimPrefix(p.Name, "*")
		case byname.Setting:
			settings = append(settings, fmt.Sprintf("%q: %s", p.Name, p.Name))
		default:
			names, operands = append(names, fmt.Sprintf("%q", p.Name)), append(operands, p.Name)
		}
	}
	if !strings.HasPrefix(parameters[len(parameters)-1], "*") {
		parameters = append(parameters, "*")
	}
	tensors := fmt.Sprintf("(%s,), (%s,)", strings.Join(names, ", "), strings.Join(operands, ", "))
	if list != "" {
		tensors = "None, " + list
	}
	return fmt.Sprintf("def %s(%s, out=None):\n    \"\"\"As torch.%s.\"\"\"\n    return _compute(%q, %s, {%s}, out)\n",
		op.Name, strings.Join(parameters, ", "), op.Torch, op.Name, tensors, strings.Join(settings, ", "))
}

func bind(t *testing.T, name, settings string, in ...*tensor.Tensor) *byname.Call {
	t.Helper()
	c, err := byname.Bind(name, []byte(settings), in...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestOutputsMayOverlapOperands shifts an array within itself, adds it to itself, and multiplies it by itself.
func TestOutputsMayOverlapOperands(t *testing.T) {
	for _, test := range []struct {
		name, settings string
		in             []string // indices of the memory
		out            string
		want           []float32
	}{
		{"neg", "", []string{":"}, ":", []float32{-1, -2, -3, -4, -5, -6}},
		{"neg", "", []string{":5"}, "1:", []float32{1, -1, -2, -3, -4, -5}},
		{"neg", "", []string{"::-1"}, ":", []float32{-6, -5, -4, -3, -2, -1}},
		{"add", "", []string{":5", "1:"}, "1:", []float32{1, 3, 5, 7, 9, 11}},
		{"cumsum", `{"dim": 0}`, []string{"::-1"}, ":", []float32{6, 11, 15, 18, 20, 21}},
		{"gelu", "", []string{":3"}, "::2", nil},
		{"softmax", `{"dim": 0}`, []string{":3"}, "1:4", nil},
		{"cat", `{"dim": 0}`, []string{"3:", ":3"}, ":", []float32{4, 5, 6, 1, 2, 3}},
	} {
		memory := tensor.New([]float32{1, 2, 3, 4, 5, 6})
		var in, copies []*tensor.Tensor
		for _, index := range test.in {
			in = append(in, memory.Index(index))
			copies = append(copies, in[len(in)-1].CloneDetached())
		}
		out := memory.Index(test.out)
		apart := tensor.ZerosLike(out)
		if err := bind(t, test.name, test.settings, copies...).Into(apart); err != nil {
			t.Fatal(err)
		}
		if err := bind(t, test.name, test.settings, in...).Into(out); err != nil {
			t.Fatal(err)
		}
		if !out.Equal(apart) || test.want != nil && !slices.Equal(tensor.Values[float32](memory), test.want) {
			t.Errorf("%s of %v into %s: memory %v, want %v; result apart %v", test.name, test.in, test.out, memory, test.want, apart)
		}
	}
}

// TestOperationsInPlace computes every operation on one or two operands over its first one, and apart.
func TestOperationsInPlace(t *testing.T) {
	for _, op := range byname.Operations() {
		for _, typ := range []dtype.Type{dtype.Float32, dtype.Float16, dtype.Int64, dtype.Bool, dtype.Complex64} {
			x := tensor.New([][]float32{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}).Cast(typ)
			y := tensor.New([]float32{1, 2, 4}).Cast(typ)
			in := []*tensor.Tensor{x, y}[:min(len(op.Parameters), 2)]
			c, err := byname.Bind(op.Name, nil, in...)
			if err != nil { // of other parameters
				continue
			}
			specs, err := c.Infer()
			if err != nil || len(specs) != 1 || specs[0].Type != typ || !slices.Equal(specs[0].Shape, x.Shape()) {
				continue
			}
			apart := tensor.ZerosLike(x)
			if c.Into(apart) != nil { // such as one that has no complex numbers
				continue
			}
			before := x.CloneDetached()
			if err := c.Into(x); err != nil {
				t.Errorf("%s of %v %v in place: %v", op.Name, typ, before, err)
			} else if fmt.Sprint(x) != fmt.Sprint(apart) {
				t.Errorf("%s of %v %v in place is %v, want %v", op.Name, typ, before, x, apart)
			}
		}
	}
}

// TestGradientsMayOverwriteWhatTheyAreComputedFrom writes both gradients of a product over its operands.
func TestGradientsMayOverwriteWhatTheyAreComputedFrom(t *testing.T) {
	x, y, dz := tensor.New([]float32{1, 2}), tensor.New([]float32{3, 4}), tensor.New([]float32{10, 100})
	if err := bind(t, "mul", "", x, y).VJP([]*tensor.Tensor{dz}, []*tensor.Tensor{y, x}); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(y, x) != "[ 30. 400.] float32[2] [ 10. 200.] float32[2]" {
		t.Errorf("gradients %v and %v", y, x)
	}
	if err := bind(t, "add", "", x, y).VJP([]*tensor.Tensor{dz}, []*tensor.Tensor{dz, x}); err != nil { // both are dz
		t.Fatal(err)
	}
	if fmt.Sprint(dz, x) != "[ 10. 100.] float32[2] [ 10. 100.] float32[2]" {
		t.Errorf("gradients %v and %v", dz, x)
	}
}

// TestNothingIsKept: no cache refers to the memory of operands and results after a call.
func TestNothingIsKept(t *testing.T) {
	var made, released atomic.Int32
	lend := func(shape ...int) *tensor.Tensor {
		a := storage.Array{Data: &wrapped{bytes: make([]byte, 4*views.Of(shape...).Len())}, Type: dtype.Float32, View: views.Of(shape...)}
		made.Add(1)
		runtime.AddCleanup(a.Data.(*wrapped), func(int) { released.Add(1) }, 0)
		return tensor.FromArray(a)
	}
	func() {
		for _, name := range []string{"matmul", "add", "relu", "mse_loss"} {
			in := []*tensor.Tensor{lend(32, 32), lend(32, 32)}[:map[bool]int{true: 1, false: 2}[name == "relu"]]
			c := bind(t, name, "", in...)
			specs, err := c.Infer()
			if err == nil {
				err = c.Into(lend(specs[0].Shape...))
			}
			if err == nil {
				err = c.VJP([]*tensor.Tensor{lend(specs[0].Shape...)}, []*tensor.Tensor{lend(32, 32), lend(32, 32)}[:len(in)])
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}()
	for range 100 {
		if runtime.GC(); released.Load() == made.Load() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d of %d storages are released", released.Load(), made.Load())
}

// wrapped is host memory of another owner.
type wrapped struct{ bytes []byte }

func (w *wrapped) Len() int               { return len(w.bytes) }
func (w *wrapped) Device() storage.Device { return storage.CPU }
func (w *wrapped) Bytes() []byte          { return w.bytes }

// TestWrongCallsSayWhatIsWrong tries operands, settings and outputs that do not fit.
func TestWrongCallsSayWhatIsWrong(t *testing.T) {
	x, i := tensor.New([][]float32{{1, 2}, {3, 4}}), tensor.New([]int64{1, 2})
	for _, test := range []struct {
		name, settings string
		in             []*tensor.Tensor
		kind           error
		text           string
	}{
		{"gellu", "", []*tensor.Tensor{x}, fs.ErrNotExist, `no operation is called "gellu"; did you mean gelu?`},
		{"gelu", `{"aproximate": "tanh"}`, []*tensor.Tensor{x}, config.ErrInvalid, `gelu has no setting "aproximate"; did you mean approximate?`},
		{"gelu", `["tanh"]`, []*tensor.Tensor{x}, config.ErrInvalid, "gelu: the settings are no JSON object"},
		{"gelu", "", nil, storage.ErrState, "gelu: input is missing"},
		{"gelu", "", []*tensor.Tensor{x, x}, storage.ErrState, "gelu: 2 operands; want 1"},
		{"add", "", []*tensor.Tensor{x, nil}, config.ErrInvalid, "add: other is missing"},
		{"add", `{"other": 1}`, []*tensor.Tensor{x, x}, config.ErrInvalid, "add: other is given twice"},
		{"maximum", `{"other": 1}`, []*tensor.Tensor{x, nil}, config.ErrInvalid, "maximum: other is 1; want a tensor"},
		{"softmax", "", []*tensor.Tensor{x}, config.ErrInvalid, "softmax: dim is missing"},
		{"softmax", `{"dim": 0.5}`, []*tensor.Tensor{x}, config.ErrInvalid, "softmax: dim is 0.5; want an integer"},
		{"sum", `{"keepdim": 1}`, []*tensor.Tensor{x}, config.ErrInvalid, "sum: keepdim is 1; want true or false"},
		{"cat", "", nil, storage.ErrState, "cat: no operands"},
	} {
		_, err := byname.Bind(test.name, []byte(test.settings), test.in...)
		if !errors.Is(err, test.kind) || !strings.Contains(fmt.Sprint(err), test.text) {
			t.Errorf("%s(%s): %v; want %q", test.name, test.settings, err, test.text)
		}
	}
	for _, test := range []struct {
		call *byname.Call
		out  []*tensor.Tensor
		text string
	}{
		{bind(t, "exp", "", x), []*tensor.Tensor{tensor.Zeros(dtype.Float32, 2)}, "exp: the result float32 [2 2] does not fit float32 [2]"},
		{bind(t, "exp", "", x), []*tensor.Tensor{tensor.Zeros(dtype.Float64, 2, 2)}, "does not fit float64 [2 2]"},
		{bind(t, "exp", "", x), nil, "exp: there are 1 results and 0 outputs"},
		{bind(t, "sort", "", x), []*tensor.Tensor{tensor.Zeros(dtype.Float32, 2, 2)}, "sort: there are 2 results and 1 output"},
		{bind(t, "sort", "", x), []*tensor.Tensor{x.Index("0"), x.Index("0")}, "sort: outputs 0 and 1 share memory"},
		{bind(t, "conv2d", "", x, x, nil), []*tensor.Tensor{x}, "want 4 axes"},
		{bind(t, "conv1d", `{"stride": 0}`, x.Unsqueeze(0), x.Unsqueeze(0), nil), []*tensor.Tensor{x}, "stride is [0]"},
		{bind(t, "bitwise_and", "", x, i), []*tensor.Tensor{x}, "bit"},
	} {
		if err := test.call.Into(test.out...); !strings.Contains(fmt.Sprint(err), test.text) {
			t.Errorf("got %v; want %q", err, test.text)
		}
	}
	one := []*tensor.Tensor{tensor.OnesLike(i)}
	if err := bind(t, "neg", "", i).VJP(one, one); !errors.Is(err, tensor.ErrType) {
		t.Errorf("the gradient of integers: %v", err)
	}
	if err := bind(t, "eq", `{"other": 1}`, x, nil).VJP([]*tensor.Tensor{tensor.Ones(dtype.Bool, 2, 2)}, []*tensor.Tensor{tensor.ZerosLike(x), nil}); !strings.Contains(fmt.Sprint(err), "eq: result 0, bool, has no gradient") {
		t.Errorf("the gradient of bools: %v", err)
	}
}

// TestNumbersKeepTheirKind: an integer beside integers is an integer, a float is not, as in PyTorch.
func TestNumbersKeepTheirKind(t *testing.T) {
	x := tensor.New([]int64{1, 2})
	for _, test := range []struct{ number, want string }{
		{"2", "int64"}, {"2.0", "float32"}, {`"inf"`, "float32"}, {"true", "int64"}, {`"1+2i"`, "complex64"}, {"9223372036854775807", "int64"},
	} {
		specs, err := bind(t, "mul", `{"other": `+test.number+`}`, x, nil).Infer()
		if err != nil || specs[0].Type.String() != test.want {
			t.Errorf("int64 times %s is %v, %v; want %s", test.number, specs, err, test.want)
		}
	}
}
