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
	"reflect"
	"slices"

	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/views"
)

// verify reads the output and compares every element.
func (p *Plan) verify(ctx context.Context, out string) error {
	if p.Format == "csv" {
		return p.verifyText(ctx, out)
	}
	if format := p.targetFormat(); format.Elements == nil && !format.Single {
		return p.verifyArrays(ctx, out)
	}
	file, err := inspect.Open(out)
	if err != nil {
		return err
	}
	defer file.Close()
	for s := range p.Arrays() {
		path := s.To
		if p.targetFormat().Single {
			path = ""
		}
		written, err := file.Find(path)
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

// verifyArrays is verify for a format of numbers.
func (p *Plan) verifyArrays(ctx context.Context, out string) error {
	file, err := serialize.Open(out)
	if err != nil {
		return err
	}
	defer file.Close()
	for s := range p.Arrays() {
		e, err := serialize.Lookup(file, p.name(s))
		if err == nil {
			err = sameData(ctx, s.data, inspect.Selection{Array: e.Array, Numbers: true})
		}
		if err != nil {
			return fmt.Errorf("verify %s: %s: %w", out, s.To, err)
		}
	}
	return nil
}

var errDiffers = errors.New("differs from the input")

// sameData compares the elements of two selections bit by bit.
func sameData(ctx context.Context, a, b inspect.Selection) error {
	if a.Numbers != b.Numbers || !slices.Equal(a.Selected().Shape, b.Selected().Shape) || a.Numbers && a.Array.Type != b.Array.Type {
		return errDiffers
	}
	if a.Numbers {
		equal, err := blocks.Equal(ctx, a.Array, b.Array)
		if err == nil && !equal {
			err = errDiffers
		}
		return err
	}
	if a.DType != b.DType && !(a.Texts && b.Texts) {
		return errDiffers
	}
	return inParts(a.View, b.View, func(v, w views.View) error {
		x, err1 := a.Values(v)
		y, err2 := b.Values(w)
		if err := errors.Join(err1, err2, ctx.Err()); err != nil {
			return err
		}
		if !slices.EqualFunc(x, y, sameValue) {
			return errDiffers
		}
		return nil
	})
}

// inParts calls same with the parts of two views of one shape, of about 16,000 elements.
func inParts(v, w views.View, same func(v, w views.View) error) error {
	const most = 1 << 14
	axis := slices.IndexFunc(v.Shape, func(n int) bool { return n > 1 })
	if v.Len() <= most || axis < 0 {
		return same(v, w)
	}
	n := v.Shape[axis]
	rows := max(1, most/(v.Len()/n))
	for i := 0; i < n; i += rows {
		end := min(i+rows, n)
		if err := inParts(blocks.Between(v, axis, i, end), blocks.Between(w, axis, i, end), same); err != nil {
			return err
		}
	}
	return nil
}

// sameValue compares values of elements. NaNs are equal, and integers of several sizes.
func sameValue(a, b any) bool {
	if x, ok := a.(string); ok {
		y, ok := b.(string)
		return ok && x == y
	}
	if x, ok := a.(hdf5.Record); ok {
		y, ok := b.(hdf5.Record)
		return ok && slices.Equal(x.Names, y.Names) && slices.EqualFunc(x.Values, y.Values, sameValue)
	}
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	switch {
	case !x.IsValid() || !y.IsValid():
		return x.IsValid() == y.IsValid()
	case x.Kind() == reflect.Slice && y.Kind() == reflect.Slice:
		if x.Len() != y.Len() {
			return false
		}
		for i := range x.Len() {
			if !sameValue(x.Index(i).Interface(), y.Index(i).Interface()) {
				return false
			}
		}
		return true
	}
	return fmt.Sprint(a) == fmt.Sprint(b)
}
