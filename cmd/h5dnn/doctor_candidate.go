package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/arrayfmt"
	loading "github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/dataset/datafiles"
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

// A trainingCandidate is data that can be inputs or targets: one dataset, or alike ones that a
// path with a star names.
type trainingCandidate struct {
	path     string // with a star
	paths    []string
	labels   bool // strings, which are class labels
	named    bool // integers of an enum or of categories, which can be class labels
	dtype    string
	length   string // the shape
	shape    []int  // of the first
	rows     int    // of all
	rowBytes int
	layout   string
	facts    []string
	warnings []string
	missing  []missingValues
	measured *measurement // nil: too small to matter, or not readable

	unwritten bool
	broken    bool            // some of it cannot be read
	encoding  string          // of stored elements, by a convention
	data      []openedData    // the alike ones
	samples   loading.Dataset // as train loads them; nil of labels
	stored    []*hdf5.Dataset // the datasets of the elements; nil unless all are datasets of numbers
}

// missingValues are the missing values of a candidate in the rows that were looked at.
type missingValues struct {
	loading.Missing
	elements int    // that were looked at
	rows     string // which rows these are
	labels   int    // labels that are missing, if it is labels
}

func (p *trainingCandidate) fact(format string, args ...any) {
	p.facts = append(p.facts, fmt.Sprintf(format, args...))
}

func (p *trainingCandidate) warn(format string, args ...any) {
	p.warnings = append(p.warnings, fmt.Sprintf(format, args...))
}

// bytes returns the size of all rows.
func (p *trainingCandidate) bytes() int { return p.rows * p.rowBytes }

// candidate opens data as train does, or returns why train cannot.
func (d *doctor) candidate(group []openedData) (*trainingCandidate, error) {
	first := group[0]
	p := &trainingCandidate{path: first.path, dtype: typeName(first), length: lengthText(group), shape: first.Shape(), data: group, layout: first.Data.Layout, encoding: first.Data.Encoding}
	for _, o := range group {
		p.paths = append(p.paths, o.path)
		p.rows += rowsOf(o)
	}
	if len(group) > 1 {
		p.fact("%d alike", len(group))
	}
	if p.rows == 0 {
		return nil, errors.New("no rows")
	}
	if _, err := datafiles.Found(first.Selection, d.name+": "+first.path); err != nil {
		return nil, err
	}
	if first.Texts() {
		if p.labels = true; len(p.shape) > 1 && first.View().Len() != rowsOf(first) {
			return nil, errors.New("strings of several axes, where class labels have one")
		}
		return p, nil
	}
	if first.Numbers() && first.Array.Type.IsComplex() {
		return nil, fmt.Errorf("%v, which models do not take", first.Array.Type)
	}
	var err error
	if p.samples, err = p.samplesOf(d, group); err != nil {
		return nil, err
	}
	if p.rowBytes = int(loading.Bytes(p.samples)) / p.rows; p.rowBytes == 0 {
		return nil, errors.New("rows without elements")
	}
	p.named = first.Names != nil && first.View().Len() == rowsOf(first)
	p.storage(d)
	if !slices.ContainsFunc(p.paths, func(path string) bool { return !dataconfig.Shuffled(d.files, d.name, path) }) {
		p.fact("rows in random order, so that reading in blocks is a true shuffle")
	}
	return p, nil
}

// typeName returns the type of elements: of an enum or categories, with their number.
func typeName(o openedData) string {
	if o.Names != nil {
		return fmt.Sprintf("%s of %d classes", o.Selection.Type(), len(o.Names))
	}
	return o.Selection.Type()
}

// samplesOf returns the samples of alike data, as train loads them. Categories are their codes. It warns of what train notes of the first.
func (p *trainingCandidate) samplesOf(d *doctor, group []openedData) (loading.Dataset, error) {
	var all []loading.Dataset
	for _, o := range group {
		var one loading.Dataset
		var notes []string
		var err error
		if o.Names != nil {
			one, err = loading.FromArrays(loading.NamedArray{Name: "x", Array: o.Array})
		} else {
			source := dataconfig.Source{NamedPath: dataconfig.NamedPath{Name: "x", Path: o.path}, File: d.name}
			one, notes, err = dataconfig.Config{}.Inputs(d.files, []dataconfig.Source{source})
		}
		if err != nil {
			return nil, err
		}
		all = append(all, one)
		if o.path == p.path {
			p.warnings = append(p.warnings, notes...)
		}
	}
	return joined(all)
}

