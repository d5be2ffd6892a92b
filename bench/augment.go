package main

import (
	"github.com/h5dnn/h5dnn/augment"
	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/storage"
)

// augmented reads n images of bytes, of side × side pixels, and crops, flips, colors and maps each by numbers of its own.
func augmented(n, side int) func(folders) (task, error) {
	return func(folders) (task, error) {
		x := storage.From(make([]uint8, n*3*side*side), n, 3, side, side)
		pixels, noise := storage.Elements[uint8](x), uint32(1)
		for i := range pixels {
			noise = noise*1664525 + 1013904223
			pixels[i] = uint8(noise >> 24)
		}
		d, err := dataset.FromArrays(dataset.NamedArray{Name: "x", Array: x})
		if err != nil {
			return task{}, err
		}
		list := []augment.Augmentation{
			augment.NewCrop(augment.CropOptions{Padding: []int{4}}), augment.NewFlip(augment.FlipOptions{}),
			augment.NewColor(augment.ColorOptions{Brightness: augment.Range{0.4}, Contrast: augment.Range{0.4}, Saturation: augment.Range{0.4}, Hue: augment.Range{0.1}}),
			augment.NewAffine(augment.AffineOptions{Angle: augment.Range{15}, TranslateX: augment.Range{0.1}, TranslateY: augment.Range{0.1}, Scale: augment.Range{0.9, 1.1}, MaxSuper: 1}),
		}
		once, err := epochsOf(d, dataset.Options{BatchSize: max(1, n/8), Stage: augment.NewChain(list, augment.Options{})})
		return task{once: once}, err
	}
}
