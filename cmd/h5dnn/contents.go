package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/convert"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/loss"
	"github.com/h5dnn/h5dnn/serialize"
	h5format "github.com/h5dnn/h5dnn/serialize/hdf5"
	"github.com/h5dnn/h5dnn/serialize/sharded"
	"github.com/h5dnn/h5dnn/serialize/transform"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

// openArrays opens a file of any format as its arrays.
func openArrays(c *cli.Context, name string) (serialize.File, error) {
	if err := isFile(name); err != nil {
		return nil, err
	}
	file, err := serialize.Open(name, inputOptions(c.Context))
	if err == nil {
		addInput(c.Context, name, nil)
	}
	return file, err
}

// arraysOf returns the arrays of an open file, and what to call when they are no longer needed. Of
// HDF5, of which the objects are open, it opens them.
func arraysOf(file inspect.File, o serialize.Options) (arrays serialize.File, done func() error, err error) {
	if arrays := inspect.Arrays(file); arrays != nil {
		return arrays, func() error { return nil }, nil
	}
	arrays, err = serialize.Open(file.Name(), o)
	if err != nil {
		return nil, nil, err
	}
	return arrays, arrays.Close, nil
}

// formatOf returns the format of an open file by its content, even if it is HDF5, of which the objects are open.
func formatOf(file inspect.File) (serialize.Format, error) {
	if inspect.Arrays(file) != nil {
		return serialize.ByName(file.Format())
	}
	return serialize.FormatOf(file.Name())
}

// A copier writes what a file holds to another one, as far as that can hold it.
type copier struct {
	c      *cli.Context
	format serialize.Format // of the output, or of its shards
	saveAs string           // its name, or sharded
	to     dtype.Type       // that was asked for: if the format lacks it, that is an error
	notes  []string         // on arrays
	lost   loss.List
	arrays int
	bytes  int
	meta   map[string]string
	ranges rangeLosses
}

// newCopier returns a copier to a file in the format of its extension, or of the flag --to.
func newCopier(c *cli.Context, file serialize.File, out string) (*copier, error) {
	k := &copier{c: c, meta: file.Meta()}
	k.to, _ = castType(c.String("to")) // a flag of cast only
	if strings.HasSuffix(out, sharded.Extension) && c.String("format") == "" {
		format, err := sharded.FormatOf(out)
		if err != nil {
			return nil, err
		}
		k.format, k.saveAs = format, "sharded"
	} else {
		name, err := outputFormat(c, out, "format")
		if err != nil {
			return nil, err
		}
		if k.format, err = serialize.ByName(name); err != nil {
			return nil, err
		}
		k.saveAs = name
	}
	k.loseObjects(file)
	format := k.format
	if !format.Meta && len(k.meta) > 0 {
		k.lost.AddInherent("/", loss.Attribute, len(k.meta), "%s has no metadata", format.Name)
		k.meta = nil
		return k, nil
	}
	var failed map[string]error
	k.meta, failed = format.KeepMeta(k.meta)
	for _, key := range slices.Sorted(maps.Keys(failed)) {
		k.lost.AddInherent("/", loss.Attribute, 1, "%v", failed[key])
	}
	return k, nil
}

// loseObjects counts what a file holds that is neither an array nor metadata.
func (k *copier) loseObjects(file serialize.File) {
	if s, ok := file.(strippedFile); ok {
		file = s.File
	}
	if o, ok := file.(serialize.Omitter); ok {
		k.lost = append(k.lost, o.Omitted()...)
	}
	h5, ok := file.(*h5format.File)
	if !ok {
		return
	}
	lose := k.lost.AddInherent
	if k.format.Name == "hdf5" {
		lose = k.lost.Add // which could hold it
	}
	root, err := h5.Root()
	if err != nil {
		return // reading the arrays gives the error
	}
	for item, err := range h5.Items(root) {
		switch {
		case err != nil: // as above
		case item.Kind == hdf5.KindSoft, item.Kind == hdf5.KindExternal, item.Kind == hdf5.KindUserDefined:
			lose(item.Path, loss.Link, 1, "convert copies %s links, to .h5", item.Kind)
		case item.Kind == hdf5.KindGroup && item.Meaning.Entry == nil:
			lose(item.Path, loss.Attribute, k.groupAttributes(item), "convert copies attributes of groups, to .h5")
		}
	}
}

// groupAttributes counts the attributes of a group that are not metadata of the file.
func (k *copier) groupAttributes(item h5format.Item) (n int) {
	all, err := item.Attributes()
	if err != nil {
		return 0
	}
	for _, a := range all {
		if _, kept := k.meta[a.Name]; (item.Path != "/" || !kept) && !item.Meaning.Hides(a.Name) {
			n++
		}
	}
	return n
}

// contents returns what can be written of arrays. When they are listed, it counts the rest as lost, and
// ends with an error if that is all.
func (k *copier) contents(arrays serialize.Contents) serialize.Contents {
	var known serialize.Aliases
	c := transform.Replace(arrays, func(e serialize.Entry, err error, yield func(serialize.Entry, error) bool) bool {
		if err == nil {
			e, err = k.fit(e)
		}
		if err == nil {
			misfit, failed := k.format.CheckValues(k.c.Context, e.Elements)
			if failed != nil {
				return yield(e, failed)
			}
			err = misfit
		}
		asked := e.Elements == nil && e.Array.Type.Valid() && e.Array.Type == k.to
		if err != nil && e.Name != "" && !asked {
			k.lost.AddInherent(e.Name, loss.Array, 1, "%s", withoutKind(err.Error()))
			return true
		}
		if e.Elements == nil {
			e.Array = blocks.WithContext(k.c.Context, e.Array)
		}
		k.count(e, err, &known)
		return yield(e, err)
	})
	entries := c.Entries
	c.Entries = func(yield func(serialize.Entry, error) bool) {
		for e, err := range entries {
			if !yield(e, err) {
				return
			}
		}
		if i := slices.IndexFunc(k.lost, func(i loss.Item) bool { return i.Kind == loss.Array }); k.arrays == 0 && i >= 0 {
			yield(serialize.Entry{}, fmt.Errorf("there are no arrays that %s can hold; %s: %s", k.format.Name, k.lost[i].Path, k.lost[i].Reason))
		}
	}
	c.Meta, c.Context = k.meta, k.c.Context
	return c
}

