package serializetest_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// faults are what a format may do wrong, and the part of the examination that finds it.
var faults = map[string]string{
	"none":                         "",
	"an attribute is lost":         "attributes_are_kept",
	"an attribute changes":         "attributes_are_kept",
	"a name is lost":               "names_and_metadata_are_kept",
	"a name changes":               "names_and_metadata_are_kept",
	"a type changes":               "types_and_shapes_are_kept",
	"a shape changes":              "types_and_shapes_are_kept",
	"an element changes":           "types_and_shapes_are_kept",
	"empty arrays are lost":        "types_and_shapes_are_kept",
	"sharing is lost":              "elements_that_are_shared_are_kept",
	"attributes are shared too":    "elements_that_are_shared_are_kept",
	"views are shared too":         "elements_that_are_shared_are_kept",
	"layouts are ignored":          "layouts_and_devices_do_not_matter",
	"big-endian is ignored":        "every_type_in_every_layout_is_kept",
	"metadata is lost":             "names_and_metadata_are_kept",
	"a name twice is accepted":     "what_does_not_fit_is_refused",
	"errors of entries are lost":   "what_does_not_fit_is_refused",
	"errors of reading are lost":   "a_failed_save_leaves_the_old_file",
	"every file matches":           "only_this_format_matches",
	"short files match":            "only_this_format_matches",
	"sections are read from the 0": "files_are_read_from_memory_and_archives",
	"damage panics":                "damaged_files_are_errors_or_data",
}

const faultVariable = "H5DNN_FAULT"

// TestExaminerFindsFaults examines a format of which one thing is wrong at a time, each in
// a process of its own, whose test has to fail, and with the part that looks for it.
func TestExaminerFindsFaults(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for fault, part := range faults {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			run := "-test.run=^TestFaultyFormat$"
			if part != "" {
				run += "/^" + part + "$"
			}
			c := exec.Command(self, run, "-test.v")
			c.Env = append(os.Environ(), faultVariable+"="+fault)
			out, err := c.CombinedOutput()
			if fault == "none" {
				if err != nil {
					t.Errorf("the format without a fault fails: %v\n%s", err, out)
				}
				return
			}
			if failed := "--- FAIL: TestFaultyFormat/" + part; err == nil || !strings.Contains(string(out), failed) {
				t.Errorf("error %v, want %q\n%.2000s", err, failed, out)
			}
		})
	}
}

// TestFaultyFormat examines the format with the fault that the environment names.
func TestFaultyFormat(t *testing.T) {
	fault := os.Getenv(faultVariable)
	if fault == "" {
		t.Skip("run by TestExaminerFindsFaults")
	}
	f := faulty(fault)
	serialize.Register(serialize.Format{
		Name: "faulty", Extensions: []string{".faulty"}, Meta: true, Attrs: true, Shares: true,
		Match: f.match, Open: f.open, Save: f.save,
	})
	serializetest.TestFormat(t, "faulty")
}

// faulty is a format of one line of JSON behind a signature. It names its fault.
type faulty string

const signature = "faulty 1\n"

type document struct {
	Meta    map[string]string
	Entries []entry
}

type entry struct {
	Name, Type, Data, Shared string
	Shape                    []int
	Texts                    map[string]string
	Lists                    map[string][]string
	Numbers                  map[string]float64
}

func (f faulty) match(r io.ReaderAt, size int64) serialize.Confidence {
	if f == "every file matches" {
		return serialize.ExactMatch
	}
	head := make([]byte, len(signature))
	n, _ := r.ReadAt(head, 0)
	if n < len(head) && f == "short files match" && n > 0 {
		return serialize.ContentMatch
	}
	if string(head[:n]) == signature {
		return serialize.ExactMatch
	}
	return serialize.NoMatch
}

func (f faulty) save(w io.Writer, c serialize.Contents) error {
	doc := document{Meta: c.Meta}
	if f == "metadata is lost" {
		doc.Meta = nil
	}
	shared := map[string]entry{}
	for e, err := range c.Entries {
		if err != nil && f != "errors of entries are lost" {
			return err
		}
		one := entry{Name: e.Name, Type: e.Array.Type.String(), Shape: e.Array.Shape, Texts: map[string]string{}, Lists: map[string][]string{}, Numbers: map[string]float64{}}
		twice := slices.ContainsFunc(doc.Entries, func(other entry) bool { return other.Name == e.Name })
		if twice && f != "a name twice is accepted" {
			return fmt.Errorf("duplicate name %s: %w", e.Name, storage.ErrState)
		}
		var b bytes.Buffer
		a := e.Array
		if v := views.Of(a.Shape...); f == "layouts are ignored" && v.Len()*a.Type.Size() <= a.Data.Len() {
			a = a.With(v)
		}
		if source, isSource := a.Data.(storage.Source); f == "big-endian is ignored" && isSource && strings.Contains(e.Name, "big-endian") {
			a.Data = serialize.Normalize(source, a.Type, binary.BigEndian)
		}
		if _, err := a.WriteTo(&b); err != nil && f != "errors of reading are lost" {
			return err
		}
		one.Data = base64.StdEncoding.EncodeToString(b.Bytes())
		for name, value := range e.Attrs {
			switch v := value.(type) {
			case string:
				one.Texts[name] = v
			case []string:
				one.Lists[name] = v
			case storage.Array:
				one.Numbers[name] = storage.Elements[float64](v)[0]
			}
		}
		if first, ok := shared[e.Shared]; ok && e.Shared != "" {
			sameAttrs := fmt.Sprint(first.Texts) == fmt.Sprint(one.Texts) || f == "attributes are shared too"
			if same := first.Data == one.Data && slices.Equal(first.Shape, one.Shape) || f == "views are shared too"; same && sameAttrs {
				first.Name = one.Name
				first.Data = ""
				one = first
			} else {
				one.Shared = e.Name
			}
		} else if e.Shared != "" {
			one.Shared = e.Shared
			shared[e.Shared] = one
		} else {
			one.Shared = e.Name
		}
		doc.Entries = append(doc.Entries, one)
	}
	text, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	_, err = w.Write(append([]byte(signature), text...))
	return err
}

