package models

import (
	"errors"
	"testing"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/tensor"
)

// TestALayerThatIsAddedRuns: a graph with a layer that nobody has registered is an error about the layer, until it is.
func TestALayerThatIsAddedRuns(t *testing.T) {
	graph := map[string]any{"graph": map[string]any{"nodes": []any{map[string]any{"name": "last", "layer": map[string]any{"doubling": map[string]any{}}}}}}
	missing := (*MissingLayerError)(nil)
	if err := checkLayers(graph); !errors.As(err, &missing) || missing.Layer != "doubling" || missing.Node != "last" {
		t.Fatalf("error %v; want one about the layer doubling", err)
	}
	nn.RegisterLayer("doubling", func(struct{}) doubling { return doubling{} }, struct{}{})
	if err := checkLayers(graph); err != nil {
		t.Error(err)
	}
}

type doubling struct{}

// Config returns no settings.

// Forward returns 2·x.
func (doubling) Forward(x *tensor.Tensor) *tensor.Tensor { return x.MulScalar(2) }
