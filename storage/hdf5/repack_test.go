package hdf5

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
	"github.com/h5dnn/h5dnn/views"
)

// repackTo repacks a file, or returns why it cannot be.
func repackTo(name, out string, o RepackOptions) (RepackReport, error) {
	f, err := Open(name, Options{CacheBytes: 8 << 20})
	if err != nil {
		return RepackReport{}, err
	}
	defer f.Close()
	return f.Repack(context.Background(), out, o)
}

// contents describes everything in a file: kinds, types, shapes, attributes,
// links and values, but not how datasets are stored.
func contents(t *testing.T, name string, skip map[string]bool) map[string]string {
	t.Helper()
	f, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := map[string]string{"user block": string(f.peek(0, f.UserBlock()))}
	for o, err := range f.Walk() {
		if err != nil {
			t.Fatal(err)
		}
		if skip[o.Path] {
			continue
		}
		all[o.Path] = fmt.Sprint(o.Kind, o.Target, o.TargetFile, o.Comment())
		attrs, _ := o.Attributes()
		for _, a := range attrs {
			value, err := a.Value()
			all[o.Path+"@"+a.Name] = fmt.Sprint(a.Type, a.Shape, err, Format(value))
		}
		if o.Kind == KindDatatype {
			all[o.Path] += fmt.Sprint(o.Datatype())
		}
		if o.Kind != KindDataset {
			continue
		}
		d, err := o.Dataset()
		if err != nil {
			t.Fatal(err)
		}
		all[o.Path] += fmt.Sprint(d.Type, d.Shape, d.Fill)
		n, _ := d.Len()
		if values, err := d.Values(views.Of(d.Shape...)); err == nil && n < 1<<16 && d.Shape != nil {
			all[o.Path] += Format(values)
		}
	}
	return all
}

// TestRepackCarriesEverything copies files of every origin, as they are, in
// rows and in other chunks, and compares all that is in them.
func TestRepackCarriesEverything(t *testing.T) {
	names, _ := filepath.Glob("testdata/*.h5")
	names = append(names, "../../testdata/digits.h5", "../../testdata/tour.h5")
	for k, name := range corpusFiles(t, "official") {
		if k%4 == 3 || os.Getenv("H5DNN_ALL") != "" { // all take a minute
			names = append(names, name)
		}
	}
	names = append(names, corpusFiles(t, "filters", "jhdf", "netcdf", "pyfive")...)
	chunked := func(d *Dataset) (Layout, bool, error) {
		return Layout{Filters: []filter.Filter{filter.Shuffle(), filter.LZ4(), filter.Fletcher32()}}, true, nil
	}
	rows := func(d *Dataset) (Layout, bool, error) { return Layout{}, true, nil }
	copies, failed := 0, map[string]error{}
	for _, name := range names {
		for way, layout := range map[string]func(*Dataset) (Layout, bool, error){"as it is": nil, "rows": rows, "chunks": chunked} {
			out := filepath.Join(t.TempDir(), "out.h5")
			r, err := repackTo(name, out, RepackOptions{Layout: layout, Memory: 1 << 20, NoSync: true})
			if err != nil {
				failed[filepath.Base(name)+" "+way] = err
				continue
			}
			copies++
			left := map[string]bool{}
			for _, f := range slices.Concat(r.Skipped, r.Notes) {
				left[f.Path] = left[f.Path] || !strings.Contains(f.Message, "its type is its own") && !strings.Contains(f.Message, "deflate instead")
			}
			compareContents(t, fmt.Sprint(name, " ", way), contents(t, name, left), contents(t, out, left))
			if report := verified(t, out); len(report.Problems) > 0 {
				t.Errorf("%s %s: the copy has problems %v", name, way, report.Problems)
			}
		}
	}
	t.Logf("%d copies of %d files are the same", copies, len(names))
	for what, err := range failed {
		t.Logf("not copied: %s: %v", what, err)
	}
}

func compareContents(t *testing.T, what string, want, got map[string]string) {
	t.Helper()
	for path, w := range want {
		if g := got[path]; g != w {
			for k := range min(len(g), len(w)) {
				if g[k] != w[k] {
					g, w = g[max(0, k-100):], w[max(0, k-100):]
					break
				}
			}
			t.Errorf("%s: %s:\ngot  %.300s\nwant %.300s", what, path, g, w)
			return
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d things, want %d", what, len(got), len(want))
	}
}

// TestEncodedTypesAreTheSame says every type of every file anew.
func TestEncodedTypesAreTheSame(t *testing.T) {
	count := 0
	for _, name := range corpusFiles(t, "official", "jhdf", "netcdf", "pyfive") {
		f, err := Open(name)
		if err != nil {
			continue
		}
		defer f.Close()
		for o := range f.Walk() {
			if o.Kind != KindDataset {
				continue
			}
			d, err := o.Dataset()
			if err != nil {
				continue
			}
			message, err := d.Type.encode()
			if err != nil {
				t.Logf("%s: %s: %v", name, o.Path, err)
				continue
			}
			want := *d.Type
			want.Committed = false
			got, err := f.parseType(message)
			if err != nil || f.offset == 8 && !reflect.DeepEqual(*got, want) {
				t.Errorf("%s: %s: %v, got %v, want %v", name, o.Path, err, got, d.Type)
			}
			count++
		}
	}
	t.Logf("%d types", count)
}

// TestRepackKeepsMemberOrder: groups that track the order of their members keep it.
func TestRepackKeepsMemberOrder(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir+"/in.h5", CreateOptions{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/z", "/a", "/m"} {
		if err := w.Write(name, storage.From([]int32{1}, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := repackTo(dir+"/in.h5", dir+"/out.h5", RepackOptions{}); err != nil {
		t.Fatal(err)
	}
	f, err := Open(dir + "/out.h5")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	root, err := f.Root()
	if err != nil {
		t.Fatal(err)
	}
	links, err := root.links()
	want := map[string]int{"z": 0, "a": 1, "m": 2}
	for _, l := range links {
		if l.order != want[l.name] {
			t.Errorf("%s is member %d, want %d", l.name, l.order, want[l.name])
		}
	}
	if err != nil || len(links) != 3 {
		t.Errorf("%d links, %v", len(links), err)
	}
}

// TestDamagedFilesAreNotRepacked: an unreadable chunk is an error, and leaves nothing.
func TestDamagedFilesAreNotRepacked(t *testing.T) {
	for _, name := range corpusFiles(t, "hostile") {
		out := filepath.Join(t.TempDir(), "out.h5")
		if _, err := repackTo(name, out, RepackOptions{Memory: 1 << 20}); err == nil {
			continue
		}
		if left, _ := filepath.Glob(filepath.Dir(out) + "/*"); len(left) > 0 {
			t.Errorf("%s: left behind %v", name, left)
		}
	}
	sound := writeChecked(t)
	f, err := Open(sound)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stop, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := f.Repack(stop, sound+".out", RepackOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
