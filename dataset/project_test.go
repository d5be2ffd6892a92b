package dataset

import (
	"bytes"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// TestProjectionsAreFieldsOfTheirDataset: a projection of any dataset, loaded or read, has the
// bytes of the fields that it was made of, and reads no chunk of the others.
func TestProjectionsAreFieldsOfTheirDataset(t *testing.T) {
	for _, s := range specimens(t, 40) {
		whole := must[*Batch](t)(NewBatch(s.d, s.d.Len()))
		for row := range whole.Rows {
			whole.Rows[row] = row
		}
		if err := s.d.Read(*whole, whole.Rows); err != nil {
			t.Fatal(err)
		}
		for _, fields := range [][]int{{1}, {0}, {1, 0}} {
			for _, fake := range s.fakes {
				clear(fake.decoded)
			}
			d := Project(s.d, fields...)
			if len(fields) == 2 {
				d, fields = Project(d, 1), fields[1:]
			}
			var read [2][]byte
			for b, err := range Load(t.Context(), d, Options{BatchSize: 7, Shuffle: None}) {
				if err != nil {
					t.Fatalf("%s: %v", s.name, err)
				}
				if len(b.Fields) != len(fields) {
					t.Fatalf("%s: %d fields, want %d", s.name, len(b.Fields), len(fields))
				}
				for i, a := range b.Fields {
					part, _ := a.Bytes()
					read[i] = append(read[i], part...)
				}
			}
			for i, k := range fields {
				if !d.Fields()[i].Equal(s.d.Fields()[k]) || !bytes.Equal(read[i], whole.data[k]) {
					t.Errorf("%s: field %d of the projection on %v differs from field %d", s.name, i, fields, k)
				}
			}
			_, foreign := s.d.(opaque)
			if !foreign && slices.Equal(fields, []int{1}) && len(s.fakes) > 0 && len(s.fakes[0].decoded) > 0 {
				t.Errorf("%s: the labels were read, and %d chunks of the inputs", s.name, len(s.fakes[0].decoded))
			}
		}
	}
}

// TestBatchesOfPassesAreBounded: the elements of a batch as float64 take at most passBytes, or
// are of one sample.
func TestBatchesOfPassesAreBounded(t *testing.T) {
	for _, elements := range []int{0, 1, 100, 512 * 512 * 3, passBytes} {
		d := opaque{must[Dataset](t)(FromArrays(input("x", zerosOf(3000, elements))))}
		n := Options{}.InOrder(d).BatchSize
		if n < 1 || n > d.Len() || n > 1 && n*elements*8 > passBytes || n < min(d.Len(), passBytes/8/max(1, elements)) {
			t.Errorf("samples of %d elements: batches of %d", elements, n)
		}
	}
}

// zerosOf returns n samples, which are one and the same, of zeros.
func zerosOf(n, elements int) storage.Array {
	return storage.Array{Data: storage.From(make([]uint8, elements), elements).Data, Type: dtype.Uint8, View: views.View{Shape: []int{n, elements}, Stride: []int{0, 1}}}
}
