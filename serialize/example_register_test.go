package serialize_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// plainSignature begins the files of a format that has a line for each array, and then its elements:
//
//	"w" float32 2 3
//	(24 bytes, little-endian and row-major)
const plainSignature = "ARRAYS1\n"

var plainFormat = serialize.Format{Name: "plain", Extensions: []string{".plain"}, Match: matchPlain, Open: openPlain}

func init() {
	plainFormat.Save = savePlain // which uses plainFormat
	serialize.Register(plainFormat)
}

func matchPlain(r io.ReaderAt, size int64) serialize.Confidence {
	begin := make([]byte, len(plainSignature))
	if n, _ := r.ReadAt(begin, 0); string(begin[:n]) != plainSignature {
		return serialize.NoMatch
	}
	return serialize.ExactMatch
}

// openPlain lists the arrays of a file. Their elements are read from it, or from its mapped
// memory, when they are asked for.
func openPlain(in serialize.Input) (serialize.File, error) {
	sections, err := in.Sections()
	if err != nil {
		return nil, err
	}
	list := serialize.NewList(0, nil, sections.Close)
	for at := int64(len(plainSignature)); at < in.Size && err == nil; {
		var e serialize.Entry
		if e, at, err = readPlain(sections, at); err == nil {
			err = list.Add(e, nil)
		}
	}
	if err != nil {
		sections.Release()
		return nil, err
	}
	return list, nil
}

// readPlain returns the array whose line begins at an offset, and the offset after its elements.
func readPlain(sections *serialize.Sections, at int64) (e serialize.Entry, next int64, err error) {
	in := sections.Input()
	line, err := bufio.NewReader(io.NewSectionReader(in, at, in.Size-at)).ReadString('\n')
	if err != nil {
		return e, 0, io.ErrUnexpectedEOF
	}
	quoted, err := strconv.QuotedPrefix(line)
	if err != nil {
		return e, 0, fmt.Errorf("the line at byte %d does not begin with a name: %w", at, err)
	}
	e.Name, _ = strconv.Unquote(quoted)
	fields := strings.Fields(line[len(quoted):])
	if len(fields) == 0 {
		return e, 0, fmt.Errorf("%q has no type: %w", e.Name, dtype.ErrType)
	}
	if e.Array.Type, err = dtype.Parse(fields[0]); err != nil {
		return e, 0, fmt.Errorf("%q: %w", e.Name, err)
	}
	shape := make([]int, len(fields)-1)
	for i, field := range fields[1:] {
		if shape[i], err = strconv.Atoi(field); err != nil {
			return e, 0, fmt.Errorf("%q: %w", e.Name, err)
		}
	}
	if e.Array.View, err = views.New(shape, int(in.Size)); err != nil { // no more elements than bytes
		return e, 0, fmt.Errorf("%q: %w", e.Name, err)
	}
	at, size := at+int64(len(line)), int64(e.Array.NBytes())
	elements, err := sections.Section(at, size)
	if err != nil {
		return e, 0, fmt.Errorf("%q: %w", e.Name, err)
	}
	e.Array.Data = serialize.Normalize(elements, e.Array.Type, binary.LittleEndian)
	return e, at + size, nil
}

func savePlain(w io.Writer, c serialize.Contents) error {
	if _, err := io.WriteString(w, plainSignature); err != nil {
		return err
	}
	for e, err := range plainFormat.Checked(c) {
		if err != nil {
			return err
		}
		shape := strings.Trim(fmt.Sprint(e.Array.Shape), "[]")
		if _, err := fmt.Fprintf(w, "%q %v %s\n", e.Name, e.Array.Type, shape); err != nil {
			return err
		}
		if err := serialize.WriteLittleEndian(w, e.Array); err != nil {
			return fmt.Errorf("%q: %w", e.Name, err)
		}
	}
	return nil
}

// A format of your own is a value that says what files can hold, and functions that open and save
// them. Package serializetest examines it: see TestPlainFormat and FuzzPlainFormat.
func ExampleRegister() {
	var file bytes.Buffer
	weights := storage.From([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	if err := serialize.Write(&file, "plain", serialize.Contents{Entries: serialize.Entries(serialize.Entry{Name: "w", Array: weights})}); err != nil {
		panic(err)
	}
	f, err := serialize.OpenReader(bytes.NewReader(file.Bytes()), int64(file.Len()), "weights.plain")
	if err != nil {
		panic(err)
	}
	defer f.Close()
	w, err := serialize.Find(f, "w")
	if err != nil {
		panic(err)
	}
	column, err := w.Index("[:, 1]")
	if err != nil {
		panic(err)
	}
	elements, err := storage.Read[float32](column)
	fmt.Println(w, elements, err)

	_, err = serialize.OpenReader(strings.NewReader(file.String()[:20]), 20, "cut.plain")
	fmt.Println(err, errors.Is(err, io.ErrUnexpectedEOF))
	// Output:
	// float32[2 3] on file:weights.plain [2 5] <nil>
	// cut.plain: unexpected EOF true
}

func TestPlainFormat(t *testing.T) { serializetest.TestFormat(t, "plain", "", "a b\n") }

func FuzzPlainFormat(f *testing.F) {
	f.Add([]byte(plainSignature + "\"w\" uint8 3\n123"))
	f.Fuzz(serializetest.FuzzTarget("plain"))
}
