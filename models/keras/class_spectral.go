package keras

// SpectralNormalization has the variables of its layer, whose kernel it stores a second time, and
// the vector by which it estimates the norm.
var _ = register(class{variables: spectral, shapes: spectralShapes}, "SpectralNormalization")

func spectral(l *Layer) ([]Variable, error) {
	inner, err := wrapped(l, "layer")
	if err != nil {
		return nil, err
	}
	list, ok, err := Variables(inner)
	if err != nil || !ok || len(list) == 0 {
		return nil, first(err, errUnknown)
	}
	list = within("", "layer", list)
	list[0].Copy = "vars/0"
	return append(list, Variable{Name: "vector_u", Path: "vars/1"}), nil
}

func spectralShapes(l *Layer, in [][]int) ([][]int, error) {
	inner, err := wrapped(l, "layer")
	if err != nil {
		return nil, err
	}
	c, ok := classes[inner.Class]
	if !ok || c.shapes == nil {
		return nil, unsupported("around a %s", inner.Class)
	}
	return c.shapes(inner, in)
}
