package convert

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/loss"
	"github.com/h5dnn/h5dnn/serialize"
	h5format "github.com/h5dnn/h5dnn/serialize/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
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
	defer w.Abort() // unless it was closed
	arrays := h5format.NewEntryWriter(ctx, w)
	for _, s := range p.Steps {
		err := p.writeObject(ctx, s, w, arrays)
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

// writeObject writes what a step has: an array, or a group with its attributes.
func (p *Plan) writeObject(ctx context.Context, s *Step, w *hdf5write.Writer, arrays *h5format.EntryWriter) error {
	switch {
	case s.LeftOut:
		return nil
	case s.Data != nil:
		return arrays.Write(p.entry(ctx, s))
	case s.To != "/":
		if err := w.Group(s.To); err != nil {
			return err
		}
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
