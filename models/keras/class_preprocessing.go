package keras

import (
	"fmt"
	"slices"
)

// Layers that prepare data. Generators of random numbers and vocabularies are variables of some
// versions of Keras, so that files say which there are.
var (
	_ = register(class{variables: variablesOfFile, nodes: trainingOnly, training: true, spatial: true}, "RandomFlip", "RandomRotation", "RandomZoom", "RandomContrast", "RandomTranslation", "RandomBrightness")
	_ = register(class{variables: variablesOfFile, shapes: lookupShapes}, "Discretization", "Hashing", "IntegerLookup", "StringLookup")
	_ = register(class{shapes: imageSizeShapes, spatial: true}, "CenterCrop", "Resizing")
)

func variablesOfFile(*Layer) ([]Variable, error) { return nil, errUnknown }

// lookupShapes returns the shape of numbers for values.
func lookupShapes(l *Layer, in [][]int) ([][]int, error) {
	mode, err := l.Text("output_mode", "int")
	if err == nil && mode != "int" {
		err = unsupported("output_mode %s", mode)
	}
	return in[:1], err
}

func imageSizeShapes(l *Layer, in [][]int) ([][]int, error) {
	s, err1 := spatialOf(l, in[0], 2)
	height, err2 := l.Int("height", 0)
	width, err3 := l.Int("width", 0)
	if err := first(err1, err2, err3); err != nil {
		return nil, err
	}
	sizes := []int{height, width}
	if slices.Min(sizes) < 1 {
		return nil, fmt.Errorf("an image of %d by %d: %w", height, width, ErrConfig)
	}
	return [][]int{s.with(sizes, s.channels)}, nil
}
