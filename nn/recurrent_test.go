package nn_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// recurrentLayers describes the layers of testdata/recurrent.py.
var recurrentLayers = map[string]string{
	"rnn":               `{"rnn": {"hidden_size": 3, "input_size": 2, "return_sequences": true, "dtype": "float64"}}`,
	"rnn relu":          `{"rnn": {"hidden_size": 3, "num_layers": 2, "nonlinearity": "relu", "bias": false, "return_sequences": true}}`,
	"lstm":              `{"lstm": {"hidden_size": 3, "return_sequences": true}}`,
	"lstm stacked":      `{"lstm": {"hidden_size": 3, "num_layers": 2, "bidirectional": true, "return_sequences": true}}`,
	"lstm without bias": `{"lstm": {"hidden_size": 3, "bias": false, "return_sequences": true}}`,
	"lstm projected":    `{"lstm": {"hidden_size": 3, "num_layers": 2, "bidirectional": true, "proj_size": 2, "return_sequences": true}}`,
	"lstm lengths":      `{"lstm": {"hidden_size": 3, "num_layers": 2, "bidirectional": true, "return_sequences": true, "masked": true, "zero_output_for_mask": true}}`,
	"gru":               `{"gru": {"hidden_size": 3, "return_sequences": true}}`,
	"gru stacked":       `{"gru": {"hidden_size": 3, "num_layers": 2, "bidirectional": true, "return_sequences": true}}`,
	"gru without bias":  `{"gru": {"hidden_size": 3, "bias": false, "return_sequences": true}}`,
	"gru lengths":       `{"gru": {"hidden_size": 3, "return_sequences": true, "masked": true, "zero_output_for_mask": true}}`,
}

// stater is implemented by recurrent layers.
type stater interface {
	nn.Module
	ForwardStates(x, mask *tensor.Tensor, states []*tensor.Tensor) (outputs, after []*tensor.Tensor)
}

