package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/h5dnn/h5dnn/dtype"
)

var corpus = flag.String("corpus", "", "the folder with golden.jsonl to compare with; make conformance sets it")

// patience is how long any command may take on any file of the corpus.
const patience = 5 * time.Second

// TestConformance runs the program on files that others wrote, and compares
// with what h5py saw: every object, its kind and shape, its type and layout,
// and the values of what is made of numbers or strings. Every command is a
// process of its own, which must neither crash nor hang, on hostile files too.
func TestConformance(t *testing.T) {
	if *corpus == "" {
		t.Skip("no -corpus; make conformance runs this")
	}
	program := filepath.Join(t.TempDir(), "h5dnn")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
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
			c := &comparison{t, program, filepath.Join(*corpus, g.File), g, board}
			c.run()
		})
	}
	wait.Wait()
	t.Log("agreements with h5py of all it could tell, by suite\n" + board.String())
	if lines.Err() != nil {
		t.Fatal(lines.Err())
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

// An object is what inspect --json says of one.
type object struct {
	Path, Kind, Target, DType, NumPy, Layout, Error string
	Shape, MaxShape, Chunks, Filters                json.RawMessage
	External                                        int
	Attrs                                           map[string]struct {
		Shape json.RawMessage
		DType string
	}
}

// A comparison is of one file.
type comparison struct {
	t       *testing.T
	program string
	path    string
	golden
	board *board
}

func (c *comparison) suite() string { return filepath.Dir(c.File) }

// command runs the program; crashed and hung processes are errors of the test.
func (c *comparison) command(args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.program, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() != nil:
		c.t.Errorf("%s: %q took longer than %v", c.File, args, patience)
	case !errors.As(err, &exit) || exit.ExitCode() != statusTrouble || strings.Count(errs.String(), "\n") != 1 || strings.Contains(errs.String(), "internal error"):
		c.t.Errorf("%s: %q: %v, and on standard error, where one line should be:\n%.2000s", c.File, args, err, errs.String())
	}
	return out, errors.New(strings.TrimSpace(errs.String()))
}

func (c *comparison) run() {
	out, failed := c.command("inspect", "--json", c.path)
	var seen struct{ Objects []object }
	if err := json.Unmarshal(out, &seen); err != nil && len(out) > 0 {
		c.t.Errorf("%s: inspect --json prints no JSON: %v", c.File, err)
	}
	if failed != nil && c.Reference == "ok" && len(seen.Objects) == 0 {
		c.board.note(c.suite(), "objects", false, "%s: %v", c.File, failed)
	}
	have := map[string]object{}
	for _, o := range seen.Objects {
		have[o.Path] = o
	}
	for _, want := range c.Objects {
		got, found := have[want.Path]
		if want.Kind == "named datatype" {
			want.Kind = "datatype"
		}
		if want.Kind == "" { // h5py could not open it
			continue
		}
		c.board.note(c.suite(), "objects", found && got.Kind == want.Kind && (want.Kind != "soft" || got.Target == want.Target),
			"%s: %s is %s, want %s", c.File, want.Path, got.Kind, want.Kind)
		if want.Kind == "dataset" && found {
			c.dataset(want, got)
		}
		if found {
			c.attributes(want, got)
		}
	}
}

