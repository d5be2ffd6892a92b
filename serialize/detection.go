package serialize

import (
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/h5dnn/h5dnn/internal/signature"
)

// A probe is a file whose format is looked for.
type probe struct {
	io.ReaderAt
	opened map[reflect.Type]opened
}

// opened is what a function for Opened returned.
type opened struct {
	container any
	err       error
}

func newProbe(r io.ReaderAt) *probe { return &probe{r, map[reflect.Type]opened{}} }

// Opened returns what open returns for the container that a file is, such as an HDF5 file. Functions Match
// of formats that share a container call it, and get the same one while the format of a file is looked for.
// Nobody closes it, so it may keep nothing but memory. An r that was not passed to Match is opened each time.
func Opened[T any](r io.ReaderAt, open func() (T, error)) (T, error) {
	p, ok := r.(*probe)
	if !ok {
		return open()
	}
	key := reflect.TypeFor[T]()
	known, ok := p.opened[key]
	if !ok {
		known.container, known.err = open()
		p.opened[key] = known
	}
	return known.container.(T), known.err
}

// Detect returns the format that fits size bytes of r best. Two that fit equally
// well are an error.
func Detect(r io.ReaderAt, size int64) (Format, error) { return detect(r, size, "") }

// detect is Detect with the name of the file, for what to do with one of no known format.
func detect(r io.ReaderAt, size int64, name string) (Format, error) {
	r = newProbe(r)
	var found []Format
	best := ContainerMatch
	for _, f := range formats {
		if f.Match == nil {
			continue
		}
		switch c := f.Match(r, size); {
		case c > best:
			found, best = []Format{f}, c
		case c == best:
			found = append(found, f)
		}
	}
	switch len(found) {
	case 0:
		if f, err := ByExtension(name); err == nil && f.Plain && size > 0 {
			return f, nil
		}
		if foreign := signature.Text(r, size); foreign != "" {
			return Format{}, fmt.Errorf("%s%s: %w", foreign, nameHint(name), ErrFormat)
		}
		return Format{}, fmt.Errorf("not a file of a known format: %s%s: %w", signature.Beginning(r, size), nameHint(name), ErrFormat)
	case 1:
		if f, err := ByExtension(name); err == nil && f.Refines == found[0].Name {
			return f, nil
		}
		return found[0], nil
	}
	return Format{}, fmt.Errorf("may be %s or %s; name the format: %w", found[0].Name, found[1].Name, ErrFormat)
}

// fits reports whether the content of in fits a format, even if another one fits better.
func (in Input) fits(format string) bool {
	known, err := ByName(format)
	return err == nil && known.Match != nil && known.Match(newProbe(in), in.Size) > ContainerMatch
}

// formatOf returns the format of Options.Format, or else the one that the content of in fits best, and the
// format in which in is to be opened.
func formatOf(in Input) (found, format Format, err error) {
	if in.Format != "" {
		found, err = ByName(in.Format)
	} else {
		found, err = detect(in, in.Size, in.Name)
	}
	if format = found; err == nil && in.Format == "" && in.Choose != nil {
		format, err = ByName(in.Choose(found, in.fits))
	}
	if err == nil && format.Open == nil {
		err = fmt.Errorf("%s files are written and not read: %w", format.Name, ErrFormat)
	}
	if err != nil {
		return Format{}, Format{}, fmt.Errorf("%s: %w", in.Name, err)
	}
	return found, format, nil
}

// nameHint returns what to do with a file that is of no known format by its name, or "".
func nameHint(name string) string {
	base := filepath.Base(name)
	if at := strings.LastIndex(base, ".data-"); at > 0 && strings.Contains(base[at:], "-of-") {
		return "; data of a TensorFlow checkpoint is read by its index, " + base[:at] + ".index"
	}
	switch base {
	case "checkpoint":
		return "; a TensorFlow checkpoint is read by its index, NAME.index"
	case "saved_model.pb":
		return "; the variables of a SavedModel are in variables/variables.index"
	}
	if _, err := ByExtension(name); err == nil {
		return ""
	}
	return importHint(strings.TrimPrefix(filepath.Ext(name), "."))
}
