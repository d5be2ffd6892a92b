package keras

// SpectralNormalization has the variables of its layer, whose kernel it stores a second time, and
// the vector by which it estimates the norm.
var _ = register(class{variables: spectral, shapes: spectralShapes}, "SpectralNormalization")

func spectral(l *settings) []Variable {
	list := within("", "layer", variablesOf(l.wrapped("layer")))
	if len(list) == 0 {
		return variablesOfFile(l)
	}
	list[0].Copy = "vars/0"
	return append(list, Variable{Name: "vector_u", Path: "vars/1"})
}

func spectralShapes(l *settings, in [][]int) [][]int {
	inner := l.wrapped("layer")
	if shapes := classes[inner.Class].shapes; shapes != nil {
		return shapes(inner, in)
	}
	l.refuse("around a %s", inner.Class)
	return nil
}
