package anndata_test

import (
	"path/filepath"
	"testing"

	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// TestAttacks: each file has one object that lies, and is refused with its reason.
func TestAttacks(t *testing.T) {
	type writer = *hdf5write.Writer
	group := func(w writer, encoding string, arrays map[string]storage.Array) error {
		err := w.Group("/X", hdf5write.Attr{Name: "encoding-type", Value: encoding})
		for name, a := range arrays {
			if err == nil {
				err = w.Write("/X/"+name, a)
			}
		}
		return err
	}
	matrix := func(encoding string, shape []int64, indices []int64, offsets ...int64) func(writer) error {
		return func(w writer) error {
			err := group(w, encoding, map[string]storage.Array{
				"data": storage.From(make([]uint8, 2), 2), "indices": storage.From(indices, len(indices)), "indptr": storage.From(offsets, len(offsets)),
			})
			if err == nil {
				err = w.SetAttr("/X", "shape", shape)
			}
			return err
		}
	}
	two := []int64{0, 1}
	for name, attack := range map[string]struct {
		reason string
		fill   func(w writer) error
	}{
		"huge_shape":        {"overflows", matrix("csr_matrix", []int64{1 << 40, 1 << 40}, two, 0, 2)},
		"negative_shape":    {"want two sizes", matrix("csr_matrix", []int64{-1, 2}, two, 0, 2)},
		"one_size":          {"want two sizes", matrix("csr_matrix", []int64{2}, two, 0, 1, 2)},
		"rows_without_ends": {"offsets", matrix("csr_matrix", []int64{1 << 40, 2}, two, 0, 1, 2)},
		"offsets_descend":   {"want them to ascend", matrix("csr_matrix", []int64{2, 2}, two, 0, 2, 1)},
		"offsets_outside":   {"want them to ascend", matrix("csr_matrix", []int64{2, 2}, two, 0, 1, 1<<62)},
		"negative_offset":   {"want them to ascend", matrix("csr_matrix", []int64{2, 2}, two, -1, 1, 2)},
		"index_outside":     {"index 2 of a stored element, of 2", matrix("csr_matrix", []int64{2, 2}, []int64{0, 2}, 0, 1, 2)},
		"negative_index":    {"index -1 of a stored element", matrix("csc_matrix", []int64{2, 2}, []int64{0, -1}, 0, 1, 2)},
		"index_of_64_bits":  {"index 4294967297 of a stored element, of 2", matrix("csc_matrix", []int64{2, 2}, []int64{0, 1<<32 + 1}, 0, 1, 2)},
		"few_indices":       {"want as many integers as values", matrix("csr_matrix", []int64{2, 2}, []int64{0}, 0, 1, 2)},
		"members_missing":   {"no", func(w writer) error { return group(w, "csr_matrix", nil) }},
		"code_outside": {"code 7 of 2 categories", func(w writer) error {
			return group(w, "categorical", map[string]storage.Array{"codes": storage.From([]int8{0, 7}, 2), "categories": storage.From([]float32{1, 2}, 2)})
		}},
		"negative_code": {"code -2 of 2 categories", func(w writer) error {
			return group(w, "categorical", map[string]storage.Array{"codes": storage.From([]int8{0, -2}, 2), "categories": storage.From([]float32{1, 2}, 2)})
		}},
		"codes_of_floats": {"want integers", func(w writer) error {
			return group(w, "categorical", map[string]storage.Array{"codes": storage.From([]float32{0, 1}, 2), "categories": storage.From([]float32{1, 2}, 2)})
		}},
		"table_of_kinds": {"want one axis", func(w writer) error {
			return group(w, "categorical", map[string]storage.Array{"codes": storage.From([]int8{0, 1}, 2), "categories": storage.From([]float32{1, 2}, 1, 2)})
		}},
		"mask_of_other_size": {"want as many bools", func(w writer) error {
			return group(w, "nullable-integer", map[string]storage.Array{"values": storage.From([]int8{0, 7}, 2), "mask": storage.From([]uint8{1}, 1)})
		}},
		"link_to_itself": {"X", func(w writer) error {
			if err := group(w, "csr_matrix", nil); err != nil {
				return err
			}
			return w.SoftLink("/X/data", "/X/data")
		}},
	} {
		file := filepath.Join(t.TempDir(), name+".h5ad")
		w, err := hdf5write.Create(file, hdf5write.CreateOptions{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []error{w.SetAttr("/", "encoding-type", "anndata"), attack.fill(w), w.Close()} {
			if step != nil {
				t.Fatalf("%s: %v", name, step)
			}
		}
		serializetest.TestAttack(t, "anndata", file, attack.reason)
	}
}
