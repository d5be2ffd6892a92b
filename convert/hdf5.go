package convert

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/loss"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
	"github.com/h5dnn/h5dnn/views"
)

// repack copies the objects, or finds out in a dry run what is lost.
func (p *Plan) repack(ctx context.Context, out string, o hdf5write.RepackOptions) error {
	o.Root, o.Materialize = p.path, p.options.Materialize
	report, err := hdf5write.Repack(ctx, p.source.File, out, o)
	if err != nil || !o.DryRun {
		return err
	}
	p.Lost = report.Lost
	lost, notes := map[string]loss.List{}, map[string][]string{}
	for _, i := range report.Lost {
		lost[i.Path] = append(lost[i.Path], i)
	}
	for _, n := range report.Notes {
		notes[n.Path] = append(notes[n.Path], n.Message)
	}
	for _, s := range p.Steps {
		s.Lost, s.Notes = lost[s.Path], notes[s.Path]
		s.LeftOut = slices.ContainsFunc(s.Lost, func(i loss.Item) bool { return i.Kind == s.kind() })
	}
	return nil
}

// keepHDF5 returns the value of an attribute if HDF5 has such attributes.
func keepHDF5(a inspect.Attr) (any, error) {
	value, err := a.Keep()
	if err != nil {
		return nil, err
	}
	format, err := serialize.ByName("hdf5")
	if err != nil {
		return nil, err
	}
	text, _ := value.(string)
	return value, format.FitsMeta(map[string]string{a.Name: text})
}

func (p *Plan) writeHDF5(ctx context.Context, out string) error {
	space := serialize.ElementBytes(func(yield func(serialize.Entry) bool) {
		for s := range p.Arrays() {
			if !yield(p.entry(ctx, s)) {
				return
			}
		}
	})
	w, err := hdf5write.Create(out, hdf5write.CreateOptions{Space: space})
	if err != nil {
		return fmt.Errorf("save %s: %w", out, err)
	}
	defer w.Abort()                 // unless it was closed
	written := map[string][]*Step{} // by their elements
	for _, s := range p.Steps {
		err := s.write(ctx, w, written)
		if errors.Is(err, hdf5write.ErrString) {
			s.LeftOut = true
			s.Lost.AddInherent(s.Path, loss.Array, 1, "%v", err)
			p.Lost = append(p.Lost, s.Lost[len(s.Lost)-1])
			continue
		}
		if err != nil {
			return err
		}
	}
	return w.Close()
}

// write writes the object, as a hard link if its elements are written already.
func (s *Step) write(ctx context.Context, w *hdf5write.Writer, written map[string][]*Step) error {
	var err error
	switch {
	case s.LeftOut:
		return nil
	case s.data.Shared != "" && s.data.Numbers():
		elements := s.data.SharedElements()
		if same := s.sameAs(written[elements]); same != nil {
			return w.HardLink(s.To, same.To)
		}
		written[elements] = append(written[elements], s)
		err = writeDataset(ctx, w, s.To, s.data)
	case s.Data != nil:
		err = writeDataset(ctx, w, s.To, s.data)
	case s.To != "/":
		err = w.Group(s.To)
	}
	if err != nil {
		return err
	}
	for _, a := range s.Attrs {
		if value, err := keepHDF5(a); err == nil { // else it is lost
			if err := w.SetAttr(s.To, a.Name, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeDataset writes data as a dataset. Numbers are streamed.
func writeDataset(ctx context.Context, w *hdf5write.Writer, path string, data serialize.Entry) error {
	if data.Numbers() {
		return w.Write(path, blocks.WithContext(ctx, data.Array))
	}
	return w.WriteStringsOf(path, data.View(), func(v views.View) ([]string, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		values, err := data.Elements.Values(v)
		return stringsOf(values), err
	})
}

// stringsOf returns values that are strings.
func stringsOf(values []any) []string {
	list := make([]string, len(values))
	for i, value := range values {
		list[i] = value.(string)
	}
	return list
}
