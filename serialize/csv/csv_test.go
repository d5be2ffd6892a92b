package csv_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/csv"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

func Example() {
	if err := csv.Write(os.Stdout, storage.From([]float32{1, 2.5, 3, 1e-7}, 2, 2)); err != nil {
		panic(err)
	}
	// Output:
	// 1.0,2.5
	// 3.0,1e-07
}

func TestTextsAreQuoted(t *testing.T) {
	texts := []any{"a", `b "c"`, "d,e"}
	e := serialize.Entry{Name: "names", Elements: &serialize.Elements{View: views.Of(3), Type: "string", Values: func(v views.View) ([]any, error) { return texts[:v.Len()], nil }}}
	var out bytes.Buffer
	err := serialize.Write(&out, "csv", serialize.Contents{Entries: func(yield func(serialize.Entry, error) bool) { yield(e, nil) }})
	if want := "a\n\"b \"\"c\"\"\"\n\"d,e\"\n"; err != nil || out.String() != want {
		t.Errorf("%q, %v; want %q", out.String(), err, want)
	}
}

func TestTablesHaveTwoAxes(t *testing.T) {
	err := csv.Write(new(bytes.Buffer), storage.From(make([]int32, 8), 2, 2, 2))
	if err == nil {
		t.Error("an array of three axes became a table")
	}
	two := map[string]storage.Array{"a": storage.From([]int32{1}), "b": storage.From([]int32{2})}
	err = serialize.Write(new(bytes.Buffer), "csv", serialize.Contents{Entries: serialize.Arrays(func(yield func(string, storage.Array) bool) {
		_ = yield("a", two["a"]) && yield("b", two["b"])
	})})
	if !errors.Is(err, storage.ErrState) {
		t.Error(fmt.Errorf("two arrays: %w", err))
	}
}
