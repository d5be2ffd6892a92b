package dtype

import (
	"os"
	"strings"
	"testing"
)

// TestPromotionIsPyTorchs compares every pair of types, and of a type and a number, with PyTorch, and with NumPy
// where PyTorch has no answer: testdata/promotion.py wrote them.
func TestPromotionIsPyTorchs(t *testing.T) {
	text, err := os.ReadFile("testdata/promotion.txt")
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[string]Type{"bool": Bool, "int": Int64, "float": Float64, "complex": Complex128}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		a, _ := Parse(f[1])
		b, _ := Parse(f[2])
		promote := Promote
		if f[0] == "number" {
			b, promote = numbers[f[2]], PromoteNumber
		}
		want := f[3]
		if want == "-" {
			want = f[4]
		}
		if f[3] == "-" && (a == Complex64 || b == Complex64) { // with unsigned integers: as with signed ones
			want = "complex64"
		}
		if got, err := promote(a, b); err != nil || got.String() != want {
			t.Errorf("%s %s with %s: %v, %v; want %s", f[0], a, f[2], got, err, want)
		}
	}
	if _, err := PromoteNumber(Float8E4M3, Int64); err == nil {
		t.Error("float8 beside a number has a type")
	}
}
