package sparse_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/sparse"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Example reads a row of a matrix of SciPy: csr_matrix([[0, 5, 0], [0, 0, 0], [7, 0, 8]]).
func Example() {
	m := sparse.Matrix{
		Name: "example", Rows: 3, Columns: 3,
		Values:  storage.From([]float32{5, 7, 8}, 3),
		Indices: storage.From([]int32{1, 0, 2}, 3),
		Offsets: storage.From([]int32{0, 1, 1, 3}, 4),
	}
	a, err := m.Array()
	if err != nil {
		panic(err)
	}
	row, _ := a.Select(0, 2)
	elems, err := storage.Read[float32](a.With(row))
	fmt.Println(a.Shape, elems, err)
	// Output: [3 3] [7 0 8] <nil>
}

// TestEveryViewIsThatOfTheDenseMatrix reads random views of random matrices, compressed
// along either axis.
func TestEveryViewIsThatOfTheDenseMatrix(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		rows, columns := r.IntN(7), r.IntN(7)
		dense := make([]int16, rows*columns)
		for range rows * columns / 2 {
			dense[r.IntN(len(dense))] = int16(r.IntN(100))
		}
		want := storage.From(dense, rows, columns)
		for _, byColumns := range []bool{false, true} {
			a, err := compress(want, byColumns).Array()
			if err != nil {
				t.Fatal(err)
			}
			for range 10 {
				v := randomView(r, want.View)
				got, err := storage.Read[int16](a.With(v))
				expected, err2 := storage.Read[int16](want.With(v))
				if err != nil || err2 != nil || !slices.Equal(got, expected) {
					t.Fatalf("%d × %d, by columns %v, view %v: %v, %v; want %v, %v", rows, columns, byColumns, v, got, err, expected, err2)
				}
			}
		}
	}
}

// TestColumnsTooLargeForMemoryAreScanned reads with a budget that allows no copy.
func TestColumnsTooLargeForMemoryAreScanned(t *testing.T) {
	want := storage.From([]int16{0, 1, 2, 0, 0, 3}, 3, 2)
	m := compress(want, true)
	m.Budget = storage.NewBudget(1)
	m.Offsets = storage.From([]int64{0, 1, 3}, 3)
	a, err := m.Array()
	if err != nil {
		t.Fatal(err)
	}
	got, err := storage.Read[int16](a)
	if err != nil || !slices.Equal(got, storage.Elements[int16](want)) {
		t.Fatalf("%v, %v", got, err)
	}
}

// compress returns a as a compressed matrix.
func compress(a storage.Array, byColumns bool) sparse.Matrix {
	v := a.View
	if byColumns {
		v, _ = v.Transpose(1, 0)
	}
	m := sparse.Matrix{Name: "m", Rows: a.Shape[0], Columns: a.Shape[1], ByColumns: byColumns}
	var values []int16
	var indices []int32
	offsets := []int64{0}
	for i := range v.Shape[0] {
		for j := range v.Shape[1] {
			if x := storage.Elements[int16](a)[v.Offset+i*v.Stride[0]+j*v.Stride[1]]; x != 0 {
				values, indices = append(values, x), append(indices, int32(j))
			}
		}
		offsets = append(offsets, int64(len(values)))
	}
	m.Values, m.Indices, m.Offsets = storage.From(values, len(values)), storage.From(indices, len(values)), storage.From(offsets, len(offsets))
	return m
}

// randomView returns a part of v: sliced, flipped, transposed, broadcast, flattened.
func randomView(r *rand.Rand, v views.View) views.View {
	for range r.IntN(4) {
		var w views.View
		var err error
		switch r.IntN(6) {
		case 0:
			axis := r.IntN(max(1, v.Rank()))
			if axis >= v.Rank() || v.Shape[axis] == 0 {
				continue
			}
			start := r.IntN(v.Shape[axis])
			w, err = v.Slice(axis, start, start+r.IntN(v.Shape[axis]-start)+1, 1+r.IntN(3))
		case 1:
			w, err = v.Flip(r.IntN(max(1, v.Rank())))
		case 2:
			w, err = v.Transpose()
		case 3:
			w, err = v.Unsqueeze(r.IntN(v.Rank() + 1))
		case 4:
			w, err = v.Reshape(v.Len())
		case 5:
			var ok bool
			if w, ok = v.Broadcast(append([]int{2}, v.Shape...)...); !ok {
				continue
			}
		}
		if err == nil {
			v = w
		}
	}
	return v
}

