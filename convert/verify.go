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
			err = p.find(s)
		}
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
		if err := p.find(s); err != nil {
			return err
		}
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
	if a.Texts && b.Texts {
		return sameStrings(a, b)
	}
	return sameValues(ctx, a, b)
}

func sameStrings(a, b inspect.Selection) error {
	x, err1 := a.Strings()
	y, err2 := b.Strings()
	if err := errors.Join(err1, err2); err != nil || !slices.Equal(x, y) {
		return errors.Join(err, errDiffers)
	}
	return nil
}

// sameValues compares elements that are neither numbers nor strings, such as structures, along
// the first axis.
func sameValues(ctx context.Context, a, b inspect.Selection) error {
	if a.DType != b.DType {
		return errDiffers
	}
	const rows = 1 << 10 // compared at a time
	n := 1
	if a.View.Rank() > 0 {
		n = a.View.Shape[0]
	}
	for i := 0; i < n; i += rows {
		v, w := a.View, b.View
		if v.Rank() > 0 {
			var err1, err2 error
			v, err1 = v.Slice(0, i, min(i+rows, n), 1)
			w, err2 = w.Slice(0, i, min(i+rows, n), 1)
			if err := errors.Join(err1, err2, ctx.Err()); err != nil {
				return err
			}
		}
		x, err1 := a.Values(v)
		y, err2 := b.Values(w)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		if !slices.EqualFunc(x, y, sameValue) {
			return errDiffers
		}
	}
	return nil
}

// sameValue compares values of elements. NaNs are equal, and integers of several sizes.
func sameValue(a, b any) bool {
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