// storage describes how the data is stored.
func (p *trainingCandidate) storage(d *doctor) {
	p.unwritten = true
	for _, o := range p.data {
		_, unwritten := storage.Unwritten(o.Array)
		p.unwritten = p.unwritten && o.Numbers() && unwritten
	}
	if p.unwritten {
		p.fact("never written")
	}
	h5, ok := d.file.(inspect.HDF5)
	if !ok {
		return
	}
	for _, o := range p.data {
		path, members := datafiles.CutMembers(o.path)
		stored, err := h5.Stored(path)
		if err != nil { // such as a sparse matrix, which is a group
			p.stored = nil
			return
		}
		if o.path == p.paths[0] {
			p.geometry(stored)
		}
		if _, _, err := stored.Type.DType(); err != nil || len(members) > 0 {
			p.stored = nil
			return
		}
		p.stored = append(p.stored, stored)
	}
}

// geometry checks how a dataset is stored.
func (p *trainingCandidate) geometry(d *hdf5.Dataset) {
	if d.Type.BigEndian {
		p.warn("big-endian: every element is byte-swapped when it is read")
	}
	if at, ok := d.Offset(); ok {
		p.fact("at byte %d", at)
		if size := d.DType.Size(); d.DType.Valid() && at%size != 0 && sizeOf(d) >= worthIt {
			p.warn("elements are not aligned to their size of %d bytes", size)
		} else if at%4096 == 0 {
			p.fact("aligned to 4096")
		}
	}
	if d.Chunks != nil {
		p.chunks(d)
	}
}

func sizeOf(d *hdf5.Dataset) int {
	n, _ := d.Len()
	return n * d.Type.Size
}

// Chunks smaller than tinyChunk cost more to find than to read; chunks larger than
// hugeChunk need much memory to shuffle.
const tinyChunk, hugeChunk = 4 << 10, 32 << 20

func (p *trainingCandidate) chunks(d *hdf5.Dataset) {
	chunk, perRow := d.Type.Size, 1
	for axis, n := range d.Chunks {
		chunk *= n
		if axis > 0 {
			perRow *= (d.Shape[axis] + n - 1) / max(1, n)
		}
	}
	p.fact("chunks of %s, %s", plural(d.Chunks[0], "row"), arrayfmt.Bytes(chunk))
	if perRow > 1 {
		p.warn("a row spans %d chunks, so reading one row decodes %d", perRow, perRow)
	}
	stored, err := d.StoredChunks()
	switch {
	case err != nil:
		p.broken = true
		p.warn("chunk index cannot be read: %v", err)
		return
	case chunk < tinyChunk && len(stored) > 1000:
		p.warn("%d chunks of only %s", len(stored), arrayfmt.Bytes(chunk))
	case chunk > hugeChunk:
		p.warn("chunks of %s, each decoded whole to read a single row", arrayfmt.Bytes(chunk))
	}
	if err := d.CheckDecodable(); err != nil {
		p.broken = true
		p.warn("cannot be decoded: %v", err)
	}
	var names []string
	for _, f := range d.Filters {
		names = append(names, f.String())
	}
	if len(names) > 0 {
		p.fact("%s", strings.Join(names, ", "))
	}
}

// mostScanned is the number of bytes of a candidate whose values are looked at, in scannedParts
// parts where that is not all.
const (
	mostScanned  = 256 << 20
	scannedParts = 8
)

// values looks for missing values, and for labels that are sorted.
func (p *trainingCandidate) values(ctx context.Context) error {
	if p.broken {
		return nil
	}
	for _, o := range p.data {
		if p.labels || p.named {
			if err := p.classes(ctx, o); err != nil {
				return err
			}
		}
	}
	if p.labels {
		return nil
	}
	if err := p.checkExpansion(); err != nil {
		return err
	}
	if p.samples.Fields()[0].Type.IsFloat() {
		if err := p.findMissing(ctx); err != nil {
			return err
		}
	}
	if o := p.data[0]; len(p.data) == 1 && o.Numbers() && o.Array.Type.IsInt() && o.Array.Rank() == 1 {
		return p.checkOrder(o.Array)
	}
	return nil
}

