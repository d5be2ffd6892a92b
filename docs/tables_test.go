package docs_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// preamble declares what the page says that its code uses.
const preamble = `package rows

import (
	"fmt"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensor/autograd"
	"github.com/h5dnn/h5dnn/tensor/fft"
	"github.com/h5dnn/h5dnn/tensor/linalg"
	"github.com/h5dnn/h5dnn/tensor/sparse"
	"github.com/h5dnn/h5dnn/tensors"
)

var (
	x, y, z, a, mask, i *tensor.Tensor
	xs                  []*tensor.Tensor
	buffer              []float32
	F                   = dtype.Float32
	model               nn.Module
	d                   dataset.Dataset
)

func f(xs ...*tensor.Tensor) *tensor.Tensor { return xs[0] }

var (
	_ = fmt.Println
	_ = autograd.Jacobian
	_ = fft.FFT
	_ = linalg.Inv
	_ = sparse.ToSparse
	_ = tensors.Load
)
`

// TestTheTableFromOtherLibrariesCompiles: each row's code in Go, with at least 200 rows.
func TestTheTableFromOtherLibrariesCompiles(t *testing.T) {
	const page = "from-numpy-and-pytorch.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile("^\\|.*\\| `([^`]*)` \\|$")
	source := preamble
	rows := 0
	for n, line := range strings.Split(string(text), "\n") {
		if m := code.FindStringSubmatch(line); m != nil {
			source += fmt.Sprintf("\nfunc _() {\n//line %s:%d\n%s\n}\n", page, n+1, m[1])
			rows++
		}
	}
	if rows < 200 {
		t.Errorf("%d rows, want 200", rows)
	}
	dir := t.TempDir()
	file, overlay := filepath.Join(dir, "rows.go"), filepath.Join(dir, "overlay.json")
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	replaced, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(here, "rows", "rows.go"): file}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{file: []byte(source), overlay: replaced} {
		if err := os.WriteFile(name, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("go", "build", "-gcflags=-e", "-overlay", overlay, "./rows").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
