package main

import (
	"fmt"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/loss"
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
			"them as NAME" + transform.ScaleSuffix + ", in float32. In a state_dict of PyTorch the channels are on axis 0, but for\n" +
			"transposed convolutions, of which it does not tell: --axis up.weight=1. Optimizer state is not quantized.",
		Flags: copyFlags(
			&cli.StringFlag{Name: "to", Usage: "`TYPE` of the weights", Required: true},
			&cli.StringSliceFlag{Name: "axis", Usage: "`AXIS` of output channels, for int8, or NAME=AXIS for arrays of that name, in which * stands for any text; by default as the architecture says, or else 0, and -1 in files of Keras"},
		),
		Action: func(c *cli.Context) error {
			name := c.String("to")
			to, err := castType(name)
			if err != nil {
				return fmt.Errorf("--to %s: %w", name, err)
			}
			rules, err := parseAxes(c.StringSlice("axis"))
			if err != nil {
				return err
			}
			if len(rules) > 0 && to != dtype.Int8 {
				return fmt.Errorf("--axis is for --to int8")
			}
			file, in, out, err := openIn(c)
			if err != nil {
				return err
			}
			defer file.Close()
			quantize := transform.QuantizeOptions{}
			if to == dtype.Int8 {
				if quantize.Axis, err = outputAxes(in, file, rules); err != nil {
					return err
				}
			}
			change := func(k *copier, entries transform.Entries) transform.Entries {
				if to == dtype.Int8 {
					return transform.Quantize(entries, quantize)
				}
				return transform.Cast(entries, transform.CastOptions{To: to, Beyond: k.beyond.add})
			}
			return arrayCopy{change: change, done: func(k *copier, out string) string {
				k.beyond.lose(&k.lost, to)
				return fmt.Sprintf("%s written to %s as %v, %s", plural(k.arrays, "array"), out, to, arrayfmt.Bytes(k.bytes))
			}}.write(c, file, out)
		},
	}
}

// rangeLosses are the largest values of arrays that were beyond the range of another type.
type rangeLosses struct {
	mu      sync.Mutex
	names   []string
	largest map[string]float64
}

func (b *rangeLosses) add(name string, largest float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.largest == nil {
		b.largest = map[string]float64{}
	}
	if _, ok := b.largest[name]; !ok {
		b.names = append(b.names, name)
	}
	b.largest[name] = max(b.largest[name], largest)
}

// lose adds the arrays to what is lost.
func (b *rangeLosses) lose(lost *loss.List, to dtype.Type) {
	became := "infinite"
	if to == dtype.Float8E4M3 {
		became = "448"
	}
	for _, name := range b.names {
		lost.AddInherent(name, loss.Value, 1, "values up to %g became %s, beyond the range of %v", b.largest[name], became, to)
	}
}
