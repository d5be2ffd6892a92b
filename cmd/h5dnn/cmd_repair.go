package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/convert"
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
	mark, whole, err := intact(c.Context, file)
	if err != nil {
		return err
	}
	if whole == 0 {
		return fmt.Errorf("%s: no array is intact, so %s was not written", in, out)
	}
	p, err := arrayCopy{Options: convert.Options{Transform: mark}}.copy(c, file, in, out)
	if err != nil {
		return err
	}
	arrays, _ := sizeOfArrays(p)
	err = copyReport(c, p, in, out, fmt.Sprintf("%s of %s written to %s", plural(arrays, "array"), in, target(out)), p.Lost.Summary())
	if err == nil && len(p.Lost) > 0 {
		return errNegative
	}
	return err
}

// intact returns a function that adds to damaged entries of a file what is wrong with them, and the number
// of the others. It reads everything whose checksum the file has.
func intact(ctx context.Context, file serialize.File) (mark func(serialize.Contents) serialize.Contents, whole int, err error) {
	damaged := map[string]error{}
	if v, ok := file.(serialize.Verifier); ok {
		for name, err := range v.Verify(ctx) {
			if err != nil && name != "" {
				damaged[name] = err
			}
		}
	}
	for e, err := range file.All() {
		if err == nil && damaged[e.Name] == nil {
			whole++
		}
	}
	mark = func(c serialize.Contents) serialize.Contents {
		return transform.Replace(c, func(e serialize.Entry, err error, yield func(serialize.Entry, error) bool) bool {
			return yield(e, cmp.Or(damaged[e.Name], err))
		})
	}
	return mark, whole, ctx.Err()
}