func (c *comparison) dataset(want goldenObject, got object) {
	if want.DType == "" && string(want.Shape) != "null" {
		return // h5py failed on it
	}
	at := c.File + ": " + want.Path
	same := func(column, what string, got, want json.RawMessage) {
		c.board.note(c.suite(), column, bytes.Equal(compact(got), compact(want)), "%s: %s %s, want %s", at, what, got, want)
	}
	same("shapes", "shape", got.Shape, want.Shape)
	if string(want.Shape) == "null" {
		return
	}
	same("shapes", "maxshape", got.MaxShape, want.MaxShape)
	c.board.note(c.suite(), "types", got.NumPy == want.DType || widths(got.NumPy) == widths(want.DType), "%s: type %s, want %s", at, got.NumPy, want.DType)
	same("layouts", "chunks", got.Chunks, want.Chunks)
	same("layouts", "filters", got.Filters, want.Filters)
	c.board.note(c.suite(), "layouts", got.Layout == want.Layout && got.External == want.External, "%s: layout %s, want %s", at, got.Layout, want.Layout)
	if want.Numbers != "" {
		sum, err := c.numbers(want.Path)
		c.board.note(c.suite(), "values", sum == want.Numbers, "%s: values: %v", at, cause(err, "other than h5py's"))
	}
	if want.Strings != "" {
		sum, err := c.strings(want.Path)
		c.board.note(c.suite(), "values", sum == want.Strings, "%s: texts: %v", at, cause(err, "other than h5py's"))
	}
}

func cause(err error, otherwise string) error {
	if err != nil {
		return err
	}
	return errors.New(otherwise)
}

// compact removes what JSON does not need.
func compact(b json.RawMessage) []byte {
	var out bytes.Buffer
	if json.Compact(&out, b) != nil {
		return b
	}
	return out.Bytes()
}

var fixed = regexp.MustCompile(`S\d+|V\d+`)

// widths leaves the length of strings out of a type: h5py's own tables round it.
func widths(name string) string { return fixed.ReplaceAllString(name, "S") }

// numbers returns the MD5 of a dataset's values as float64s.
func (c *comparison) numbers(path string) (string, error) {
	npy, err := c.command("slice", c.path+":"+path, "--format", "npy", "-o", "-")
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

// parseNPY reads what slice writes.
func parseNPY(npy []byte) (dtype.Type, []byte, error) {
	if len(npy) < 10 || string(npy[:6]) != "\x93NUMPY" {
		return 0, nil, fmt.Errorf("no .npy: %.20q", npy)
	}
	end := 10 + int(binary.LittleEndian.Uint16(npy[8:]))
	m := descr.FindSubmatch(npy[:end])
	if m == nil {
		return 0, nil, fmt.Errorf("header %q", npy[10:end])
	}
	for _, t := range dtype.All() {
		letter := t.String()[:1]
		if letter == string(m[1]) && fmt.Sprint(t.Size()) == string(m[2]) && t != dtype.BFloat16 {
			return t, npy[end:], nil
		}
	}
	return 0, nil, fmt.Errorf("type %s", m[0])
}

// strings returns the MD5 of a dataset's strings, joined by zeros.
func (c *comparison) strings(path string) (string, error) {
	out, err := c.command("slice", c.path+":"+path, "--json")
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

// escaped matches what bytes that are no UTF-8 become in JSON, which Go does not
// read as Python does: it is taken through other characters that are not used.
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
		c.board.note(c.suite(), "attributes", found && bytes.Equal(compact(have.Shape), compact(a.Shape)),
			"%s: %s: attribute %s has shape %s, want %s (%s)", c.File, want.Path, name, have.Shape, a.Shape, a.DType)
	}
}

// A board counts agreements by suite and column.
type board struct {
	sync.Mutex
	scores map[string]map[string]*score
	misses []string
}

type score struct{ agree, all int }

func (b *board) note(suite, column string, agrees bool, miss string, args ...any) {
	b.Lock()
	defer b.Unlock()
	if b.scores[suite] == nil {
		b.scores[suite] = map[string]*score{}
	}
	s := b.scores[suite][column]
	if s == nil {
		s = &score{}
		b.scores[suite][column] = s
	}
	s.all++
	if agrees {
		s.agree++
	} else {
		b.misses = append(b.misses, fmt.Sprintf(miss, args...))
	}
}

func (b *board) String() string {
	columns := []string{"objects", "shapes", "types", "layouts", "values", "attributes"}
	var out strings.Builder
	slices.Sort(b.misses)
	for _, miss := range b.misses {
		fmt.Fprintln(&out, "  ", miss)
	}
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
