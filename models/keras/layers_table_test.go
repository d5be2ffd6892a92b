package keras

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the classes of Keras in docs/layers.md anew")

const layersHeading = "\n## Classes of Keras\n"

// TestKerasColumnOfLayers holds the classes of Keras in docs/layers.md, after the layers that the tests of package nn write.
func TestKerasColumnOfLayers(t *testing.T) {
	page := layersHeading + `
The layer of package nn that runs a class of Keras, where it is one layer. Merges, reshapes, activations by name, wrappers and layers made of several are translated to
graphs, and preprocessing that acts in training only is left out.

| Keras | layer | back to Keras |
|---|---|---|
`
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		c := classes[name]
		layers := map[string]string{}
		for layer := range c.reverse {
			if len(c.reverse) < 4 || strings.EqualFold(strings.ReplaceAll(layer, "_", ""), name) || name == "Activation" { // some classes share theirs
				layers[layer] = "✓"
			}
		}
		if layer := runBy(c, name); layer != "" && layers[layer] == "" {
			layers[layer] = "·"
		}
		for _, layer := range slices.Sorted(maps.Keys(layers)) {
			page += fmt.Sprintf("| %s | %s | %s |\n", name, layer, layers[layer])
		}
	}
	const file = "../../docs/layers.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(text), layersHeading)
	if *rewrite {
		text = []byte(before + page)
		if err := os.WriteFile(file, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if string(text) != before+page {
		t.Error("docs/layers.md has other classes of Keras than the registry; run make golden")
	}
}

// runBy returns the layer that a class becomes, by one of its samples, or else with no settings for an input of images.
func runBy(c class, name string) (layer string) {
	if c.module == nil {
		return ""
	}
	defer func() {
		if recover() != nil { // settings that a class requires
			layer = ""
		}
	}()
	l := Layer{Class: name, Name: "l", Config: map[string]any{}, InputShapes: [][]int{{4, 4, 4}}}
	if len(c.samples) > 0 {
		l = c.samples[0]
	}
	if m := c.module(settingsOf(&l), inputsOf(&l)); m != nil {
		return m.layer
	}
	return ""
}
