package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/loss"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/sharded"
	"github.com/h5dnn/h5dnn/serialize/transform"
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

// A copier writes what a file holds to another one, as far as that can hold it.
type copier struct {
	c      *cli.Context
	format serialize.Format // of the output, or of its shards
	saveAs string           // its name, or sharded
	lost   loss.List
	arrays int
	bytes  int
	meta   map[string]string
	beyond rangeLosses
}

// newCopier returns a copier to a file in the format of its extension, or of the flag --to.
func newCopier(c *cli.Context, file serialize.File, out string) (*copier, error) {
	k := &copier{c: c, meta: file.Meta()}
	if strings.HasSuffix(out, sharded.Extension) && c.String("format") == "" {
		format, err := sharded.FormatOf(out)
		if err != nil {
			return nil, err
		}
		k.format, k.saveAs = format, "sharded"
	} else {
		name, err := outputFormat(out, c.String("format"))
		if err != nil {
			return nil, err
		}
		if k.format, err = serialize.ByName(name); err != nil {
			return nil, err
		}
		k.saveAs = name
	}
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

// entries yields what can be written of entries, and counts the rest as lost.
func (k *copier) entries(entries transform.Entries) transform.Entries {
	return func(yield func(serialize.Entry, error) bool) {
		for e, err := range entries {
			if err != nil && e.Name != "" {
				k.lost.Add(e.Name, loss.Array, 1, "%v", err)
				continue
			}
			var lost int
			if e.Attrs, lost = k.format.KeepAttrs(e); err == nil && lost > 0 {
				k.lost.AddInherent(e.Name, loss.Attribute, lost, "%s has no attributes", k.format.Name)
			}
			if err == nil && k.format.Fits != nil {
				if err := k.format.Fits(e); err != nil {
					k.lost.AddInherent(e.Name, loss.Array, 1, "%v", err)
					continue
				}
			}
			if err == nil {
				err = k.format.Check(e)
			}
			if e.Elements == nil {
				e.Array = blocks.WithContext(k.c.Context, e.Array)
				k.bytes += e.Array.Len() * e.Array.Type.Size()
			}
			if k.arrays++; !yield(e, err) {
				return
			}
		}
	}
}

func (k *copier) contents(entries transform.Entries) serialize.Contents {
	return serialize.Contents{Entries: k.entries(entries), Meta: k.meta, Context: k.c.Context}
}

// report prints what was lost.
func (k *copier) report(w io.Writer) {
	const shown = 20
	for i, item := range k.lost {
		if i == shown {
			fmt.Fprintf(w, "… and %d more\n", len(k.lost)-shown)
			break
		}
		fmt.Fprintln(w, printable(withoutKind(item.String())))
	}
}

// An arrayCopy is a command that writes the arrays of one file to another.
type arrayCopy struct {
	// change returns what is written of the arrays; nil to write them as they are.
	change func(k *copier, entries transform.Entries) transform.Entries
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
	if err := checkOutput(c, out); err != nil {
		return err
	}
	entries := file.All()
	if a.change != nil {
		entries = a.change(k, entries)
	}
	if a.save != nil {
		err = a.save(out, k.contents(entries))
	} else {
		err = serialize.Save(out, k.saveAs, k.contents(entries))
	}
	if err != nil {
		return err
	}
	text := a.done(k, out)
	err = buffered(c.App.Writer, func(w io.Writer) error {
		k.report(w)
		_, err := fmt.Fprintf(w, "%s; %s\n", printable(text), lossSummary(c, k.lost))
		return err
	})
	if err != nil {
		return err
	}
	return lossStatus(c, k.lost)
}

// copyFlags are the flags of the commands that copy arrays to another file.
func copyFlags(more ...cli.Flag) []cli.Flag {
	flags := append(more, &cli.StringFlag{Name: "format", Usage: "`FORMAT` of OUT, by default from its extension"}, forceFlag(), followFlag(), voidFlag())
	return append(flags, lossFlags...)
}
