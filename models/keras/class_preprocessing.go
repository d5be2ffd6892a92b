package keras

import "slices"

// Layers that prepare data. Generators of random numbers and vocabularies are variables of some
// versions of Keras, so that files say which there are.
var (
	_ = register(class{variables: variablesOfFile, nodes: trainingOnly, training: true, spatial: true}, "RandomFlip", "RandomRotation", "RandomZoom", "RandomContrast", "RandomTranslation", "RandomBrightness")
	_ = register(class{variables: variablesOfFile, shapes: func(l *settings, in [][]int) [][]int {
		if mode := l.Text("output_mode", "int"); mode != "int" {
			l.refuse("output_mode %s", mode)
		}
		return in[:1]
	}}, "Hashing", "StringLookup")
	_ = register(class{variables: variablesOfFile, shapes: encodedShapes, nodes: func(b *builder, l *settings, in []value) value {
		return b.encoded(l, b.last(in[0]), l.Text("output_mode", "multi_hot"), l.Int("num_tokens", 0))
	}}, "CategoryEncoding")
	_ = register(class{variables: variablesOfFile, shapes: encodedShapes, nodes: func(b *builder, l *settings, in []value) value {
		bounds := l.numbers("bin_boundaries")
		if len(bounds) == 0 {
			l.refuse("no bin_boundaries among the settings")
			return in[0]
		}
		v := b.sum(l, b.against(l, "below", "lt", b.last(in[0]), bounds)) // of the bounds above x; NaN is behind all, as in Keras
		v.node = b.add(l, "bin", map[string]any{"rescale": map[string]any{"scale": -1, "offset": len(bounds)}}, v.node)
		return b.encoded(l, v, l.Text("output_mode", "int"), len(bounds)+1)
	}}, "Discretization")
	_ = register(class{variables: variablesOfFile, shapes: encodedShapes, nodes: integerLookupNodes}, "IntegerLookup")
	_ = register(class{shapes: imageSizeShapes, spatial: true, nodes: func(b *builder, l *settings, in []value) value {
		v, s, sizes := spatially(b, l, in[0]), spatialOf(l, in[0].shape, 2), []int{l.Int("height", 0), l.Int("width", 0)}
		before, after := make([]int, 2), make([]int, 2)
		for i, n := range s.sizes {
			if n < sizes[i] { // which Keras resizes
				l.refuse("a size of %v of images of %v", sizes, s.sizes)
				return v
			}
			before[i] = (n - sizes[i]) / 2
			after[i] = n - sizes[i] - before[i]
		}
		v.node = b.add(l, "", map[string]any{"crop": map[string]any{"before": before, "after": after}}, v.node)
		return v
	}}, "CenterCrop")
	_ = register(class{shapes: imageSizeShapes, spatial: true, nodes: func(b *builder, l *settings, in []value) value {
		v, mode := spatially(b, l, in[0]), l.Text("interpolation", "bilinear")
		for _, setting := range []string{"crop_to_aspect_ratio", "pad_to_aspect_ratio", "antialias"} {
			if l.Bool(setting, false) {
				l.refuse("%s", setting)
			}
		}
		if mode != "bilinear" {
			l.refuse("interpolation %s", mode)
		}
		v.node = b.add(l, "", map[string]any{"upsample": map[string]any{"size": []int{l.Int("height", 0), l.Int("width", 0)}, "mode": mode}}, v.node)
		return v
	}}, "Resizing")
)

func variablesOfFile(l *settings) []Variable {
	l.fail(errUnknown)
	return nil
}

// encodedDepths are the sizes of the vectors that layers of categories encode, by their classes.
var encodedDepths = map[string]func(l *settings) int{
	"CategoryEncoding": func(l *settings) int { return l.Int("num_tokens", 0) },
	"Discretization":   func(l *settings) int { return len(l.numbers("bin_boundaries")) + 1 },
	"IntegerLookup":    func(l *settings) int { return len(l.numbers("vocabulary")) + l.Int("num_oov_indices", 1) },
}

// encodedShapes returns the shape of numbers of categories, or of vectors of them.
func encodedShapes(l *settings, in [][]int) [][]int {
	otherwise := "int"
	if l.Class == "CategoryEncoding" {
		otherwise = "multi_hot"
	}
	depth, shape := encodedDepths[l.Class](l), slices.Clone(in[0])
	switch mode := l.Text("output_mode", otherwise); {
	case mode == "int":
		return in[:1]
	case l.Bool("sparse", false) || mode != "one_hot" && mode != "multi_hot" && mode != "count" || len(shape) == 0 || depth < 1 || l.Bool("pad_to_max_tokens", false):
		l.refuse("output_mode %s of samples of shape %v, sparse or padded", mode, shape)
	case mode == "one_hot" && shape[len(shape)-1] != 1:
		shape = append(shape, depth)
	default:
		shape[len(shape)-1] = depth
	}
	return [][]int{shape}
}

