package keras

import (
	"fmt"
	"math"
	"slices"

	"github.com/h5dnn/h5dnn/models/weights"
)

// BatchNormalization: the same vectors. PyTorch counts batches besides, and has neither
// or both of gamma and beta; ones and zeros stand for the one that Keras leaves out.
// Keras's momentum is the weight of the running statistics, PyTorch's the weight of the batch.
var _ = register(class{
	variables: normalized("moving_mean", "moving_variance"), training: true,
	module: batchNormModule, axes: batchNormAxes,
	reverse: map[string]reversal{"batchnorm1d": reversed("BatchNormalization", batchNormSettings), "batchnorm2d": reversed("BatchNormalization", batchNormSettings), "batchnorm3d": reversed("BatchNormalization", batchNormSettings)},
	arrays:  lastAxisVectors("gamma", "beta", "moving_mean", "moving_variance"),
	links: func(l *settings) []weights.Link {
		return append(gammaAndBeta(l), linked("moving_mean", "running_mean", weights.Same), linked("moving_variance", "running_var", weights.Same),
			weights.Link{To: []string{"num_batches_tracked"}, Op: weights.CounterOp})
	},
	renamed:  map[string]string{"weight": "gamma", "bias": "beta", "num_batches_tracked": ""},
	features: []string{"gamma", "beta", "moving_mean", "moving_variance"},
	kept:     true,
	samples: []Layer{
		sample(map[string]any{}, w("gamma", 4), w("beta", 4), w("moving_mean", 4), w("moving_variance", 4)),
		sample(map[string]any{"scale": false}, w("beta", 4), w("moving_mean", 4), w("moving_variance", 4)),
		sample(map[string]any{"center": false}, w("gamma", 4), w("moving_mean", 4), w("moving_variance", 4)),
		sample(map[string]any{"scale": false, "center": false}, w("moving_mean", 4), w("moving_variance", 4)),
	},
}, "BatchNormalization")

func batchNormModule(l *settings, in [][]int) *module {
	momentum := float32(1 - l.Float("momentum", 0.99))
	m := batchNorm(l, in[0], normalizedAxis(l, len(in[0])), "moving_mean", map[string]any{
		"eps": l.Float("epsilon", 1e-3), "momentum": float64(momentum), "affine": scales(l) || centers(l),
	})
	m.pytorch["momentum"] = momentum
	if l.Config["trainable"] == false { // as Keras computes then
		m.settings["frozen"] = true
	}
	return m
}

// batchNorm returns a batch normalization of an axis of a shape, whose statistics are among the weights of l.
func batchNorm(l *settings, shape []int, axis int, statistics string, config map[string]any) *module {
	name := fmt.Sprintf("%dd", max(1, len(shape)-1))
	m := constructed("batchnorm"+name, "nn.BatchNorm"+name+" num_features eps= momentum= affine=True", config)
	features := 0
	if axis >= 1 && axis <= len(shape) {
		features = shape[axis-1]
	}
	if m.size("num_features", l.sizeOr(features, statistics, 0)); m.settings["num_features"] == nil {
		m.notRun = fmt.Errorf("the number of channels is not known: %w", ErrConfig)
	}
	return m
}

// batchNormSettings returns Keras's settings of a batch normalization of package nn.
func batchNormSettings(l *settings, v tensor) map[string]any {
	affine := l.Bool("affine", true)
	return map[string]any{"axis": v.rank, "epsilon": l.Float("eps", 1e-5), "momentum": 1 - l.Float("momentum", 0.1), "scale": affine, "center": affine, "trainable": !l.Bool("frozen", false)}
}

// normalizedAxis returns the only axis that a layer normalizes, the last by default; -1 if there are several.
func normalizedAxis(l *settings, rank int) int {
	switch axes := l.Ints("axis"); len(axes) {
	case 0:
		return rank
	case 1:
		return axis(axes[0], rank+1)
	}
	return -1
}

func batchNormAxes(b *builder, l *settings, v value) value {
	n := len(v.shape)
	switch at := normalizedAxis(l, n); {
	case at != n && at != 1 || n > 4:
		l.refuse("axis %v of an input of shape %v", l.Ints("axis"), v.shape)
	case at == n:
		v = b.toFirst(v)
	default: // channels first, n > 1
		v.outer = true
		v = b.last(v)
	}
	if l.Config["renorm"] == true {
		l.refuse("renorm")
	}
	return v
}

// scales reports whether a layer has gamma, by its settings or else its weights.
func scales(l *settings) bool { return l.Bool("scale", l.hasWeight("gamma")) }

