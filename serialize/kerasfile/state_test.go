package kerasfile

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/models/weights"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

const oneDense = `{"class_name": "Sequential", "config": {"name": "s", "layers": [{"class_name": "InputLayer", "config": {"name": "i", "batch_input_shape": [null, 1]}}, {"class_name": "Dense", "config": {"name": "d", "units": 1}}]}}`

// stateOf returns the contents of a model of one Dense with these variables of an optimizer.
func stateOf(training, version string, variables ...string) serialize.Contents {
	kernel, bias := storage.From([]float32{1}, 1, 1), storage.From([]float32{1}, 1)
	list := []serialize.Entry{{Name: "d/kernel", Array: kernel}, {Name: "d/bias", Array: bias}}
	for _, name := range variables {
		e := serialize.Entry{Name: keras.OptimizerPrefix + name, Array: scalar[int64](3)}
		if strings.HasSuffix(name, "/kernel") {
			e.Array = kernel
		} else if strings.HasSuffix(name, "/bias") {
			e.Array = bias
		}
		list = append(list, e)
	}
	return serialize.Contents{Entries: serialize.Entries(list...), Meta: map[string]string{MetaConfig: oneDense, MetaTraining: training, MetaVersion: version}}
}

// TestStatesAreCompletedForKeras3: it skips the state of an optimizer with another number of
// variables than its own.
func TestStatesAreCompletedForKeras3(t *testing.T) {
	moments := []string{"iteration", "momentum/d/kernel", "velocity/d/kernel", "momentum/d/bias", "velocity/d/bias"}
	for _, c := range []struct {
		training   string
		variables  []string
		want       string // missing variables
		extra      int
		incomplete bool
	}{
		{`{"optimizer": "adam"}`, moments, "learning_rate", 0, false},
		{`{"optimizer_config": {"class_name": "Custom>Nadam", "config": {"learning_rate": 0.5, "beta_1": 0.8}}}`, moments, "learning_rate u_product", 0, false},
		{`{"optimizer_config": {"class_name": "Adam", "config": {"learning_rate": {"class_name": "CosineDecay", "config": {"name": null}}}}}`, moments, "", 0, false},
		{`{"optimizer_config": {"class_name": "Adam", "config": {"learning_rate": 0.1, "decay": 0.5}}}`, moments, "", 0, false}, // a schedule
		{`{"optimizer": {"class_name": "SGD", "config": {"learning_rate": 0.1, "momentum": 0.0}}}`, []string{"iteration", "momentum/d/kernel", "momentum/d/bias"}, "learning_rate", 2, false},
		{`{"optimizer": {"class_name": "Adafactor", "config": {}}}`, []string{"iteration", "r/d/kernel", "c/d/kernel", "velocity/d/kernel", "velocity/d/bias"}, "learning_rate r/d/bias c/d/bias", 0, false},
		{`{"optimizer": {"class_name": "LossScaleOptimizerV3", "config": {"inner_optimizer": {"class_name": "Adam", "config": {}}}}}`, moments,
			"learning_rate step_counter dynamic_scale inner_optimizer/iteration inner_optimizer/learning_rate", 0, false},
		{`{"optimizer": {"class_name": "Adam", "config": {"amsgrad": true}}}`, moments, "", 0, true},
		{`{"optimizer": {"class_name": "Mine>Adam", "config": {}}}`, moments, "", 0, true},
	} {
		s, err := newSaver(stateOf(c.training, "2.15.0", c.variables...))
		if err != nil {
			t.Fatal(err)
		}
		missing, extra, ok := s.state().ForKeras3()
		var names []string
		for _, e := range missing {
			names = append(names, strings.TrimPrefix(e.Name, keras.OptimizerPrefix))
		}
		if got := strings.Join(names, " "); got != c.want || len(extra) != c.extra || ok == c.incomplete {
			t.Errorf("%s: missing %q, %d more, %v; want %q, %d, %v", c.training, got, len(extra), ok, c.want, c.extra, !c.incomplete)
		}
	}
}

