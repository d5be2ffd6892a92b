package convert_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/convert"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/arrow"
	_ "github.com/h5dnn/h5dnn/serialize/csv"
	_ "github.com/h5dnn/h5dnn/serialize/npy"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// TestValuesThatTheFormatLacksLoseTheirArray, and no other. A dry run says so, too.
func TestValuesThatTheFormatLacksLoseTheirArray(t *testing.T) {
	texts := func(name string, list ...any) serialize.Entry {
		values := func(v views.View) (some []any, err error) {
			for at := range v.Positions() {
				some = append(some, list[at])
			}
			return some, nil
		}
		return serialize.Entry{Name: name, Elements: &serialize.Elements{View: views.Of(len(list)), Type: "string", Values: values}}
	}
	in := filepath.Join(t.TempDir(), "in.arrow")
	entries := serialize.Entries(texts("end", "a", "b", "c\x00"), texts("middle", "a\x00b", "", ""), serialize.Entry{Name: "x", Array: storage.From([]float64{1, 2, 3}, 3)})
	if err := serialize.Save(in, "arrow", serialize.Contents{Entries: entries}); err != nil {
		t.Fatal(err)
	}
	file, err := inspect.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for format, want := range map[string]string{
		"npz": `[/end: 1 array lost: element [2]: "c\x00" ends in a zero byte, which NumPy would cut off; write .arrow or .parquet]`,
		"csv": `[/end: 1 array lost: element [2]: "c\x00" has a zero byte, which text files do not have; write .arrow or .parquet ` +
			`/middle: 1 array lost: element [0]: "a\x00b" has a zero byte, which text files do not have; write .arrow or .parquet]`,
	} {
		plan, err := convert.New(context.Background(), file, "/", format, convert.Options{Verify: true})
		if err != nil {
			t.Errorf("%s: %v", format, err)
			continue
		}
		kinds := strings.NewReplacer(": "+dtype.ErrType.Error(), "", ": "+storage.ErrState.Error(), "")
		if got := kinds.Replace(fmt.Sprint(plan.Lost)); got != want {
			t.Errorf("%s: lost %s, want %s", format, got, want)
		}
		if err := plan.Write(context.Background(), filepath.Join(t.TempDir(), "out."+format)); err != nil {
			t.Errorf("%s: %v", format, err)
		}
	}
}

// TestVerifyComparesStructures: another value in OUT is found, NaNs are equal. OUT has the types of the fields.
func TestVerifyComparesStructures(t *testing.T) {
	header := "\x93NUMPY\x01\x00\x76\x00{'descr': [('a', '<f4'), ('b', '<i2', (2,)), ('c', '|S3')], 'fortran_order': False, 'shape': (2,), }"
	for len(header) < 127 {
		header += " "
	}
	record := "\x00\x00\xc0\x7f\x01\x00\x02\x00abc"
	in := filepath.Join(t.TempDir(), "in.npy")
	if err := os.WriteFile(in, []byte(header+"\n"+record+record), 0o666); err != nil {
		t.Fatal(err)
	}
	file, err := inspect.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	out := filepath.Join(t.TempDir(), "out.npz")
	plan, err := convert.New(context.Background(), file, "/", "npz", convert.Options{Verify: true})
	if err == nil {
		err = plan.Write(context.Background(), out)
	}
	if err != nil {
		t.Fatal(err)
	}
	written, err := inspect.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer written.Close()
	read, err1 := file.Find("/")
	kept, err2 := written.Find("/in")
	if got, want := fmt.Sprint(kept.Elements.Fields), fmt.Sprint(read.Elements.Fields); err1 != nil || err2 != nil || got != want {
		t.Errorf("fields %s, want %s; %v, %v", got, want, err1, err2)
	}
	other := filepath.Join(t.TempDir(), "other.npy")
	if err := os.WriteFile(other, []byte(header+"\n"+record+record[:4]+"\x02\x00\x02\x00abc"), 0o666); err != nil {
		t.Fatal(err)
	}
	changed, err := inspect.Open(other)
	if err != nil {
		t.Fatal(err)
	}
	defer changed.Close()
	a, err1 := file.Find("/")
	b, err2 := changed.Find("/")
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := convert.SameData(context.Background(), a.Entry, b.Entry); err == nil {
		t.Error("structures with other values are equal")
	}
	if err := convert.SameData(context.Background(), a.Entry, a.Entry); err != nil {
		t.Error(err)
	}
}
