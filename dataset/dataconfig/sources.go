package dataconfig

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/views"
)

// A Source says where the samples of an input are: at paths of a file. A path may have
// stars, like Config.X, and File may be a pattern, like Config.File.
type Source struct {
	NamedPath
	File  string
	Shape []int // of a sample, which settles the length of rows of different lengths
}

// Inputs returns the samples at sources, with the lengths that Lengths names, as a model
// that was trained as c says takes them, and notes on what the user should know. The files of
// patterns, and the episodes that the stars of the first source match, follow one another.
func (c Config) Inputs(files Files, sources []Source) (dataset.Dataset, []string, error) {
	c.YAhead, c.YSteps = nil, 0 // there are no targets
	parts, err := c.sourceParts(files, sources)
	if err != nil {
		return nil, nil, err
	}
	if err := c.checkKinds(parts[0]); err != nil {
		return nil, nil, err
	}
	if _, err := c.encode(parts); err != nil {
		return nil, nil, err
	}
	_, genes, err := c.alignGenes(parts, true)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range parts {
		for _, s := range sources {
			p.shape(s, c.Steps)
		}
	}
	long, err := c.dropShort(parts)
	if err != nil {
		return nil, nil, err
	}
	d, err := concat(long, c.samples)
	return d, slices.Concat(genes, notePacked(parts), episodeNotes(long, len(parts), c.shortest())), err
}

// sourceParts finds the parts at sources: in each file of a pattern, each match of the stars of the first source.
func (c Config) sourceParts(files Files, sources []Source) ([]*part, error) {
	names := make([][]string, len(sources)) // of files
	for i, s := range sources {
		var err error
		if names[i], err = files.Glob(s.File); err != nil {
			return nil, err
		}
		if len(names[i]) != len(names[0]) {
			return nil, fmt.Errorf("%s: %d files, and %s: %d; they have to pair up: %w", sources[0].File, len(names[0]), s.File, len(names[i]), views.ErrShape)
		}
	}
	return partsIn(files, names[0], sources[0].Path, func(p *part, file int) error {
		for i, s := range sources {
			s.File = names[i][file]
			if err := c.openSource(p, s); err != nil {
				return err
			}
		}
		return nil
	})
}

// checkKinds refuses strings and categories where a model was trained on numbers.
func (c Config) checkKinds(p *part) error {
	for _, f := range p.fields {
		for _, col := range f.columns {
			if col.labels != nil && c.Categories[c.key(f.Name, f.columns, col)] == nil {
				return fmt.Errorf("%s: %s holds strings or categories; the model was trained on numbers: %w", p.file, col.path, dtype.ErrType)
			}
		}
	}
	return nil
}

// openSource adds the samples of an input to p.
func (c Config) openSource(p *part, s Source) error {
	row := s.Shape
	if c.Steps > 1 && len(row) > 0 {
		row = row[1:]
	}
	if len(row) > 0 {
		c.Length = row[0]
	}
	if i := slices.Index(c.X.names("x"), s.Name); i >= 0 && len(s.Beside) != len(c.X[i].Beside) {
		return fmt.Errorf("%s: %v; the input %s has the columns %v: %w", s.File, s.columns(), s.Name, c.X[i].columns(), views.ErrShape)
	}
	p.file = s.File
	return c.openInput(p, s.Name, s.NamedPath)
}

// shape gives the samples of an input the axes of size 1 that a model takes.
func (p *part) shape(s Source, steps int) {
	i := slices.IndexFunc(p.fields, func(f field) bool { return f.Name == s.Name && f.Role == dataset.Input })
	if steps <= 1 {
		in := &p.fields[i].Array
		in.View = withLastAxis(in.View, s.Shape)
	}
}

// episodeNotes names the episodes whose samples follow one another.
func episodeNotes(long []*part, all, span int) (notes []string) {
	notes = noteShort(nil, all-len(long), all, span)
	if n := len(long); n > 1 {
		from, to := long[0].at.path, long[n-1].at.path
		if long[0].file != long[n-1].file {
			from, to = long[0].name(), long[n-1].name()
		}
		notes = append(notes, fmt.Sprintf("the samples of %d episodes follow one another, from %s to %s", n, from, to))
	}
	return notes
}
