package onnxgraph

import (
	"slices"
	"strconv"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// ml is the domain of operators of machine learning other than neural networks.
const ml = "ai.onnx.ml"

func simpleML(op string, run func(c *call) *tensor.Tensor) bool {
	return add(rule{domain: ml, op: op, since: 1, run: func(c *call) []*tensor.Tensor { return one(run(c)) }})
}

var (
	_ = simpleML("Scaler", func(c *call) *tensor.Tensor {
		x := c.floats()
		return x.Sub(c.list32("offset")).Mul(c.list32("scale"))
	})
	_ = simpleML("Normalizer", func(c *call) *tensor.Tensor {
		x := c.floats()
		switch norm := c.node.text("norm", "MAX"); norm {
		case "MAX":
			return x.Div(x.AMax(-1, tensor.KeepDims))
		case "L1":
			return x.Div(x.Abs().Sum(-1, tensor.KeepDims))
		case "L2":
			return x.Div(x.Mul(x).Sum(-1, tensor.KeepDims).Sqrt())
		default:
			c.fail(storage.ErrState, "the norm %s", norm)
		}
		return nil
	})
	_ = simpleML("Binarizer", func(c *call) *tensor.Tensor {
		x := c.x(0)
		return x.GtScalar(c.number("threshold", 0)).Cast(x.DType())
	})
	_ = simpleML("Imputer", func(c *call) *tensor.Tensor {
		x := c.x(0)
		if a, ok := c.attribute("imputed_value_int64s"); ok {
			missing := c.integer("replaced_value_int64", 0)
			return tensor.Where(x.EqScalar(missing), c.elements(tensor.FromSlice(a.Ints, len(a.Ints))), x)
		}
		missing := c.number("replaced_value_float", 0)
		where := x.EqScalar(missing)
		if missing != missing {
			where = x.IsNaN()
		}
		return tensor.Where(where, c.list32("imputed_value_floats"), x)
	})
	_ = simpleML("FeatureVectorizer", func(c *call) *tensor.Tensor {
		xs := c.all()
		for i, x := range xs {
			if x.Rank() == 1 {
				x = x.Unsqueeze(1)
			}
			xs[i] = x.Cast(dtype.Float32)
		}
		return tensor.Cat(1, xs...)
	})
	_ = add(rule{domain: ml, op: "ArrayFeatureExtractor", since: 1, text: true, run: func(c *call) []*tensor.Tensor {
		x, index := c.x(0), c.x(1)
		y := x.IndexSelect(-1, index.Reshape(index.Len()).Cast(dtype.Int64))
		if y.Rank() == 1 {
			y = y.Unsqueeze(0)
		}
		return one(y)
	}})
	_ = add(rule{domain: ml, op: "ZipMap", since: 1, run: func(c *call) []*tensor.Tensor { return one(c.x(0)) }})
	_ = simpleML("LabelEncoder", labelEncoder)
	_ = simpleML("LinearRegressor", func(c *call) *tensor.Tensor {
		targets := c.integer("targets", 1)
		return c.transformed(c.linear(targets))
	})
	_ = add(rule{domain: ml, op: "LinearClassifier", since: 1, run: linearClassifier})
)

// floats returns input 0 as float32, which most of these operators compute in.
func (c *call) floats() *tensor.Tensor { return c.x(0).Cast(dtype.Float32) }

// list32 returns a list of numbers of an attribute.
func (c *call) list32(name string) *tensor.Tensor {
	list := c.attributes[name].Floats
	return c.elements(tensor.FromSlice(list, len(list)))
}

// linear returns x·coefficientsᵀ + intercepts.
func (c *call) linear(outputs int) *tensor.Tensor {
	x, w := c.floats(), c.attributes["coefficients"].Floats
	if outputs < 1 || x.Rank() != 2 || len(w) != outputs*x.Size(1) {
		c.fail(views.ErrShape, "%d coefficients of %d outputs for %v", len(w), outputs, x.Shape())
	}
	var bias *tensor.Tensor
	if b := c.attributes["intercepts"].Floats; len(b) > 0 {
		bias = c.list32("intercepts")
	}
	return tensor.Linear(x, c.elements(tensor.FromSlice(w, outputs, x.Size(1))), bias, tensor.NoActivation)
}

// transformed applies the attribute post_transform.
func (c *call) transformed(scores *tensor.Tensor) *tensor.Tensor {
	switch name := c.node.text("post_transform", "NONE"); name {
	case "NONE":
		return scores
	case "LOGISTIC":
		return scores.Sigmoid()
	case "SOFTMAX":
		return scores.Softmax(-1)
	default:
		c.fail(storage.ErrState, "the transform %s", name)
	}
	return nil
}

// linearClassifier returns the labels, as integers or as indices of strings, and the scores of the classes.
func linearClassifier(c *call) []*tensor.Tensor {
	labels := c.attributes["classlabels_ints"].Ints
	n := max(len(labels), len(c.attributes["classlabels_strings"].Strings))
	outputs := max(1, len(c.attributes["intercepts"].Floats))
	scores := c.linear(outputs)
	if n == 2 && outputs == 1 { // of the second class
		best, other := tensor.Cat(1, scores.Neg(), scores).ArgMax(1), scores.Neg().AddScalar(1)
		if c.node.text("post_transform", "NONE") == "LOGISTIC" {
			other, scores = scores.Neg().Sigmoid(), scores.Sigmoid()
		}
		return []*tensor.Tensor{c.labelled(best, labels), tensor.Cat(1, other, scores)}
	}
	return []*tensor.Tensor{c.labelled(scores.ArgMax(1), labels), c.transformed(scores)}
}

// labelled returns the labels at positions; positions themselves without labels.
func (c *call) labelled(at *tensor.Tensor, labels []int64) *tensor.Tensor {
	at = at.Cast(dtype.Int64)
	if len(labels) == 0 {
		return at
	}
	return c.elements(tensor.FromSlice(labels, len(labels))).IndexSelect(0, at)
}

// labelEncoder maps each key to the value in the same place. Strings are positions in the texts of the input or the
// output.
func labelEncoder(c *call) *tensor.Tensor {
	x := c.x(0)
	var keys *tensor.Tensor
	switch ints, floats, texts := c.attributes["keys_int64s"].Ints, c.attributes["keys_floats"].Floats, c.attributes["keys_strings"].Strings; {
	case ints != nil:
		keys = tensor.FromSlice(ints, len(ints))
	case floats != nil:
		keys = tensor.FromSlice(floats, len(floats))
	case texts != nil && c.texts[0] != nil:
		positions := make([]int64, len(texts))
		for i, key := range texts {
			positions[i] = int64(slices.Index(c.texts[0], key))
		}
		keys = tensor.FromSlice(positions, len(positions))
	default:
		c.fail(dtype.ErrType, "keys that are neither numbers nor strings of a known list")
	}
	var values, otherwise *tensor.Tensor
	switch ints, floats, texts := c.attributes["values_int64s"].Ints, c.attributes["values_floats"].Floats, c.attributes["values_strings"].Strings; {
	case ints != nil:
		values, otherwise = tensor.FromSlice(ints, len(ints)), tensor.FromSlice([]int64{int64(c.integer("default_int64", -1))}, 1)
	case floats != nil:
		values, otherwise = tensor.FromSlice(floats, len(floats)), tensor.FromSlice([]float32{float32(c.number("default_float", 0))}, 1)
	case texts != nil: // the default is the last text
		values, otherwise = tensor.Arange(dtype.Int64, 0, float64(len(texts)), 1), tensor.FromSlice([]int64{int64(len(texts))}, 1)
	default:
		c.fail(dtype.ErrType, "values that are neither numbers nor strings")
	}
	if keys.Len() != values.Len() || keys.Len() == 0 {
		c.fail(views.ErrShape, "%d keys and %d values", keys.Len(), values.Len())
	}
	equal := x.Unsqueeze(-1).Eq(c.elements(keys).Cast(x.DType()))
	at := equal.Cast(dtype.Int32).ArgMax(-1).Cast(dtype.Int64)
	found := c.elements(values).IndexSelect(0, at.Reshape(at.Len())).Reshape(at.Shape()...)
	return tensor.Where(equal.Any(-1), found, c.elements(otherwise))
}

// textsOf returns the strings that an output of n stands for by their positions, nil if it is of numbers. Those
// of a ZipMap are the names of its columns.
func (n *node) textsOf(output int) []string {
	switch {
	case n.rule.text && n.texts[0] != nil:
		return n.texts[0]
	case n.op == "Identity" || n.op == "Cast" && n.integer("to", 0) == stringType:
		return n.texts[0]
	case n.op == "LabelEncoder" && n.attributes["values_strings"].Strings != nil:
		return append(slices.Clone(n.attributes["values_strings"].Strings), n.text("default_string", "_Unused"))
	case n.op == "LinearClassifier" && output == 0:
		return n.attributes["classlabels_strings"].Strings
	}
	return nil
}

// columnsOf returns the names of the columns of a ZipMap.
func (n *node) columnsOf() []string {
	if names := n.attributes["classlabels_strings"].Strings; names != nil {
		return names
	}
	var names []string
	for _, label := range n.attributes["classlabels_int64s"].Ints {
		names = append(names, strconv.FormatInt(label, 10))
	}
	return names
}

const stringType = 8 // of TensorProto.DataType
