package kerasfile

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// defaultRates are Keras's optimizers and the learning rates that they have without a setting.
var defaultRates = map[string]float64{
	"Adam": 1e-3, "AdamW": 1e-3, "SGD": 1e-2, "RMSprop": 1e-3, "Adagrad": 1e-3, "Adadelta": 1e-3, "Adamax": 1e-3,
	"Nadam": 1e-3, "Ftrl": 1e-3, "Lion": 1e-3, "Adafactor": 1e-3, "Lamb": 1e-3, "Muon": 1e-3, "LossScaleOptimizer": 0,
}

// A slotLayout is the order of the variables of a class of optimizers in files where they
// have numbers: iteration, learning_rate, and then those of the layout.
type slotLayout struct {
	first  []string // variables of no weight
	before []string // buffers of all weights, one after another
	weight []string // the buffers of a weight, and then those of the next
	blocks []string // buffers of all weights, one after another
	last   []string // variables of no weight
	lacks  func(buffer, weight string) bool
}

// rankOf returns the number of axes of a weight.
type rankOf func(weight string) int

// layoutOf returns the layout of an optimizer in files of Keras 3, or of Keras 2.
func layoutOf(o *described, old bool, rank rankOf) (s slotLayout, ok bool) {
	class, config := o.Class, o.Config
	if strings.HasPrefix(class, "LossScaleOptimizer") {
		return scaledLayoutOf(o, old, rank)
	}
	if config["use_ema"] == true {
		s.before = append(s.before, "average")
	}
	if n, _ := config["gradient_accumulation_steps"].(float64); n > 0 {
		s.before = append(s.before, "gradient_accumulator")
	}
	momentum, _ := config["momentum"].(float64)
	switch class {
	case "Adam", "AdamW", "Lamb":
		s.weight = []string{"momentum", "velocity"}
		if config["amsgrad"] == true {
			s.blocks = []string{"velocity_hat"}
		}
	case "Nadam":
		s.weight = []string{"momentum", "velocity"}
		if !old {
			s.last = []string{"u_product"}
		}
	case "Adamax":
		s.weight = []string{"momentum", "norm"}
	case "Adagrad":
		s.weight = []string{"accumulator"}
	case "Adadelta":
		s.weight = []string{"accumulated_grad", "accumulated_delta_var"}
	case "Ftrl":
		s.weight = []string{"accumulator", "linear"}
	case "Lion":
		s.weight = []string{"momentum"}
	case "Adafactor":
		s.weight = []string{"r", "c", "velocity"}
		s.lacks = func(buffer, weight string) bool { return old && buffer != "velocity" && rank(weight) < 2 }
	case "Muon":
		if layers, _ := config["exclude_layers"].([]any); len(layers) > 0 {
			return s, false // expressions of Python
		}
		s.weight = []string{"momentum", "velocity"}
		s.lacks = func(buffer, weight string) bool {
			isEmbedding := config["exclude_embeddings"] != false && strings.Contains(strings.ToLower(weight), "embedding")
			return buffer == "velocity" && rank(weight) == 2 && !isEmbedding
		}
	case "RMSprop":
		s.blocks = []string{"velocity"}
		if momentum > 0 {
			s.blocks = append(s.blocks, "momentum")
		}
		if config["centered"] == true {
			s.blocks = append(s.blocks, "average_gradient")
		}
	case "SGD":
		if momentum != 0 || old {
			s.weight = []string{"momentum"}
		}
	default:
		return s, false
	}
	return s, true
}

// scaledLayoutOf is layoutOf for a LossScaleOptimizer.
func scaledLayoutOf(o *described, old bool, rank rankOf) (s slotLayout, ok bool) {
	inner, ok := o.inner()
	if !ok || old { // those of Keras 2 have no variables of their own
		return layoutOf(inner, old, rank)
	}
	s, ok = layoutOf(inner, false, rank)
	s.first = append([]string{"step_counter", "dynamic_scale", "inner_optimizer/iteration", "inner_optimizer/learning_rate"}, s.first...)
	if _, scheduled := inner.Config["learning_rate"].(map[string]any); scheduled {
		s.first = s.first[:3]
	}
	return s, ok
}

// inner returns the optimizer within a LossScaleOptimizer.
func (d *described) inner() (*described, bool) {
	o, _ := d.Config["inner_optimizer"].(map[string]any)
	class, _ := o["class_name"].(string)
	config, ok := o["config"].(map[string]any)
	return &described{Class: strings.TrimPrefix(class, "Custom>"), Config: config}, ok
}

// names returns the names of n variables, with or without learning_rate, or nil if there
// are not as many.
func (s slotLayout) names(trained []string, n int) []string {
	names := append([]string{"iteration", "learning_rate"}, s.all(trained)...)
	if len(names) == n+1 {
		names = slices.Delete(names, 1, 2)
	}
	if len(names) != n {
		return nil
	}
	return names
}

