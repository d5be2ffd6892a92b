package dataconfig

import (
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A part is the samples of one file, or of one episode in it.
type part struct {
	files       Files // nil for arrays in memory
	file, yFile string
	at          match // of the path of the first input
	fields      []field
	packed      []string       // what numbers stand for that are read as stored: "/t2m (scale_factor, add_offset)"
	keep        dataset.RowSet // nil: all
	runs        []int          // the episode, or run of equal groups, that each row is in; a window is in one; nil: any
}

// A field is an array whose first axis counts the rows of a part.
type field struct {
	dataset.NamedArray
	path   string
	labels *Found // labels with names, which become numbers; nil if there are none
	layout string // of images, as the file records it
	ragged bool   // rows have different lengths, and are padded

	csr *csrPart // of a sparse input

	columns []field // that encode joins; nil if the array is in the file
	fixed   []bool  // whether each column along the last axis is a category's, which is not standardized
}

// originOf returns the origin of the rows at a path of a file.
func originOf(file, path string) dataset.Origin { return dataset.Origin{Name: file + ": " + path} }

// len counts rows, selected or not.
func (p *part) len() int { return p.fields[0].Array.Shape[0] }

// name says where the part is, for errors.
func (p *part) name() string {
	if p.file == "" {
		return p.fields[0].path
	}
	return p.file + ": " + p.at.path
}

// only returns the part with those of its rows that are in rows, too.
func (p *part) only(rows dataset.RowSet) *part {
	q := *p
	if q.keep = rows; p.keep != nil {
		q.keep = p.keep.Intersect(rows)
	}
	if q.keep == nil {
		q.keep = dataset.RowSet{} // none, where nil would be all
	}
	return &q
}

// parts finds the samples that c names in files.
func (c Config) parts(files Files) ([]*part, error) {
	names, err := globAll(files, c.File)
	if err != nil {
		return nil, err
	}
	yNames := names
	if len(c.YFile) > 0 {
		if yNames, err = globAll(files, c.YFile); err != nil {
			return nil, err
		}
	}
	if len(yNames) != len(names) {
		return nil, fmt.Errorf("%d files of inputs and %d of targets; they have to pair up: %w", len(names), len(yNames), views.ErrShape)
	}
	all, err := partsIn(files, names, c.X[0].Path, func(p *part, file int) error {
		p.yFile = yNames[file]
		return c.open(p)
	})
	for _, p := range all {
		if err == nil {
			err = c.selectRows(p)
		}
	}
	return all, err
}

// partsIn returns a part for each match of a path in each of the named files, with the fields that open adds.
func partsIn(files Files, names []string, path string, open func(p *part, file int) error) (all []*part, err error) {
	for i, name := range names {
		matches, err := wildcard(path).in(files, name)
		if err != nil {
			return nil, err
		}
		for _, m := range matches {
			p := &part{files: files, file: name, at: m}
			if err := open(p, i); err != nil {
				return nil, err
			}
			// Lengths come last, as the schema of a dataset has them.
			slices.SortStableFunc(p.fields, func(a, b field) int { return int(a.Role) - int(b.Role) })
			if err := p.checkLengths(); err != nil {
				return nil, err
			}
			all = append(all, p)
		}
	}
	return all, nil
}

// open finds a part's arrays.
func (c Config) open(p *part) error {
	for i, name := range c.X.names("x") {
		if err := c.openInput(p, name, c.X[i]); err != nil {
			return err
		}
	}
	for i, name := range c.Y.names("y") {
		if err := p.addTarget(c.Y[i].Path, name); err != nil {
			return err
		}
	}
	if c.Weights == "" {
		return nil
	}
	return p.add(p.yFile, c.Weights, dataset.NamedArray{Name: weightsField, Role: dataset.Weight})
}

// find returns the data at a path of a file; its stars stand for the same names as in the first input.
func (p *part) find(file, path string) (found Found, at string, err error) {
	if at, err = wildcard(path).with(p.at); err == nil {
		found, err = p.files.Find(file, at)
	}
	if err == nil && len(found.Packed) > 0 {
		p.packed = append(p.packed, fmt.Sprintf("%s (%s)", at, strings.Join(found.Packed, ", ")))
	}
	return found, at, err
}

// selectRows divides the rows of p into episodes, and selects some.
func (c Config) selectRows(p *part) error {
	if c.Episodes != "" {
		if err := c.divideEpisodes(p); err != nil {
			return err
		}
	}
	for _, text := range c.Rows {
		f, err := parseFilter(text)
		if err != nil {
			return err
		}
		rows, err := f.rows(p)
		if err != nil {
			return err
		}
		*p = *p.only(rows)
	}
	return nil
}

// weightsField is the name of the field of weights.
const weightsField = "weights"

// autoLengths is the path of lengths that are those of the rows themselves.
const autoLengths = "auto"

// LengthsName returns the name of the field of the lengths of an input.
func LengthsName(input string) string { return input + " lengths" }

// openInput adds an input to p, and its lengths, if c names them.
func (c Config) openInput(p *part, name string, at NamedPath) error {
	if slices.Contains(c.CSR, name) {
		return c.openCSR(p, name, at)
	}
	paths, found := make([]string, 0, 1), make([]Found, 0, 1)
	for _, path := range at.columns() {
		one, path, err := c.findInput(p, name, path)
		if err != nil {
			return err
		}
		paths, found = append(paths, path), append(found, one)
	}
	if c.Images.of(name) != "" && len(paths) == 1 {
		return c.openArray(p, name, paths[0], found[0])
	}
	if first := found[0]; len(paths) > 1 || first.Texts != nil || first.Names != nil && c.encoding(name) != asStored || c.Categories[c.X.of(name)] != nil {
		return c.openColumns(p, name, paths, found)
	}
	return c.openArray(p, name, paths[0], found[0])
}

// openArray adds an input that is an array of numbers, and its lengths, if c names them.
func (c Config) openArray(p *part, name, path string, found Found) (err error) {
	in := dataset.NamedArray{Name: name, Array: found.Array, From: originOf(p.file, path)}
	layout := p.recordedLayout(path)
	if as := c.Images.of(name); as != "" {
		if in.Array, err = images(p.file+": "+path, found, channels[as]); err != nil {
			return err
		}
		found.Ragged = nil
		if layout = ""; channels[as] == 3 {
			layout = "nhwc"
		}
	} else if found.Ragged != nil {
		rows := *found.Ragged
		if rows.Type.IsFloat() && c.Missing.For(name).Rule == Previous {
			rows = rows.FillPrevious()
		}
		in.Array, err = rows.Padded(c.Length)
	} else {
		in, err = c.fillPrevious(in)
	}
	if err != nil {
		return err
	}
	p.fields = append(p.fields, field{
		NamedArray: in, path: path, layout: layout,
		ragged: found.Ragged != nil && c.XColumns.of(name) == "",
	})
	lengths := dataset.NamedArray{Name: LengthsName(name), Role: dataset.Length, LengthOf: name}
	switch at := c.Lengths.of(name); at {
	case "":
		return nil
	case autoLengths:
		if found.Ragged == nil || found.Ragged.Lengths == nil {
			return fmt.Errorf("%s: %s: lengths: auto is for rows of different lengths; name the dataset of lengths: %w", p.file, path, views.ErrShape)
		}
		if lengths.Array, err = found.Ragged.PaddedLengths(c.Length); err != nil {
			return err
		}
		p.fields = append(p.fields, field{NamedArray: lengths, path: at})
		return nil
	default:
		return p.add(p.file, at, lengths)
	}
}

// channels are the numbers of channels of images.
var channels = map[string]int{"rgb": 3, "gray": 1}

// images returns the images that rows of bytes hold.
func images(name string, found Found, channels int) (storage.Array, error) {
	if found.Ragged != nil {
		return found.Ragged.Images(channels)
	}
	rows, err := dataset.ByteRows(name, found.Array)
	if err != nil {
		return found.Array, err
	}
	return rows.Images(channels)
}

// recordedClasses returns the names of classes that an attribute of an array of
// integers, or a dataset of strings beside it, records, as import writes them.
func (p *part) recordedClasses(path string) []string {
	const name = "classes"
	path, _ = wildcard(path).split()
	if values, err := p.files.Attribute(p.yFile, path, name); err == nil && len(values) > 0 {
		names := make([]string, len(values))
		for i, value := range values {
			text, ok := value.(string)
			if !ok {
				return nil
			}
			names[i] = text
		}
		return names
	}
	path = "/" + strings.Trim(path, "/")
	found, err := p.files.Find(p.yFile, path[:strings.LastIndexByte(path, '/')+1]+name)
	if err != nil || found.Texts == nil {
		return nil
	}
	names, err := found.Texts()
	if err != nil || len(names) == 0 || len(names) > maxClasses {
		return nil
	}
	return names
}

// recordedLayout returns the layout of images that an attribute of the array names, as
// import writes it, or "".
func (p *part) recordedLayout(path string) string {
	values, err := p.files.Attribute(p.file, path, "layout")
	if err != nil || len(values) != 1 { // such as a format without attributes
		return ""
	}
	if text, ok := values[0].(string); ok && (text == "nchw" || text == "nhwc") {
		return text
	}
	return ""
}

// add finds the array at a path and adds it to p's fields.
func (p *part) add(file, path string, n dataset.NamedArray) (err error) {
	n.Array, path, err = p.array(file, path)
	n.From = originOf(file, path)
	p.fields = append(p.fields, field{NamedArray: n, path: path})
	return err
}

// addTarget adds a target, whose elements may be strings or integers with names.
func (p *part) addTarget(path, name string) error {
	found, path, err := p.find(p.yFile, path)
	if err != nil {
		return err
	}
	f := field{NamedArray: dataset.NamedArray{Name: name, Role: dataset.Target, Array: found.Array, From: originOf(p.yFile, path)}, path: path}
	switch {
	case found.Texts != nil:
		if err := f.readTexts(found); err != nil {
			return err
		}
	case found.Array.Data == nil:
		return fmt.Errorf("%s: %s holds rows of different lengths; want an array of numbers, or strings", p.yFile, path)
	case found.Names == nil && found.Array.Type.IsInt():
		if names := p.recordedClasses(path); names != nil && numbersOf(found.Array, len(names)) {
			f.labels = &Found{Names: names}
		}
	case found.Names != nil:
		f.labels = &found
	}
	p.fields = append(p.fields, f)
	return nil
}

// readTexts makes f the texts that were found, whose numbers are yet to come.
func (f *field) readTexts(found Found) error {
	texts, err := found.Texts()
	f.labels = &Found{Texts: func() ([]string, error) { return texts, nil }}
	f.Array = storage.From(make([]int64, len(texts)), len(texts))
	return err
}

// checkLengths reports whether every field has an element for each row.
func (p *part) checkLengths() error {
	first := p.fields[0]
	for _, f := range p.fields {
		if first.Array.Rank() == 0 || f.Array.Rank() == 0 || f.Array.Shape[0] != first.Array.Shape[0] {
			return fmt.Errorf("%s is %v and %s is %v; want the same number of samples along the first axis: %w", p.name(), first.Array.Shape, f.path, f.Array.Shape, views.ErrShape)
		}
	}
	return nil
}

// findInput returns the rows at a path of an input: those into which another array divides values, if c says so.
func (c Config) findInput(p *part, name, path string) (found Found, at string, err error) {
	offsets, columns := c.XOffsets.of(name), c.XColumns.of(name)
	if offsets == "" {
		return p.find(p.file, path)
	}
	values, at, err := p.array(p.file, path)
	if err != nil {
		return found, at, err
	}
	ends, _, err := p.array(p.file, offsets)
	if err != nil {
		return found, at, err
	}
	var rows dataset.Ragged
	if columns == "" {
		rows, err = dataset.Offsets(p.file+": "+at, values, ends)
		return Found{Ragged: &rows}, at, err
	}
	places, _, err := p.array(p.file, columns)
	if err == nil {
		rows, err = dataset.Sparse(p.file+": "+at, values, places, ends, c.Length)
	}
	return Found{Ragged: &rows}, at, err
}

// array returns the numbers at a path of a file.
func (p *part) array(file, path string) (storage.Array, string, error) {
	found, at, err := p.find(file, path)
	if err == nil && found.Array.Data == nil {
		err = fmt.Errorf("%s: %s holds no numbers, or rows of different lengths; want an array of numbers", file, at)
	}
	return found.Array, at, err
}

// withLastAxis returns v, an array of samples, with or without a last axis of size 1, such as
// the channel of grey images, if that gives its samples the shape that is wanted. Keras does
// the same.
func withLastAxis(v views.View, want []int) views.View {
	if v.Rank() == 0 {
		return v
	}
	have := v.Shape[1:]
	w, err := v, error(nil)
	switch {
	case slices.Equal(append(slices.Clone(have), 1), want):
		w, err = v.Unsqueeze(v.Rank())
	case slices.Equal(have, append(slices.Clone(want), 1)):
		w, err = v.Squeeze(v.Rank() - 1)
	}
	if err != nil {
		return v
	}
	return w
}

// samples returns the samples of p.
func (c Config) samples(p *part) (dataset.Dataset, error) {
	return c.fields(p, func(field) bool { return true })
}

// targets returns the samples of p with their targets alone.
func (c Config) targets(p *part) (dataset.Dataset, error) {
	return c.fields(p, func(f field) bool { return f.Role == dataset.Target })
}

// fields returns the samples of p with some of their fields.
func (c Config) fields(p *part, wanted func(field) bool) (dataset.Dataset, error) {
	var all []dataset.NamedArray
	var rows []dataset.WindowRows
	span, padded := c.span(), c.PadBefore+c.PadAfter > 0
	for _, f := range p.fields {
		if !wanted(f) {
			continue
		}
		at := f.NamedArray
		if padded && p.len() < span {
			at.Array = storage.Array{Type: at.Array.Type, View: views.Of(append([]int{span}, at.Array.Shape[1:]...)...)} // for its shape
		}
		n, err := c.windows(at)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name(), err)
		}
		all, rows = append(all, n), append(rows, windowRows(f.NamedArray, n))
	}
	if padded && p.len() < span {
		return dataset.ClipWindows(nil, rows, c.clippedWindows(p))
	}
	d, err := dataset.FromArrays(all...)
	if err != nil || p.keep == nil && p.runs == nil && !padded {
		return d, err
	}
	if padded {
		return dataset.ClipWindows(d, rows, c.clippedWindows(p))
	}
	starts := p.rows().WindowStarts(span)
	if p.runs != nil {
		starts = slices.DeleteFunc(starts, func(row int) bool { return p.runs[row] != p.runs[row+span-1] })
	}
	return dataset.Subset(d, starts)
}