// TestStatesOfOptimizersComeBack writes and reads states whose order follows from the class, the
// shapes of weights, or an optimizer within another one.
func TestStatesOfOptimizersComeBack(t *testing.T) {
	adam := []string{"momentum/d/kernel", "velocity/d/kernel", "momentum/d/bias", "velocity/d/bias"}
	for training, variables := range map[string][]string{
		`{"optimizer": {"class_name": "LossScaleOptimizer", "config": {"inner_optimizer": {"class_name": "Adam", "config": {}}}}}`: append([]string{
			"iteration", "learning_rate", "step_counter", "dynamic_scale", "inner_optimizer/iteration", "inner_optimizer/learning_rate"}, adam...),
		`{"optimizer": {"class_name": "Muon", "config": {}}}`: {"iteration", "learning_rate", "momentum/d/kernel", "momentum/d/bias", "velocity/d/bias"},
		`{"optimizer": {"class_name": "Adam", "config": {"use_ema": true, "gradient_accumulation_steps": 2}}}`: append([]string{
			"iteration", "learning_rate", "average/d/kernel", "average/d/bias", "gradient_accumulator/d/kernel", "gradient_accumulator/d/bias"}, adam...),
	} {
		c := stateOf(training, "3.12.0", variables...)
		for _, format := range []string{"keras", "keras-h5"} {
			name := filepath.Join(t.TempDir(), "m."+format)
			if err := serialize.Save(name, format, c); err != nil {
				t.Errorf("%s: %v", training, err)
				continue
			}
			f, err := serialize.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for e, err := range f.All() {
				if err != nil {
					t.Error(err)
				}
				if rest, ok := strings.CutPrefix(e.Name, keras.OptimizerPrefix); ok {
					got = append(got, rest)
				}
			}
			f.Close()
			slices.Sort(got)
			if want := slices.Sorted(slices.Values(variables)); !slices.Equal(got, want) {
				t.Errorf("%s: %s has %v; want %v", training, format, got, want)
			}
		}
	}
}

// TestBuffersOfBidirectionalLayersAreFound under the names of Keras 3, which have that of the
// layer within, whatever it is.
func TestBuffersOfBidirectionalLayersAreFound(t *testing.T) {
	f, err := serialize.Open("testdata/optimizers/bidirectional.h5")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	found := 0
	for e, err := range f.All() {
		if err != nil {
			t.Error(err)
		}
		if rest, ok := strings.CutPrefix(e.Name, keras.OptimizerPrefix+"momentum/bi/"); ok {
			found++
		} else if strings.Contains(rest, "gru_cell") {
			t.Errorf("%s is not a buffer of a weight", e.Name)
		}
	}
	if found != 6 {
		t.Errorf("%d momenta; want those of 6 weights", found)
	}
}

// TestOptimizersByNameInLegacyFiles: no Keras loads an .h5 without an optimizer_config, and Keras 2
// finds AdamW as a registered class alone.
func TestOptimizersByNameInLegacyFiles(t *testing.T) {
	for training, want := range map[string]string{
		`{"optimizer": "adam", "loss": "mse"}`: "Adam",
		`{"optimizer": {"class_name": "AdamW", "config": {"is_legacy_optimizer": false}}, "loss": "mse"}`:          "Custom>AdamW",
		`{"optimizer": {"class_name": "AdamW", "config": {"weight_decay": 0.1}}, "loss": "mse"}`:                   "AdamW", // of Keras 3
		`{"optimizer_config": {"class_name": "Custom>Adam", "config": {"is_legacy_optimizer": false}}, "loss": 1}`: "Custom>Adam",
	} {
		var got struct {
			Optimizer struct {
				Class  string          `json:"class_name"`
				Config *map[string]any `json:"config"`
			} `json:"optimizer_config"`
		}
		if err := json.Unmarshal([]byte(legacyTraining(training, "3.12.0")), &got); err != nil || got.Optimizer.Class != want || got.Optimizer.Config == nil {
			t.Errorf("%s: %v (%v); want class %s with a config", training, got, err, want)
		}
	}
}

// TestOptimizersOfKeras2ComeBack from a .keras for Keras 3: 2.15 takes one whose settings do not say
// otherwise for one of before 2.11, and skips the state if it has other variables.
func TestOptimizersOfKeras2ComeBack(t *testing.T) {
	const current = `{"optimizer": {"class_name": "AdamW", "config": {"ema_momentum": 0.99}}, "loss": "mse"}`
	for training, want := range map[string]bool{current: true, `{"optimizer": {"class_name": "Adam", "config": {"learning_rate": 0.1}}}`: false} {
		got := legacyTraining(training, "2.15.0")
		if strings.Contains(got, `"is_legacy_optimizer":false`) != want || strings.Contains(got, `Custom\u003eAdamW`) != want {
			t.Errorf("%s: %s; want is_legacy_optimizer: %v", training, got, want)
		}
	}
	c := stateOf(current, "2.15.0", "iteration", "learning_rate", "momentum/d/kernel", "velocity/d/kernel", "momentum/d/bias", "velocity/d/bias")
	var state []weights.Tensor
	for e := range c.Entries {
		state = append(state, weights.Tensor{Name: e.Name, Array: e.Array})
	}
	m, err := parse(c.Meta[MetaConfig])
	if err != nil {
		t.Fatal(err)
	}
	const old = `{"optimizer": {"class_name": "Adam", "config": {"learning_rate": 0.1}}}` // of before 2.11
	numbered := []weights.Tensor{{Name: "own/0", Array: storage.From([]float32{1}, 1)}}
	for i := range 4 {
		e := weights.Tensor{Name: keras.OptimizerPrefix + itoa(i), Array: scalar[float32](1)}
		if i > 1 {
			e.Array = numbered[0].Array
		}
		numbered = append(numbered, e)
	}
	for _, c := range []struct {
		training string
		state    []weights.Tensor
		want     string
	}{
		{current, state, "optimizer/learning_rate"}, // which Keras 2 has in the settings
		{old, state, "optimizer/learning_rate"},
		{current, numbered, "optimizer/1"},
		{`{"optimizer": "adam"}`, numbered, "optimizer/1"},
		{`{"optimizer": "adam"}`, slices.Delete(slices.Clone(numbered), 2, 3), ""},
		{old, numbered, "optimizer/0 optimizer/1 optimizer/2 optimizer/3"},
	} {
		if got, _ := keras.NewOptimizerState(m, c.training, c.state).NotInKeras2(); strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v; want %s", c.training, got, c.want)
		}
	}
}

