package train

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A part is samples that lie together: those of a file, or of an episode in it.
type part struct {
	file, yFile  string
	xPath, yPath string
	at           match // of the path of inputs
	x, y         storage.Array
	keep         dataset.RowSet // nil: all
}

// len counts rows, picked or not: samples if each is one row.
func (p *part) len() int { return p.x.Shape[0] }

// name says where the part is, for errors.
func (p *part) name() string {
	if p.file == "" {
		return p.xPath
	}
	return p.file + ": " + p.xPath
}

// only returns the part with those of its rows that are in rows, too.
func (p *part) only(rows dataset.RowSet) *part {
	q := *p
	if q.keep = rows; p.keep != nil {
		q.keep = p.keep.Intersect(rows)
	}
	return &q
}

// A source is where inputs and what a model should say of them are.
type source struct {
	files, yFiles Names
	x, y          string
	rows          Names
}

// training and validation return the sources that d names.
func (d DataConfig) training() source { return source{d.File, d.YFile, d.X, d.Y, d.Rows} }

func (d DataConfig) validation() source { return d.Validation().training() }

// Validation returns d with what is validated on in the place of what is trained on.
func (d DataConfig) Validation() DataConfig {
	if len(d.ValFile) > 0 {
		d.File, d.YFile = d.ValFile, nil
	}
	if len(d.ValYFile) > 0 {
		d.YFile = d.ValYFile
	}
	d.X, d.Y, d.Rows = d.ValX, d.ValY, d.ValRows
	return d
}

