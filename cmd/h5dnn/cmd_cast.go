package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/convert"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/loss"
	"github.com/h5dnn/h5dnn/serialize"
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
			"f8_e5m2 or int8. Other arrays are copied, and optimizer state is. For int8, arrays with two axes or more are divided by a scale\n" +
			"for each output channel, which makes its largest absolute value 127; the scales are written beside\n" +
			"them as NAME" + transform.ScaleSuffix + ", in float32. In a state_dict of PyTorch the channels are on axis 0, but for\n" +
			"transposed convolutions. These are known by their bias if they have other numbers of inputs and outputs;\n" +
			"for others, say so: --axis up.weight=1.\n" +
			"IN may be - for standard input, and OUT for standard output, with --format.",
		Flags: copyFlags(
			&cli.StringFlag{Name: "to", Usage: "`TYPE` of the weights"},
			&cli.StringSliceFlag{Name: "axis", Usage: "`AXIS` of output channels, for int8, or NAME=AXIS for arrays of that name, in which * stands for any text; by default as the architecture says, or else 0, and -1 in files of Keras"},
		),
		Action: castWeights,
	}
}

// castWeights is the action of cast.
func castWeights(c *cli.Context) error {
	name := c.String("to")
	if name == "" {
		return errors.New("--to TYPE is missing; see h5dnn cast --help")
	}
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
	for _, r := range rules {
		if err := r.check(in, file); err != nil {
			return err
		}
	}
	quantize, isState := transform.QuantizeOptions{}, transform.OptimizerState(file.Meta())
	if to == dtype.Int8 {
		if quantize.Axis, err = outputAxes(in, file, rules); err != nil {
			return err
		}
	}
	kept := 0
	skip := func(name string) bool {
		if isState(name) {
			kept++
		}
		return isState(name)
	}
	format, err := copyFormat(c, out)
	if err == nil && !format.Holds(to) {
		err = fmt.Errorf("%s files cannot store %v; write .safetensors or .h5dn, or cast to f32", format.Name, to)
	}
	if err != nil {
		return err
	}
	var ranges rangeLosses
	change := func(arrays serialize.Contents) serialize.Contents {
		if to == dtype.Int8 {
			return transform.Quantize(arrays, quantize)
		}
		return transform.Cast(arrays, transform.CastOptions{To: to, Skip: skip, Lost: ranges.add})
	}
	finish := func(p *convert.Plan) { ranges.lose(&p.Lost, to) }
	return arrayCopy{Options: convert.Options{Transform: change}, finish: finish, done: func(arrays, bytes int, out string) string {
		state := ""
		if kept > 0 {
			state = fmt.Sprintf(" (%s of optimizer state not cast)", plural(kept, "array"))
		}
		return fmt.Sprintf("%s written to %s, weights as %v%s, %s", plural(arrays, "array"), out, to, state, arrayfmt.Bytes(bytes))
	}}.write(c, file, in, out)
}

// rangeLosses are the values of arrays that another type does not have.
type rangeLosses struct {
	mu sync.Mutex
	of map[string]transform.RangeLoss // by array
}

func (r *rangeLosses) add(name string, lost transform.RangeLoss) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = map[string]transform.RangeLoss{}
	}
	sum := r.of[name]
	sum.Add(lost)
	r.of[name] = sum
}

// lose adds the arrays to what is lost.
func (r *rangeLosses) lose(lost *loss.List, to dtype.Type) {
	became := "infinite"
	if to == dtype.Float8E4M3 {
		became = "448"
	}
	for _, name := range slices.Sorted(maps.Keys(r.of)) {
		if l := r.of[name]; l.Beyond > 0 {
			lost.AddInherent(name, loss.Value, l.Beyond, "values up to %.6g became %s, beyond the range of %v", l.Largest, became, to)
		}
		if l := r.of[name]; l.Zeros > 0 {
			lost.AddInherent(name, loss.Value, l.Zeros, "values up to %.6g became zero, too small for %v", l.Small, to)
		}
	}
}