// centers reports whether a layer has beta.
func centers(l *settings) bool { return l.Bool("center", l.hasWeight("beta")) }

// gammaAndBeta returns the links of both. Where Keras leaves one out, ones or zeros stand for it.
func gammaAndBeta(l *settings) []weights.Link {
	switch scale, center := scales(l), centers(l); {
	case scale && center:
		return []weights.Link{linked("gamma", "weight", weights.Same), linked("beta", "bias", weights.Same)}
	case scale:
		return []weights.Link{{From: []string{"gamma"}, To: []string{"weight", "bias"}, Op: weights.ConstantOp(0, true)}}
	case center:
		return []weights.Link{{From: []string{"beta"}, To: []string{"weight", "bias"}, Op: weights.ConstantOp(1, false)}}
	}
	return nil
}

// LayerNormalization and RMSNormalization: the same vectors.
var (
	_ = register(class{
		variables: normalized(), module: layerNormModule, axes: layerNormAxes,
		reverse: map[string]reversal{"layernorm": reversed("LayerNormalization", func(l *settings, v tensor) map[string]any {
			var axes []any
			shape, affine := l.Ints("normalized_shape"), l.Bool("affine", true)
			for i := range shape {
				axes = append(axes, float64(v.rank-len(shape)+1+i))
			}
			return map[string]any{"axis": axes, "epsilon": l.Float("eps", 1e-5), "scale": affine, "center": affine}
		})},
		arrays: func(l *settings, _ int) map[string][]int {
			if n := max(1, len(l.Ints("axis"))); len(l.InputShapes) > 0 && n <= len(l.InputShapes[0]) {
				shape := l.InputShapes[0][len(l.InputShapes[0])-n:]
				return map[string][]int{"gamma": shape, "beta": shape}
			}
			return nil
		},
		links: layerNormLinks, ordered: orderedLayerNorm,
		renamed:  map[string]string{"weight": "gamma", "bias": "beta"},
		features: []string{"gamma", "beta"}, kept: true,
		samples: []Layer{
			sample(map[string]any{}, w("gamma", 4), w("beta", 4)),
			sample(map[string]any{"axis": []any{-2.0, -1.0}}, w("gamma", 3, 4), w("beta", 3, 4)),
			sample(map[string]any{"scale": false}, w("beta", 4)),
			sample(map[string]any{"center": false}, w("gamma", 4)),
			{Class: "LayerNormalization", Name: "norm", Config: map[string]any{"scale": false, "center": false}, InputShapes: [][]int{{4}}},
		},
	}, "LayerNormalization")
	_ = register(class{
		variables: fixed(positions("scale")...), axes: asInKeras,
		module: func(l *settings, in [][]int) *module {
			m := constructed("rmsnorm", "nn.RMSNorm normalized_shape eps=", map[string]any{"eps": l.Float("epsilon", 1e-6)})
			if normalizes(m, l, in[0], "scale"); normalizedAxis(l, len(in[0])) != len(in[0]) {
				m.notRun = unsupported("axis %v of an input of shape %v; want the last", l.Ints("axis"), in[0])
			}
			return m
		},
		arrays: lastAxisVectors("scale"),
		links: func(l *settings) []weights.Link {
			checkLastAxes(l)
			return []weights.Link{linked("scale", "weight", weights.Same)}
		},
		features: []string{"scale"}, kept: true,
		samples: []Layer{sample(map[string]any{}, w("scale", 4))},
	}, "RMSNormalization")
)

func layerNormLinks(l *settings) []weights.Link {
	if l.Bool("rms_scaling", false) {
		l.fail(notInPyTorch("rms_scaling"))
	}
	checkLastAxes(l)
	links := gammaAndBeta(l)
	if len(links) == 1 && links[0].From[0] == "gamma" { // nn.LayerNorm may lack the bias alone
		links[0] = linked("gamma", "weight", weights.Same)
	}
	return links
}

// orderedLayerNorm has all axes of images with the channels first, as PyTorch has them.
func orderedLayerNorm(l *settings, in featureLayout) ([]weights.Link, *settings) {
	links, axes := layerNormLinks(l), len(l.Ints("axis"))
	switch {
	case !in.spatial || in.layout == channelsAreFirst || axes < 2:
		return links, l
	case len(l.InputShapes) == 0 || axes != len(l.InputShapes[0]):
		l.fail(notInPyTorch("axis %v, which PyTorch, with the channels first, does not have last", l.Ints("axis")))
		return links, l
	}
	front, shape := []int{axes - 1}, l.InputShapes[0]
	for axis := range axes - 1 {
		front = append(front, axis)
	}
	for i := range links {
		links[i].Op = weights.Chain(weights.TransposeOp(front...), links[i].Op)
	}
	seen := *l.Layer
	seen.InputShapes, seen.Weights = [][]int{append([]int{shape[axes-1]}, shape[:axes-1]...)}, nil
	return links, l.of(&seen)
}

