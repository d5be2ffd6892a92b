package train

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/storage"
)

// A History holds a number for each epoch by name: loss, accuracy, val_loss,
// val_accuracy, seconds, lr and metrics.
type History map[string][]float64

// Names lists the names in order.
func (h History) Names() []string { return slices.Sorted(maps.Keys(h)) }

// arrays yields the numbers of all epochs by name.
func (h History) arrays(yield func(string, storage.Array) bool) {
	for _, name := range h.Names() {
		if !yield(name, storage.From(h[name], len(h[name]))) {
			return
		}
	}
}

func (h History) add(name string, value float64) { h[name] = append(h[name], value) }

// Last returns the number of the last epoch.
func (h History) Last(name string) (float64, bool) {
	all := h[name]
	if len(all) == 0 {
		return 0, false
	}
	return all[len(all)-1], true
}

// Metrics lists the names but seconds and lr: losses and metrics of training and validation.
func (h History) Metrics() []string {
	return slices.DeleteFunc(h.Names(), func(name string) bool { return name == "seconds" || name == "lr" })
}

// Best returns the best number of the named metric and its epoch, from 1: the first of them, and false if all are NaN.
func (h History) Best(name string) (value float64, epoch int, ok bool) {
	for i, x := range h[name] {
		if !math.IsNaN(x) && (!ok || x != value && (x > value) == Rises(name)) {
			value, epoch, ok = x, i+1, true
		}
	}
	return value, epoch, ok
}

// Rises reports whether the named metric rises as a model gets better, as accuracies do; losses and errors fall.
func Rises(name string) bool {
	for _, rising := range []string{"accuracy", "auc", "f1", "iou", "precision", "r2", "recall", "top_k"} {
		if name == rising || strings.HasSuffix(name, "_"+rising) {
			return true
		}
	}
	return false
}

// addValues appends those of values that are single numbers, unless the epoch has a
// number of that name already. Epochs before, of a version that had no such number, have NaN.
func (h History) addValues(epoch int, prefix string, values map[string]storage.Array) {
	for name, a := range values {
		if a.Len() == 1 {
			h.set(epoch, prefix+name, storage.Elements[float64](a)[a.Offset])
		}
	}
}

// set appends the number of an epoch, unless it has one.
func (h History) set(epoch int, name string, value float64) {
	for len(h[name]) < epoch-1 {
		h.add(name, math.NaN())
	}
	if len(h[name]) < epoch {
		h.add(name, value)
	}
}