// TestVariablesOfOptimizersOfUnknownLayers have names where all weights of a layer of an unknown class
// are trained, and numbers where as many variables as without it have other shapes.
func TestVariablesOfOptimizersOfUnknownLayers(t *testing.T) {
	own := strings.Replace(oneDense, `{"class_name": "Dense"`, `{"class_name": "Mine>Norm", "config": {"name": "own"}}, {"class_name": "Dense"`, 1)
	for _, c := range []struct {
		shapes [][]int
		want   string // the second variable
	}{
		{[][]int{{}, {3}, {3}, {1, 1}, {1}}, "optimizer/momentum/own/0"},
		{[][]int{{}, {}, {3}, {3}, {1, 1}, {1}}, "optimizer/learning_rate"},
		{[][]int{{}, {3}, {1, 1}, {1}}, "optimizer/1"}, // as many as of the Dense with the learning rate
	} {
		list := []serialize.Entry{{Name: "own/0", Array: storage.From(make([]float32, 3), 3)}, {Name: "own/1", Array: storage.From(make([]float32, 3), 3)},
			{Name: "d/kernel", Array: storage.From([]float32{1}, 1, 1)}, {Name: "d/bias", Array: storage.From([]float32{1}, 1)}}
		for i, shape := range c.shapes {
			e := serialize.Entry{Name: keras.OptimizerPrefix + itoa(i), Array: scalar[float32](1)}
			if len(shape) > 0 {
				e.Array = storage.From(make([]float32, shape[0]), shape...)
			}
			list = append(list, e)
		}
		name := filepath.Join(t.TempDir(), "m.keras")
		meta := map[string]string{MetaConfig: own, MetaVersion: "2.15.0", MetaTraining: `{"optimizer": {"class_name": "SGD", "config": {"momentum": 0.9, "ema_momentum": 0.99}}}`}
		if err := serialize.Save(name, "keras", serialize.Contents{Entries: serialize.Entries(list...), Meta: meta}); err != nil {
			t.Fatal(err)
		}
		f, err := serialize.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := serialize.Find(f, c.want); err != nil {
			t.Errorf("%d variables: %v", len(c.shapes), err)
		}
	}
}

// TestStatesOfOtherShapesAreNoBuffersOfWeights: an Adafactor has the sums of rows and columns of a
// kernel, which are not transposed as it is.
func TestStatesOfOtherShapesAreNoBuffersOfWeights(t *testing.T) {
	c := stateOf(`{"optimizer": {"class_name": "Adafactor", "config": {}}}`, "3.12.0", "iteration", "learning_rate", "r/d/kernel", "c/d/kernel", "velocity/d/kernel", "r/d/bias", "c/d/bias", "velocity/d/bias")
	var list []serialize.Entry
	for e := range c.Entries {
		if e.Name == keras.OptimizerPrefix+"r/d/kernel" || e.Name == keras.OptimizerPrefix+"c/d/kernel" {
			e.Array = storage.From([]float32{1}, 1)
		}
		list = append(list, e)
	}
	c.Entries = serialize.Entries(list...)
	name := filepath.Join(t.TempDir(), "m.h5")
	if err := serialize.Save(name, "keras-h5", c); err != nil {
		t.Fatal(err)
	}
	f, err := serialize.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	slots := f.(*File).Model().Layer("d").Weights[0].Slots
	if _, ok := slots["r"]; ok || len(slots) != 1 || f.(*File).Len() != 10 {
		t.Errorf("%d arrays, and buffers %v of the kernel; want 10, and its velocity", f.(*File).Len(), slots)
	}
}

// scalar returns an array of one element and no axes.
func scalar[T dtype.Go](v T) storage.Array {
	a := storage.From([]T{v})
	a.View, _ = a.Reshape()
	return a
}
