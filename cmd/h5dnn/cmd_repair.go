package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/transform"
)

func repairCommand() *cli.Command {
	return &cli.Command{
		Name:      "repair",
		Usage:     "save the intact arrays of a truncated or damaged checkpoint",
		ArgsUsage: "IN OUT",
		Description: "Reads what is whole in a .pt, .npz, .safetensors or .h5dn file that was cut short or damaged, and writes it to\n" +
			"OUT. Of .safetensors, which has no checksums, only lost ends are found.\n" +
			"IN is unchanged. Lists the arrays that are lost; the exit status is 1 if there are any.\n" +
			"IN may be - for standard input, and OUT for standard output, with --format.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "from", Usage: "`FORMAT` of IN, by default from its content or extension"},
			&cli.StringFlag{Name: "format", Usage: "`FORMAT` of OUT, by default from its extension"},
			forceFlag(), reportFlag(),
		},
		Action: repair,
	}
}

func repair(c *cli.Context) error {
	args, err := arguments(c, "IN", "OUT")
	if err != nil {
		return err
	}
	in, out := args[0], args[1]
	if err := isFile(in); err != nil {
		return err
	}
	file, err := serialize.Salvage(in, c.String("from"), openOptions(c.Context))
	if errors.Is(err, serialize.ErrFormat) && c.String("from") == "" {
		return fmt.Errorf("%w; --from names it", err)
	}
	if err != nil {
		return err
	}
	defer file.Close()
	addInput(c.Context, in, nil)
	k, err := newCopier(c, file, out)
	if err != nil {
		return err
	}
	if err := checkWritten(c, out, k.format.Name); err != nil {
		return err
	}
	arrays, whole, err := intact(c.Context, file)
	if err != nil {
		return err
	}
	if whole == 0 {
		return fmt.Errorf("%s: no array is intact, so %s was not written", in, out)
	}
	if err := k.save(out, arrays); err != nil {
		return err
	}
	err = k.report(in, out, fmt.Sprintf("%s of %s written to %s", plural(k.arrays, "array"), in, target(out)), k.lost.Summary())
	if err == nil && len(k.lost) > 0 {
		return errNegative
	}
	return err
}

// intact returns the entries of a file, and the damaged ones with what is wrong with them. It
// reads everything whose checksum the file has, and counts the others.
func intact(ctx context.Context, file serialize.File) (arrays serialize.Contents, whole int, err error) {
	damaged := map[string]error{}
	if v, ok := file.(serialize.Verifier); ok {
		for name, err := range v.Verify(ctx) {
			if err != nil && name != "" {
				damaged[name] = err
			}
		}
	}
	arrays = transform.Replace(serialize.Contents{Entries: file.All()}, func(e serialize.Entry, err error, yield func(serialize.Entry, error) bool) bool {
		if err == nil && damaged[e.Name] != nil {
			e, err = serialize.Entry{Name: e.Name}, damaged[e.Name]
		}
		return yield(e, err)
	})
	for _, err := range arrays.Entries {
		if err == nil {
			whole++
		}
	}
	return arrays, whole, ctx.Err()
}
