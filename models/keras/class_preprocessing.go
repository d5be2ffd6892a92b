package keras

import "slices"

// Layers that prepare data. Generators of random numbers and vocabularies are variables of some
// versions of Keras, so that files say which there are.
var (
	_ = register(class{variables: variablesOfFile, nodes: trainingOnly, training: true, spatial: true}, "RandomFlip", "RandomRotation", "RandomZoom", "RandomContrast", "RandomTranslation", "RandomBrightness")
	_ = register(class{variables: variablesOfFile, shapes: lookupShapes}, "Discretization", "Hashing", "IntegerLookup", "StringLookup")
	_ = register(class{shapes: imageSizeShapes, spatial: true}, "CenterCrop", "Resizing")
)

func variablesOfFile(l *settings) []Variable {
	l.fail(errUnknown)
	return nil
}

// lookupShapes returns the shape of numbers for values.
func lookupShapes(l *settings, in [][]int) [][]int {
	if mode := l.Text("output_mode", "int"); mode != "int" {
		l.refuse("output_mode %s", mode)
	}
	return in[:1]
}

func imageSizeShapes(l *settings, in [][]int) [][]int {
	s := spatialOf(l, in[0], 2)
	sizes := []int{l.Int("height", 0), l.Int("width", 0)}
	if slices.Min(sizes) < 1 {
		l.invalid("an image of %d by %d", sizes[0], sizes[1])
	}
	return s.with(sizes, s.channels)
}
