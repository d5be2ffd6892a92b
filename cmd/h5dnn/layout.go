package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/spell"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// A wantedLayout is how datasets are to be stored.
type wantedLayout struct {
	layout   string // contiguous, chunked, train, or "" for as it is
	chunks   []int  // nil: as they are, or chosen
	rows     int    // per chunk, if not 0
	auto     bool   // chunks are chosen anew
	filters  []filter.Filter
	refilter bool // filters are given, be it none
	paths    []string
	notes    []hdf5.Finding // on datasets that it does not fit
}

func parseLayout(c *cli.Context) (*wantedLayout, error) {
	w := &wantedLayout{layout: c.String("layout")}
	if known := []string{"", "contiguous", "chunked", "train"}; !slices.Contains(known, w.layout) {
		return nil, fmt.Errorf("unknown layout %q%s; known are contiguous, chunked and train", w.layout, spell.Hint(w.layout, known[1:]))
	}
	for _, path := range c.StringSlice("path") {
		w.paths = append(w.paths, inspect.Clean(path))
	}
	if err := w.parseChunks(c.String("chunks")); err != nil {
		return nil, err
	}
	if c.IsSet("filter") {
		w.refilter = true
		filters, err := parseFilters(strings.Join(c.StringSlice("filter"), ","))
		if err != nil {
			return nil, err
		}
		w.filters = filters
	}
	plain := w.layout == "contiguous" || w.layout == "train"
	if plain && (w.chunks != nil || w.rows > 0 || w.auto || len(w.filters) > 0) {
		return nil, fmt.Errorf("--layout %s has neither chunks nor filters; leave out --chunks and --filter, or write --layout chunked", w.layout)
	}
	return w, nil
}

func (w *wantedLayout) parseChunks(text string) error {
	rows, byRows := strings.CutPrefix(text, "rows=")
	switch {
	case text == "":
		return nil
	case text == "auto":
		w.auto = true
		return nil
	case byRows:
		n, err := strconv.Atoi(rows)
		if err != nil || n < 1 {
			return fmt.Errorf("--chunks %q: %q is not a number of rows", text, rows)
		}
		w.rows = n
		return nil
	}
	for size := range strings.SplitSeq(strings.ReplaceAll(text, "x", ","), ",") {
		n, err := strconv.Atoi(strings.TrimSpace(size))
		if err != nil || n < 1 {
			return fmt.Errorf("--chunks %q is not a shape; write 256,28,28, rows=256 or auto", text)
		}
		w.chunks = append(w.chunks, n)
	}
	return nil
}

// parseFilters reads a pipeline such as shuffle,deflate:4.
func parseFilters(text string) ([]filter.Filter, error) {
	if text == "none" {
		return nil, nil
	}
	var pipeline []filter.Filter
next:
	for part := range strings.SplitSeq(text, ",") {
		name, level, leveled := strings.Cut(strings.TrimSpace(part), ":")
		names := []string{"none"}
		for _, f := range writableFilters {
			names = append(names, f.name)
			if f.name != name {
				continue
			}
			n := f.usual
			if leveled {
				var err error
				if n, err = strconv.Atoi(level); err != nil || f.most == 0 || n < f.least || n > f.most {
					return nil, fmt.Errorf("--filter %s: %q is not a level of %s", text, level, name)
				}
			}
			pipeline = append(pipeline, f.make(n))
			continue next
		}
		return nil, fmt.Errorf("unknown filter %q%s; known are %s", name, spell.Hint(name, names), strings.Join(names, ", "))
	}
	return pipeline, nil
}

// concerns reports whether a dataset is to be changed.
func (w *wantedLayout) concerns(path string) bool {
	if len(w.paths) == 0 {
		return true
	}
	return slices.ContainsFunc(w.paths, func(p string) bool {
		return p == "/" || path == p || strings.HasPrefix(path, p+"/")
	})
}

