package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/kerasfile"
	"github.com/h5dnn/h5dnn/serialize/transform"
	"github.com/h5dnn/h5dnn/spell"
)

// An axisRule says which axis of the arrays of some names has the output channels.
type axisRule struct {
	text  string         // NAME
	names *regexp.Regexp // nil for all
	axis  int
}

// parseAxes reads the values of --axis: AXIS for all arrays, or NAME=AXIS, where stars in NAME
// stand for any text. Later ones win.
func parseAxes(values []string) ([]axisRule, error) {
	var rules []axisRule
	for _, value := range values {
		at := strings.LastIndexByte(value, '=')
		axis, err := strconv.Atoi(value[at+1:])
		if err != nil {
			return nil, fmt.Errorf("--axis %s: want AXIS or NAME=AXIS, such as 1 or up.weight=1", value)
		}
		rule := axisRule{axis: axis}
		if at >= 0 {
			pattern := strings.ReplaceAll(regexp.QuoteMeta(value[:at]), `\*`, ".*")
			rule.text = value[:at]
			rule.names = regexp.MustCompile("^(?s:" + pattern + ")$")
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

// check returns an error if no array of the named file has a name of the rule.
func (r axisRule) check(name string, file serialize.File) error {
	if r.names == nil {
		return nil
	}
	var all []string
	for e, err := range file.All() {
		if err == nil && r.names.MatchString(e.Name) {
			return nil
		}
		all = append(all, e.Name)
	}
	return fmt.Errorf("--axis %s=%d: %s has no such array%s", r.text, r.axis, name, spell.Hint(r.text, all))
}

// outputAxes returns the function that knows the axis of output channels of an array of the
// named file: what the rules say, or what its architecture says. Without one it is 0 as in
// PyTorch, 1 for transposed convolutions that are known by their biases, or -1 in files of Keras. Optimizer state has none.
func outputAxes(name string, file serialize.File, rules []axisRule) (func(name string) (axis int, ok bool), error) {
	known, err := channelAxes(name, file)
	if err != nil {
		return nil, err
	}
	isState := transform.OptimizerState(file.Meta())
	return func(name string) (int, bool) {
		if isState(name) {
			return 0, false
		}
		axis := known(name)
		for _, r := range rules {
			if r.names == nil || r.names.MatchString(name) {
				axis = r.axis
			}
		}
		return axis, true
	}, nil
}

// transposedConvolutions returns the axis 1 of each weight of a state_dict of PyTorch that is
// that of a transposed convolution, (in, out, …): its bias has as many elements.
func transposedConvolutions(file serialize.File) map[string]int {
	axes, biases := map[string]int{}, map[string]int{}
	for e, err := range file.All() {
		if module, ok := strings.CutSuffix(e.Name, ".bias"); ok && err == nil && e.Elements == nil && e.Array.Rank() == 1 {
			biases[module] = e.Array.Shape[0]
		}
	}
	for e, err := range file.All() {
		module, ok := strings.CutSuffix(e.Name, ".weight")
		if !ok || err != nil || e.Elements != nil || e.Array.Rank() < 3 {
			continue
		}
		if n, ok := biases[module]; ok && n == e.Array.Shape[1] && n != e.Array.Shape[0] {
			axes[e.Name] = 1
		}
	}
	return axes
}

// channelAxes returns the axes of output channels of weights as the file says.
func channelAxes(name string, file serialize.File) (func(name string) int, error) {
	axes, otherwise := map[string]int{}, 0
	k, isKeras := file.(*kerasfile.File)
	switch {
	case isKeras:
		otherwise = -1 // (…, in, out)
		if k.Model() == nil {
			break
		}
		for path, l := range k.Model().All() {
			for _, w := range l.Weights {
				switch {
				case l.Class == "Embedding":
					axes[path+"/"+w.Name] = 0
				case strings.HasSuffix(l.Class, "Transpose"), strings.HasPrefix(l.Class, "Depthwise"), w.Name == "depthwise_kernel": // (…, out, in), (…, in, multiplier)
					axes[path+"/"+w.Name] = -2
				}
			}
		}
	default:
		var err error
		if axes, err = runAxes(name, file); err != nil {
			return nil, err
		}
		if axes == nil {
			axes = transposedConvolutions(file)
		}
	}
	return func(name string) int {
		if axis, ok := axes[name]; ok {
			return axis
		}
		return otherwise
	}, nil
}
