package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/dtype"
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
	v := arrayVerification{name: name, format: format.Name, checksums: true}
	file, _, err := openArrays(c, name)
	if err != nil {
		v.problems = append(v.problems, hdf5.Finding{Path: "/", Message: withoutKind(err.Error())})
	} else {
		defer file.Close()
		if err := v.verify(c.Context, file); err != nil {
			return err
		}
	}
	show := v.report
	if c.Bool("json") {
		show = v.reportJSON
	}
	err = buffered(c.App.Writer, show)
	if err == nil && len(v.problems) > 0 {
		return errNegative
	}
	return err
}

// An arrayVerification is what was found in a file of arrays.
type arrayVerification struct {
	name, format          string
	problems              []hdf5.Finding
	arrays, bytes, unread int
	checksums             bool // the format has some
}

// verify reads the file.
func (v *arrayVerification) verify(ctx context.Context, file serialize.File) error {
	v.checksums = serialize.HasChecksums(file)
	for name, err := range serialize.Verify(ctx, file) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if name != "" {
			v.arrays++
		}
		switch {
		case errors.Is(err, dtype.ErrType):
			v.unread++
		case err != nil:
			v.problems = append(v.problems, hdf5.Finding{Path: "/" + name, Message: withoutKind(err.Error())})
		}
	}
	for e := range file.All() {
		if e.Elements == nil && e.Array.Data != nil {
			v.bytes += e.Array.NBytes()
		}
	}
	return nil
}

func (v *arrayVerification) report(w io.Writer) error {
	for _, p := range v.problems {
		fmt.Fprintf(w, "%s\n", printable(p.String()))
	}
	verdict := "no problems found"
	if len(v.problems) > 0 {
		verdict = plural(len(v.problems), "problem")
	}
	if v.unread > 0 {
		verdict += "; " + plural(v.unread, "array") + " not read, because of the type"
	}
	if !v.checksums {
		verdict += "; " + v.format + " has no checksums"
	}
	_, err := fmt.Fprintf(w, "%s  %s (%s, %s)\n", printable(v.name), verdict, plural(v.arrays, "array"), arrayfmt.Bytes(v.bytes))
	return err
}

func (v *arrayVerification) reportJSON(w io.Writer) error {
	return encodeLine(w, fields{{"file", v.name}, {"ok", len(v.problems) == 0}, {"format", v.format}, {"arrays", v.arrays}, {"bytes", v.bytes},
		{"unread", v.unread}, {"checksums", v.checksums}, {"problems", findings(v.problems)}})
}

// reindex writes an HDF5 checkpoint again. Views of shared elements stay views.
func reindex(c *cli.Context, name string, format serialize.Format) error {
	if format.Name != "h5ck" {
		return fmt.Errorf("%s is a %s file; HDF5 checkpoints alone have an index", name, format.Name)
	}
	file, _, err := openArrays(c, name)
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
