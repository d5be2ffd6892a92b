package keras

import (
	"slices"
	"strings"
)

// An .h5 of Keras 3 names the classes of layers alone, which is not enough to find all of them.

// addModule says the module of a layer that Keras 3 reads otherwise, or not at all, without one:
// it takes the first of several axes alone, the name of a score for that of a function, and does
// not find operations. These have no setting trainable, which all layers have.
func addModule(o map[string]any, class string, config map[string]any) {
	if o["module"] != nil || strings.Contains(class, ">") {
		return
	}
	_, known := classes[class]
	axes, _ := config["axis"].([]any)
	switch _, isLayer := config["trainable"]; {
	case class == "LayerScale":
		o["module"], o["registered_name"] = "keras.src.applications.convnext", class
	case class == "GroupedQueryAttention":
		o["module"], o["class_name"], o["registered_name"] = "keras.layers", "GroupQueryAttention", nil
	case isOperation(o) || !known && !isLayer && isOfKeras3(o) && !isModel(class):
		o["module"], o["registered_name"] = "keras.src.ops", class
		if slices.Contains(imageOperations, class) {
			o["module"] = "keras.src.ops.image"
		}
	case len(axes) > 1 || config["score_mode"] != nil:
		o["module"], o["registered_name"] = "keras.layers", nil
	}
}

// imageOperations are those operations of Keras 3 that keras.src.ops does not have.
var imageOperations = []string{
	"AffineTransform", "CropImages", "ElasticTransform", "ExtractPatches", "GaussianBlur", "HSVToRGB", "MapCoordinates", "PadImages",
	"PerspectiveTransform", "RGBToGrayscale", "RGBToHSV", "Resize", "SSIM", "ScaleAndTranslate", "SobelEdges",
}

// WithModules returns a description of Keras 3 in an .h5, where layers have no module, with the
// modules of those that Keras 3 reads otherwise without one.
func WithModules(text string) (string, error) {
	o, err := decode(text)
	if err != nil {
		return "", err
	}
	eachObject(o, func(o map[string]any) {
		if config := configIn(o); config != nil {
			addModule(o, textIn(o, "class_name"), config)
		}
	})
	return encode(o)
}

// eachObject visits all objects within a value, the outer ones first.
func eachObject(v any, visit func(o map[string]any)) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			eachObject(one, visit)
		}
	case map[string]any:
		visit(v)
		for _, one := range v {
			eachObject(one, visit)
		}
	}
}

// WithoutLoRA returns a description of a model whose LoRA was merged into its kernels, as a .keras
// has it: Keras 3 asks an .h5 for the arrays of the LoRA otherwise.
func WithoutLoRA(text string) (string, error) {
	if !strings.Contains(text, `"lora_rank"`) {
		return text, nil
	}
	o, err := decode(text)
	if err != nil {
		return "", err
	}
	eachObject(o, func(o map[string]any) {
		delete(o, "lora_rank")
		delete(o, "lora_alpha")
	})
	return encode(o)
}
