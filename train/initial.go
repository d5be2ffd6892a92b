package train

import (
	"fmt"
	"path"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
)

// Initial names the weights with which a run begins, such as those of a model that was trained on other data. Frozen layers are a
// group of the optimizer: {params: ["features.*"], freeze: true}.
type Initial struct {
	File   string   `json:"file"`             // a model of Keras, a state_dict of PyTorch, or a run of h5dnn; required
	Except nn.Names `json:"except,omitempty"` // parameters that begin at random, and arrays of the file that are left out: names or patterns, such as fc.*
}

// readWeights reads the weights in a file into a model, but those that except matches.
var readWeights func(model nn.Module, file string, except ...string) error

// RegisterWeights sets the function that reads the file of Initial. Package models does so.
func RegisterWeights(read func(model nn.Module, file string, except ...string) error) bool {
	readWeights = read
	return true
}

// check reports what cannot be.
func (i Initial) check() error {
	if i.File == "" && len(i.Except) > 0 {
		return wrong("without a file; name one", "initial", "except")
	}
	for _, pattern := range i.Except {
		if _, err := path.Match(pattern, ""); err != nil {
			return wrong("is no pattern: "+pattern, "initial", "except")
		}
	}
	return nil
}

// load reads the weights into the model of a run, which is built.
func (i Initial) load(model nn.Module) error {
	switch {
	case i.File == "":
		return nil
	case readWeights == nil:
		return fmt.Errorf("initial: no reader of weights; import package models: %w", storage.ErrState)
	}
	if err := readWeights(model, i.File, i.Except...); err != nil {
		return fmt.Errorf("initial: %w", err)
	}
	return nil
}
