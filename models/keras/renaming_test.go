package keras

import (
	"maps"
	"strings"
	"testing"
)

// TestRenameLayers renames layers, also in models within models, and their uses.
func TestRenameLayers(t *testing.T) {
	text := `{"class_name": "Functional", "config": {"name": "m/n", "layers": [
		{"class_name": "InputLayer", "name": "in/x", "config": {"name": "in/x", "batch_input_shape": [null, 3]}, "inbound_nodes": []},
		{"class_name": "Dense", "name": "a/b", "config": {"name": "a/b", "units": 2}, "inbound_nodes": [[["in/x", 0, 0, {}]]]},
		{"class_name": "Dense", "name": "a_b", "config": {"name": "a_b", "units": 2}, "inbound_nodes": [[["a/b", 0, 0, {}]]]},
		{"class_name": "Sequential", "name": "s/t", "config": {"name": "s/t", "layers": [{"class_name": "Dense", "config": {"name": "d.e", "units": 1}}, {"class_name": "Dense", "config": {"name": "plain", "units": 1}}]}, "inbound_nodes": [[["a_b", 0, 0, {}]]]}],
		"input_layers": [["in/x", 0, 0]], "output_layers": [["s/t", 1, 0]]}}`
	got, renamed, err := RenameLayers(text)
	if err != nil || strings.Contains(got, "/") {
		t.Fatalf("%s (%v)", got, err)
	}
	m, err := Parse(got)
	if err != nil || m.Layer("a_b_1") == nil || m.Layer("a_b").Calls[0][0].Layer != "a_b_1" {
		t.Errorf("%v: %s", err, got)
	}
	for entry, want := range map[string]string{
		"a/b/kernel": "a_b_1/kernel", "a_b/kernel": "a_b/kernel", "s/t/d.e/bias": "s_t/d_e/bias", "s/t/plain/bias": "s_t/plain/bias",
		"optimizer/momentum/a/b/kernel": "optimizer/momentum/a_b_1/kernel", "optimizer/iteration": "optimizer/iteration",
	} {
		if got := Renamed(entry, renamed); got != want {
			t.Errorf("%s becomes %s; want %s", entry, got, want)
		}
	}
	if same, renamed, err := RenameLayers(got); same != got || renamed != nil || err != nil {
		t.Errorf("without slashes: %v %v", renamed, err)
	}
}

// TestDifferences lists layers that Keras 3 does not have or computes otherwise.
func TestDifferences(t *testing.T) {
	m, err := Parse(`{"class_name": "Sequential", "config": {"name": "s", "layers": [
		{"class_name": "LSTM", "config": {"name": "a", "recurrent_activation": "hard_sigmoid"}},
		{"class_name": "Bidirectional", "config": {"name": "b", "layer": {"class_name": "GRU", "config": {"name": "g", "recurrent_activation": "hard_sigmoid"}}}},
		{"class_name": "TFOpLambda", "config": {"name": "t", "function": "einsum"}}, {"class_name": "Bidirectional", "config": {"name": "m", "layer": {"class_name": "LSTM", "config": {"name": "l", "time_major": true}}}},
		{"class_name": "LocallyConnected1D", "config": {"name": "c"}}, {"class_name": "Dense", "config": {"name": "d", "units": 2, "activation": "sigmoid"}}]}}`)
	if err != nil {
		t.Fatal(err)
	}
	got := maps.Collect(Differences(m))
	for path, want := range map[string]string{"a": "hard_sigmoid is 0.2x+0.5", "b": "hard_sigmoid", "c": "Keras 3 has no LocallyConnected1D", "t": "no operation of Keras 3 is known for tf.einsum", "m": "Keras 3 has no setting time_major=true"} {
		if !strings.HasPrefix(got[path], want) {
			t.Errorf("%s: %q, want %s", path, got[path], want)
		}
	}
	if len(got) != 5 {
		t.Error(got)
	}
}
