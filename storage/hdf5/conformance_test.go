package hdf5_test

import (
	"bufio"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5test"
	"github.com/h5dnn/h5dnn/storage/storagetest"
	"github.com/h5dnn/h5dnn/views"
)

// A goldenFile is what h5py reads from a file; see README.md of the corpus.
type goldenFile struct {
	File      string
	Reference string
	Objects   []goldenObject
}

type goldenObject struct {
	Path, Kind, Target, Dtype, Layout string
	Err                               string
	Shape, Chunks, Filters            []int
	Maxshape                          []*int
	External, Members                 int
	Attrs                             map[string]any
	Md5f64                            string `json:"md5_f64"`
	Md5str                            string `json:"md5_str"`
}

func readGolden(t *testing.T, dir string) (files []goldenFile) {
	f, err := os.Open(filepath.Join(dir, "golden.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var file goldenFile
		if err := json.Unmarshal(lines.Bytes(), &file); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// A score counts the comparisons of a suite.
type score struct{ files, objects, numbers, strings, shown, refused, wrong int }

// TestConformance compares every object of the corpora with what h5py reads.
func TestConformance(t *testing.T) {
	scores := map[string]*score{}
	for _, dir := range hdf5test.Corpora(t) {
		for _, file := range readGolden(t, dir) {
			suite, _, _ := strings.Cut(file.File, "/")
			if suite == "hostile" {
				continue
			}
			if scores[suite] == nil {
				scores[suite] = &score{}
			}
			c := comparison{t: t, score: scores[suite], file: file}
			c.run(filepath.Join(dir, file.File))
		}
	}
	t.Logf("%-10s %6s %8s %8s %8s %8s %8s %6s", "suite", "files", "objects", "numbers", "strings", "shown", "refused", "wrong")
	for _, suite := range slices.Sorted(maps.Keys(scores)) {
		s := scores[suite]
		t.Logf("%-10s %6d %8d %8d %8d %8d %8d %6d", suite, s.files, s.objects, s.numbers, s.strings, s.shown, s.refused, s.wrong)
	}
}

type comparison struct {
	t *testing.T
	*score
	file goldenFile
}

func (c *comparison) errorf(path, format string, args ...any) {
	c.wrong++
	c.t.Errorf("%s%s: "+format, append([]any{c.file.File, path}, args...)...)
}

func (c *comparison) run(name string) {
	f, err := hdf5.Open(name, hdf5.Options{Follow: filepath.Dir(name)})
	c.files++
	if c.file.Reference != "ok" {
		if err == nil {
			f.Close()
		} else {
			c.refused++
		}
		return
	}
	if err != nil {
		c.errorf("", "%v", err)
		return
	}
	defer f.Close()
	found := map[string]*hdf5.Object{}
	for o, err := range f.Walk() {
		found[o.Path] = o
		if err != nil && !c.excused(o.Path) {
			c.errorf(o.Path, "%v", err)
		}
	}
	for _, want := range c.file.Objects {
		if o, ok := found[want.Path]; !ok {
			c.errorf(want.Path, "not found")
		} else if want.Kind != "" {
			c.objects++
			c.object(o, want)
		}
		delete(found, want.Path)
	}
	for path, o := range found {
		c.errorf(path, "an unexpected %s", o.Kind)
	}
}

// excused reports whether h5py failed to read an object, too.
func (c *comparison) excused(path string) bool {
	return slices.ContainsFunc(c.file.Objects, func(o goldenObject) bool { return o.Path == path && o.Err != "" })
}

func (c *comparison) object(o *hdf5.Object, want goldenObject) {
	kind := strings.TrimPrefix(want.Kind, "named ")
	if string(o.Kind) != kind || o.Target != want.Target {
		c.errorf(o.Path, "%s to %q, want %s to %q", o.Kind, o.Target, kind, want.Target)
		return
	}
	switch o.Kind {
	case hdf5.KindGroup:
		if names, err := o.Names(); err != nil || len(names) != want.Members {
			c.errorf(o.Path, "%d members (%v), want %d", len(names), err, want.Members)
		}
	case hdf5.KindDataset:
		c.dataset(o, want)
	}
	c.attributes(o, want.Attrs)
}

func (c *comparison) attributes(o *hdf5.Object, want map[string]any) {
	all, err := o.Attributes()
	wrong := false
	got := map[string]any{}
	for _, a := range all {
		shape := []any{}
		for _, n := range a.Shape {
			shape = append(shape, float64(n))
		}
		got[a.Name] = map[string]any{"shape": any(shape), "dtype": strings.Replace(a.Type.NumPy(), "bfloat16", "float32", 1)}
		if a.Shape == nil {
			got[a.Name].(map[string]any)["shape"] = nil
		}
		if _, failed := a.Value(); failed != nil && err == nil {
			err = failed
		}
	}
	for name, w := range want {
		if _, ok := w.(map[string]any); !ok { // h5py failed on it
			return
		}
		if !reflect.DeepEqual(got[name], w) {
			c.errorf(o.Path, "attribute %q: %v, want %v", name, got[name], w)
			wrong = true
		}
	}
	if !wrong && (err != nil || len(got) != len(want)) {
		c.errorf(o.Path, "%d attributes (%v), want %d", len(got), err, len(want))
	}
}

func (c *comparison) dataset(o *hdf5.Object, want goldenObject) {
	d, err := o.Dataset()
	if err != nil {
		if want.Err == "" {
			c.errorf(o.Path, "%v", err)
		}
		return
	}
	filters := []int{}
	for _, f := range d.Filters {
		filters = append(filters, f.ID)
	}
	var most []*int
	for _, n := range d.MaxShape {
		if most = append(most, &n); n == hdf5.Unlimited {
			most[len(most)-1] = nil
		}
	}
	type facts struct {
		Shape, Chunks, Filters []int
		Most                   []*int
		Layout, Dtype          string
		External               int
	}
	g := facts{d.Shape, d.Chunks, filters, most, d.Layout, d.Type.NumPy(), len(d.External)}
	w := facts{want.Shape, want.Chunks, want.Filters, want.Maxshape, want.Layout, want.Dtype, want.External}
	if want.Dtype == "" { // h5py has no type for it
		g, w = facts{Shape: d.Shape}, facts{Shape: want.Shape}
	}
	if w.Dtype == "datetime64[s]" {
		g.Dtype, w.Dtype = "", ""
	}
	if d.DType == dtype.BFloat16 { // h5py 3.7 does not know it
		g.Dtype, w.Dtype = "", ""
	}
	if len(g.Most) == 0 {
		g.Most, w.Most = nil, nil
	}
	if gj, wj := asJSON(g), asJSON(w); gj != wj {
		c.errorf(o.Path, "\n got %s\nwant %s", gj, wj)
	}
	c.data(d, want)
}

func asJSON(x any) string {
	b, _ := json.Marshal(x)
	return string(b)
}

func (c *comparison) data(d *hdf5.Dataset, want goldenObject) {
	switch {
	case d.MissingSources(): // the corpus lacks some of its sources
		c.refused++
	case want.Md5f64 != "":
		sum, err := sumFloat64(d)
		if err != nil {
			c.errorf(d.Path, "%v", err)
		} else if sum != want.Md5f64 {
			c.errorf(d.Path, "%v%v: other numbers than h5py's", d.Type, d.Shape)
		} else {
			c.numbers++
		}
	case want.Md5str != "":
		texts, err := d.Strings(d.View())
		sum := md5.Sum([]byte(strings.Join(texts, "\x00")))
		if err != nil {
			c.errorf(d.Path, "%v", err)
		} else if hex.EncodeToString(sum[:]) != want.Md5str {
			c.errorf(d.Path, "%v%v: other strings than h5py's: %.200q", d.Type, d.Shape, texts)
		} else {
			c.strings++
		}
	case d.Shape != nil && d.CheckReadable() == nil && want.Err == "":
		if n, err := d.Len(); err != nil || n > 1<<16 || n*d.Type.Size > 16<<20 {
			return
		}
		if _, err := d.Values(d.View()); err != nil {
			c.errorf(d.Path, "%v", err)
		} else {
			c.shown++
		}
	}
}

// sumFloat64 returns the MD5 of a dataset's numbers as float64.
func sumFloat64(d *hdf5.Dataset) (string, error) {
	a, err := d.Array()
	if err != nil {
		return "", err
	}
	sum := md5.New()
	for part := range subviews(a.View, d.Chunks) { // some datasets are larger than a test should be
		packed, wide := make([]byte, part.Len()*a.Type.Size()), make([]byte, part.Len()*8)
		if err := a.Data.(storage.Source).ReadView(packed, a.Type, part); err != nil {
			return "", err
		}
		if err := dtype.Convert(wide, dtype.Float64, packed, a.Type); err != nil {
			return "", err
		}
		sum.Write(wide)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// subviews divides a view along its first axis, or the second if the first has length 1,
// between chunks.
func subviews(v views.View, chunk []int) iter.Seq[views.View] {
	const elements = 1 << 20
	axis := 0
	if v.Rank() > 1 && v.Shape[0] == 1 && chunk == nil {
		axis = 1
	}
	if v.Len() <= elements || v.Rank() == 0 {
		return slices.Values([]views.View{v})
	}
	step := max(1, elements/(v.Len()/v.Shape[axis]))
	if chunk != nil {
		step = max(1, step/chunk[0]) * chunk[0]
	}
	return func(yield func(views.View) bool) {
		for at := 0; at < v.Shape[axis]; at += step {
			part, _ := v.Slice(axis, at, min(at+step, v.Shape[axis]), 1)
			if !yield(part) {
				return
			}
		}
	}
}

// readAll reads everything in a file that can be read at moderate cost.
func readAll(name string) (read int, err error) {
	f, err := hdf5.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var failed []error
	for o, err := range f.Walk() {
		failed = append(failed, err)
		attributes, err := o.Attributes()
		failed = append(failed, err)
		for _, a := range attributes {
			v, err := a.Value()
			failed = append(failed, err)
			if err == nil {
				hdf5.Format(v)
			}
			_ = a.Type.NumPy() + a.Type.String()
			read++
		}
		if o.Kind == hdf5.KindDatatype {
			_, err := o.Datatype()
			failed = append(failed, err)
		}
		if o.Kind != hdf5.KindDataset {
			continue
		}
		d, err := o.Dataset()
		if err != nil {
			failed = append(failed, err)
			continue
		}
		_ = d.Type.NumPy() + d.Type.String()
		_, err = d.StoredSize()
		failed = append(failed, err, readSome(d))
		read++
	}
	return read, errors.Join(failed...)
}

// readSome reads a dataset, or its first elements if it is large.
func readSome(d *hdf5.Dataset) error {
	n, err := d.Len()
	if err != nil || d.Shape == nil {
		return err
	}
	v := d.View()
	for axis, size := range v.Shape {
		if n*max(1, d.Type.Size) > 16<<20 {
			v.Shape[axis] = min(size, 2)
		}
	}
	if v.Len()*d.Type.Size > 16<<20 {
		return nil
	}
	if v.Len() < 1<<16 {
		if _, err := d.Values(v); err != nil {
			return err
		}
	}
	a, err := d.Array()
	if errors.Is(err, dtype.ErrType) {
		return nil
	}
	if err != nil || a.NBytes() > 16<<20 {
		return err
	}
	_, err = a.To(storage.CPU)
	return err
}

// TestHostileFiles reads damaged files, and all others of the corpora: that must not
// crash, and take little time and memory.
func TestHostileFiles(t *testing.T) {
	files := hdf5test.CorpusFiles(t, "*")
	refused := 0
	for _, name := range files {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := storagetest.CPUTime(t)
		_, err := readAll(name)
		if took := storagetest.CPUTime(t) - start; took > 5*time.Second {
			t.Errorf("%s: took %v of CPU time", name, took)
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 512<<20 {
			t.Errorf("%s: allocated %d MiB in all", name, used>>20)
		}
		if err != nil {
			refused++
		}
		if testing.Verbose() && strings.Contains(name, "/hostile/") {
			line, _, _ := strings.Cut(fmt.Sprint(err), "\n")
			t.Logf("%s: %.160s", filepath.Base(name), line)
		}
	}
	t.Logf("%d files, %d with errors", len(files), refused)
}
