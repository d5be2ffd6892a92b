package kerasfile

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/models/weights"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// isKeras1 reports whether a file is of Keras 1, which does not store its version.
func (l legacyReader) isKeras1() bool {
	version := l.file.Meta()[MetaVersion]
	return version == "" || strings.HasPrefix(version, "1.")
}

// kernelOrders are the axes of kernels of Keras 1 in the order of later versions, by class
// and whether the channels are first. Other kernels have the order that they have now.
var kernelOrders = map[string]map[bool][]int{
	"Conv1D":          {false: {2, 3, 1, 0}, true: {2, 3, 1, 0}},
	"Conv2D":          {true: {2, 3, 1, 0}},
	"Conv3D":          {true: {2, 3, 4, 1, 0}},
	"Conv2DTranspose": {false: {0, 1, 3, 2}, true: {2, 3, 0, 1}},
}

// gateName matches the names of the weights of a gate, such as lstm_1_W_i.
var gateName = regexp.MustCompile(`^(.*_)(W|U|b)_([a-z])$`)

// gates are the orders of the gates of an LSTM and of a GRU in later versions.
var gates = []string{"ifco", "zrh"}

// gateWeights are the weights of the gates of a recurrent layer, by kind (W, U or b) and gate.
type gateWeights struct {
	prefix string // such as lstm_1_ or forward_lstm_1_
	kinds  map[string]map[string]storage.Array
}

// joinGates returns the weights with those of the gates of a recurrent layer joined, as
// later versions have them: i, f, c, o of an LSTM and z, r, h of a GRU.
func joinGates(list []serialize.Entry) ([]serialize.Entry, error) {
	var joined []serialize.Entry
	var layers []gateWeights
	for _, e := range list {
		parts := gateName.FindStringSubmatch(e.Name)
		if parts == nil {
			joined = append(joined, e)
			continue
		}
		at := slices.IndexFunc(layers, func(g gateWeights) bool { return g.prefix == parts[1] })
		if at < 0 {
			at, layers = len(layers), append(layers, gateWeights{parts[1], map[string]map[string]storage.Array{}})
		}
		if layers[at].kinds[parts[2]] == nil {
			layers[at].kinds[parts[2]] = map[string]storage.Array{}
		}
		layers[at].kinds[parts[2]][parts[3]] = e.Array
	}
	for _, g := range layers {
		for _, kind := range []string{"W", "U", "b"} {
			a, err := g.join(kind)
			if err != nil {
				return nil, err
			}
			joined = append(joined, serialize.Entry{Name: g.prefix + kind, Array: a})
		}
	}
	return joined, nil
}

// join returns the weights of one kind.
func (g gateWeights) join(kind string) (a storage.Array, err error) {
	have := strings.Join(slices.Sorted(maps.Keys(g.kinds[kind])), "")
	for _, order := range gates {
		letters := strings.Split(order, "")
		if slices.Sort(letters); strings.Join(letters, "") != have {
			continue
		}
		var parts []storage.Array
		for _, gate := range order {
			parts = append(parts, g.kinds[kind][string(gate)])
		}
		return weights.Concat(-1, parts...)
	}
	return a, fmt.Errorf("%s%s: weights for the gates %q; want those of an LSTM, i, f, c and o, or of a GRU, z, r and h: %w", g.prefix, kind, have, storage.ErrState)
}

// keras1Entries returns the weights of a layer of Keras 1, which the model calls to, with
// the names and the order of axes of later versions.
func (l legacyReader) keras1Entries(group, to string, weights []string) ([]serialize.Entry, error) {
	var list []serialize.Entry
	for _, weight := range weights {
		e, err := l.tree.entry(join(group, weight), outputNumber.ReplaceAllString(weight, ""))
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	list, err := joinGates(list)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(list))
	d := l.described(to)
	for i, e := range list {
		names[i] = keras1Name(last(group), e.Name)
		if at := keras1Suffix.FindStringIndex(e.Name); d != nil && d.Model != nil && at != nil {
			names[i] = within(d.Model, e.Name[:at[0]]+"/"+names[i])
		}
	}
	if d != nil && d.Model == nil {
		if variables, ok, err := keras.Variables(d); err == nil && ok && len(variables) == len(list) {
			for i, v := range variables { // Keras, too, goes by the order
				names[i] = v.Name
			}
		}
	}
	for i := range list {
		list[i].Name = to + "/" + names[i]
		of := d
		if d != nil && d.Model != nil {
			_, of = owner(layersOf(d.Model), names[i])
		}
		if err := modernize(of, &list[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// keras1Suffix matches the name of a variable after that of its layer, which may be a
// layer within the layer.
var keras1Suffix = regexp.MustCompile(`_(W|U|b|gamma|beta|running_mean|running_std|alphas|depthwise_kernel|pointwise_kernel)$`)

// keras1Name returns the name of a weight within its layer.
func keras1Name(layer, weight string) string {
	found := keras1Suffix.FindStringSubmatch(weight)
	if found == nil {
		return canonical(layer, weight)
	}
	name := found[1]
	if long, ok := keras1Names[name]; ok {
		name = long
	}
	if side := direction.FindStringSubmatch(weight); side != nil && !strings.HasPrefix(weight, layer+"_") {
		name = side[1] + "/" + name
	}
	return name
}

// modernize gives a weight of Keras 1 the order of axes of later versions. Kernels of
// layers whose class the file does not say are refused.
func modernize(d *keras.Layer, e *serialize.Entry) error {
	name := last(e.Name)
	if d == nil {
		if name == "kernel" && e.Array.Rank() > 2 {
			return fmt.Errorf("%s: the order of axes in Keras 1 depends on the model, which the file does not have: %w", e.Name, storage.ErrState)
		}
		return nil
	}
	order := kernelOrders[d.Class][d.Config["data_format"] == "channels_first"]
	if name != "kernel" || len(order) != e.Array.Rank() {
		return nil
	}
	v, err := e.Array.View.Transpose(order...)
	if err == nil && d.Class == "Conv1D" { // (length, 1, in, out)
		v, err = v.Select(1, 0)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", e.Name, err)
	}
	e.Array = e.Array.With(v)
	return nil
}
