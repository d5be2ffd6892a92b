package convert

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/serialize"
)

// verify reads the output and compares every element.
func (p *Plan) verify(ctx context.Context, out string) error {
	if p.Format == "csv" {
		return p.verifyText(ctx, out)
	}
	var o serialize.Options
	if p.Format == "hdf5" {
		o.Format = p.Format // whatever other format its content fits
	}
	file, err := serialize.Open(out, o)
	if err != nil {
		return err
	}
	defer file.Close()
	for s := range p.Arrays() {
		name := p.name(s)
		if p.targetFormat().Single {
			name = serialize.Input{Name: out}.ArrayName()
		}
		written, err := serialize.Lookup(file, name)
		if err == nil {
			err = sameData(ctx, s.data, written)
		}
		if err != nil {
			return fmt.Errorf("verify %s: %s: %w", out, s.To, err)
		}
	}
	return nil
}

// verifyText is verify for text, which has no types: the text of every element, the shortest
// that gives its bits in its own type, is compared.
func (p *Plan) verifyText(ctx context.Context, out string) error {
	file, err := os.Open(out)
	if err != nil {
		return err
	}
	defer file.Close()
	w := &comparingWriter{r: bufio.NewReaderSize(file, 64<<10)}
	if err := serialize.Write(w, p.Format, p.contents(ctx)); err != nil {
		return fmt.Errorf("verify %s: %w", out, err)
	}
	if _, err := w.r.ReadByte(); err != io.EOF {
		return fmt.Errorf("verify %s: %w", out, cmp.Or(err, errDiffers))
	}
	return nil
}

// A comparingWriter compares what is written with what r holds.
type comparingWriter struct{ r *bufio.Reader }

func (c *comparingWriter) Write(b []byte) (int, error) {
	for n := 0; n < len(b); {
		part, err := c.r.Peek(min(len(b)-n, c.r.Size()))
		if len(part) == 0 && err != nil && err != io.EOF {
			return n, err
		}
		if len(part) == 0 || !bytes.HasPrefix(b[n:], part) {
			return n, errDiffers
		}
		c.r.Discard(len(part))
		n += len(part)
	}
	return len(b), nil
}

var errDiffers = errors.New("differs from the input")

// sameData compares the elements of two arrays bit by bit, and elements that are not numbers as text,
// in which integers of several sizes are equal, and NaNs.
func sameData(ctx context.Context, a, b serialize.Entry) error {
	if a.Numbers() != b.Numbers() || a.Type() != b.Type() || !slices.Equal(a.Shape(), b.Shape()) {
		return errDiffers
	}
	if a.Numbers() {
		equal, err := blocks.Equal(ctx, a.Array, b.Array)
		if err == nil && !equal {
			err = errDiffers
		}
		return err
	}
	const atOnce = 1 << 14
	for box := range blocks.Parts(a.Shape(), atOnce) {
		x, err1 := a.Elements.Values(box.Of(a.View()))
		y, err2 := b.Elements.Values(box.Of(b.View()))
		if err := errors.Join(err1, err2, ctx.Err()); err != nil {
			return err
		}
		if !slices.EqualFunc(x, y, func(x, y any) bool { return dtype.FormatValue(x) == dtype.FormatValue(y) }) {
			return errDiffers
		}
	}
	return nil
}
