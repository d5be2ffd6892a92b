package keras

import (
	"iter"

	"github.com/h5dnn/h5dnn/storage"
)

// A Model is the architecture of a model and its weights.
type Model struct {
	Version   string // of Keras; "" if unknown
	Class     string // "Sequential" or "Functional"
	Name      string
	Layers    []Layer // in the order of the file; the inputs of each layer come first
	Inputs    []Ref   // of the model
	Outputs   []Ref
	Optimizer *Optimizer // nil if the file has no optimizer state
}

// A Ref is an output of a layer.
type Ref struct {
	Layer  string
	Node   int // which of the layer's calls, from 0
	Tensor int // which of the outputs of that call, from 0
}

// A Layer is one layer of a Model.
type Layer struct {
	Class  string // such as "Dense"
	Name   string // unique in its model
	Config map[string]any
	Calls  [][]Ref // the inputs of each call; several if the layer is shared
	// Arguments are what the calls have by name, in the order of Calls; nil if no call has any.
	Arguments []Arguments
	// Training reports that a call has the argument training=True, by which Dropout drops
	// elements and BatchNormalization takes the statistics of the batch in predictions, too.
	Training bool
	Model    *Model   // of a layer that is itself a model; nil otherwise
	Weights  []Weight // in the order of the framework

	// Shapes of the inputs and outputs of the first call, without the batch and in the
	// framework's order of axes; -1 is an unknown size. Nil if they are unknown.
	InputShapes, OutputShapes [][]int
}

// Arguments are the arguments by name of a call of a layer.
type Arguments struct {
	Inputs []string // names of the inputs; "" for those by position
	Flags  []string // arguments that are true, but training
}

// A Weight is one array of a layer.
type Weight struct {
	Name  string // in its layer: "kernel", "forward/kernel", "query/bias"
	Path  string // name of the entry of the file; "" if there is no file
	Array storage.Array
	Slots map[string]storage.Array // the optimizer's buffers for it by name, such as "momentum"
}

// An Optimizer is the state of an optimizer but for the buffers of each weight.
type Optimizer struct {
	Class  string // such as "Adam"
	Config map[string]any
	Step   int64 // number of updates so far
}

// Weight returns the named weight of l.
func (l *Layer) Weight(name string) (Weight, bool) {
	for _, w := range l.Weights {
		if w.Name == name {
			return w, true
		}
	}
	return Weight{}, false
}

// Layer returns the named layer of m, or nil.
func (m *Model) Layer(name string) *Layer {
	for i := range m.Layers {
		if m.Layers[i].Name == name {
			return &m.Layers[i]
		}
	}
	return nil
}

// All yields the layers of m that are not models themselves, with their paths: those of a
// nested model begin with its name and a slash.
func (m *Model) All() iter.Seq2[string, *Layer] {
	return func(yield func(string, *Layer) bool) { m.all("", yield) }
}

func (m *Model) all(prefix string, yield func(string, *Layer) bool) bool {
	for i := range m.Layers {
		l := &m.Layers[i]
		if l.Model != nil {
			if !l.Model.all(prefix+l.Name+"/", yield) {
				return false
			}
			continue
		}
		if !yield(prefix+l.Name, l) {
			return false
		}
	}
	return true
}
