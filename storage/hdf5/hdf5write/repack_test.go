package hdf5write

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5test"
	"github.com/h5dnn/h5dnn/views"
)

// repackTo repacks the named file.
func repackTo(name, out string, o RepackOptions) (RepackReport, error) {
	f, err := hdf5.Open(name, hdf5.Options{CacheBytes: 8 << 20})
	if err != nil {
		return RepackReport{}, err
	}
	defer f.Close()
	return Repack(context.Background(), f, out, o)
}

// contents describes everything in a file: kinds, types, shapes, attributes, links and
// values, but not layouts.
func contents(t *testing.T, name string, skip map[string]bool) map[string]string {
	t.Helper()
	f, err := hdf5.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := map[string]string{"user block": userBlock(f)}
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
			all[o.Path+"@"+a.Name] = fmt.Sprint(a.Type, a.Shape, err, hdf5.Format(value))
		}
		if o.Kind == hdf5.KindDatatype {
			all[o.Path] += fmt.Sprint(o.Datatype())
		}
		if o.Kind != hdf5.KindDataset {
			continue
		}
		d, err := o.Dataset()
		if err != nil {
			t.Fatal(err)
		}
		if all[o.Path] += fmt.Sprint(d.Type, d.Shape); !hasPointers(d.Type) {
			all[o.Path] += fmt.Sprint(d.Fill)
		}
		n, _ := d.Len()
		if values, err := d.Values(views.Of(d.Shape...)); err == nil && n < 1<<16 && d.Shape != nil {
			all[o.Path] += hdf5.Format(values)
		}
	}
	return all
}

// TestRepackCopiesEverything copies files of every origin, with their layouts,
// contiguous, and in other chunks, and compares their contents.
func TestRepackCopiesEverything(t *testing.T) {
	names, _ := filepath.Glob("../testdata/*.h5")
	names = append(names, "../../../testdata/digits.h5", "../../../testdata/tour.h5")
	for k, name := range hdf5test.CorpusFiles(t, "official", "filters", "jhdf", "netcdf", "pyfive") {
		if strings.Contains(name, "/shared/corpus/official/") && k%4 != 3 && os.Getenv("H5DNN_ALL") == "" {
			continue // all of them take a minute
		}
		names = append(names, name)
	}
	chunked := func(d *hdf5.Dataset) (Layout, bool, error) {
		return Layout{Filters: []filter.Filter{filter.Shuffle(), filter.LZ4(), filter.Fletcher32()}}, true, nil
	}
	rows := func(d *hdf5.Dataset) (Layout, bool, error) { return Layout{}, true, nil }
	copies, failed, reasons := 0, map[string]error{}, map[string]int{}
	for _, name := range names {
		for way, layout := range map[string]func(*hdf5.Dataset) (Layout, bool, error){"as it is": nil, "rows": rows, "chunks": chunked} {
			out := filepath.Join(t.TempDir(), "out.h5")
			r, err := repackTo(name, out, RepackOptions{Layout: layout, Memory: 1 << 20, NoSync: true})
			if err != nil {
				failed[filepath.Base(name)+" "+way] = err
				continue
			}
			copies++
			left := map[string]bool{}
			for _, lost := range r.Lost {
				left[lost.Path] = true
				reasons[lost.Kind.String()+": "+lost.Reason]++
			}
			compareContents(t, fmt.Sprint(name, " ", way), contents(t, name, left), contents(t, out, left))
			if report := hdf5test.Verify(t, out); len(report.Problems) > 0 {
				t.Errorf("%s %s: the copy has problems %v", name, way, report.Problems)
			}
		}
	}
	t.Logf("%d copies of %d files are the same", copies, len(names))
	for what, err := range failed {
		t.Logf("not copied: %s: %v", what, err)
	}
	t.Logf("lost: %v", reasons)
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

func userBlock(f *hdf5.File) string {
	block := make([]byte, f.UserBlock())
	f.ReadAt(block, 0)
	return string(block)
}

// TestRepackKeepsMemberOrder repacks a group that tracks the order of its members.
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
	f, err := hdf5.Open(dir + "/out.h5")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	root, err := f.Root()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for member, err := range root.Members() {
		must(t, err)
		names = append(names, member.Path)
	}
	if want := []string{"/z", "/a", "/m"}; !slices.Equal(names, want) {
		t.Errorf("members %v, want %v", names, want)
	}
}

