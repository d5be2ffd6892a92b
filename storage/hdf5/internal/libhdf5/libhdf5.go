// Package libhdf5 calls the HDF Group's library. It serializes all calls, turns its
// errors into Go errors, and keeps it from printing and from loading plugins.
//
// Package hdf5write writes files with it; package hdf5test compares the reader of
// package hdf5 with it. A program that only reads does not link it.
package libhdf5

import (
	"errors"
	"strings"
)

// An ID identifies an open object of the library.
type ID int64

// A Layout is the storage layout of a dataset.
type Layout int

// The layouts. Allocated is contiguous, with its space allocated at creation.
const (
	LayoutCompact Layout = iota
	LayoutContiguous
	LayoutAllocated
	LayoutChunked
	LayoutElsewhere // in other datasets or files, as the properties say
)

// A DatasetSpec describes a dataset to be created.
type DatasetSpec struct {
	Type     ID
	Shape    []int // nil: a null dataspace
	MaxShape []int
	Layout   Layout
	Chunks   []int
	Filters  []uint32 // as in [File.Chunked]
	Fill     Image    // of one element; none if its ElemSize is 0

	Properties ID // of LayoutElsewhere
}

// A Selection selects elements of a dataset.
type Selection struct {
	Kind            int // as in hdf5.Selection
	Shape, MaxShape []int
	Numbers         []int
}

// An Image holds elements as the library has them in memory, followed by the values
// that they point to.
type Image struct {
	Bytes    []byte
	Pointers []uint64 // positions of pointers, which hold offsets from the start of Bytes
	ElemSize int      // of an element in memory, as the caller computed it
}

// A StringBlock is strings for a hyperslab of a dataset.
type StringBlock struct {
	Start, Count []int
	First        bool
	UTF8         bool   // all strings of the dataset are UTF-8; else they are marked as ASCII
	Data         []byte // one string after another, each terminated by NUL
}

// A partialError is the error of a call that may have changed the file.
type partialError struct{ error }

// IsPartial reports whether err is the error of a call that may have changed the file.
func IsPartial(err error) bool {
	var partial partialError
	return errors.As(err, &partial)
}

// shortMessage extracts the system's error from messages in which the library lists
// all the details of a failed system call.
func shortMessage(text string) string {
	act, detail, long := strings.Cut(text, ": time = ")
	_, reason, ok := strings.Cut(detail, "error message = '")
	if reason, _, ends := strings.Cut(reason, "'"); long && ok && ends {
		return act + ": " + reason
	}
	return strings.Join(strings.Fields(text), " ")
}
