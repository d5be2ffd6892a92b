package dataconfig

import (
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Data is samples to train and to validate on. Their schemas say which fields are
// inputs, targets, weights and lengths.
type Data struct {
	Train dataset.Dataset
	Val   dataset.Dataset // nil if there is nothing to validate on
	Notes []string        // what the user should know

	// ClassNames are the names of the classes of each target whose labels have names.
	ClassNames map[string][]string
	// Categories are the categories of each column of strings or categories in the inputs.
	Categories Categories
	// Layouts are the image layouts, nchw or nhwc, that files record for inputs.
	Layouts map[string]string
	// Genes are the names of the columns of inputs along var of AnnData: as Config.Genes asks for, or else as all files
	// have them, if no name is a duplicate. A run keeps them, and takes other files by these names.
	Genes []string
	// CSR are the inputs whose batches are sparse matrices.
	CSR map[string]CSRInput

	config  Config
	ragged  map[string]bool   // inputs whose rows have different lengths
	fixed   map[string][]bool // columns of inputs that are not standardized, such as categories
	targets dataset.Dataset   // of all samples, whichever side of a split they are on; nil without targets
}

// New makes data of arrays: samples to train on, and to validate on, if there are
// any. Rows and splits that look into files are for Open.
func New(c Config, seed uint64, train, val []dataset.NamedArray) (*Data, error) {
	if len(c.Rows)+len(c.ValRows) > 0 || c.Split != (Split{Fraction: c.Split.Fraction, Folds: c.Split.Folds, Fold: c.Split.Fold}) {
		return nil, fmt.Errorf("data: rows, groups, attributes and masks are found in files; use Open: %w", storage.ErrState)
	}
	if len(train) == 0 {
		return nil, fmt.Errorf("data: no arrays to train on: %w", views.ErrShape)
	}
	training := []*part{partOf(train)}
	var validation []*part
	if len(val) > 0 {
		validation = []*part{partOf(val)}
	}
	for _, p := range append(training, validation...) {
		err := p.checkLengths()
		for i := range p.fields {
			if f := &p.fields[i]; err == nil && f.Role == dataset.Input {
				f.NamedArray, err = c.fillPrevious(f.NamedArray)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return c.data(seed, training, validation)
}

func partOf(arrays []dataset.NamedArray) *part {
	p := &part{}
	for _, n := range arrays {
		p.fields = append(p.fields, field{NamedArray: n, path: n.Name})
	}
	return p
}

// Open finds the arrays that c names in files, and selects and splits their rows.
func Open(c Config, seed uint64, files Files) (*Data, error) {
	training, err := c.parts(files)
	if err != nil {
		return nil, err
	}
	if err := c.checkForecast(training[0]); err != nil {
		return nil, err
	}
	var validation []*part
	if len(c.ValX) > 0 {
		if validation, err = c.Validation().parts(files); err != nil {
			return nil, err
		}
	}
	d, err := c.data(seed, training, validation)
	if err == nil {
		d.noteShuffled(training)
	}
	return d, err
}

// ShuffleAttribute is the attribute of datasets whose rows were written in random order: the seed.
const ShuffleAttribute = "h5dnn_shuffle_seed"

// Shuffled reports whether the rows of an array of a file were written in random order.
func Shuffled(files Files, file, path string) bool {
	at, _ := wildcard(path).split()
	at = strings.TrimSuffix(at, "/data")
	return slices.ContainsFunc([]string{at, at + "/data", at + "/codes"}, func(path string) bool {
		seed, err := files.Attribute(file, path, ShuffleAttribute)
		return err == nil && len(seed) > 0
	})
}

// noteShuffled notes rows that were written in random order.
func (d *Data) noteShuffled(parts []*part) {
	if !slices.ContainsFunc(parts, func(p *part) bool { return !Shuffled(p.files, p.file, p.fields[0].path) }) {
		d.Notes = append(d.Notes, "rows were written in random order, so that reading in blocks is a true shuffle")
	}
}

// notePacked returns a note on numbers that are read as stored though attributes say what they stand for.
func notePacked(parts []*part) []string {
	var packed []string
	for _, p := range parts {
		for _, at := range p.packed {
			if !slices.Contains(packed, at) {
				packed = append(packed, at)
			}
		}
	}
	if len(packed) == 0 {
		return nil
	}
	of := packed[0]
	if len(packed) > 1 {
		of += fmt.Sprintf(" and %d more", len(packed)-1)
	}
	return []string{of + ": numbers are as stored, also where they stand for missing ones; format: netcdf applies these attributes"}
}

// data makes samples of parts.
func (c Config) data(seed uint64, training, validation []*part) (*Data, error) {
	d := &Data{config: c}
	var err error
	if d.ClassNames, err = c.nameClasses(slices.Concat(training, validation)); err != nil {
		return nil, err
	}
	if d.Categories, err = c.encode(slices.Concat(training, validation)); err != nil {
		return nil, err
	}
	if d.Genes, d.Notes, err = c.alignGenes(slices.Concat(training, validation), false); err != nil {
		return nil, err
	}
	d.Notes = append(d.Notes, notePacked(slices.Concat(training, validation))...)
	if err := padCSR(slices.Concat(training, validation)); err != nil {
		return nil, err
	}
	d.Layouts, d.ragged = recorded(training)
	d.CSR = map[string]CSRInput{}
	for _, f := range training[0].fields {
		if f.csr != nil && slices.Contains(c.CSR, f.Name) {
			in := csrNames(f.Name)
			in.Width, in.Mapped = f.csr.width, len(c.Genes) > 0
			d.CSR[f.Name] = in
		}
	}
	d.fixed = map[string][]bool{}
	for _, f := range training[0].fields {
		d.fixed[f.Name] = f.fixed
	}
	long, err := c.dropShort(training)
	d.Notes = noteShort(d.Notes, len(training)-len(long), len(training), c.shortest())
	if err == nil && slices.ContainsFunc(training[0].fields, func(f field) bool { return f.Role == dataset.Target }) {
		d.targets, err = concat(long, c.targets)
	}
	if err == nil {
		err = d.split(c, seed, long, validation)
	}
	if err == nil {
		err = d.check(c)
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// split makes samples of the two sides that c divides parts into.
func (d *Data) split(c Config, seed uint64, training, validation []*part) error {
	if c.Split.Fraction > 0 && c.Split == (Split{Fraction: c.Split.Fraction, By: c.Split.By}) && !c.episodes() { // each sample for itself
		all, err := concat(training, c.samples)
		if err == nil {
			d.Train, d.Val, err = dataset.Split(all, c.Split.Fraction, seed)
		}
		return err
	}
	var err error
	if c.Split != (Split{}) {
		var divided sides
		divided, err = c.divide(training, seed)
		training, validation, d.Notes = divided.train, divided.val, append(d.Notes, divided.notes...)
	} else {
		validation, err = c.dropShort(validation)
	}
	if err == nil {
		d.Train, err = concat(training, c.samples)
	}
	if err == nil && len(validation) > 0 {
		d.Val, err = concat(validation, c.samples)
	}
	return err
}

// recorded returns the layouts that the files of parts record, and the inputs of rows of
// different lengths.
func recorded(parts []*part) (layouts map[string]string, ragged map[string]bool) {
	layouts, ragged = map[string]string{}, map[string]bool{}
	for _, p := range parts {
		for _, f := range p.fields {
			if f.layout != "" {
				layouts[f.Name] = f.layout
			}
			if f.ragged {
				ragged[f.Name] = true
			}
		}
	}
	return layouts, ragged
}

// check refuses sides that are empty or differ in their inputs.
func (d *Data) check(c Config) error {
	n := d.Train.Len()
	switch {
	case d.Val == nil && n == 0:
		return fmt.Errorf("%v has no samples, or none were selected: %w", c.X, views.ErrShape)
	case d.Val == nil:
		return nil
	case n == 0 || d.Val.Len() == 0:
		return fmt.Errorf("%d samples to train on and %d to validate on; want some of both: %w", n, d.Val.Len(), views.ErrShape)
	}
	have, want := inputs(d.Val), inputs(d.Train)
	for i := range want {
		if i >= len(have) || !have[i].Equal(want[i]) {
			return fmt.Errorf("the inputs %v hold samples of %v, %v of %v; they must be alike: %w", c.ValX, have, c.X, want, views.ErrShape)
		}
	}
	return nil
}

// inputs returns the fields of d that are inputs.
func inputs(d dataset.Dataset) (all []dataset.Field) {
	for _, f := range d.Fields() {
		if f.Role == dataset.Input {
			all = append(all, f)
		}
	}
	return all
}
