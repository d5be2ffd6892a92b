// Package docs holds the pages that the program prints.
package docs

import _ "embed"

// Configuration is configuration.md: the settings of a training run.
//
//go:embed configuration.md
var Configuration string

// Models is models.md: conversions between frameworks.
//
//go:embed models.md
var Models string

// ONNX is onnx.md: ONNX models and their operators.
//
//go:embed onnx.md
var ONNX string

// Pages are the pages that are printed as a whole, by their names.
var Pages = map[string]string{"models": Models, "onnx": ONNX}