// count counts an entry that is written, and notes if it is another name of one that is known.
func (k *copier) count(e serialize.Entry, err error, known *serialize.Aliases) {
	k.arrays++
	if e.Elements == nil {
		k.bytes += e.Array.NBytes()
	}
	if k.format.AliasNote("") == "" {
		return
	}
	if first := known.Of(e); err == nil && first != "" {
		k.notes = append(k.notes, e.Name+": "+k.format.AliasNote(first))
	}
}

// fit returns an entry as the format holds it: without attributes that it lacks, and as
// float32 if it lacks bfloat16 and the like. It counts and notes this.
func (k *copier) fit(e serialize.Entry) (serialize.Entry, error) {
	var lost int
	if e.Attrs, lost = k.format.KeepAttrs(e); lost > 0 {
		k.lost.AddInherent(e.Name, loss.Attribute, lost, "%s", k.format.NoAttrs())
	}
	if e.Elements == nil && !k.format.Holds(e.Array.Type) && e.Array.Type != k.to {
		if wide := convert.ForNumPy(e.Array); k.format.Holds(wide.Type) {
			k.notes = append(k.notes, fmt.Sprintf("%s: converted to float32: %s has no %v", e.Name, k.format.Name, e.Array.Type))
			e.Array, e.Shared = wide, ""
		}
	}
	return e, k.format.Check(e)
}

// save writes arrays to a file, or to standard output as -.
func (k *copier) save(out string, arrays serialize.Contents) error {
	if out == "-" {
		return serialize.Write(k.c.App.Writer, k.saveAs, k.contents(arrays))
	}
	return serialize.Save(out, k.saveAs, k.contents(arrays))
}

// target is what reports call an output.
func target(out string) string {
	if out == "-" {
		return "standard output"
	}
	return out
}

// report prints the notes, what was lost and the line done, or all as one JSON object, to standard
// error if standard output has the arrays.
func (k *copier) report(in, out, done, lost string) error {
	to := k.c.App.Writer
	if out == "-" {
		to = k.c.App.ErrWriter
	}
	return buffered(to, func(w io.Writer) error {
		if k.c.Bool("json") {
			f := fields{{"in", in}, {"out", out}, {"format", k.format.Name}, {"arrays", k.arrays}, {"bytes", k.bytes}, {"notes", append([]string{}, k.notes...)}}
			err := encode(w, append(f, lossFields(k.lost)...))
			fmt.Fprintln(w)
			return err
		}
		lines := slices.Clone(k.notes)
		for _, item := range k.lost {
			lines = append(lines, item.String())
		}
		const shown = 20
		for i, line := range lines {
			if i == shown {
				fmt.Fprintf(w, "… and %d more\n", len(lines)-shown)
				break
			}
			fmt.Fprintln(w, printable(line))
		}
		_, err := fmt.Fprintf(w, "%s; %s\n", printable(done), lost)
		return err
	})
}

// An arrayCopy is a command that writes the arrays of one file to another.
type arrayCopy struct {
	// change returns what is written of the arrays; nil to write them as they are.
	change func(k *copier, arrays serialize.Contents) serialize.Contents
	// save writes the contents; nil to write one file.
	save func(out string, c serialize.Contents) error
	// done returns the last line of the report, but for the losses, to which it may add.
	done func(k *copier, out string) string
}

// run runs a command IN OUT.
func (a arrayCopy) run(c *cli.Context) error {
	file, _, out, err := openIn(c)
	if err != nil {
		return err
	}
	defer file.Close()
	return a.write(c, file, out)
}

// openIn opens IN of a command IN OUT.
func openIn(c *cli.Context) (file serialize.File, in, out string, err error) {
	args, err := arguments(c, "IN", "OUT")
	if err != nil {
		return nil, "", "", err
	}
	file, err = openArrays(c, args[0])
	return file, args[0], args[1], err
}

// write writes the arrays of file to out, and prints a report.
func (a arrayCopy) write(c *cli.Context, file serialize.File, out string) error {
	k, err := newCopier(c, file, out)
	if err != nil {
		return err
	}
	if err := checkWritten(c, out, k.format.Name); err != nil {
		return err
	}
	if s, ok := file.(strippedFile); ok {
		file = s.File
	}
	arrays := serialize.Contents{Entries: file.All()}
	if a.change != nil {
		arrays = a.change(k, arrays)
	}
	if a.save != nil {
		err = a.save(out, k.contents(arrays))
	} else {
		err = k.save(out, arrays)
	}
	if err != nil {
		return err
	}
	text := a.done(k, target(out))
	if err := k.report(c.Args().First(), out, text, lossSummary(c, k.lost)); err != nil {
		return err
	}
	return lossStatus(c, k.lost)
}

// reportFlag prints the report as JSON.
func reportFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print the report as one JSON object"}
}

// copyFlags are the flags of the commands that copy arrays to another file.
func copyFlags(more ...cli.Flag) []cli.Flag {
	flags := append(more, &cli.StringFlag{Name: "format", Usage: "`FORMAT` of OUT, by default from its extension"}, forceFlag(), reportFlag(), followFlag(), voidFlag())
	return append(flags, lossFlags...)
}