// checkExpansion returns an error if what would be read is more than the stored bytes account
// for.
func (p *trainingCandidate) checkExpansion() error {
	for _, o := range p.data {
		if o.Budget == nil || !o.Numbers() {
			continue
		}
		stored, err := o.Stored()
		if err == nil {
			err = o.Budget.Make(min(o.Array.NBytes(), mostScanned), stored)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// classes counts class labels.
func (p *trainingCandidate) classes(ctx context.Context, o openedData) error {
	missing := missingValues{elements: o.View().Len(), rows: rangeText([][2]int{{0, rowsOf(o)}}, rowsOf(o))}
	s, err := statisticOf(ctx, o.Selection, false)
	if err != nil {
		return err
	}
	counts, ok := s.(*valueCounts)
	if !ok {
		return nil // never written
	}
	classes := len(counts.counts)
	if missing.labels = counts.empty; counts.texts && counts.empty > 0 {
		classes--
	}
	for value, n := range counts.counts {
		if strings.HasSuffix(value, noName) {
			missing.labels, classes = missing.labels+n, classes-1
		}
	}
	switch {
	case counts.others > 0:
		p.warn("more than %d different strings are too many to be class labels", maxDistinct)
	case len(p.data) == 1 && p.labels:
		p.fact("class labels, %d different", classes)
	}
	if missing.labels > 0 {
		p.missing = append(p.missing, missing)
	}
	return nil
}

// findMissing looks for elements that are not finite in all rows, or in parts.
func (p *trainingCandidate) findMissing(ctx context.Context) error {
	parts := p.parts(mostScanned, scannedParts)
	samples, n, err := p.within(parts)
	if err != nil {
		return err
	}
	found, err := loading.FindMissing(ctx, samples, loading.Options{})
	for _, m := range found {
		p.missing = append(p.missing, missingValues{Missing: m, elements: n * p.rowBytes / m.Type.Size(), rows: rangeText(parts, p.rows)})
	}
	return err
}

// parts returns ranges of rows of about the given size: all rows, or n parts, evenly spaced. They
// begin and end where blocks do that are decoded together.
func (p *trainingCandidate) parts(bytes, n int) [][2]int {
	if p.bytes() <= bytes {
		return [][2]int{{0, p.rows}}
	}
	ends := append([]int{0}, loading.Describe(p.samples).BlockEnds...)
	if len(ends) == 1 {
		ends = nil
	}
	floor := func(row int) int {
		if ends == nil {
			return row
		}
		i, found := slices.BinarySearch(ends, row)
		if !found {
			i--
		}
		return ends[i]
	}
	length := max(1, bytes/n/p.rowBytes)
	var parts [][2]int
	for k := range n {
		first := floor((p.rows - length) / (n - 1) * k)
		end := floor(first + length)
		if i, _ := slices.BinarySearch(ends, first+1); end == first && i < len(ends) {
			end = ends[i] // at least one block
		}
		if last := len(parts) - 1; last >= 0 && first <= parts[last][1] {
			parts[last][1] = max(parts[last][1], end)
			continue
		}
		parts = append(parts, [2]int{first, end})
	}
	return parts
}

// within returns the samples of some ranges of rows, and their number.
func (p *trainingCandidate) within(parts [][2]int) (loading.Dataset, int, error) {
	if parts[0] == [2]int{0, p.rows} {
		return p.samples, p.rows, nil
	}
	var rows []int
	for _, part := range parts {
		for row := part[0]; row < part[1]; row++ {
			rows = append(rows, row)
		}
	}
	d, err := loading.Subset(p.samples, rows)
	return d, len(rows), err
}

// mostSampled is the number of bytes of integers whose order is checked.
const mostSampled = 32 << 20

// checkOrder warns of labels that are sorted.
func (p *trainingCandidate) checkOrder(a storage.Array) error {
	labels, err := storage.Read[int64](a.With(a.View.Narrow(0, 0, min(a.Shape[0], max(1, mostSampled/a.Type.Size())))))
	if err != nil {
		return err
	}
	if differ, expected, classes := disorder(labels); classes > 1 && differ*5 < expected {
		p.warn("sorted, if it is labels: of %d neighbours %.0f differ; in random order of %d classes %.0f would", len(labels), differ, classes, expected)
	}
	return nil
}

// disorder counts neighbours that differ, and the number expected in random order,
// n·(1-Σp²), where p is the share of each label. It returns zeros if there are too
// many distinct values to be labels.
func disorder(labels []int64) (differ, expected float64, classes int) {
	const most, fewest = 4096, 64
	counts := map[int64]int{}
	for k, label := range labels {
		if counts[label]++; len(counts) > most {
			return 0, 0, 0
		}
		if k > 0 && label != labels[k-1] {
			differ++
		}
	}
	if len(labels) < fewest || len(counts) > len(labels)/2 {
		return 0, 0, 0
	}
	same := 0.0
	for _, n := range slices.Sorted(maps.Values(counts)) { // the same sum for the same labels
		same += float64(n) / float64(len(labels)) * float64(n) / float64(len(labels))
	}
	return differ, float64(len(labels)) * (1 - same), len(counts)
}
