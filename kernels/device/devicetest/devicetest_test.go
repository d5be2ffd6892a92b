package devicetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/kernels/device/source"
)

// TestLayoutsAreOfTheseSources fails where "make ptx" was forgotten.
func TestLayoutsAreOfTheseSources(t *testing.T) {
	hash, err := source.Hash("..")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(layouts, "// From sources "+hash+" ") {
		t.Error("layouts.txt is of other sources: run make ptx")
	}
}

// recorder is a test that keeps its errors.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(f string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(f, args...))
}

// TestDifferencesAreFound: other offsets, sizes, orders and names.
func TestDifferencesAreFound(t *testing.T) {
	for want, twin := range map[string]any{
		"":           struct{ Magic, Shift uint32 }{},
		"bytes in":   struct{ Magic, Shift uint64 }{},
		"field 0 is": struct{ Shift, Magic uint32 }{},
		"field 1 is": struct{ Magic, Other uint32 }{},
	} {
		r := &recorder{TB: t}
		Check(r, "Divisor", twin)
		if said := strings.Join(r.errors, "\n"); want == "" && said != "" || !strings.Contains(said, want) {
			t.Errorf("%T: %q; want %q", twin, said, want)
		}
	}
	r := &recorder{TB: t}
	if Check(r, "Nothing", struct{}{}); len(r.errors) != 1 {
		t.Errorf("%q; want one error", r.errors)
	}
}

func Example() {
	var t testing.TB                           // of the test
	type divisor struct{ Magic, Shift uint32 } // Divisor of grid.cuh
	if t != nil {
		Check(t, "Divisor", divisor{})
	}
	// Output:
}