func layerNormModule(l *settings, in [][]int) *module {
	scale, center := scales(l), centers(l)
	m := constructed("layernorm", "nn.LayerNorm normalized_shape eps= elementwise_affine=True bias=True", map[string]any{
		"eps": l.Float("epsilon", 1e-3), "affine": scale || center,
	})
	if m.pytorch["elementwise_affine"] = scale || center; scale {
		m.pytorch["bias"] = center
	}
	normalizes(m, l, in[0], "gamma", "beta")
	return m
}

// normalizes sets the shape of the last axes, which a layer normalizes.
func normalizes(m *module, l *settings, input []int, weights ...string) {
	shape := input[max(0, len(input)-max(1, len(l.Ints("axis")))):]
	known := func() bool { return len(shape) > 0 && product(shape) > 0 }
	for _, name := range weights {
		if have, ok := l.Weight(name); ok && !known() {
			shape = have.Array.Shape
		}
	}
	if len(shape) > 0 {
		m.settings["normalized_shape"] = shape
	}
	if !known() {
		m.notRun = fmt.Errorf("the shape that it normalizes, %v, is not known: %w", shape, ErrConfig)
	}
}

// layerNormAxes fails unless l normalizes the last axes.
func layerNormAxes(b *builder, l *settings, v value) value {
	n := len(v.shape)
	axes := slices.Clone(l.Ints("axis"))
	for i := range axes {
		axes[i] = axis(axes[i], n+1)
	}
	slices.Sort(axes)
	for i, a := range axes {
		if a != n-len(axes)+1+i {
			l.refuse("axis %v of an input of shape %v; want the last axes", axes, v.shape)
		}
	}
	if l.Config["rms_scaling"] == true {
		l.refuse("rms_scaling")
	}
	if n > 1 {
		v = b.last(v)
	}
	return v
}

// checkLastAxes fails unless l normalizes over the last axes, as PyTorch does.
func checkLastAxes(l *settings) {
	axes, rank := l.Ints("axis"), 0
	if len(l.InputShapes) > 0 {
		rank = len(l.InputShapes[0]) + 1
	}
	for i, axis := range axes {
		want := i - len(axes)
		if axis != want && (rank == 0 || axis != rank+want) && !(rank == 0 && axis > 0) {
			l.fail(notInPyTorch("axis %v, which is not the last", axes))
		}
	}
}

// GroupNormalization: the same vectors. PyTorch has both of them or none.
var _ = register(class{
	variables: normalized(),
	module: func(l *settings, in [][]int) *module {
		channels := l.sizeOr(l.sizeOr(featuresOf(in[0]), "gamma", 0), "beta", 0)
		groups := l.Int("groups", 32)
		if groups == -1 {
			groups = channels
		}
		m := constructed("groupnorm", "nn.GroupNorm num_groups num_channels eps=", map[string]any{"eps": l.Float("epsilon", 1e-3)})
		return m.size("num_groups", groups).size("num_channels", channels)
	},
	axes:    func(b *builder, _ *settings, v value) value { return b.toFirst(v) },
	arrays:  lastAxisVectors("gamma", "beta"),
	links:   gammaAndBeta,
	reverse: map[string]reversal{"groupnorm": reversed("GroupNormalization", groupNormSettings), "instancenorm": reversed("GroupNormalization", groupNormSettings)},
	samples: []Layer{
		sample(map[string]any{"groups": 2}, w("gamma", 4), w("beta", 4)),
		sample(map[string]any{"groups": 2, "scale": false}, w("beta", 4)),
		sample(map[string]any{"groups": 2, "center": false}, w("gamma", 4)),
	},
}, "GroupNormalization")

// groupNormSettings returns the settings of a GroupNormalization: of one channel in each group for an instance normalization.
func groupNormSettings(l *settings, _ tensor) map[string]any {
	groups, affine := l.Int("num_groups", -1), l.Bool("affine", l.Class == "groupnorm")
	return map[string]any{"groups": groups, "epsilon": l.Float("eps", 1e-5), "scale": affine, "center": affine}
}