// TestRecurrentLayersAgreeWithPyTorch compares outputs, states and all gradients, on both devices.
func TestRecurrentLayersAgreeWithPyTorch(t *testing.T) {
	o, exact := openFile(t, "testdata/recurrent.npz"), precision{dtype.Float64, 1e-10}
	for name, config := range recurrentLayers {
		for _, d := range []storage.Device{storage.CPU, cudatest.Devices(t, cudatest.Deferred)[0]} {
			t.Run(fmt.Sprint(name, " on ", d), func(t *testing.T) {
				m := fromJSON(t, config).(stater)
				x := o[name+"/x"]
				m.ForwardStates(tensor.FromArray(x), nil, nil) // builds the layer
				if err := nn.LoadStateDict(m, o.under(t, name+"/state", dtype.Float64)); err != nil {
					t.Fatal(err)
				}
				if err := nn.To(m, d); err != nil {
					t.Fatal(err)
				}
				err := tensor.Step(func(tape *tensor.Tape) error {
					input := func(key string) *tensor.Tensor { return tape.Input(to(t, d, o[name+"/"+key])) }
					x := input("x").RequireGrad()
					var lengths *tensor.Tensor
					if _, ok := o[name+"/lengths"]; ok {
						lengths = input("lengths")
					}
					var before []*tensor.Tensor
					for i := 0; o[fmt.Sprint(name, "/before/", i)].Rank() > 0; i++ {
						before = append(before, input(fmt.Sprint("before/", i)).RequireGrad())
					}
					out, after := m.ForwardStates(x, lengths, before)
					o.same(t, exact, name+"/out", out[0])
					loss := out[0].Mul(input("dy")).Sum()
					for i, s := range after {
						o.same(t, exact, fmt.Sprint(name, "/after/", i), s)
						loss = loss.Add(s.Mul(input(fmt.Sprint("dafter/", i))).Sum())
					}
					grads := tensor.Gradients(loss)
					o.same(t, exact, name+"/dx", grads[x])
					for i, s := range before {
						o.same(t, exact, fmt.Sprint(name, "/dbefore/", i), grads[s])
					}
					for param, p := range nn.Parameters(m) {
						o.same(t, exact, name+"/grads/"+param, grads[p.Tensor])
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

// TestMaskedStepsLeaveTheState compares lengths with the shorter sequences alone, forwards and backwards, and masks with lengths.
func TestMaskedStepsLeaveTheState(t *testing.T) {
	a := filled(0, 2, 5, 3)
	tensor.FillNormal(a, 0, 1, tensor.Key{Seed: 1})
	x := tensor.FromArray(a)
	for _, layer := range []string{"rnn", "lstm", "gru"} {
		for _, direction := range []string{"", `, "go_backwards": true`, `, "bidirectional": true`, `, "bidirectional": true, "merge_mode": "sum"`} {
			m := fromJSON(t, fmt.Sprintf(`{%q: {"hidden_size": 4, "masked": true %s}}`, layer, direction)).(nn.MultiModule)
			nn.Init(m, 1)
			lengths := tensor.FromSlice([]int64{5, 2}, 2)
			mask := tensor.FromSlice([]float32{1, 1, 1, 1, 1, 1, 1, 0, 0, 0}, 2, 5)
			both := m.ForwardAll([]*tensor.Tensor{x, lengths})[0]
			short := m.ForwardAll([]*tensor.Tensor{x.Slice(1, 0, 2, 1), tensor.FromSlice([]int64{2, 2}, 2)})[0]
			if got, want := both.Select(0, 1), short.Select(0, 1); got.IsClose(want, 1e-5, 1e-6).All().Item() == 0 { // another number of rows has another order of sums
				t.Errorf("%s%s: with a length of 2 %v; of its two steps %v", layer, direction, got, want)
			}
			if got, want := tensor.Values[float32](m.ForwardAll([]*tensor.Tensor{x, mask})[0]), tensor.Values[float32](both); !slices.Equal(got, want) {
				t.Errorf("%s%s: by a mask %v; by lengths %v", layer, direction, got, want)
			}
		}
	}
}

// TestRecurrentSettingsAreChecked holds errors of settings and inputs.
func TestRecurrentSettingsAreChecked(t *testing.T) {
	x := tensor.FromArray(filled(1, 2, 5, 3))
	for _, c := range []struct{ config, want string }{
		{`{"lstm": 0}`, "lstm: hidden_size 0"}, {`{"gru": {"hidden_size": 2, "num_layers": 0}}`, "num_layers 0"},
		{`{"lstm": {"hidden_size": 2, "proj_size": 2}}`, "proj_size 2"}, {`{"rnn": {"hidden_size": 2, "dropout": 1}}`, "dropout 1"},
		{`{"rnn": {"hidden_size": 2, "merge_mode": "sum"}}`, "of one direction"}, {`{"rnn": {"hidden_size": 2, "bidirectional": true, "merge_mode": "max"}}`, `merge_mode "max"`},
		{`{"rnn": {"hidden_size": 2, "num_layers": 2, "go_backwards": true}}`, "write them one after another"}, {`{"gru": {"hidden_size": 2, "proj_size": 1}}`, "proj_size: no such setting"},
	} {
		if _, err := nn.FromConfig(json.RawMessage(c.config)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want an error with %q", c.config, err, c.want)
		}
	}
	for _, c := range []struct {
		config string
		inputs []*tensor.Tensor
		want   string
	}{
		{`{"lstm": 2}`, []*tensor.Tensor{x.Select(1, 0)}, "want (samples, steps, features)"}, {`{"lstm": 2}`, []*tensor.Tensor{x, x}, "1 states; want none, or 2"},
		{`{"gru": 2}`, []*tensor.Tensor{x, x}, "state 0 is [2 5 3]; want (2, 2)"}, {`{"gru": {"hidden_size": 2, "masked": true}}`, []*tensor.Tensor{x}, "no second input"},
		{`{"gru": {"hidden_size": 2, "masked": true}}`, []*tensor.Tensor{x, x}, "a mask of [2 5 3]"},
	} {
		m := fromJSON(t, c.config).(nn.MultiModule)
		if err := tensor.Try(func() { m.ForwardAll(c.inputs) }); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want an error with %q", c.config, err, c.want)
		}
	}
}

// ExampleLSTM classifies sequences of 10 steps of 3 features.
func ExampleLSTM() {
	model := nn.Sequential{nn.NewLSTM(nn.LSTMOptions{RecurrentOptions: nn.RecurrentOptions{HiddenSize: 8, NumLayers: 2}}), nn.NewDense(nn.DenseOptions{OutFeatures: 4})}
	summary, err := nn.Summarize(model, []int{10, 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(summary)
	// Output:
	// name  layer  output  parameters  multiply-adds
	// 0     lstm   [8]     992         8640
	// 1     dense  [4]     36          32
	//              total   1028        8672
}