// all returns the names of the variables but iteration and learning_rate.
func (s slotLayout) all(trained []string) []string {
	names := slices.Clone(s.first)
	add := func(buffer, weight string) {
		if s.lacks == nil || !s.lacks(buffer, weight) {
			names = append(names, buffer+"/"+weight)
		}
	}
	block := func(buffers []string) {
		for _, buffer := range buffers {
			for _, weight := range trained {
				add(buffer, weight)
			}
		}
	}
	block(s.before)
	for _, weight := range trained {
		for _, buffer := range s.weight {
			add(buffer, weight)
		}
	}
	block(s.blocks)
	return append(names, s.last...)
}

// slotsByPosition returns the names of the n variables of the optimizer in a file of
// Keras 3, where they have numbers, or nil if they cannot be told: iteration,
// learning_rate unless it is a schedule or the file is one of Keras 2, the averages of
// the weights, and then the buffers of each weight that is trained. Of the layers of unknown
// classes, none are trained or all, whichever fits.
func (f *File) slotsByPosition(n int, fits func(names []string) bool) []string {
	o := f.compiledOptimizer()
	if f.model == nil || o == nil {
		return nil
	}
	for _, old := range []bool{strings.HasPrefix(f.Meta()[MetaVersion], "2."), true} {
		layout, ok := layoutOf(o, old, f.rank)
		if !ok {
			return nil
		}
		for _, buffered := range []func(string) []string{unbuffered, below(f.names)} {
			if names := layout.names(trainable(f.model, "", true, buffered), n); names != nil && fits(names) {
				return names
			}
		}
	}
	return nil
}

// names lists the names of the entries.
func (f *File) names() (names []string) {
	for e := range f.All() {
		names = append(names, e.Name)
	}
	return names
}

// rank returns the number of axes of an entry.
func (f *File) rank(name string) int {
	e, err := f.Lookup(name)
	if err != nil {
		return 0
	}
	return e.Array.Rank()
}

// StateForKeras3 completes the state of an optimizer of Keras 2, which Keras 3 skips with a
// warning if it has another number of variables: it returns those that are missing, and the names
// of those that Keras 3 does not have. It returns false if others are missing, or if it is not
// known which Keras 3 has. Meta are the metadata of the file.
func StateForKeras3(model *keras.Model, meta map[string]string, state []serialize.Entry) (missing []serialize.Entry, extra []string, ok bool) {
	o := optimizerIn(meta[MetaTraining])
	entries := map[string]serialize.Entry{}
	var names []string
	n := 0
	for _, e := range state {
		entries[e.Name] = e
		names = append(names, e.Name)
		if strings.HasPrefix(e.Name, optimizerPrefix) {
			n++
		}
	}
	if n == 0 || model == nil {
		return nil, nil, true
	}
	if o == nil {
		return nil, nil, false
	}
	o = o.forKeras3()
	layout, ok := layoutOf(o, false, func(weight string) int { return entries[weight].Array.Rank() })
	if !ok {
		return nil, nil, false
	}
	want := append([]string{"iteration"}, layout.all(trainable(model, "", true, withBuffers(names)))...)
	if _, scheduled := o.Config["learning_rate"].(map[string]any); !scheduled {
		want = slices.Insert(want, 1, "learning_rate")
	}
	for _, name := range want {
		name = optimizerPrefix + name
		if _, found := entries[name]; found {
			continue
		}
		a, known := o.initial(strings.TrimPrefix(name, optimizerPrefix), entries)
		if !known {
			return nil, nil, false
		}
		missing = append(missing, serialize.Entry{Name: name, Array: a})
	}
	for _, e := range state {
		if name, of := strings.CutPrefix(e.Name, optimizerPrefix); of && !slices.Contains(want, name) {
			extra = append(extra, e.Name)
		}
	}
	return missing, extra, true
}

// NotInKeras2 lists the variables of the optimizer of a model of Keras 2 that its .h5 must not have,
// and why, such as those that StateForKeras3 added. Keras 2 skips the state of one with another number
// of variables.
func NotInKeras2(model *keras.Model, meta map[string]string, state []serialize.Entry) (extra []string, why string) {
	const onlyKeras3 = "which the optimizer does not have in Keras 2"
	o := optimizerIn(meta[MetaTraining])
	if model == nil || o == nil {
		return nil, ""
	}
	entries := map[string]serialize.Entry{}
	var names, variables []string
	for _, e := range state {
		entries[e.Name] = e
		names = append(names, e.Name)
		if strings.HasPrefix(e.Name, optimizerPrefix) {
			variables = append(variables, e.Name)
		}
	}
	_, numbered := entries[optimizerPrefix+"1"]
	if numbered && len(o.Config) > 0 && !o.isCurrent() {
		return variables, "whose order in Keras 2 does not follow from the classes of the layers"
	}
	rest := func(wanted map[string]bool) []string {
		return slices.DeleteFunc(variables, func(name string) bool { return wanted[name] })
	}
	if layout, ok := layoutOf(o, true, func(weight string) int { return entries[weight].Array.Rank() }); ok && o.isCurrent() {
		want := map[string]bool{optimizerPrefix + "iteration": true}
		for _, name := range layout.all(trainable(model, "", true, withBuffers(names))) {
			want[optimizerPrefix+name] = true
		}
		complete := true
		for name := range want {
			_, found := entries[name]
			complete = complete && found
		}
		if complete {
			return rest(want), onlyKeras3
		}
	}
	if rate := rateIn(entries); rate != "" {
		return []string{rate}, onlyKeras3
	}
	return nil, ""
}