// axis returns an axis of Keras, counted from 0 with the batch.
func axis(setting, rank int) int {
	if setting < 0 {
		return setting + rank
	}
	return setting
}

// lastAxisVectors returns shapes of vectors of the features, for a layer that normalizes the last axis.
func lastAxisVectors(names ...string) func(*settings, int) map[string][]int {
	return func(l *settings, features int) map[string][]int {
		at := l.Int("axis", -1)
		if at != -1 && (len(l.InputShapes) == 0 || at != len(l.InputShapes[0])) {
			return nil
		}
		shapes := map[string][]int{}
		for _, name := range names {
			shapes[name] = []int{features}
		}
		return shapes
	}
}

// Normalization: the statistics that Keras has adapted to data, as the statistics of a frozen batch
// normalization. Keras divides by at least 1e-7, the root of epsilon.
var _ = register(class{
	variables: func(l *settings) []Variable {
		if l.Config["mean"] != nil { // among the settings
			return nil
		}
		return []Variable{{Name: "mean", Path: "vars/0"}, {Name: "variance", Path: "vars/1"}, {Name: "count", Path: "vars/2"}}
	},
	module: func(l *settings, in [][]int) *module {
		return batchNorm(l, in[0], len(in[0]), "mean", map[string]any{"eps": 1e-14, "affine": false, "frozen": true})
	},
	nodes: normalizationNodes,
	links: func(l *settings) []weights.Link {
		if l.Config["mean"] != nil {
			l.fail(notInPyTorch("mean and variance among the settings; scale the inputs"))
		}
		if mean, ok := l.Weight("mean"); ok && mean.Array.Rank() != 1 {
			l.fail(notInPyTorch("statistics of shape %v; PyTorch has one for each channel", mean.Array.Shape))
		}
		return normalizationLinks
	},
	own: func(l *settings) []weights.Link {
		if l.Config["mean"] != nil {
			return nil
		}
		return classes[l.Class].links(l)
	},
	renamed:  map[string]string{"num_batches_tracked": ""},
	features: []string{"mean", "variance"},
	kept:     true,
	samples:  []Layer{sample(map[string]any{}, w("mean", 4), w("variance", 4), w("count"))},
}, "Normalization")

// normalizationLinks are the links of statistics that are adapted to data.
var normalizationLinks = []weights.Link{
	linked("mean", "running_mean", weights.Same),
	linked("variance", "running_var", weights.Same),
	linked("count", "num_batches_tracked", weights.Same), // of samples there, of batches here
}

// normalizationNodes adds a batch normalization, or the difference and the quotient with statistics among the settings.
func normalizationNodes(b *builder, l *settings, in []value) value {
	if l.Config["mean"] == nil {
		return b.module(l, normalizationAxes(b, l, in[0]), classes[l.Class].module(l, [][]int{in[0].shape}))
	}
	v := b.last(in[0])
	mean, deviation, n := l.numbers("mean"), l.numbers("variance"), len(v.shape)
	one := len(mean) == 1 && len(deviation) == 1
	if axes := l.Ints("axis"); l.Bool("invert", false) || len(mean) != len(deviation) || !one && (n < 1 || len(axes) != 1 || axis(axes[0], n+1) != n || v.shape[n-1] != len(mean)) || len(mean) == 0 {
		l.refuse("invert, or mean and variance of %d and %d numbers along axes %v of samples of shape %v", len(mean), len(deviation), axes, v.shape)
		return v
	}
	for i, x := range deviation {
		deviation[i] = max(math.Sqrt(x), 1e-7)
	}
	shape := slices.Repeat([]int{1}, n)
	if !one {
		shape[n-1] = len(mean)
	}
	v = b.functionPart(l, "difference", "sub", nil, v, b.constant(l, "mean", mean, shape, v))
	return b.functionPart(l, "quotient", "div", nil, v, b.constant(l, "deviation", deviation, shape, v))
}

// normalizationAxes fails unless there are statistics of each channel.
func normalizationAxes(b *builder, l *settings, v value) value {
	n := len(v.shape)
	switch axes := l.Ints("axis"); {
	case l.Config["invert"] == true:
		l.refuse("invert")
	case len(axes) != 1 || axis(axes[0], n+1) != n || n > 4 || v.shape[n-1] < 1:
		l.refuse("axis %v of an input of shape %v; want the last", axes, v.shape)
	}
	return b.toFirst(b.last(v)) // flattened features are in the order of Keras
}
