package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/kerasfile"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// TestCastCountsWhatBecomesInfiniteOrZero, in every format that is written, and leaves optimizer
// state as it is.
func TestCastCountsWhatBecomesInfiniteOrZero(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "w.npz")
	large := make([]float32, 3<<20) // several blocks
	for i := range large {
		large[i] = 1
	}
	large[0], large[2<<20] = 7e4, -1e5
	arrays := serialize.Entries(
		serialize.Entry{Name: "small", Array: storage.From([]float32{1, 1e-9, -2e-9, 0}, 4)},
		serialize.Entry{Name: "large", Array: storage.From(large, 3, 1<<20)},
		serialize.Entry{Name: "optim/exp_avg_sq/small", Array: storage.From([]float32{1e-9, 1e9}, 2)},
	)
	if err := serialize.Save(name, "", serialize.Contents{Entries: arrays}); err != nil {
		t.Fatal(err)
	}
	for i, ext := range []string{".npz", ".safetensors", ".pt", ".h5dn", ".h5", ".safetensors.index.json"} {
		out := filepath.Join(dir, "out"+ext)
		strict := [][]string{{}, {"--strict"}}[i%2]
		status, text, errs := in(t, t.Context(), append([]string{"cast", name, out, "--to", "f16"}, strict...)...)
		want := "large: 2 values lost: values up to 100000 became infinite, beyond the range of float16\n" +
			"small: 2 values lost: values up to 2e-09 became zero, too small for float16\n" +
			"3 arrays written to " + out + ", weights as float16 (1 array of optimizer state not cast), "
		if status != len(strict) || !strings.HasPrefix(text, want) {
			t.Errorf("%s: status %d, %s%s; want %s", ext, status, text, errs, want)
		}
		file, err := serialize.Open(out)
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range file.All() {
			if state := strings.Contains(e.Name, "optim/"); err != nil || state != (e.Array.Type == dtype.Float32) {
				t.Errorf("%s: %s as %v, %v", ext, e.Name, e.Array.Type, err)
			}
		}
		file.Close()
	}
}

// TestAxesOfOutputChannels are those of the flag, of the layers of Keras, and 0 otherwise.
func TestAxesOfOutputChannels(t *testing.T) {
	const zoo = "../../serialize/kerasfile/testdata/"
	file, err := serialize.Open(zoo + "keras3_cnn.keras")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	k := file.(*kerasfile.File)
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

// TestTransposedConvolutionsAreKnownByTheirBias: a state_dict has no classes.
func TestTransposedConvolutionsAreKnownByTheirBias(t *testing.T) {
	name := filepath.Join(t.TempDir(), "w.safetensors")
	var list []serialize.Entry
	for _, a := range []struct {
		name  string
		shape []int
	}{
		{"up.weight", []int{3, 4, 2, 2}}, {"up.bias", []int{4}},
		{"down.weight", []int{4, 3, 2, 2}}, {"down.bias", []int{4}},
		{"square.weight", []int{4, 4, 2}}, {"square.bias", []int{4}},
		{"alone.weight", []int{3, 4, 2}},
		{"linear.weight", []int{3, 4}}, {"linear.bias", []int{4}},
	} {
		list = append(list, serialize.Entry{Name: a.name, Array: storage.From(make([]float32, views.Of(a.shape...).Len()), a.shape...)})
	}
	if err := serialize.Save(name, "", serialize.Contents{Entries: serialize.Entries(list...)}); err != nil {
		t.Fatal(err)
	}
	file, err := serialize.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	axes, err := outputAxes(name, file, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		want := 0
		if e.Name == "up.weight" {
			want = 1
		}
		if got, ok := axes(e.Name); !ok || got != want {
			t.Errorf("%s: axis %d, %v; want %d", e.Name, got, ok, want)
		}
	}
}
