package nn_test

import (
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sbinet/npyio/npz"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// An oracle is what PyTorch computed, by name (testdata/oracle.py).
type oracle map[string]storage.Array

func open(t *testing.T) oracle { return openFile(t, "testdata/oracle.npz") }

func openFile(t *testing.T, name string) oracle {
	t.Helper()
	f, err := npz.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	o := oracle{}
	for _, key := range f.Keys() {
		h := f.Header(key)
		name, shape := strings.TrimSuffix(key, ".npy"), h.Descr.Shape
		switch h.Descr.Type {
		case "<f8":
			o[name] = storage.From(read[float64](t, f, key), shape...)
		case "<f4":
			o[name] = storage.From(read[float32](t, f, key), shape...)
		case "<i8":
			o[name] = storage.From(read[int64](t, f, key), shape...)
		default:
			t.Fatalf("%s: type %s", key, h.Descr.Type)
		}
	}
	return o
}

func read[T any](t *testing.T, f *npz.Reader, key string) []T {
	t.Helper()
	var elems []T
	if err := f.Read(key, &elems); err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	return elems
}

// under yields the arrays whose names begin with prefix, without it, as type t.
func (o oracle) under(t *testing.T, prefix string, to dtype.Type) iter.Seq2[string, storage.Array] {
	return func(yield func(string, storage.Array) bool) {
		for _, name := range slices.Sorted(maps.Keys(o)) {
			if rest, ok := strings.CutPrefix(name, prefix+"/"); ok && !yield(rest, o.as(t, name, to)) {
				return
			}
		}
	}
}

// as returns the named array converted to a type.
func (o oracle) as(t *testing.T, name string, to dtype.Type) storage.Array {
	t.Helper()
	a, ok := o[name]
	if !ok {
		t.Fatalf("no %s in the oracle", name)
	}
	dst, err := storage.Make(storage.CPU, to, a.Shape...)
	if err == nil {
		err = a.CopyTo(dst)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dst
}

// A precision is a type to compute in, and how far from PyTorch's float64 its
// results may be, relative to the largest element.
type precision struct {
	dtype     dtype.Type
	tolerance float64
}

// precisions have tolerances above 6e-8: the oracle rounds gradients and parameters to float32.
var precisions = []precision{{dtype.Float64, 1e-7}, {dtype.Float32, 2e-4}}

func (p precision) String() string { return p.dtype.String() }

// same reports how far got is from the named array.
func (o oracle) same(t *testing.T, p precision, name string, got *tensor.Tensor) {
	t.Helper()
	if want := o[name].Shape; !slices.Equal(got.Shape(), want) {
		t.Errorf("%s: shape %v, want %v", name, got.Shape(), want)
		return
	}
	near(t, p, name, tensor.Values[float64](got), tensor.Values[float64](tensor.FromArray(o.as(t, name, dtype.Float64))))
}

func near(t *testing.T, p precision, name string, got, want []float64) {
	t.Helper()
	scale := 1e-3
	for _, w := range want {
		scale = max(scale, math.Abs(w))
	}
	for i := range want {
		if d := math.Abs(got[i] - want[i]); !(d <= p.tolerance*scale) {
			t.Errorf("%s, element %d: %v, PyTorch %v", name, i, got[i], want[i])
			return
		}
	}
}

// model returns a preset with the oracle's first parameters.
func (o oracle) model(t *testing.T, name string, p precision) (m nn.Module, x, y storage.Array) {
	t.Helper()
	x, y = o.as(t, name+"/x", p.dtype), o[name+"/y"]
	m, err := nn.Preset(name, o[name+"/out"].Shape[1])
	if err == nil {
		err = tensor.Infer(func(tape *tensor.Tape) error { m.Forward(tape.Input(x)); return nil })
	}
	if err == nil {
		err = nn.LoadStateDict(m, o.under(t, name+"/params", p.dtype))
	}
	if err != nil {
		t.Fatal(err)
	}
	return m, x, y
}

func TestModelsAgreeWithPyTorch(t *testing.T) {
	o := open(t)
	for _, name := range []string{"mlp", "lenet"} {
		for _, p := range precisions {
			t.Run(name+" "+p.String(), func(t *testing.T) {
				m, x, y := o.model(t, name, p)
				err := tensor.Step(func(tape *tensor.Tape) error {
					in := tape.Input(x).RequireGrad()
					out := m.Forward(in)
					loss := tensor.CrossEntropy(out, tape.Input(y))
					grads := tensor.Gradients(loss)
					o.same(t, p, name+"/out", out)
					o.same(t, p, name+"/loss", loss)
					o.same(t, p, name+"/dx", grads[in])
					for param, q := range nn.Parameters(m) {
						o.same(t, p, name+"/grads/"+param, grads[q.Tensor])
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

var oracleOptimizers = map[string]any{
	"sgd":      map[string]any{"sgd": 0.05},
	"momentum": map[string]any{"sgd": map[string]any{"lr": 0.05, "momentum": 0.9, "weight_decay": 1e-3}},
	"nesterov": map[string]any{"sgd": map[string]any{"lr": 0.02, "momentum": 0.8, "nesterov": true}},
	"adam":     map[string]any{"adam": map[string]any{"lr": 0.002, "weight_decay": 1e-2}},
	"adamw":    map[string]any{"adamw": map[string]any{"lr": 0.002, "beta1": 0.8, "beta2": 0.99, "eps": 1e-6, "weight_decay": 0.05}},
}

func TestOptimizersAgreeWithPyTorch(t *testing.T) {
	o := open(t)
	for kind, config := range oracleOptimizers {
		for _, name := range []string{"mlp", "lenet"} {
			for _, p := range precisions {
				t.Run(kind+" "+name+" "+p.String(), func(t *testing.T) {
					m, x, y := o.model(t, name, p)
					opt, err := nn.OptimizerFromConfig(config)
					if err != nil {
						t.Fatal(err)
					}
					var losses []float64
					for range o[name+"/"+kind+"/losses"].Shape[0] {
						losses = append(losses, step(t, m, opt, x, y))
					}
					near(t, p, "losses", losses, tensor.Values[float64](tensor.FromArray(o[name+"/"+kind+"/losses"])))
					params := maps.Collect(nn.Parameters(m))
					for param := range o.under(t, name+"/"+kind+"/params", p.dtype) {
						o.same(t, p, name+"/"+kind+"/params/"+param, params[param].Tensor)
					}
				})
			}
		}
	}
}

// step trains m once and returns the loss before it.
func step(t testing.TB, m nn.Module, opt nn.Optimizer, x, y storage.Array) (value float64) {
	t.Helper()
	err := tensor.Step(func(tape *tensor.Tape) error {
		loss := tensor.CrossEntropy(m.Forward(tape.Input(x)), tape.Input(y))
		value = loss.Item()
		if err := opt.Step(nn.Parameters(m), tensor.Gradients(loss)); err != nil {
			t.Error(err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return value
}
