package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

// verifyArrays checks a file of arrays: what its format can check, or whether everything can
// be read.
func verifyArrays(c *cli.Context, name string, format serialize.Format) error {
	if c.Bool("reindex") {
		if err := reindex(c, name, format); err != nil {
			return err
		}
	}
	var problems []hdf5.Finding
	arrays, bytes, unread, checksums := 0, 0, 0, true
	file, err := openArrays(c, name)
	if err != nil {
		problems = append(problems, hdf5.Finding{Path: "/", Message: withoutKind(err.Error())})
	} else {
		defer file.Close()
		verifier, ok := file.(serialize.Verifier)
		found := readAll(c.Context, file)
		if checksums = ok; ok {
			found = verifier.Verify(c.Context)
		}
		for what, err := range found {
			if err := c.Context.Err(); err != nil {
				return err
			}
			if what != "" {
				arrays++
			}
			if errors.Is(err, dtype.ErrType) {
				unread++
				continue
			}
			if err != nil {
				problems = append(problems, hdf5.Finding{Path: "/" + what, Message: withoutKind(err.Error())})
			}
		}
		for e := range file.All() {
			if e.Elements == nil && e.Array.Data != nil {
				bytes += e.Array.Len() * e.Array.Type.Size()
			}
		}
	}
	err = buffered(c.App.Writer, func(w io.Writer) error {
		if c.Bool("json") {
			err := encode(w, fields{{"file", name}, {"ok", len(problems) == 0}, {"format", format.Name}, {"arrays", arrays}, {"bytes", bytes}, {"unread", unread}, {"checksums", checksums}, {"problems", findings(problems)}})
			fmt.Fprintln(w)
			return err
		}
		for _, p := range problems {
			fmt.Fprintf(w, "%s\n", printable(p.String()))
		}
		verdict := "no problems found"
		if len(problems) > 0 {
			verdict = plural(len(problems), "problem")
		}
		if unread > 0 {
			verdict += "; " + plural(unread, "array") + " not read, because of the type"
		}
		if !checksums {
			verdict += "; " + format.Name + " has no checksums"
		}
		_, err := fmt.Fprintf(w, "%s  %s (%s, %s)\n", printable(name), verdict, plural(arrays, "array"), arrayfmt.Bytes(bytes))
		return err
	})
	if err == nil && len(problems) > 0 {
		return errNegative
	}
	return err
}

// readAll reads every array of a file whose format has no checksums.
func readAll(ctx context.Context, file serialize.File) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for e, err := range file.All() {
			switch {
			case err != nil:
			case e.Elements != nil && e.Elements.Values != nil:
				_, err = e.Elements.Values(e.Elements.View)
			case e.Elements == nil:
				for _, failed := range blocks.Elements(ctx, e.Array, blocks.Size) {
					err = failed
				}
			}
			if !yield(e.Name, err) {
				return
			}
		}
	}
}

// reindex writes an HDF5 checkpoint again. Views of shared elements stay views.
func reindex(c *cli.Context, name string, format serialize.Format) error {
	if format.Name != "h5ck" {
		return fmt.Errorf("%s is a %s file; HDF5 checkpoints alone have an index", name, format.Name)
	}
	file, err := openArrays(c, name)
	if err != nil {
		return err
	}
	defer file.Close()
	as, views := format.Name, map[string]string{}
	for e, err := range file.All() {
		if err != nil {
			return e.Wrap(err)
		}
		layout := fmt.Sprint(e.Array.View)
		if first, ok := views[e.Shared]; !e.Array.Contiguous() || ok && first != layout {
			as = "h5ck-exact"
		}
		views[e.Shared] = layout
	}
	return serialize.Save(name, as, serialize.Contents{Entries: file.All(), Meta: file.Meta(), Context: c.Context})
}
