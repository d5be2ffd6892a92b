package onnxgraph_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/pythontest"
	"github.com/h5dnn/h5dnn/models/onnxgraph"
	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/npy"
	"github.com/h5dnn/h5dnn/serialize/onnx"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// open returns the model of a file.
func open(name string) (*onnxgraph.Model, error) {
	f, err := serialize.Open(name)
	return read(f, err)
}

// read returns the model of an opened file, which it closes.
func read(f serialize.File, err error) (*onnxgraph.Model, error) {
	if err != nil {
		return nil, err
	}
	defer f.Close()
	g, err := f.(onnx.Model).Graph()
	if err != nil {
		return nil, err
	}
	return onnxgraph.New(g)
}

// arrays reads the arrays of an npz file into memory.
func arrays(name string) (map[string]storage.Array, error) {
	f, err := serialize.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	found := map[string]storage.Array{}
	for e, err := range f.All() {
		if err != nil {
			return nil, err
		}
		if found[e.Name], err = e.Array.To(storage.CPU); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// compare runs a model on in_0, in_1, … of the npz file beside it, and returns an error if an output differs from
// out_0, … by more than the relative error of the largest element.
func compare(name string, relative float64) error {
	m, err := open(name)
	if err != nil {
		return err
	}
	want, err := arrays(strings.TrimSuffix(name, ".onnx") + ".npz")
	if err != nil {
		return err
	}
	return agrees(m, want, "", relative)
}

// agrees returns an error if m does not compute the arrays out_0, … behind a prefix from in_0, ….
func agrees(m *onnxgraph.Model, want map[string]storage.Array, prefix string, relative float64) error {
	for round := range 2 { // the second one replays what the first has recorded
		err := tensor.Infer(func(tape *tensor.Tape) error {
			var inputs []*tensor.Tensor
			for i := range m.Inputs() {
				inputs = append(inputs, tape.Input(want[fmt.Sprintf("%sin_%d", prefix, i)]))
			}
			for i, y := range m.ForwardAll(inputs) {
				if err := same(y, want[fmt.Sprintf("%sout_%d", prefix, i)], relative); err != nil {
					return fmt.Errorf("output %d: %w", i, err)
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
	}
	return compiledAgrees(m, want, prefix, relative)
}

// compiledAgrees is agrees of the program that predictors run, for models that can be compiled.
func compiledAgrees(m *onnxgraph.Model, want map[string]storage.Array, prefix string, relative float64) error {
	var inputs []storage.Array
	var specs []tensor.Spec
	for i := range m.Inputs() {
		x := want[fmt.Sprintf("%sin_%d", prefix, i)]
		inputs, specs = append(inputs, x), append(specs, tensor.InputSpec(x.Type, x.Shape...))
	}
	var results []*tensor.Tensor
	p, err := tensor.Compile(func(_ *tensor.Tape, xs []*tensor.Tensor) []*tensor.Tensor {
		results = m.ForwardAll(xs)
		return results
	}, specs...)
	if err != nil || len(inputs) == 0 {
		return nil
	}
	outputs := make([]storage.Array, len(results))
	for i, y := range results {
		if outputs[i], err = storage.Make(storage.CPU, y.DType(), y.Shape()...); err != nil {
			return err
		}
	}
	if err := p.Run(outputs, inputs); err != nil {
		return fmt.Errorf("compiled: %w", err)
	}
	for i, y := range outputs {
		if err := same(tensor.FromArray(y), want[fmt.Sprintf("%sout_%d", prefix, i)], relative); err != nil {
			return fmt.Errorf("compiled: output %d: %w", i, err)
		}
	}
	return nil
}

func same(y *tensor.Tensor, want storage.Array, relative float64) error {
	if want.Data == nil {
		return nil
	}
	if !slices.Equal(y.Shape(), want.Shape) || y.DType() != want.Type {
		return fmt.Errorf("%v %v; want %v %v", y.DType(), y.Shape(), want.Type, want.Shape)
	}
	got := tensor.Values[float64](y.Cast(dtype.Float64))
	expected := tensor.Values[float64](tensor.FromArray(want).Cast(dtype.Float64))
	largest := 0.0
	for _, x := range expected {
		if !math.IsInf(x, 0) && !math.IsNaN(x) {
			largest = max(largest, math.Abs(x))
		}
	}
	for i, x := range got {
		e := expected[i]
		if x == e || math.IsNaN(x) && math.IsNaN(e) {
			continue
		}
		if !(math.Abs(x-e) <= relative*max(largest, 1e-30)) {
			return fmt.Errorf("element %d is %v; want %v", i, x, e)
		}
	}
	return nil
}

// TestOperators compares operators at the opsets at which they changed with ONNX Runtime: see testdata/make.py.
func TestOperators(t *testing.T) {
	all, err := arrays("testdata/operators.npz")
	if err != nil {
		t.Fatal(err)
	}
	cases := 0
	tested := map[string]bool{}
	for name, bytes := range all {
		prefix, ok := strings.CutSuffix(name, "model")
		if !ok {
			continue
		}
		cases++
		op, _, _ := strings.Cut(prefix, " ")
		tested[op] = true
		b := tensor.Values[uint8](tensor.FromArray(bytes))
		m, err := read(serialize.OpenReader(strings.NewReader(string(b)), int64(len(b)), "case.onnx"))
		if err == nil {
			err = agrees(m, all, prefix, 1e-5)
		}
		if err != nil {
			t.Errorf("%s: %v", prefix, err)
		}
	}
	for _, op := range onnxgraph.Operators() {
		if !tested[op.Name] {
			t.Logf("%s has no case", op.Name)
		}
	}
	t.Logf("%d cases", cases)
}

// refused are parts of the errors of settings that docs/onnx.md names as refused.
var refused = []string{
	"Attention: the attribute", "Attention: keys of earlier steps", "statistics of the batch", "indices with storage_order 1", "opset 1 of ONNX",
	"has no largest or smallest element", "tf_crop_and_resize",
}

// TestNodeTestsOfONNX runs ONNX's own tests of operators that h5dnn computes.
func TestNodeTestsOfONNX(t *testing.T) {
	folder := os.Getenv("H5DNN_ONNX_NODE_TESTS")
	if folder == "" {
		folder = t.TempDir()
		python := pythontest.Interpreter(t, pythontest.Variable, "onnx")
		pythontest.Command(t, exec.Command(python, "testdata/node_tests.py", folder))
	}
	names, err := filepath.Glob(filepath.Join(folder, "*.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	passed, others, known := 0, 0, 0
	for _, name := range names {
		short := strings.TrimSuffix(filepath.Base(name), ".onnx")
		err := compare(name, 1e-3)
		switch {
		case slices.ContainsFunc(refused, func(part string) bool { return err != nil && strings.Contains(err.Error(), part) }):
			known++
		case errors.As(err, new(*onnxgraph.MissingOperatorsError)):
			others++
		case err != nil:
			t.Errorf("%s: %v", short, err)
		default:
			passed++
		}
	}
	t.Logf("%d pass, %d are refused by name, %d are of other operators", passed, known, others)
}

// exported are the models of testdata/models.py.
var exported = strings.Fields(`unet unet_dynamo lstm gru rnn lstm_dynamo gru_dynamo encoder encoder_relu encoder_dynamo
	keras_lstm keras_gru keras_cnn sklearn_binary sklearn_multi sklearn_text sklearn_regressor
	resnet18 resnet18_int8 resnet18_dynamo mobilenet_v2 mobilenet_v2_dynamo efficientnet_b0 efficientnet_b0_dynamo densenet121 vit_b_16 vit_b_16_dynamo`)

// TestExportedModels compares models that PyTorch, Keras and scikit-learn export with ONNX Runtime.
func TestExportedModels(t *testing.T) {
	folder := os.Getenv("H5DNN_ONNX_MODELS")
	if folder == "" {
		folder = t.TempDir()
		python := pythontest.Interpreter(t, pythontest.Variable, "torch", "torchvision", "onnx", "onnxruntime")
		t.Log(pythontest.Command(t, exec.Command(python, append([]string{"testdata/models.py", folder}, exported...)...)))
	}
	names, err := filepath.Glob(filepath.Join(folder, "*.onnx"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		if _, err := os.Stat(strings.TrimSuffix(name, ".onnx") + ".npz"); err != nil {
			continue
		}
		tolerance := 1e-5
		if strings.Contains(name, "_int8") {
			tolerance = 0.03 // other last bits round to other integers
		}
		if err := compare(name, tolerance); err != nil {
			t.Errorf("%s: %v", filepath.Base(name), err)
		}
	}
}

// BenchmarkExported measures the models in the folder that H5DNN_ONNX_MODELS names.
func BenchmarkExported(b *testing.B) {
	names, _ := filepath.Glob(filepath.Join(os.Getenv("H5DNN_ONNX_MODELS"), "*.onnx"))
	for _, name := range names {
		values, err := arrays(strings.TrimSuffix(name, ".onnx") + ".npz")
		if err != nil {
			continue
		}
		m, err := open(name)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(strings.TrimSuffix(filepath.Base(name), ".onnx"), func(b *testing.B) {
			var inputs []storage.Array
			var specs []tensor.Spec
			for i := range m.Inputs() {
				x := values[fmt.Sprintf("in_%d", i)]
				inputs, specs = append(inputs, x), append(specs, tensor.InputSpec(x.Type, x.Shape...))
			}
			var outputs []storage.Array
			p, err := tensor.Compile(func(_ *tensor.Tape, xs []*tensor.Tensor) []*tensor.Tensor {
				ys := m.ForwardAll(xs)
				for _, y := range ys {
					a, _ := storage.Make(storage.CPU, y.DType(), y.Shape()...)
					outputs = append(outputs, a)
				}
				return ys
			}, specs...)
			if err != nil {
				b.Skip(err)
			}
			for b.Loop() {
				if err := p.Run(outputs, inputs); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