func TestDamagedMatricesAreErrors(t *testing.T) {
	good := func() sparse.Matrix {
		return compress(storage.From([]int16{0, 1, 2, 0, 0, 3}, 3, 2), false)
	}
	for name, test := range map[string]struct {
		damage func(m *sparse.Matrix)
		want   string
	}{
		"fewer offsets":     {func(m *sparse.Matrix) { m.Offsets = storage.From([]int64{0, 1, 2}, 3) }, "want 4 integers"},
		"offsets descend":   {func(m *sparse.Matrix) { m.Offsets = storage.From([]int64{0, 2, 1, 3}, 4) }, "ascend"},
		"offsets too large": {func(m *sparse.Matrix) { m.Offsets = storage.From([]int64{0, 2, 3, 4}, 4) }, "ascend"},
		"fewer indices":     {func(m *sparse.Matrix) { m.Indices = storage.From([]int32{1, 0}, 2) }, "as many integers"},
		"a large index":     {func(m *sparse.Matrix) { m.Indices = storage.From([]int32{1, 0, 2}, 3) }, "index 2"},
		"a negative index":  {func(m *sparse.Matrix) { m.Indices = storage.From([]int32{1, -1, 1}, 3) }, "index -1"},
		"a huge shape":      {func(m *sparse.Matrix) { m.Rows, m.Columns = 1<<40, 1<<40 }, "too many"},
	} {
		m := good()
		test.damage(&m)
		a, err := m.Array()
		if err == nil {
			_, err = storage.Read[int16](a)
		}
		if err == nil || name != "a huge shape" && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v; want %q", name, err, test.want)
		}
	}
}

// BenchmarkRows reads batches of random rows of a matrix like those of single cells.
func BenchmarkRows(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	const rows, columns, stored = 2000, 20000, 1000
	m := sparse.Matrix{Name: "m", Rows: rows, Columns: columns}
	values, indices, offsets := make([]float32, rows*stored), make([]int32, rows*stored), make([]int64, rows+1)
	for i := range indices {
		indices[i], values[i] = int32(r.IntN(columns)), 1
	}
	for i := range offsets {
		offsets[i] = int64(i * stored)
	}
	m.Values, m.Indices, m.Offsets = storage.From(values, len(values)), storage.From(indices, len(indices)), storage.From(offsets, len(offsets))
	a, err := m.Array()
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(64 * columns * 4)
	dst := make([]byte, columns*4)
	for b.Loop() {
		for range 64 {
			v, _ := a.View.Select(0, r.IntN(rows))
			if err := a.Data.(storage.Source).ReadView(dst, dtype.Float32, v); err != nil {
				b.Fatal(err)
			}
		}
	}
	if !bytes.Contains(dst, []byte{0}) {
		b.Fatal("a row is dense")
	}
}

// TestHugeMatrices: a matrix of 2^61 rows of a byte is read by its columns, where 8 bytes for
// each row would overflow.
func TestHugeMatrices(t *testing.T) {
	for _, rows := range []int{1 << 40, 1 << 60, 1 << 61, 1<<62 - 1} {
		m := sparse.Matrix{
			Name: "huge", Rows: rows, Columns: 1, ByColumns: true,
			Values: storage.From([]uint8{7}, 1), Indices: storage.From([]int64{1}, 1), Offsets: storage.From([]int64{0, 1}, 2),
		}
		a, err := m.Array()
		if err != nil {
			t.Fatal(err)
		}
		if a.View, err = a.View.Slice(0, 0, 2, 1); err != nil {
			t.Fatal(err)
		}
		if got, err := storage.Read[uint8](a); err != nil || !slices.Equal(got, []uint8{0, 7}) {
			t.Errorf("%d rows: %v, %v", rows, got, err)
		}
	}
}

// TestMappedColumns: the columns of a matrix that is compressed by rows in another order, with some left out and others 0.
func TestMappedColumns(t *testing.T) {
	dense := storage.From([]int16{0, 1, 2, 3, 0, 4}, 2, 3)
	a, err := compress(dense, false).Array()
	if err != nil {
		t.Fatal(err)
	}
	mapped, ok := sparse.MapColumns(a, []int32{3, -1, 0}, 5)
	if !ok {
		t.Fatal("not mapped")
	}
	got, err := storage.Read[int16](mapped)
	if want := []int16{2, 0, 0, 0, 0, 4, 0, 0, 3, 0}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	byColumns, err := compress(dense, true).Array()
	if err != nil {
		t.Fatal(err)
	}
	for name, other := range map[string]storage.Array{"by columns": byColumns, "dense": dense, "mapped already": mapped} {
		if _, ok := sparse.MapColumns(other, []int32{3, -1, 0}, 5); ok {
			t.Errorf("%s: mapped", name)
		}
	}
}
