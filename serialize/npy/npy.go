// Package npy reads and writes NumPy's files: .npy, one array or several one after the other, and
// .npz, a zip archive of them.
//
// Elements are read when they are asked for, and slices of arrays that are not
// compressed read only what they select. Data in Fortran order is a view. Strings and
// structured types are Elements of an entry. Python objects are refused; nothing in a file
// is executed.
//
// The header parser is this package's own, because headers come from strangers; the
// tests compare it with github.com/sbinet/npyio, and pin what that does wrong.
package npy

import (
	"cmp"
	"io"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

var (
	types     = slices.DeleteFunc(dtype.All(), func(t dtype.Type) bool { return t == dtype.BFloat16 || t.StorageOnly() })
	npyFormat = serialize.Format{Name: "npy", Extensions: []string{".npy"}, Types: types, Single: true, Attr: keeps, Titles: true, Elements: holds}
	npzFormat = serialize.Format{Name: "npz", Extensions: []string{".npz"}, Types: types, Meta: true, Attr: keeps, Titles: true, Elements: holds}
)

func init() {
	npyFormat.Match, npyFormat.Open, npyFormat.Save = matchNpy, openNpy, saveNpy
	npzFormat.Match, npzFormat.Open, npzFormat.Save = matchNpz, openNpz, saveNpz
	npzFormat.Salvage = salvage
	npyFormat.Fits = func(e serialize.Entry) error { return cmp.Or(checkRank(e.Shape()), checkFields(e)) }
	npzFormat.Fits = func(e serialize.Entry) error { return cmp.Or(checkName(e.Name), checkRank(e.Shape()), checkFields(e)) }
	npyFormat.FitsValues = func(e *serialize.Elements) func(any) error { return kindOf(e).include }
	npzFormat.FitsValues = npyFormat.FitsValues
	npzFormat.FitsMeta = func(meta map[string]string) error {
		_, err := commentOf(meta)
		return err
	}
	serialize.Register(npyFormat)
	serialize.Register(npzFormat)
}

// Write writes a to w as an .npy file, block by block.
func Write(w io.Writer, a storage.Array) error {
	descr, err := descrOf(a.Type)
	if err != nil {
		return err
	}
	return writeAs(w, descr, a)
}

// writeAs writes a with numbers that descr describes.
func writeAs(w io.Writer, descr string, a storage.Array) error {
	if err := writeHeader(w, "'"+descr+"'", a.Shape); err != nil {
		return err
	}
	_, err := a.WriteTo(w)
	return err
}

// holds reports whether elements that are not numbers can be stored.
func holds(typ string) bool { return typ == "string" || typ == "compound" }

// keeps reports whether an attribute is NumPy's type of an array, and fits it.
func keeps(e serialize.Entry, name string) bool { return name == Descr && takeDescr(&e) != "" }

func matchNpy(r io.ReaderAt, _ int64) serialize.Confidence {
	var head [len(magic) + 4]byte // with the version and the length of the header
	if _, err := r.ReadAt(head[:], 0); err != nil || string(head[:len(magic)]) != magic {
		return serialize.NoMatch
	}
	return serialize.ExactMatch
}

func saveNpy(w io.Writer, c serialize.Contents) error {
	descrs := takeDescrs(&c)
	e, err := npyFormat.Only(c)
	if err != nil {
		return err
	}
	return write(w, e, descrs[0])
}