// layoutOf returns how a dataset is to be stored. Options that do not fit it are an
// error if the dataset was named, and else a note.
func (w *wantedLayout) layoutOf(d *hdf5.Dataset) (hdf5write.Layout, bool, error) {
	kept := hdf5write.Layout{Chunks: d.Chunks, Filters: d.Filters, MaxShape: d.MaxShape}
	if !w.concerns(d.Path) || d.Shape == nil {
		return kept, false, nil
	}
	named := slices.Contains(w.paths, inspect.Clean(d.Path))
	keep := func(reason string, args ...any) (hdf5write.Layout, bool, error) {
		w.notes = append(w.notes, hdf5.Finding{Path: d.Path, Message: "stored as before: " + fmt.Sprintf(reason, args...)})
		return kept, false, nil
	}
	chunked := w.chunks != nil || w.rows > 0 || w.auto || len(w.filters) > 0
	_, _, notNumbers := d.Type.DType()
	l := kept
	switch {
	case len(d.Shape) == 0 && chunked:
		return keep("a scalar has neither chunks nor filters")
	case len(d.Shape) == 0:
		return kept, false, nil
	case w.layout == "train" && notNumbers != nil && !named && d.Layout != "contiguous":
		return keep("its elements are not numbers")
	case w.layout == "train" && notNumbers != nil && !named:
		return kept, false, nil
	case w.layout == "train" && !slices.Contains([]string{"", "ARRAY", "CARRAY", "EARRAY"}, pyTablesClass(d)) && !named:
		return keep("it belongs to a table of PyTables")
	case w.layout == "train" && d.Chunks != nil && staysChunked(d) != "":
		l.Filters, l.Chunks = nil, autoChunks(d)
		w.notes = append(w.notes, hdf5.Finding{Path: d.Path, Message: "in uncompressed chunks of whole rows: " + staysChunked(d)})
		return l, true, nil
	case w.layout == "train" || w.layout == "contiguous":
		return hdf5write.Layout{}, d.Layout != "contiguous", nil
	case w.layout == "" && d.Chunks == nil && !chunked:
		return kept, false, nil
	}
	if w.refilter {
		l.Filters = w.filters
	}
	switch {
	case w.chunks != nil && len(w.chunks) != len(d.Shape):
		if len(w.paths) > 0 {
			return kept, false, fmt.Errorf("--chunks has %d axes, and the shape %v has %d; use rows=N, or name the datasets it fits with --path", len(w.chunks), d.Shape, len(d.Shape))
		}
		if !w.refilter || d.Chunks == nil {
			return keep("--chunks has %d axes, and the dataset %d; rows=N fits every number of axes", len(w.chunks), len(d.Shape))
		}
		w.notes = append(w.notes, hdf5.Finding{Path: d.Path, Message: fmt.Sprintf("chunks as before: --chunks has %d axes, and the dataset %d", len(w.chunks), len(d.Shape))})
	case w.chunks != nil:
		l.Chunks = slices.Clone(w.chunks)
	case w.rows > 0:
		l.Chunks = append([]int{w.rows}, d.Shape[1:]...)
		for axis := range l.Chunks {
			l.Chunks[axis] = max(1, l.Chunks[axis])
		}
	case w.auto || l.Chunks == nil:
		l.Chunks = autoChunks(d)
	}
	return l, true, nil
}

// staysChunked returns why other programs need a dataset to stay chunked, or "".
func staysChunked(d *hdf5.Dataset) string {
	class := pyTablesClass(d)
	switch {
	case class == "CARRAY" || class == "EARRAY":
		return fmt.Sprintf("PyTables needs it chunked (%s)", class)
	case !slices.Equal(d.Shape, d.MaxShape):
		return "it can grow"
	}
	return ""
}

// pyTablesClass returns the class of an object of PyTables, or "": TABLE, EARRAY, and
// INDEXARRAY and others for the indexes of tables.
func pyTablesClass(d *hdf5.Dataset) string {
	a, err := d.Attribute("CLASS")
	if err != nil || a.Shape == nil {
		return ""
	}
	value, _ := a.Value()
	class, _ := value.(string)
	if class == "TABLE" || strings.HasSuffix(class, "ARRAY") {
		return class
	}
	return ""
}

// autoChunks returns chunks of whole rows and about 256 KiB.
func autoChunks(d *hdf5.Dataset) []int {
	const aim = 256 << 10
	chunk, size := make([]int, len(d.Shape)), max(1, d.Type.Size)
	for axis := len(chunk) - 1; axis >= 0; axis-- {
		chunk[axis] = max(1, min(d.Shape[axis], aim/size))
		size *= chunk[axis]
	}
	return chunk
}

// deflateLevel is the level of compression of imported arrays, unless --filter says another.
const deflateLevel = 4

// layoutFor returns the layout of an imported array.
func (w *wantedLayout) layoutFor(shape []int) (hdf5write.Layout, error) {
	if w.layout == "train" || w.layout == "contiguous" || len(shape) == 0 || slices.Contains(shape, 0) {
		return hdf5write.Layout{}, nil
	}
	l := hdf5write.Layout{Filters: w.filters}
	if !w.refilter {
		l.Filters = []filter.Filter{filter.Shuffle(), filter.Deflate(deflateLevel)}
	}
	switch {
	case len(w.chunks) == len(shape):
		l.Chunks = slices.Clone(w.chunks)
	case w.chunks != nil && len(shape) > 1:
		return l, fmt.Errorf("--chunks has %d axes, and the shape %v has %d; use rows=N", len(w.chunks), shape, len(shape))
	case w.rows > 0:
		l.Chunks = append([]int{w.rows}, shape[1:]...)
	case len(l.Filters) == 0:
		l.Filters = []filter.Filter{} // chunks all the same
	}
	return l, nil
}
