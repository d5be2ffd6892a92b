package convert

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// Write writes the output file, atomically.
func (p *Plan) Write(ctx context.Context, out string) error {
	if p.source != nil {
		return p.repack(ctx, out, hdf5write.RepackOptions{SkipVerify: !p.options.Verify})
	}
	write := p.writeArrays
	if p.objects {
		write = p.writeHDF5
	}
	if err := write(ctx, out); err != nil || !p.options.Verify {
		return err
	}
	return p.verify(ctx, out)
}

// WriteTo writes the output to w. HDF5, which is not written in order, is an error.
func (p *Plan) WriteTo(ctx context.Context, w io.Writer) error {
	if p.Format == "hdf5" {
		return fmt.Errorf("HDF5 cannot be written to a stream: %w; write a file, or another format", errors.ErrUnsupported)
	}
	return serialize.Write(w, p.Format, p.contents(ctx))
}

func (p *Plan) writeArrays(ctx context.Context, out string) error {
	if p.options.Save != nil {
		return p.options.Save(out, p.contents(ctx))
	}
	return serialize.Save(out, p.Format, p.contents(ctx))
}

// contents returns what is written.
func (p *Plan) contents(ctx context.Context) serialize.Contents {
	return serialize.Contents{Meta: p.meta, Entries: p.entries(ctx), Context: ctx}
}

// entries yields what the steps write.
func (p *Plan) entries(ctx context.Context) iter.Seq2[serialize.Entry, error] {
	return func(yield func(serialize.Entry, error) bool) {
		for s := range p.Arrays() {
			if !yield(p.entry(ctx, s), nil) {
				return
			}
		}
	}
}

// entry returns what a step writes, whose data is found.
func (p *Plan) entry(ctx context.Context, s *Step) serialize.Entry {
	keep := kept
	if p.objects {
		keep = keepHDF5
	}
	e := s.withAttrs(keep)
	e.Name = p.name(s)
	e.Attrs, _ = p.targetFormat().KeepAttrs(e)
	if s.data.Numbers() {
		e.Array = blocks.WithContext(ctx, e.Array)
	}
	return e
}