// parts finds what is at a source.
func (d DataConfig) parts(files Files, at source) ([]*part, error) {
	names, err := globAll(files, at.files)
	if err != nil {
		return nil, err
	}
	yNames := names
	if len(at.yFiles) > 0 {
		if yNames, err = globAll(files, at.yFiles); err != nil {
			return nil, err
		}
	}
	if len(yNames) != len(names) {
		return nil, fmt.Errorf("%d files of inputs and %d of what the model should say; they have to pair up: %w", len(names), len(yNames), views.ErrShape)
	}
	var all []*part
	for i, name := range names {
		found, err := d.partsOf(files, at, name, yNames[i])
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// partsOf finds what is at a source in one file, or pair of files.
func (d DataConfig) partsOf(files Files, at source, file, yFile string) ([]*part, error) {
	matches, err := wildcard(at.x).in(files, file)
	if err != nil {
		return nil, err
	}
	var all []*part
	for _, m := range matches {
		p := &part{file: file, yFile: yFile, xPath: m.path, at: m}
		if err := d.open(files, p, at); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// open finds a part's arrays, and picks its rows.
func (d DataConfig) open(files Files, p *part, at source) (err error) {
	if p.x, err = d.inputs(files, p.file, p.at); err != nil {
		return err
	}
	if p.yPath, err = wildcard(at.y).with(p.at); err != nil {
		return err
	}
	if p.y, err = array(files, p.yFile, p.yPath); err != nil {
		return err
	}
	if err := p.pairs(); err != nil {
		return err
	}
	for _, text := range at.rows {
		f, err := parseFilter(text)
		if err != nil {
			return err
		}
		rows, err := f.rows(files, p)
		if err != nil {
			return err
		}
		*p = *p.only(rows)
	}
	return nil
}

// pairs reports whether there is one y for each x.
func (p *part) pairs() error {
	if p.x.Rank() == 0 || p.y.Rank() == 0 || p.x.Shape[0] != p.y.Shape[0] {
		return fmt.Errorf("%s is %v and %s is %v; want the same number of samples along the first axis: %w", p.name(), p.x.Shape, p.yPath, p.y.Shape, views.ErrShape)
	}
	return nil
}

// inputs returns the rows at a path that was matched.
func (d DataConfig) inputs(files Files, file string, at match) (storage.Array, error) {
	if d.XOffsets != "" {
		return d.cutInputs(files, file, at)
	}
	found, err := files.Find(file, at.path)
	switch {
	case err != nil:
		return storage.Array{}, err
	case found.Ragged != nil:
		return found.Ragged.Padded(d.Length)
	case found.Array.Data == nil:
		return storage.Array{}, fmt.Errorf("%s: %s holds strings; want numbers", file, at.path)
	}
	return found.Array, nil
}

// cutInputs returns rows that other arrays of the file cut values into.
func (d DataConfig) cutInputs(files Files, file string, at match) (storage.Array, error) {
	var arrays [3]storage.Array
	for i, path := range []string{at.path, d.XOffsets, d.XColumns} {
		path, err := wildcard(path).with(at)
		if err == nil && path != "" {
			arrays[i], err = array(files, file, path)
		}
		if err != nil {
			return storage.Array{}, err
		}
	}
	values, offsets, columns := arrays[0], arrays[1], arrays[2]
	name := file + ": " + at.path
	rows, err := dataset.Ragged{}, error(nil)
	if d.XColumns != "" {
		rows, err = dataset.Sparse(name, values, columns, offsets, d.Length)
	} else {
		rows, err = dataset.Offsets(name, values, offsets)
	}
	if err != nil {
		return storage.Array{}, err
	}
	return rows.Padded(d.Length)
}

// array returns the numbers at path.
func array(files Files, file, path string) (storage.Array, error) {
	found, err := files.Find(file, path)
	if err == nil && found.Array.Data == nil {
		err = fmt.Errorf("%s: %s holds no numbers, or rows of different lengths; want an array of numbers", file, path)
	}
	return found.Array, err
}

// Inputs returns the samples at a path as a model that was trained as d says
// takes them: of that shape, which settles the length of rows.
func (d DataConfig) Inputs(files Files, file, path string, sample []int) (storage.Array, error) {
	row := sample
	if d.Steps > 1 && len(row) > 0 {
		row = row[1:]
	}
	if len(row) > 0 {
		d.Length = row[0]
	}
	a, err := d.inputs(files, file, match{path: path})
	if err != nil || d.Steps < 2 {
		return a, err
	}
	return dataset.SlidingWindows(a, d.Steps)
}

// sample returns the samples of p: pairs of x and y.
func (d DataConfig) sample(p *part) (dataset.Dataset, error) {
	x, y, err := p.x, p.y, error(nil)
	if d.Steps > 1 {
		if x, err = dataset.SlidingWindows(p.x, d.Steps); err == nil {
			y, err = d.lastSteps(p.y)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.name(), err)
	}
	return p.picked(d, dataset.Named{Name: "x", Array: x}, dataset.Named{Name: "y", Array: y, Role: dataset.Target})
}

// labels returns the samples of p without their inputs.
func (d DataConfig) labels(p *part) (dataset.Dataset, error) {
	y, err := p.y, error(nil)
	if d.Steps > 1 {
		y, err = d.lastSteps(p.y)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.name(), err)
	}
	return p.picked(d, dataset.Named{Name: "y", Array: y, Role: dataset.Target})
}

// lastSteps returns the last of y in every stretch of steps.
func (d DataConfig) lastSteps(y storage.Array) (storage.Array, error) {
	last := d.YSteps
	if last == 0 {
		last = d.Steps
	}
	v, err := y.View.Slice(0, d.Steps-last, y.Shape[0], 1)
	if err != nil {
		return y, err
	}
	return dataset.SlidingWindows(y.With(v), last)
}

// picked returns the samples of p that its rows allow.
func (p *part) picked(d DataConfig, fields ...dataset.Named) (dataset.Dataset, error) {
	all, err := dataset.Of(fields...)
	if err != nil || p.keep == nil {
		return all, err
	}
	return dataset.Subset(all, p.keep.WindowStarts(max(1, d.Steps)))
}

// long returns the parts that are not too short for one sample.
func (d DataConfig) long(parts []*part) ([]*part, error) {
	long := slices.DeleteFunc(slices.Clone(parts), func(p *part) bool { return p.len() < d.Steps })
	if len(long) == 0 && len(parts) > 0 {
		return nil, fmt.Errorf("%s: none of %d parts is %d steps long: %w", parts[0].name(), len(parts), d.Steps, views.ErrShape)
	}
	return long, nil
}

// chain returns the samples of several parts, made by make, one after the other.
func chain(parts []*part, make func(*part) (dataset.Dataset, error)) (dataset.Dataset, error) {
	var all []dataset.Dataset
	for i, p := range parts {
		one, err := make(p)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
		if have, want := one.Fields(), all[0].Fields(); !slices.EqualFunc(have, want, alike) {
			return nil, fmt.Errorf("%s holds samples of %v, %s of %v; they must be alike, and rows of different lengths need to be told one: %w", parts[i].name(), have, parts[0].name(), want, views.ErrShape)
		}
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return dataset.Concat(all...)
}

func alike(f, g dataset.Field) bool { return fmt.Sprint(f) == fmt.Sprint(g) }
