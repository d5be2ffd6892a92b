package arrayfmt

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// TestArraysPrintAsInNumPy compares with what NumPy 2 printed
// (testdata/make_numpy_print.py).
func TestArraysPrintAsInNumPy(t *testing.T) {
	file, err := os.Open("testdata/numpy_print.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	n := 0
	for ; lines.Scan(); n++ {
		var c struct {
			DType string
			Shape []int
			Hex   string
			Text  string
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		elem, err := dtype.Parse(c.DType)
		if err != nil {
			t.Fatal(err)
		}
		bytes, err := hex.DecodeString(c.Hex)
		if err != nil {
			t.Fatal(err)
		}
		a := storage.From(bytes, len(bytes))
		a.Type, a.View = elem, views.Of(c.Shape...)
		got, err := Format(a, LineWidth)
		if err != nil {
			t.Fatal(err)
		}
		if got != c.Text {
			t.Errorf("%v%v:\ngot  %s\nwant %s", elem, c.Shape, got, c.Text)
		}
	}
	if n < 100 || lines.Err() != nil {
		t.Errorf("%d cases, %v", n, lines.Err())
	}
}