// rateIn returns the name of the variable of the learning rate or, where variables have numbers, of
// the second one, if that is a number and no weight is one. It returns "" if no name is.
func rateIn(entries map[string]serialize.Entry) string {
	if name := optimizerPrefix + "learning_rate"; entries[name].Name != "" {
		return name
	}
	second := entries[optimizerPrefix+"1"]
	if second.Name == "" || second.Array.Rank() > 0 {
		return ""
	}
	for name, e := range entries {
		if e.Array.Rank() == 0 && !strings.HasPrefix(name, optimizerPrefix) {
			return ""
		}
	}
	return second.Name
}

// OptimizerDifferences lists what the optimizer of a model of Keras 2 does otherwise in Keras 3.
// Meta are the metadata of its file.
func OptimizerDifferences(meta map[string]string) (list []string) {
	o := optimizerIn(meta[MetaTraining])
	if o == nil {
		return nil
	}
	if decay := o.Config["decay"]; !isZero(decay) && o.Class == "Nadam" {
		list = append(list, fmt.Sprintf("Keras 3's Nadam has no decay, which is %v, and computes other steps", decay))
	}
	to := o.forKeras3()
	for _, name := range slices.Sorted(maps.Keys(o.Config)) {
		if to.Config[name] == nil && !slices.Contains(unusedSettings, name) && !isEmpty(o.Config[name]) {
			list = append(list, fmt.Sprintf("Keras 3's %s has no setting %s, which is %v", to.Class, name, o.Config[name]))
		}
	}
	return list
}

// unusedSettings are settings of Keras 2's optimizers that change no result, or that have a
// counterpart in Keras 3.
var unusedSettings = []string{"jit_compile", "is_legacy_optimizer", "decay", "dynamic"}

func isEmpty(v any) bool { return v == nil || v == false || v == 0.0 }

// initial returns a variable that Keras 3 has and Keras 2 computes or keeps elsewhere.
func (d *described) initial(name string, entries map[string]serialize.Entry) (a storage.Array, ok bool) {
	float := func(v float64) (storage.Array, bool) { return scalar(float32(v)), true }
	switch name {
	case "learning_rate":
		rate, ok := d.Config["learning_rate"].(float64)
		if !ok {
			rate, ok = defaultRates[d.Class], d.Config["learning_rate"] == nil
		}
		return scalar(float32(rate)), ok
	case "u_product":
		step, ok := stepOf(entries)
		return scalar(float32(d.momentumProduct(step))), ok
	case "step_counter":
		return scalar[int32](0), true
	case "dynamic_scale":
		scale, ok := d.Config["initial_scale"].(float64)
		if !ok {
			scale = 1 << 15
		}
		return float(scale)
	case "inner_optimizer/iteration":
		step, ok := stepOf(entries)
		return scalar(step), ok
	case "inner_optimizer/learning_rate":
		inner, ok := d.inner()
		if !ok {
			return a, false
		}
		return inner.initial("learning_rate", entries)
	}
	buffer, weight := firstPart(name)
	if e, found := entries[weight]; found && d.Class == "Adafactor" && (buffer == "r" || buffer == "c") && e.Array.Rank() < 2 {
		return scalar[int32](0), true // which is never used
	}
	return a, false
}

func stepOf(entries map[string]serialize.Entry) (int64, bool) {
	e, ok := entries[optimizerPrefix+"iteration"]
	if !ok || e.Array.Len() != 1 {
		return 0, false
	}
	step, err := storage.Read[int64](e.Array)
	return step[0], err == nil
}

// momentumProduct returns the product of the momenta of Nadam in the first n steps: in step t,
// β₁·(1 − 0.96ᵗ/2).
func (d *described) momentumProduct(n int64) float64 {
	beta, ok := d.Config["beta_1"].(float64)
	if !ok {
		beta = 0.9
	}
	product := 1.0
	for t := int64(1); t <= n && product > 0; t++ {
		product *= beta * (1 - 0.5*math.Pow(0.96, float64(t)))
	}
	return product
}

// scalar returns an array of one element and no axes.
func scalar[T dtype.Go](v T) storage.Array {
	a := storage.From([]T{v})
	a.View, _ = a.Reshape()
	return a
}
