package transform_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/all"
	"github.com/h5dnn/h5dnn/serialize/transform"
	"github.com/h5dnn/h5dnn/storage"
)

// checkpoint returns a file of weights, tied ones among them, and of optimizer state.
func checkpoint() *serialize.List {
	w := storage.From([]float32{1, -2, 1e9, 1e-9, 3, 6}, 2, 3)
	turned, _ := w.Transpose()
	list := serialize.NewList(0, nil, func() error { return nil })
	for _, e := range []serialize.Entry{
		{Name: "optim/m/w", Array: w}, {Name: "w", Array: w, Shared: "1"}, {Name: "bias", Array: storage.From([]float64{1e300, 5}, 2), Shared: "2"},
		{Name: "tied", Array: w, Shared: "1"}, {Name: "turned", Array: w.With(turned), Shared: "1"}, {Name: "optim/v/w", Array: w, Shared: "3"},
		{Name: "steps", Array: storage.From([]int64{7})}, {Name: "last", Array: storage.From([]float32{4, 8, 127, -1}, 2, 2)},
	} {
		list.Add(e, nil)
	}
	return list
}

// transforms change contents, and record what they report.
var transforms = map[string]func(c serialize.Contents, report func(args ...any)) serialize.Contents{
	"none": func(c serialize.Contents, _ func(...any)) serialize.Contents { return c },
	"strip": func(c serialize.Contents, report func(...any)) serialize.Contents {
		return transform.WithoutOptimizerState(c, transform.IsOptimizerState, func(e serialize.Entry) { report(e.Name) })
	},
	"cast": func(c serialize.Contents, report func(...any)) serialize.Contents {
		skip := func(name string) bool { report("skip", name); return transform.IsOptimizerState(name) }
		return transform.Cast(c, transform.CastOptions{To: dtype.Float16, Skip: skip, Lost: func(name string, l transform.RangeLoss) { report(name, l) }})
	},
	"quantize": func(c serialize.Contents, _ func(...any)) serialize.Contents {
		return transform.Quantize(c, transform.QuantizeOptions{Axis: func(name string) (int, bool) { return -1, name != "turned" }})
	},
	"strip and quantize": func(c serialize.Contents, report func(...any)) serialize.Contents {
		c = transform.WithoutOptimizerState(c, transform.IsOptimizerState, func(e serialize.Entry) { report(e.Name) })
		return transform.Quantize(c, transform.QuantizeOptions{})
	},
}

// TestChangedEntriesAreMadeAgain: a file of entries that are made again is the same as one of entries
// that are collected, and what is reported is.
func TestChangedEntriesAreMadeAgain(t *testing.T) {
	for name, change := range transforms {
		for _, format := range []string{"safetensors", "torch", "npz", "native"} {
			save := func(c serialize.Contents) (file []byte, reports []string) {
				var b bytes.Buffer
				c = change(c, func(args ...any) { reports = append(reports, fmt.Sprint(args...)) })
				if err := serialize.Write(&b, format, c); err != nil {
					t.Fatalf("%s, %s: %v", name, format, err)
				}
				return b.Bytes(), reports
			}
			collected, reports := save(serialize.Contents{Entries: checkpoint().All()})
			made, madeReports := save(transform.Of(checkpoint()))
			if !bytes.Equal(made, collected) {
				t.Errorf("%s, %s: %d bytes of entries that are made again, want %d other ones", name, format, len(made), len(collected))
			}
			if !reflect.DeepEqual(madeReports, reports) {
				t.Errorf("%s, %s: entries that are made again report\n%q, want\n%q", name, format, madeReports, reports)
			}
		}
	}
}

// TestEntriesAreMadeAgainByNumber, in any order and any number of times.
func TestEntriesAreMadeAgainByNumber(t *testing.T) {
	text := func(e serialize.Entry) string { return show(t, contents(e)) + " shared: " + e.Shared }
	for name, change := range transforms {
		c := change(transform.Of(checkpoint()), func(...any) {})
		var want []string
		for e, err := range c.Entries {
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, text(e))
		}
		for range 2 {
			for i := len(want) - 1; i >= 0; i-- {
				if e, err := c.At(i); err != nil || text(e) != want[i] {
					t.Errorf("%s: entry %d is %s, %v; want %s", name, i, text(e), err, want[i])
				}
			}
		}
		if _, err := c.At(len(want)); !errors.Is(err, storage.ErrState) {
			t.Errorf("%s: one more entry: %v", name, err)
		}
	}
}

// TestScalesOfEntriesMadeAgainAreKept: an array is not read for its scales whenever it is made.
func TestScalesOfEntriesMadeAgainAreKept(t *testing.T) {
	w, reads := counted(4, 2)
	list := serialize.NewList(0, nil, func() error { return nil })
	list.Add(serialize.Entry{Name: "w", Array: w}, nil)
	c := transform.Quantize(transform.Of(list), transform.QuantizeOptions{})
	for range c.Entries {
	}
	for range 5 {
		for i := range 2 {
			e, err := c.At(i)
			if _, err2 := storage.Read[float64](e.Array); err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
		}
	}
	if *reads != 1+5 { // for the scales, and for the elements
		t.Errorf("the array was read %d times, want 6", *reads)
	}
}

// TestEntriesThatAreNotMadeAgainAreErrors, with the reason.
func TestEntriesThatAreNotMadeAgainAreErrors(t *testing.T) {
	broken := errors.New("broken")
	again, given := false, error(nil)
	c := serialize.Contents{Entries: checkpoint().All(), At: func(i int) (serialize.Entry, error) {
		e, _ := checkpoint().At(i)
		return e, given
	}}
	c = transform.Replace(c, func(_ int, e serialize.Entry, err error, yield func(serialize.Entry, error) bool) bool {
		return again || yield(e, err)
	})
	for range c.Entries {
	}
	again = true
	if e, err := c.At(1); e.Name != "w" || !errors.Is(err, storage.ErrState) {
		t.Errorf("%q: %v", e.Name, err)
	}
	for _, again = range []bool{true, false} {
		given = broken
		if _, err := c.At(1); !errors.Is(err, broken) {
			t.Errorf("%v, want the error of the file", err)
		}
	}
}