func (f faulty) open(in serialize.Input) (serialize.File, error) {
	r := io.NewSectionReader(in, int64(len(signature)), in.Size)
	text := make([]byte, max(0, in.Size-int64(len(signature))))
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, err
	}
	if in.File() == nil && f == "sections are read from the 0" {
		text = []byte("{}")
	}
	file := &faultyFile{fault: f, in: in}
	if err := json.Unmarshal(text, &file.document); err != nil {
		if f == "damage panics" {
			panic(err)
		}
		return nil, err
	}
	return file, nil
}

type faultyFile struct {
	document
	fault  faulty
	in     serialize.Input
	closed bool
}

func (f *faultyFile) Meta() map[string]string {
	if f.document.Meta == nil {
		return map[string]string{}
	}
	return maps.Clone(f.document.Meta)
}

func (f *faultyFile) Close() error {
	if f.closed {
		return nil
	}
	f.closed = true
	return f.in.Close()
}

func (f *faultyFile) All() iter.Seq2[serialize.Entry, error] {
	return func(yield func(serialize.Entry, error) bool) {
		data := map[string]string{}
		for i, one := range f.Entries {
			if one.Data == "" && one.Shared != "" {
				one.Data = data[one.Shared]
			}
			data[one.Shared] = one.Data
			e, err := f.entryOf(one)
			if err == nil && e.Array.Len() == 0 && f.fault == "empty arrays are lost" || i == 2 && f.fault == "a name is lost" {
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func (f *faultyFile) entryOf(one entry) (e serialize.Entry, err error) {
	b, err := base64.StdEncoding.DecodeString(one.Data)
	if err != nil {
		return e, err
	}
	t, err := dtype.Parse(one.Type)
	if err != nil {
		return e, err
	}
	v, err := views.New(one.Shape, len(b))
	if err != nil || v.Len() > len(b)/t.Size() {
		return e, errors.Join(err, views.ErrShape)
	}
	e = serialize.Entry{Name: one.Name, Shared: one.Shared, Array: storage.Array{Data: closable{f, storage.Wrap(b)}, Type: t, View: v}}
	for name, text := range one.Texts {
		f.attr(&e, name, text)
	}
	for name, list := range one.Lists {
		f.attr(&e, name, list)
	}
	for name, x := range one.Numbers {
		f.attr(&e, name, storage.From([]float64{x}))
	}
	switch {
	case f.fault == "a name changes":
		e.Name = strings.ReplaceAll(e.Name, " ", "_")
	case f.fault == "a type changes" && t == dtype.Int16:
		e.Array.Type = dtype.Uint16
	case f.fault == "a shape changes" && len(one.Shape) == 1:
		e.Array.View = views.Of(append([]int{1}, one.Shape...)...)
	case f.fault == "an element changes" && len(b) > 7000:
		b[len(b)-1] ^= 1
	case f.fault == "sharing is lost":
		e.Shared = one.Name
	}
	return e, nil
}

func (f *faultyFile) attr(e *serialize.Entry, name string, value any) {
	if f.fault == "an attribute is lost" && name == "names" {
		return
	}
	if f.fault == "an attribute changes" && name == "scale" {
		value = storage.From([]float64{0.25})
	}
	if e.Attrs == nil {
		e.Attrs = map[string]any{}
	}
	e.Attrs[name] = value
}

// closable is a source that its file ends.
type closable struct {
	file *faultyFile
	storage.Storage
}

func (c closable) Device() storage.Device { return storage.File("faulty") }

func (c closable) ReadView(dst []byte, t dtype.Type, v views.View) error {
	if c.file.closed {
		return fmt.Errorf("the file is closed: %w", storage.ErrState)
	}
	from := storage.Array{Data: c.Storage, Type: t, View: v}
	return from.CopyTo(storage.Array{Data: storage.Wrap(dst), Type: t, View: views.Of(v.Shape...)})
}
