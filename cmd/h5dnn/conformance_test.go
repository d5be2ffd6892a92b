package main

import (
	"bufio"
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/h5dnn/h5dnn/dtype"
)

var corpus = flag.String("corpus", "../../storage/hdf5/testdata/corpus", "folder with files and what h5py reads from them, golden.jsonl")

// agreed lists known differences from h5py that are not errors, with the reason.
var agreed = map[string]string{
	"official/tbfloat16.h5: /DS16BITS: types": "bfloat16 is a type of ours; NumPy has none, and the reference makes float32 of it",
	"official/1_vds.h5: /vds_dset: values":    "1_c.h5 to 1_f.h5, which the reference had, are not in the corpus; h5py then agrees with us",
	"official/3_2_vds.h5: /vds_dset: values":  "2_c.h5 to 2_e.h5, which the reference had, are not in the corpus; h5py then agrees with us",
}

// TestConformance runs the program on files of other programs and compares its output
// with h5py's: the kind, shape, type and layout of every object, and the values of
// numbers and strings. Every command is a separate process. Virtual datasets and
// external data may open other files in the folder, except in hostile files, for which
// an error is accepted too.
func TestConformance(t *testing.T) {
	file, err := os.Open(filepath.Join(*corpus, "golden.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	board := &board{scores: map[string]map[string]*score{}}
	var wait sync.WaitGroup
	slots := make(chan bool, runtime.NumCPU())
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var g golden
		if err := json.Unmarshal(lines.Bytes(), &g); err != nil {
			t.Fatal(err)
		}
		slots <- true
		wait.Go(func() {
			defer func() { <-slots }()
			c := &comparison{t, filepath.Join(*corpus, g.File), g, board, map[string]bool{}}
			c.run()
		})
	}
	wait.Wait()
	t.Log("agreements with h5py of all it could tell, by suite\n" + board.String())
	if lines.Err() != nil {
		t.Fatal(lines.Err())
	}
	for _, miss := range board.misses {
		t.Error(miss)
	}
}

// A golden is a line of golden.jsonl.
type golden struct {
	File      string
	Reference string
	Objects   []goldenObject
}

type goldenObject struct {
	Path, Kind, Target, DType, Layout, Err string
	Shape, MaxShape, Chunks, Filters       json.RawMessage
	External                               int
	Attrs                                  map[string]json.RawMessage
	Numbers                                string `json:"md5_f64"`
	Strings                                string `json:"md5_str"`
}

// An object is an object in the output of inspect --json.
type object struct {
	Path, Kind, Target, DType, NumPy, Layout, Error string
	Shape, MaxShape, Chunks, Filters                json.RawMessage
	External                                        int
	Attrs                                           map[string]struct {
		Shape json.RawMessage
		DType string
	}
}

// A comparison is the comparison of one file.
type comparison struct {
	t    *testing.T
	path string
	golden
	board   *board
	refused map[string]bool // objects that the program says it cannot read
}

func (c *comparison) suite() string { return filepath.Dir(c.File) }

func (c *comparison) hostile() bool { return c.suite() == "hostile" }

// command runs a command on the file, or on an object of it.
func (c *comparison) command(name, object string, flags ...string) ([]byte, error) {
	args := append([]string{name, c.path + object}, flags...)
	if !c.hostile() {
		args = append(args, "--follow", filepath.Dir(c.path))
	}
	return watched(c.t, "", args...)
}

// note counts the comparison of one property of an object.
func (c *comparison) note(column, path string, agrees bool, miss string, args ...any) {
	at := fmt.Sprintf("%s: %s: ", c.File, path)
	b := c.board
	b.Lock()
	defer b.Unlock()
	s := b.score(c.suite(), column)
	s.all++
	switch {
	case agrees:
		s.agree++
	case agreed[at+column] == "" && !(c.hostile() && c.refused[path]):
		b.misses = append(b.misses, at+fmt.Sprintf(miss, args...))
	}
}

func (c *comparison) run() {
	out, failed := c.command("inspect", "", "--json")
	var seen struct{ Objects []object }
	if err := json.Unmarshal(out, &seen); err != nil && len(out) > 0 {
		c.t.Errorf("%s: inspect --json prints no JSON: %v", c.File, err)
	}
	have := map[string]object{}
	for _, o := range seen.Objects {
		if _, twice := have[o.Path]; !twice { // names can be empty in hostile files
			have[o.Path] = o
		}
		c.refused[o.Path] = o.Error != ""
	}
	for _, want := range c.Objects {
		got, found := have[want.Path]
		if !found {
			c.refused[want.Path] = failed != nil
		}
		c.object(want, got, found)
		delete(have, want.Path)
	}
	for path := range have {
		if c.Reference == "ok" && !c.hostile() {
			c.note("objects", path, false, "not seen by h5py")
		}
	}
}

func (c *comparison) object(want goldenObject, got object, found bool) {
	if want.Kind == "" { // h5py could not open it
		return
	}
	kind := strings.TrimPrefix(want.Kind, "named ")
	c.note("objects", want.Path, found && got.Kind == kind && (kind != "soft" || got.Target == want.Target), "is %q, want %s", got.Kind, kind)
	if !found {
		return
	}
	if kind == "dataset" {
		c.dataset(want, got)
	}
	c.attributes(want, got)
}

func (c *comparison) dataset(want goldenObject, got object) {
	if want.DType == "" && string(want.Shape) != "null" {
		return // h5py failed on it
	}
	same := func(column, what string, was, is json.RawMessage) {
		c.note(column, want.Path, bytes.Equal(compact(was), compact(is)), "%s %s, want %s", what, was, is)
	}
	same("shapes", "shape", got.Shape, want.Shape)
	if string(want.Shape) == "null" {
		return
	}
	same("shapes", "maxshape", got.MaxShape, want.MaxShape)
	c.note("types", want.Path, got.NumPy == want.DType || widths(got.NumPy) == widths(want.DType), "type %s, want %s", got.NumPy, want.DType)
	same("layouts", "chunks", got.Chunks, want.Chunks)
	same("layouts", "filters", got.Filters, want.Filters)
	c.note("layouts", want.Path, got.Layout == want.Layout && got.External == want.External, "layout %s, want %s", got.Layout, want.Layout)
	if want.Numbers != "" {
		c.values(want.Path, want.Numbers, c.numbers)
	}
	if want.Strings != "" {
		c.values(want.Path, want.Strings, c.strings)
	}
}

// values compares the sum of an object's values.
func (c *comparison) values(path, want string, sum func(path string) (string, error)) {
	got, err := sum(path)
	c.refused[path] = c.refused[path] || err != nil
	c.note("values", path, got == want, "values: %v", cause(err, "other than h5py's"))
}

func cause(err error, otherwise string) error {
	if err != nil {
		return err
	}
	return errors.New(otherwise)
}

// compact removes white space from JSON.
func compact(b json.RawMessage) []byte {
	var out bytes.Buffer
	if json.Compact(&out, b) != nil {
		return b
	}
	return out.Bytes()
}

var fixed = regexp.MustCompile(`S\d+|V\d+`)

// widths removes string lengths from a type, because h5py's tables round them.
func widths(name string) string { return fixed.ReplaceAllString(name, "S") }

// numbers returns the MD5 of a dataset's values as float64s.
func (c *comparison) numbers(path string) (string, error) {
	npy, err := c.command("slice", ":"+path, "--format", "npy", "-o", "-")
	if err != nil {
		return "", err
	}
	t, elems, err := parseNPY(npy)
	if err != nil {
		return "", err
	}
	floats := make([]byte, len(elems)/t.Size()*8)
	if err := dtype.Convert(floats, dtype.Float64, elems, t); err != nil {
		return "", err
	}
	sum := md5.Sum(floats)
	return hex.EncodeToString(sum[:]), nil
}

var descr = regexp.MustCompile(`'descr': '[<|]([a-z])(\d+)'`)

// parseNPY reads the output of slice.
func parseNPY(npy []byte) (dtype.Type, []byte, error) {
	if len(npy) < 10 || string(npy[:6]) != "\x93NUMPY" {
		return dtype.Invalid, nil, fmt.Errorf("no .npy: %.20q", npy)
	}
	end := 10 + int(binary.LittleEndian.Uint16(npy[8:]))
	m := descr.FindSubmatch(npy[:end])
	if m == nil {
		return dtype.Invalid, nil, fmt.Errorf("header %q", npy[10:end])
	}
	for _, t := range dtype.All() {
		letter := t.String()[:1]
		if letter == string(m[1]) && fmt.Sprint(t.Size()) == string(m[2]) && t != dtype.BFloat16 {
			return t, npy[end:], nil
		}
	}
	return dtype.Invalid, nil, fmt.Errorf("type %s", m[0])
}

// strings returns the MD5 of a dataset's strings, joined by zeros.
func (c *comparison) strings(path string) (string, error) {
	out, err := c.command("slice", ":"+path, "--json")
	if err != nil {
		return "", err
	}
	var seen struct{ Data any }
	if err := json.Unmarshal(escaped.ReplaceAll(out, []byte(`\ue0$1`)), &seen); err != nil {
		return "", err
	}
	sum := md5.Sum(unescape(strings.Join(flat(seen.Data, nil), "\x00")))
	return hex.EncodeToString(sum[:]), nil
}

// escaped matches the JSON escapes of invalid UTF-8. Go does not decode them as Python
// does, so they are replaced by unused characters.
var escaped = regexp.MustCompile(`\\udc([89a-f][0-9a-f])`)

func unescape(text string) []byte {
	var b []byte
	for _, r := range text {
		if r >= 0xe080 && r <= 0xe0ff {
			b = append(b, byte(r))
		} else {
			b = utf8.AppendRune(b, r)
		}
	}
	return b
}

func flat(data any, texts []string) []string {
	switch data := data.(type) {
	case []any:
		for _, d := range data {
			texts = flat(d, texts)
		}
	case string:
		texts = append(texts, data)
	}
	return texts
}

func (c *comparison) attributes(want goldenObject, got object) {
	for name, body := range want.Attrs {
		var a struct {
			Shape json.RawMessage
			DType string
		}
		if json.Unmarshal(body, &a) != nil || a.DType == "" {
			continue // h5py failed on it
		}
		have, found := got.Attrs[name]
		c.note("attributes", want.Path, found && bytes.Equal(compact(have.Shape), compact(a.Shape)),
			"attribute %s has shape %s, want %s (%s)", name, have.Shape, a.Shape, a.DType)
	}
}

// A board counts agreements by suite and column.
type board struct {
	sync.Mutex
	scores map[string]map[string]*score
	misses []string
}

type score struct{ agree, all int }

func (b *board) score(suite, column string) *score {
	if b.scores[suite] == nil {
		b.scores[suite] = map[string]*score{}
	}
	if b.scores[suite][column] == nil {
		b.scores[suite][column] = &score{}
	}
	return b.scores[suite][column]
}

func (b *board) String() string {
	columns := []string{"objects", "shapes", "types", "layouts", "values", "attributes"}
	var out strings.Builder
	fmt.Fprintf(&out, "%-10s", "suite")
	for _, column := range columns {
		fmt.Fprintf(&out, "%14s", column)
	}
	for _, suite := range slices.Sorted(maps.Keys(b.scores)) {
		fmt.Fprintf(&out, "\n%-10s", suite)
		for _, column := range columns {
			cell := "-"
			if s := b.scores[suite][column]; s != nil {
				cell = fmt.Sprintf("%d/%d", s.agree, s.all)
			}
			fmt.Fprintf(&out, "%14s", cell)
		}
	}
	return out.String()
}
