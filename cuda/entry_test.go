package cuda_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/cuda/ptx"
)

// FuzzEntries compares the entries read of a module with those of its parser,
// where that understands the module; comments may say anything.
func FuzzEntries(f *testing.F) {
	text, err := os.ReadFile("testdata/softsign.ptx")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add(".visible .entry k(.param .align 8 .b8 x[24],\n\t.param .f64 y ) .maxntid 256, 1, 1 { ret; }\n.visible .entry none(){}")
	f.Fuzz(func(t *testing.T, text string) {
		found := cuda.Entries(text)
		m, err := ptx.Parse(text)
		if err != nil || strings.Contains(text, "//") || strings.Contains(text, "/*") {
			return
		}
		for name, k := range m.Kernels {
			sizes := []int{}
			for _, p := range k.Params {
				sizes = append(sizes, p.Size)
			}
			if got, ok := found[name]; !ok || !slices.Equal(got, sizes) {
				t.Errorf("entry %s takes %v; found %v, of sizes %v", name, sizes, ok, got)
			}
		}
		if len(found) != len(m.Kernels) {
			t.Errorf("found %v, want the names of %v", found, m.Kernels)
		}
	})
}
