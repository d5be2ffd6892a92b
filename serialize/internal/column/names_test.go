package column_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/serialize/internal/column"
)

// TestDistinctNames: the first column of a name keeps it, and no other column loses its own.
func TestDistinctNames(t *testing.T) {
	for want, names := range map[string][]string{
		`["a" "b"]`:                   {"a", "b"},
		`["x" "x.1" "x.2"]`:           {"x", "x", "x"},
		`["x" "x.2" "x.1" "x.3"]`:     {"x", "x", "x.1", "x"},
		`["x.1" "x" "x.2" "x.1.1"]`:   {"x.1", "x", "x", "x.1"},
		`["" ".1" "y"]`:               {"", "", "y"},
		`["x" "x.1" "x.1.1" "x.1.2"]`: {"x", "x.1", "x.1", "x.1"},
	} {
		got := column.Distinct(names)
		if fmt.Sprintf("%q", got) != want {
			t.Errorf("%q become %q, want %s", names, got, want)
		}
	}
	many := column.Distinct(slices.Repeat([]string{"x"}, 100_000))
	if many[99_999] != "x.99999" {
		t.Errorf("the last of many is %q", many[99_999])
	}
}
