package tensors_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/pythontest"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensor/sparse"
	"github.com/h5dnn/h5dnn/tensors"
)

// TestSparseMatricesOfAnnData: matrices of files that AnnData wrote, of two versions, beside the dense tensors of Open.
func TestSparseMatricesOfAnnData(t *testing.T) {
	for _, name := range []string{"old06.h5ad", "old07.h5ad"} {
		file := "../serialize/anndata/testdata/" + name
		s, err := tensors.LoadCSR(file, "X")
		if err != nil {
			t.Error(err)
			continue
		}
		dense, err := tensors.Open(file, "X")
		if err != nil {
			t.Fatal(err)
		}
		if got, want := tensor.Values[float64](s.ToDense()), tensor.Values[float64](dense); !slices.Equal(got, want) || s.NNZ() == 0 {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestSparseMatricesAreWrittenForAnnData(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.h5ad")
	x := tensor.FromSlice([]float32{1, 0, 0, -2, 0, 0, 0, 0, 3, 0, 4, 5}, 3, 4)
	w, err := tensors.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.WriteCSR("X", sparse.ToSparse(x).ToCSR()), w.Write(t.Context(), "y", x, tensors.Layout{}), w.Close()); err != nil {
		t.Fatal(err)
	}
	s, err := tensors.LoadCSR(file, "/X")
	if err != nil {
		t.Fatal(err)
	}
	if got := s.ToDense(); !slices.Equal(tensor.Values[float32](got), tensor.Values[float32](x)) || got.DType() != dtype.Float32 {
		t.Errorf("read again: %v", got)
	}
	if _, err := tensors.LoadCSR(file, "y"); err == nil || !strings.Contains(err.Error(), "want csr_matrix or csc_matrix") {
		t.Errorf("a dense dataset: error %v", err)
	}
	got := pythontest.Run(t, []string{"h5py", "scipy"}, fmt.Sprintf(`import h5py, scipy.sparse
with h5py.File(%q) as f:
    g = f["X"]
    print(g.attrs["encoding-type"], scipy.sparse.csr_matrix((g["data"][:], g["indices"][:], g["indptr"][:]), shape=g.attrs["shape"]).toarray().tolist())`, file))
	if want := "csr_matrix [[1.0, 0.0, 0.0, -2.0], [0.0, 0.0, 0.0, 0.0], [3.0, 0.0, 4.0, 5.0]]\n"; got != want {
		t.Errorf("SciPy has %q, want %q", got, want)
	}
}