// windowRows returns the rows of an array that are the samples of n, its windows.
func windowRows(rows, n dataset.NamedArray) dataset.WindowRows {
	w := dataset.WindowRows{NamedArray: rows, Offsets: []int{n.From.Row - rows.From.Row}}
	if w.Axis = n.From.Steps > 0; w.Axis {
		for range n.Array.Shape[1] - 1 {
			w.Offsets = append(w.Offsets, w.Offsets[len(w.Offsets)-1]+max(1, n.From.Stride))
		}
	}
	return w
}

// clippedWindows returns the windows of the episodes of p, with those that begin before one or end after it.
func (c Config) clippedWindows(p *part) (list []dataset.ClippedWindow) {
	rows, span := p.rows(), c.span()
	for k := 0; k < len(rows); {
		n := 1
		for k+n < len(rows) && rows[k+n] == rows[k]+n && (p.runs == nil || p.runs[rows[k]] == p.runs[rows[k+n]]) {
			n++
		}
		first, last := rows[k], rows[k]+n-1
		for start := first - c.PadBefore; start+span-1 <= last+c.PadAfter; start++ {
			list = append(list, dataset.ClippedWindow{Start: start, First: first, Last: last})
		}
		k += n
	}
	return list
}

// concat returns the samples of several parts, made by make, one after the other.
func concat(parts []*part, make func(*part) (dataset.Dataset, error)) (dataset.Dataset, error) {
	var all []dataset.Dataset
	for i, p := range parts {
		one, err := make(p)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
		if have, want := one.Fields(), all[0].Fields(); !slices.EqualFunc(have, want, dataset.Field.Equal) {
			return nil, fmt.Errorf("%s holds samples of %v, %s of %v; they must be alike, and rows of different lengths need one length set: %w", parts[i].name(), have, parts[0].name(), want, views.ErrShape)
		}
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return dataset.Concat(all...)
}