// encoded returns the numbers of categories, or vectors of them: of each number, or of all along the last axis.
func (b *builder) encoded(l *settings, v value, mode string, depth int) value {
	if mode == "int" || l.failed() != nil {
		return v
	}
	all := make([]float64, depth)
	for i := range all {
		all[i] = float64(i)
	}
	shape := encodedShapes(l, [][]int{v.shape})[0]
	e := b.against(l, "categories", "eq", v, all)
	switch {
	case len(shape) == len(e.shape): // one_hot of several
	case mode == "count":
		e = b.functionPart(l, "count", "sum", map[string]any{"dim": []int{-2}}, b.float(e))
	default:
		e = b.functionPart(l, "any", "any", map[string]any{"dim": []int{-2}}, e)
	}
	return b.float(e)
}

// against compares each element of v with numbers, along a new last axis.
func (b *builder) against(l *settings, part, comparison string, v value, numbers []float64) value {
	column := append(slices.Clone(v.shape), 1)
	if unknown := slices.Index(column, -1); unknown >= 0 && slices.Contains(column[unknown+1:], -1) {
		l.refuse("samples of shape %v", v.shape)
	}
	c := b.constant(l, part+"_numbers", numbers, slices.Concat(slices.Repeat([]int{1}, len(v.shape)), []int{len(numbers)}), v)
	v.node = b.add(l, part+"_column", map[string]any{"reshape": map[string]any{"shape": column}}, v.node)
	v.shape = append(slices.Clone(v.shape), len(numbers))
	v = b.functionPart(l, part, comparison, nil, v, c)
	v.dtype = "bool"
	return v
}

// sum returns the sum of v along its last axis.
func (b *builder) sum(l *settings, v value) value {
	v = b.functionPart(l, "sum", "sum", map[string]any{"dim": []int{-1}}, b.float(v))
	v.shape = v.shape[:len(v.shape)-1]
	return v
}

// numbers returns a setting that is a number or lists of numbers, or nil.
func (l *settings) numbers(name string) []float64 {
	given := l.Config[name]
	if _, object := given.(map[string]any); !object {
		given = map[string]any{"class_name": "__numpy__", "config": map[string]any{"value": given}}
	}
	list, _, ok := arrayOf(given)
	if !ok {
		return nil
	}
	return slices.Clone(list)
}

// integerLookupNodes finds integers in a vocabulary: behind the number of the mask, if there is one, and the number of all that are not there.
func integerLookupNodes(b *builder, l *settings, in []value) value {
	vocabulary, mask, mode := l.numbers("vocabulary"), l.Config["mask_token"], l.Text("output_mode", "int")
	if largest := 1 << 24; len(vocabulary) == 0 || l.Int("num_oov_indices", 1) != 1 || l.Bool("invert", false) || mask != nil && mode != "int" ||
		slices.Max(vocabulary) >= float64(largest) || slices.Min(vocabulary) <= float64(-largest) {
		l.refuse("a vocabulary that is not among the settings or beyond 2^24, num_oov_indices %v, invert, or a mask_token with output_mode %s", l.Config["num_oov_indices"], mode)
		return in[0]
	}
	oov, numbers := 0, make([]float64, len(vocabulary)) // of the vocabulary, less oov
	if mask != nil {
		oov = 1
	}
	for i := range numbers {
		numbers[i] = float64(1 + i)
	}
	if mask != nil {
		vocabulary, numbers = append(vocabulary, l.Float("mask_token", 0)), append(numbers, -1)
	}
	v := b.last(in[0])
	found := b.float(b.against(l, "vocabulary", "eq", v, vocabulary))
	found = b.sum(l, b.functionPart(l, "numbers", "mul", nil, found, b.constant(l, "of_vocabulary", numbers, slices.Concat(slices.Repeat([]int{1}, len(v.shape)), []int{len(numbers)}), v)))
	if oov > 0 {
		found.node = b.add(l, "index", map[string]any{"rescale": map[string]any{"offset": oov}}, found.node)
	}
	return b.encoded(l, found, mode, len(vocabulary)+1)
}

func imageSizeShapes(l *settings, in [][]int) [][]int {
	s := spatialOf(l, in[0], 2)
	sizes := []int{l.Int("height", 0), l.Int("width", 0)}
	if slices.Min(sizes) < 1 {
		l.invalid("an image of %d by %d", sizes[0], sizes[1])
	}
	return s.with(sizes, s.channels)
}