// TestRepackFailsOnDamage repacks damaged files. If that fails, no file may be left.
func TestRepackFailsOnDamage(t *testing.T) {
	for _, name := range hdf5test.CorpusFiles(t, "hostile") {
		out := filepath.Join(t.TempDir(), "out.h5")
		if _, err := repackTo(name, out, RepackOptions{Memory: 1 << 20}); err == nil {
			continue
		}
		if left, _ := filepath.Glob(filepath.Dir(out) + "/*"); len(left) > 0 {
			t.Errorf("%s: left behind %v", name, left)
		}
	}
	sound := writeChecked(t)
	f, err := hdf5.Open(sound)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stop, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Repack(stop, f, sound+".out", RepackOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// writeChecked writes a file with six chunks with checksums.
func writeChecked(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "sound.h5")
	w, err := Create(name, CreateOptions{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	elems := make([]int32, 60*40)
	for k := range elems {
		elems[k] = int32(k * k)
	}
	err = errors.Join(
		w.WriteWith("/group/x", storage.From(elems, 60, 40), Layout{Chunks: []int{20, 20}, Filters: []filter.Filter{filter.Shuffle(), filter.Deflate(4), filter.Fletcher32()}}),
		w.Close())
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// TestRepackCompleteRefusesLoss copies a part of a file with a reference to an object
// outside of it.
func TestRepackCompleteRefusesLoss(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.h5")
	o := RepackOptions{Root: "/others", NoSync: true, DryRun: true}
	r, err := repackTo("../../../testdata/tour.h5", out, o)
	if err != nil || r.Lost.Summary() != "lost: 1 value" || !r.Lost.Avoidable() {
		t.Errorf("dry run: %v, %v", r.Lost, err)
	}
	o.DryRun = false
	if r, err = repackTo("../../../testdata/tour.h5", out, o); err != nil || r.Lost.Summary() != "lost: 1 value" {
		t.Errorf("%v, %v; want the loss that the dry run has found", r.Lost, err)
	}
	o.Complete = true
	if _, err := repackTo("../../../testdata/tour.h5", out+".complete", o); err == nil || !strings.Contains(err.Error(), "the copy would not be complete; lost: 1 value") {
		t.Errorf("complete: %v", err)
	}
	if _, err := os.Stat(out + ".complete"); err == nil {
		t.Error("the incomplete copy is in place")
	}
}

// TestRepackKeepsLaboratoryFiles compares mappings, region references and dimension
// scales with those of the original.
func TestRepackKeepsLaboratoryFiles(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.h5")
	name := "../../../testdata/lab.h5"
	r, err := repackTo(name, out, RepackOptions{NoSync: true})
	if err != nil || len(r.Lost) > 0 {
		t.Fatalf("%v, %v", r.Lost, err)
	}
	compareContents(t, name, contents(t, name, nil), contents(t, out, nil))
	a, err := hdf5.Open(name)
	must(t, err)
	defer a.Close()
	b, err := hdf5.Open(out)
	must(t, err)
	defer b.Close()
	for _, path := range []string{"/virtual/here", "/virtual/there", "/virtual/raw"} {
		x, err := a.Dataset(path)
		must(t, err)
		y, err := b.Dataset(path)
		must(t, err)
		must(t, compareMappings(x, y))
	}
	regions := func(f *hdf5.File) (all []hdf5.Selection) {
		d, err := f.Dataset("/refs/regions")
		must(t, err)
		raw, err := d.Raw(d.View())
		must(t, err)
		for ; len(raw) > 0; raw = raw[12:] {
			to, err := f.Referent(d.Type, raw[:12])
			must(t, err)
			if to.Region == nil {
				to.Region = new(hdf5.Selection) // of a null reference
			}
			all = append(all, *to.Region)
		}
		return all
	}
	if x, y := regions(a), regions(b); !slices.EqualFunc(x, y, hdf5.Selection.Equal) || len(x) != 3 {
		t.Errorf("regions %v, want %v", y, x)
	}
}

// TestTypesOfLaterVersionsAreCopied repacks references of HDF5 1.12 and native complex numbers,
// which the libhdf5 in use may not know.
func TestTypesOfLaterVersionsAreCopied(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.h5")
	report, err := repackTo("../../../testdata/newtypes.h5", out, RepackOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Lost) != 1 || report.Lost[0].Path != "/references" || len(report.Notes) != 4 {
		t.Errorf("lost %v, notes %v; want the references to an attribute, and a note on four others", report.Lost, report.Notes)
	}
	skip := map[string]bool{"/references": true}
	before, after := contents(t, "../../../testdata/newtypes.h5", skip), contents(t, out, skip)
	for key, want := range before {
		if after := strings.Replace(after[key], "region reference", "reference", 1); after != want { // which the type says now
			t.Errorf("%s is %s; want %s", key, after, want)
		}
	}
}

// TestBytesOfStringsAreKept writes strings that are not UTF-8.
func TestBytesOfStringsAreKept(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.h5")
	w, err := Create(out, CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	texts := []string{"5 \xb5m", "", "plain", "\xff\xfe"}
	if err := errors.Join(w.WriteStrings("/x", texts, 4), w.SetAttr("/x", "unit", "\xb5m"), w.Close()); err != nil {
		t.Fatal(err)
	}
	f, err := hdf5.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := f.Dataset("/x")
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.Strings(d.View())
	if err != nil || !slices.Equal(got, texts) || d.Type.Text.UTF8 {
		t.Errorf("%q, marked as UTF-8: %v, %v; want %q as ASCII", got, d.Type.Text.UTF8, err, texts)
	}
	attrs, err := d.Attributes()
	if err != nil || len(attrs) != 1 {
		t.Fatal(attrs, err)
	}
	if unit, err := attrs[0].Value(); err != nil || unit != "\xb5m" {
		t.Errorf("unit is %q, %v", unit, err)
	}
}
