package keras

import (
	"math"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/models/weights"
	"github.com/h5dnn/h5dnn/storage"
)

// OptimizerPrefix begins the names of an optimizer's arrays: optimizer/iteration, optimizer/learning_rate and, for each
// buffer of a weight, optimizer/BUFFER/LAYER/VARIABLE, such as
// optimizer/momentum/dense/kernel. An array whose role is not known keeps the name that
// the file has.
const OptimizerPrefix = "optimizer/"

// A slotLayout is the order of the variables of a class of optimizers in files where they
// have numbers: iteration, learning_rate, and then the layout's variables.
type slotLayout struct {
	first  []string // variables of no weight
	before []string // buffers of all weights, one after another
	weight []string // the buffers of one weight after another
	blocks []string // buffers of all weights, one after another
	last   []string // variables of no weight
	lacks  func(buffer, weight string) bool
}

// rankOf returns the number of axes of a weight.
type rankOf func(weight string) int

// slotLayoutOf returns the layout of an optimizer in files of Keras 3, or of Keras 2.
func slotLayoutOf(o *Optimizer, old bool, rank rankOf) (s slotLayout, ok bool) {
	class, config := o.Class, o.Config
	if o.IsScaled() {
		return scaledSlotLayoutOf(o, old, rank)
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

// scaledSlotLayoutOf is slotLayoutOf for a LossScaleOptimizer.
func scaledSlotLayoutOf(o *Optimizer, old bool, rank rankOf) (s slotLayout, ok bool) {
	inner, ok := o.inner()
	if !ok || old { // Keras 2's have no variables of their own
		return slotLayoutOf(inner, old, rank)
	}
	s, ok = slotLayoutOf(inner, false, rank)
	s.first = append([]string{"step_counter", "dynamic_scale", "inner_optimizer/iteration", "inner_optimizer/learning_rate"}, s.first...)
	if _, scheduled := inner.Config["learning_rate"].(map[string]any); scheduled {
		s.first = s.first[:3]
	}
	return s, ok
}

// all returns the names of the variables: iteration, learning_rate, and the layout's.
func (s slotLayout) all(trained []string) []string {
	names := append([]string{"iteration", "learning_rate"}, s.first...)
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

// upTo210 returns a layout of Keras 2 in the order that Keras had up to 2.10, which later versions have
// under legacy: all first moments of Adam, and then all second ones.
func (s slotLayout) upTo210(class string) slotLayout {
	if class == "RMSprop" || class == "Ftrl" {
		s.weight, s.blocks = append(s.weight, s.blocks...), nil
	} else {
		s.weight, s.blocks = nil, append(s.weight, s.blocks...)
	}
	return s
}

// sized returns names of n variables, with or without learning_rate, or nil if there are not as many.
func sized(names []string, n int) []string {
	if len(names) == n+1 {
		names = slices.Delete(names, 1, 2)
	}
	if len(names) != n {
		return nil
	}
	return names
}

// Trained lists the paths of the weights that Keras trains. A layer or a model with trainable: false has none, nor do the layers in it.
func Trained(m *Model) []string {
	var weights []string
	for path, l := range m.All() {
		for _, w := range l.Weights {
			weights = append(weights, path+"/"+w.Name)
		}
	}
	return trained(m, weights)
}

// trained lists the names of the weights of a model that are trained, in its order. Of a layer of an
// unknown class, they are those of others below its name: of two layers with one name, the first has them.
func trained(m *Model, others []string) (list []string) {
	seen := map[string]bool{}
	var visit func(m *Model, prefix string, on bool)
	visit = func(m *Model, prefix string, on bool) {
		for i := range m.Layers {
			l := &m.Layers[i]
			on, prefix := on && l.Config["trainable"] != false, prefix+l.Name+"/"
			if l.Model != nil {
				visit(l.Model, prefix, on)
			}
			if l.Model != nil || !on {
				continue
			}
			variables, known, _ := Variables(l)
			if !known && !seen[prefix] {
				seen[prefix] = true
				for _, name := range others {
					if strings.HasPrefix(name, prefix) {
						list = append(list, name)
					}
				}
			}
			for _, v := range variables {
				if v.Trainable {
					list = append(list, prefix+v.Name)
				}
			}
		}
	}
	visit(m, "", true)
	return list
}

// An OptimizerState is the arrays of a file with the state of an optimizer, whose variables have an order
// that follows from the model and from the optimizer.
type OptimizerState struct {
	Optimizer *Optimizer // nil if it is not known
	model     *Model
	names     []string // of all arrays
	variables []string // of those of the optimizer
	arrays    map[string]storage.Array
}

// NewOptimizerState returns the state among the arrays of a file with a training_config.
func NewOptimizerState(m *Model, training string, arrays []weights.Tensor) *OptimizerState {
	s := &OptimizerState{Optimizer: OptimizerIn(training), model: m, arrays: make(map[string]storage.Array, len(arrays))}
	for _, t := range arrays {
		s.arrays[t.Name] = t.Array
		s.names = append(s.names, t.Name)
		if strings.HasPrefix(t.Name, OptimizerPrefix) {
			s.variables = append(s.variables, t.Name)
		}
	}
	return s
}

func (s *OptimizerState) has(name string) bool { _, ok := s.arrays[name]; return ok }

// buffered lists the arrays for which the optimizer has a buffer.
func (s *OptimizerState) buffered() (list []string) {
	has := map[string]bool{}
	for _, name := range s.variables {
		_, weight, _ := strings.Cut(strings.TrimPrefix(name, OptimizerPrefix), "/")
		has[weight] = true
	}
	return slices.DeleteFunc(slices.Clone(s.names), func(name string) bool { return !has[name] })
}

// An era is a range of versions of Keras whose optimizers have their variables in one order.
type era int

const (
	keras3    era = iota
	keras2        // from 2.11 on
	keras2old     // up to 2.10
)

// order returns the names of the variables of an optimizer, without the prefix; nil if its class is not
// known.
func (s *OptimizerState) order(o *Optimizer, of era, others []string) []string {
	if inner, ok := o.inner(); ok && of == keras2old {
		o = inner
	}
	layout, ok := slotLayoutOf(o, of != keras3, func(weight string) int { return s.arrays[weight].Rank() })
	if !ok {
		return nil
	}
	if of == keras2old {
		if momentum, _ := o.Config["momentum"].(float64); o.Class == "SGD" && momentum == 0 {
			layout.weight = nil // which later versions of Keras 2 have all the same
		}
		layout = layout.upTo210(o.Class)
		if len(s.variables) == 0 && o.Class == "Nadam" || s.has(OptimizerPrefix+"u_product") {
			layout.first = []string{"u_product"}
		}
	}
	return layout.all(trained(s.model, others))
}

// Numbered returns the names of n variables that have numbers in a file of a version of Keras, or nil if
// they cannot be told: iteration, learning_rate unless it is a schedule or the file is one of Keras 2,
// the averages of the weights, and then the buffers of each weight that is trained. Of the layers of
// unknown classes, none are trained or all, whichever fits.
func (s *OptimizerState) Numbered(version string, n int, fits func(names []string) bool) []string {
	if s.model == nil || s.Optimizer == nil {
		return nil
	}
	eras := []era{keras3, keras2, keras2old}
	if strings.HasPrefix(version, "2.") {
		eras = eras[1:]
	}
	for _, of := range eras {
		for _, others := range [][]string{nil, s.names} {
			if names := sized(s.order(s.Optimizer, of, others), n); names != nil && fits(names) {
				return names
			}
		}
	}
	return nil
}

// Ordered returns the variables in the order of Keras, or nil if that is not known. The state of an
// optimizer of Keras 2 may have been completed for Keras 3.
func (s *OptimizerState) Ordered() []string {
	if s.model == nil || s.Optimizer == nil {
		return nil
	}
	for _, of := range []era{keras3, keras2} {
		if ordered := s.present(s.order(s.Optimizer.ForKeras3(), of, s.buffered())); ordered != nil {
			return ordered
		}
	}
	return nil
}

// OrderedUpTo210 returns the variables in the order of the optimizers that Keras had up to 2.10, or nil
// for other optimizers.
func (s *OptimizerState) OrderedUpTo210() []string {
	o := s.Optimizer
	if o != nil {
		if inner, ok := o.inner(); ok {
			o = inner
		}
	}
	if s.model == nil || o == nil || len(o.Config) == 0 || o.isCurrent() {
		return nil
	}
	return s.present(s.order(o, keras2old, s.buffered()))
}

// present returns names with the prefix if all variables have one, and else nil.
func (s *OptimizerState) present(names []string) (list []string) {
	for _, name := range sized(names, len(s.variables)) {
		if !s.has(OptimizerPrefix + name) {
			return nil
		}
		list = append(list, OptimizerPrefix+name)
	}
	return list
}

// ForKeras3 completes the state of an optimizer of Keras 2, which Keras 3 skips with a warning if it has
// another number of variables: it returns those that are missing, and the names of those that Keras 3
// does not have. It returns false if others are missing, or if it is not known which Keras 3 has.
func (s *OptimizerState) ForKeras3() (missing []weights.Tensor, extra []string, ok bool) {
	if len(s.variables) == 0 || s.model == nil {
		return nil, nil, true
	}
	if s.Optimizer == nil {
		return nil, nil, false
	}
	o := s.Optimizer.ForKeras3()
	want := s.order(o, keras3, s.buffered())
	if want == nil {
		return nil, nil, false
	}
	if _, scheduled := o.Config["learning_rate"].(map[string]any); scheduled {
		want = slices.Delete(want, 1, 2)
	}
	for _, name := range want {
		if s.has(OptimizerPrefix + name) {
			continue
		}
		a, known := s.initial(o, name)
		if !known {
			return nil, nil, false
		}
		missing = append(missing, weights.Tensor{Name: OptimizerPrefix + name, Array: a, Operation: "for Keras 3"})
	}
	return missing, s.without(want), true
}

// without lists the variables without these names.
func (s *OptimizerState) without(names []string) []string {
	return slices.DeleteFunc(slices.Clone(s.variables), func(name string) bool {
		return slices.Contains(names, strings.TrimPrefix(name, OptimizerPrefix))
	})
}

// NotInKeras2 lists the variables that an .h5 of Keras 2 must not have, and why, such as those that
// ForKeras3 added. Keras 2 skips the state of an optimizer with another number of variables.
func (s *OptimizerState) NotInKeras2() (extra []string, why string) {
	const onlyKeras3 = "which the optimizer does not have in Keras 2"
	o := s.Optimizer
	if s.model == nil || o == nil {
		return nil, ""
	}
	if s.has(OptimizerPrefix+"1") && len(o.Config) > 0 && !o.isCurrent() {
		return s.variables, "whose order in Keras 2 does not follow from the classes of the layers"
	}
	if want := s.order(o, keras2, s.buffered()); want != nil && o.isCurrent() {
		want = slices.Delete(want, 1, 2) // Keras 2 has the learning rate in the settings
		if !slices.ContainsFunc(want, func(name string) bool { return !s.has(OptimizerPrefix + name) }) {
			return s.without(want), onlyKeras3
		}
	}
	if rate := s.rate(); rate != "" {
		return []string{rate}, onlyKeras3
	}
	return nil, ""
}

// rate returns the name of the variable of the learning rate or, where variables have numbers, of
// the second one, if that is a number and no weight is one. It returns "" if no name is.
func (s *OptimizerState) rate() string {
	if name := OptimizerPrefix + "learning_rate"; s.has(name) {
		return name
	}
	second := OptimizerPrefix + "1"
	isNumber := func(name string) bool { return s.arrays[name].Rank() == 0 && !strings.HasPrefix(name, OptimizerPrefix) }
	if !s.has(second) || s.arrays[second].Rank() > 0 || slices.ContainsFunc(s.names, isNumber) {
		return ""
	}
	return second
}

// initial returns a variable that Keras 3 has and Keras 2 computes or keeps elsewhere.
func (s *OptimizerState) initial(o *Optimizer, name string) (a storage.Array, ok bool) {
	float := func(v float64) (storage.Array, bool) { return scalar(float32(v)), true }
	switch name {
	case "learning_rate":
		rate, ok := o.Config["learning_rate"].(float64)
		if !ok {
			rate, ok = defaultRates[o.Class], o.Config["learning_rate"] == nil
		}
		return scalar(float32(rate)), ok
	case "u_product":
		step, ok := s.step()
		return scalar(float32(o.momentumProduct(step))), ok
	case "step_counter":
		return scalar[int32](0), true
	case "dynamic_scale":
		scale, ok := o.Config["initial_scale"].(float64)
		if !ok {
			scale = 1 << 15
		}
		return float(scale)
	case "inner_optimizer/iteration":
		step, ok := s.step()
		return scalar(step), ok
	case "inner_optimizer/learning_rate":
		inner, ok := o.inner()
		if !ok {
			return a, false
		}
		return s.initial(inner, "learning_rate")
	}
	buffer, weight, _ := strings.Cut(name, "/")
	if s.has(weight) && o.Class == "Adafactor" && (buffer == "r" || buffer == "c") && s.arrays[weight].Rank() < 2 {
		return scalar[int32](0), true // which is never used
	}
	return a, false
}

func (s *OptimizerState) step() (int64, bool) {
	a := s.arrays[OptimizerPrefix+"iteration"]
	if !s.has(OptimizerPrefix+"iteration") || a.Len() != 1 {
		return 0, false
	}
	step, err := storage.Read[int64](a)
	return step[0], err == nil
}

// momentumProduct returns the product of the momenta of Nadam in the first n steps: in step t,
// β₁·(1 − 0.96ᵗ/2).
func (o *Optimizer) momentumProduct(n int64) float64 {
	beta, ok := o.Config["beta_1"].(float64)
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
