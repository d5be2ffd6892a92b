package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/keras"
	"github.com/h5dnn/h5dnn/storage"
)

// TestCastSaysWhatBecomesInfinite, with the arrays that it happens to.
func TestCastSaysWhatBecomesInfinite(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "w.npz")
	arrays := serialize.Entries(serialize.Entry{Name: "small", Array: storage.From([]float32{1, 2}, 2)}, serialize.Entry{Name: "large", Array: storage.From([]float32{7e4, -1e5}, 2)})
	if err := serialize.Save(name, "", serialize.Contents{Entries: arrays}); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{}, {"--strict"}} {
		status, out, errs := in(t, t.Context(), append([]string{"cast", name, filepath.Join(dir, fmt.Sprint(len(args), ".npz")), "--to", "f16"}, args...)...)
		if want := "large: 1 value lost: values up to 100000 became infinite, beyond the range of float16\n2 arrays"; status != len(args) || !strings.HasPrefix(out, want) {
			t.Errorf("%v: status %d, %s%s; want %s", args, status, out, errs, want)
		}
	}
}

// TestAxesOfOutputChannels are those of the flag, of the layers of Keras, and 0 otherwise.
func TestAxesOfOutputChannels(t *testing.T) {
	const zoo = "../../serialize/keras/testdata/"
	file, err := serialize.Open(zoo + "keras3_cnn.keras")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	k := file.(*keras.File)
	var dense, convolution string
	for path, l := range k.Model().All() {
		switch l.Class {
		case "Dense":
			dense = path + "/kernel"
		case "Conv2D":
			convolution = path + "/kernel"
			l.Class = "Conv2DTranspose"
		}
	}
	npz, err := serialize.Open("../../serialize/torch/testdata/checkpoint.pt")
	if err != nil {
		t.Fatal(err)
	}
	defer npz.Close()
	for _, c := range []struct {
		file  serialize.File
		flags []string
		name  string
		want  int
	}{
		{k, nil, dense, -1},
		{k, nil, convolution, -2},
		{k, []string{"3"}, convolution, 3},
		{npz, nil, "0.weight", 0},
		{npz, []string{"up.*=1", "up.0.weight=2"}, "up.1.weight", 1},
		{npz, []string{"up.*=1", "up.0.weight=2"}, "up.0.weight", 2},
		{npz, []string{"up.*=1"}, "upper.weight", 0},
	} {
		rules, err := parseAxes(c.flags)
		if err != nil {
			t.Fatal(err)
		}
		axes, err := outputAxes("", c.file, rules)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := axes(c.name); !ok || got != c.want {
			t.Errorf("%v: axis %d of %s, %v; want %d", c.flags, got, c.name, ok, c.want)
		}
		if _, ok := axes("optimizer/state/0/exp_avg"); ok {
			t.Error("optimizer state has output channels")
		}
	}
	if _, err := parseAxes([]string{"a=b"}); err == nil {
		t.Error("a=b is an axis")
	}
}
