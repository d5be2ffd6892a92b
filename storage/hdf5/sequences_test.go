package hdf5

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
)

// TestSequences reads rows of variable length.
func TestSequences(t *testing.T) {
	f, err := Open("../../testdata/episodes.h5")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := f.Dataset("/ragged/rows")
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.Sequences()
	if err != nil {
		t.Fatal(err)
	}
	if s.Rows != 50 || s.MaxLen != 6 || s.Type != dtype.Int32 {
		t.Errorf("%d rows of up to %d %v, want 50 of 6 int32", s.Rows, s.MaxLen, s.Type)
	}
	lengths, err := s.Lengths()
	if err != nil || len(lengths) != 50 || slices.Max(lengths) != 6 {
		t.Errorf("lengths %v, %v; want those of 50 rows of up to 6", lengths, err)
	}
	for _, length := range []int{1, 4, 6, 9} {
		for first := range s.Rows {
			n := min(3, s.Rows-first)
			dst := make([]byte, n*length*4)
			for k := range dst {
				dst[k] = 0xff
			}
			if err := s.Read(dst, first, n, length); err != nil {
				t.Fatal(err)
			}
			for k := range n * length {
				row, i := first+k/length, k%length
				want := int32(0)
				if i < row%7 { // as make_episodes.py has it
					want = int32(row + 100*i)
				}
				if got := int32(binary.LittleEndian.Uint32(dst[4*k:])); got != want {
					t.Fatalf("length %d: element %d of row %d is %d, want %d", length, i, row, got, want)
				}
			}
		}
	}
	if err := s.Read(make([]byte, 8), 49, 2, 1); err == nil || !strings.Contains(err.Error(), "rows 49 to 50 of 50") {
		t.Errorf("rows beyond the end: %v", err)
	}
	for _, path := range []string{"/ragged/values", "/mask/train"} {
		d, err := f.Dataset(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Sequences(); !errors.Is(err, dtype.ErrType) {
			t.Errorf("%s: %v, want %v", path, err, dtype.ErrType)
		}
	}
}
