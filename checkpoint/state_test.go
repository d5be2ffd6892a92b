package checkpoint

import (
	"slices"
	"testing"
)

// TestExportListsWeightsThatNoLinkTakes, but for layers that are refused, which the refusal names.
func TestExportListsWeightsThatNoLinkTakes(t *testing.T) {
	l := Layer{Class: "Mine", Weights: []Weight{w("kernel", 2, 2)}}
	_, unused, err := Export([]LayerPlan{{Path: "a", Layer: &l}, {Path: "b", Layer: &l, Refused: ErrUnsupported}})
	if err != nil || !slices.Equal(unused, []string{"a/kernel"}) {
		t.Errorf("unused: %q, %v; want a/kernel", unused, err)
	}
}
