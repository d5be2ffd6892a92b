package h5ck

import (
	"errors"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// TestComparisonFindsTheFirstDifference of an index and the arrays that HDF5 has, in any order.
func TestComparisonFindsTheFirstDifference(t *testing.T) {
	entry := func(name string, elems ...float32) serialize.Entry {
		return serialize.Entry{Name: name, Array: storage.From(elems, len(elems))}
	}
	list := serialize.NewList(0, nil, func() error { return nil })
	for _, name := range []string{"a", "b", "c"} {
		if err := list.Add(entry(name, 1, 2), nil); err != nil {
			t.Fatal(err)
		}
	}
	a, b, c := entry("a", 1, 2), entry("b", 1, 2), entry("c", 1, 2)
	typed, described := entry("b"), b
	typed.Array, described.Attrs = storage.From([]int64{1, 2}, 2), map[string]any{"role": "param"}
	for _, test := range []struct {
		others []serialize.Entry
		failed error // of b
		want   string
	}{
		{others: []serialize.Entry{a, b, c}},
		{others: []serialize.Entry{c, b, a}},
		{others: []serialize.Entry{a, b}, want: "the index has 3 arrays, HDF5 2"},
		{others: []serialize.Entry{a, b, c, entry("d")}, want: "the index has 3 arrays, HDF5 4"},
		{others: []serialize.Entry{a, b, entry("d")}, want: `"c" is in the index and not in HDF5`},
		{others: []serialize.Entry{a, b, b}, want: `duplicate name "b"`},
		{others: []serialize.Entry{entry("c", 1), entry("b", 1), a}, want: `"b": float32[2] in the index, float32[1] in HDF5`},
		{others: []serialize.Entry{entry("b", 1), entry("c", 1), a}, want: `"b": float32[2] in the index, float32[1] in HDF5`},
		{others: []serialize.Entry{entry("d"), entry("b", 1), c}, want: `"a" is in the index and not in HDF5`},
		{others: []serialize.Entry{a, entry("b", 1), entry("d")}, want: `"b": float32[2] in the index`},
		{others: []serialize.Entry{a, typed, c}, want: `"b": float32[2] in the index, int64[2] in HDF5`},
		{others: []serialize.Entry{a, described, c}, want: `"b": attributes map[] in the index, map[role:param] in HDF5`},
		{others: []serialize.Entry{a, b, c}, failed: errors.New("damaged"), want: `"b": damaged`},
	} {
		var err error
		others := serialize.NewList(0, nil, nil)
		for _, e := range test.others {
			var failed error
			if e.Name == "b" {
				failed = test.failed
			}
			if err = others.Add(e, failed); err != nil {
				break
			}
		}
		if err == nil {
			err = compareLists(list, others)
		}
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%v: %v, want %q", test.others, err, test.want)
		}
	}
}
