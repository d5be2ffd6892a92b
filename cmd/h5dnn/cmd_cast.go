package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize/transform"
	"github.com/h5dnn/h5dnn/spell"
)

// castTypes are what floating-point arrays are cast to.
var castTypes = map[string]dtype.Type{
	"f16": dtype.Float16, "float16": dtype.Float16, "bf16": dtype.BFloat16, "bfloat16": dtype.BFloat16,
	"f32": dtype.Float32, "float32": dtype.Float32, "f64": dtype.Float64, "float64": dtype.Float64,
	"f8_e4m3": dtype.Float8E4M3, "float8_e4m3fn": dtype.Float8E4M3, "f8_e5m2": dtype.Float8E5M2, "float8_e5m2": dtype.Float8E5M2,
	"int8": dtype.Int8,
}

// castType returns the type of a name in castTypes.
func castType(name string) (dtype.Type, error) {
	t, ok := castTypes[strings.ToLower(name)]
	if !ok {
		known := []string{"f16", "bf16", "f32", "f64", "f8_e4m3", "f8_e5m2", "int8"}
		return t, fmt.Errorf("no such type%s; known are %s", spell.Hint(name, known), strings.Join(known, ", "))
	}
	return t, nil
}

func castCommand() *cli.Command {
	return &cli.Command{
		Name:      "cast",
		Usage:     "copy a checkpoint with weights of another type: f16, bf16, int8",
		ArgsUsage: "IN OUT",
		Description: "Converts arrays of floating-point numbers to the nearest numbers of --to: f16, bf16, f32, f64, f8_e4m3,\n" +
			"f8_e5m2 or int8. Other arrays are copied. For int8, arrays with two axes or more are divided by a scale\n" +
			"for each output channel, which makes its largest absolute value 127; the scales are written beside\n" +
			"them as NAME" + transform.ScaleSuffix + ", in float32.",
		Flags: copyFlags(
			&cli.StringFlag{Name: "to", Usage: "`TYPE` of the weights", Required: true},
			&cli.IntFlag{Name: "axis", Usage: "`AXIS` of output channels, for int8: 0 as in PyTorch, -1 as in Keras"},
		),
		Action: func(c *cli.Context) error {
			name := c.String("to")
			to, err := castType(name)
			if err != nil {
				return fmt.Errorf("--to %s: %w", name, err)
			}
			change := func(entries transform.Entries) transform.Entries { return transform.Cast(entries, to) }
			if to == dtype.Int8 {
				change = func(entries transform.Entries) transform.Entries {
					return transform.Quantize(entries, transform.QuantizeOptions{Axis: c.Int("axis")})
				}
			}
			return copyTo(c, change, func(k *copier, out string) string {
				return fmt.Sprintf("%s written to %s as %v, %s", plural(k.arrays, "array"), out, to, arrayfmt.Bytes(k.bytes))
			})
		},
	}
}
