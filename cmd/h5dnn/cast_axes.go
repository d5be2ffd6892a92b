package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/keras"
	"github.com/h5dnn/h5dnn/serialize/transform"
)

// An axisRule says which axis of the arrays of some names has the output channels.
type axisRule struct {
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
			rule.names = regexp.MustCompile("^(?s:" + pattern + ")$")
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

// outputAxes returns the function that knows the axis of output channels of an array of the
// named file: what the rules say, or what its architecture says. Without one it is 0 as in
// PyTorch, or -1 in files of Keras. Optimizer state has none.
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

// channelAxes returns the axes of output channels of weights as the file says.
func channelAxes(name string, file serialize.File) (func(name string) int, error) {
	axes, otherwise := map[string]int{}, 0
	k, isKeras := file.(*keras.File)
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
	}
	return func(name string) int {
		if axis, ok := axes[name]; ok {
			return axis
		}
		return otherwise
	}, nil
}
