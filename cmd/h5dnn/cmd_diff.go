package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/serialize/diff"
)

func diffCommand() *cli.Command {
	return &cli.Command{
		Name:      "diff",
		Usage:     "compare the arrays of two files of any formats",
		ArgsUsage: "A B",
		Description: "Compares arrays of the same name: types, shapes and elements. 0 and -0 are equal, and NaN and NaN are.\n" +
			"The array of an .npy, or a single one called like its file, is compared with the only one of the other file.\n" +
			"Prints those that differ, the worst first, with the largest absolute and relative errors, the distance in units in the last\n" +
			"place (ULP) and the element with the largest relative error. The exit status is 1 if the files differ.",
		Flags: []cli.Flag{
			&cli.Float64Flag{Name: "rtol", Usage: "elements x and y are equal if |x - y| <= atol + `RTOL`*|y|"},
			&cli.Float64Flag{Name: "atol", Usage: "see --rtol"},
			&cli.BoolFlag{Name: "ignore-types", Usage: "arrays of different types may be equal"},
			&cli.BoolFlag{Name: "all", Usage: "print all differences, not only the first ten of each kind"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object"},
			followFlag(), fromFlag(), voidFlag(),
		},
		Action: func(c *cli.Context) error {
			args, err := arguments(c, "A", "B")
			if err != nil {
				return err
			}
			o := diff.Options{Absolute: c.Float64("atol"), Relative: c.Float64("rtol"), IgnoreTypes: c.Bool("ignore-types")}
			if !(o.Absolute >= 0 && o.Relative >= 0) {
				return fmt.Errorf("--atol %v and --rtol %v: tolerances are not negative", o.Absolute, o.Relative)
			}
			a, formatA, err := openArrays(c, args[0])
			if err != nil {
				return err
			}
			defer a.Close()
			b, formatB, err := openArrays(c, args[1])
			if err != nil {
				return err
			}
			defer b.Close()
			o.IgnoreNames = diff.NamedByFile(args[0], a, formatA) || diff.NamedByFile(args[1], b, formatB)
			report, err := diff.Files(c.Context, a, b, o)
			if err != nil {
				return err
			}
			err = buffered(c.App.Writer, func(w io.Writer) error {
				if c.Bool("json") {
					return diffJSON(w, report, args[0], args[1])
				}
				return diffReport(w, report, args[0], args[1], c.Bool("all"))
			})
			if err == nil && !report.Same() {
				return errNegative
			}
			return err
		},
	}
}

func diffReport(w io.Writer, r diff.Report, a, b string, all bool) error {
	shown := 10
	if all {
		shown = math.MaxInt
	}
	for i, d := range r.Differ {
		if i == shown {
			fmt.Fprintf(w, "… and %d more that differ; --all lists them\n", len(r.Differ)-shown)
			break
		}
		fmt.Fprintf(w, "%s  %s\n", printable(d.Name), printable(difference(d)))
	}
	for _, only := range []struct {
		file  string
		names []string
	}{{a, r.OnlyA}, {b, r.OnlyB}} {
		for i, name := range only.names {
			if i == shown {
				fmt.Fprintf(w, "… and %d more only in %s; --all lists them\n", len(only.names)-shown, printable(only.file))
				break
			}
			fmt.Fprintf(w, "%s  only in %s\n", printable(name), printable(only.file))
		}
	}
	if r.Same() {
		_, err := fmt.Fprintf(w, "%s equal\n", pluralVerb(r.Equal, "array"))
		return err
	}
	parts := []string{pluralVerb(r.Equal, "array") + " equal"}
	if n := len(r.Differ); n > 0 {
		parts = append(parts, fmt.Sprintf("%d %s", n, map[bool]string{true: "differs", false: "differ"}[n == 1]))
	}
	if n := len(r.OnlyA); n > 0 {
		parts = append(parts, fmt.Sprintf("%d only in %s", n, printable(a)))
	}
	if n := len(r.OnlyB); n > 0 {
		parts = append(parts, fmt.Sprintf("%d only in %s", n, printable(b)))
	}
	_, err := fmt.Fprintln(w, strings.Join(parts, ", "))
	return err
}

// pluralVerb writes a number of things and the verb: 1 array is, 2 arrays are.
func pluralVerb(n int, thing string) string {
	if n == 1 {
		return plural(n, thing) + " is"
	}
	return plural(n, thing) + " are"
}

// difference says how two arrays differ.
func difference(d diff.Array) string {
	what := d.TypeA + " " + arrayfmt.Shape(d.ShapeA)
	if d.TypeA != d.TypeB || !slices.Equal(d.ShapeA, d.ShapeB) {
		what += " and " + d.TypeB + " " + arrayfmt.Shape(d.ShapeB)
	}
	switch {
	case d.Err != nil && what == "invalid ()": // even its type could not be read
		return withoutKind(d.Err.Error())
	case d.Err != nil:
		return what + "; " + withoutKind(d.Err.Error())
	case d.Different == 0:
		return what
	}
	verb := "differ"
	if d.Elements == 1 {
		verb = "differs"
	}
	what += fmt.Sprintf("; %d of %s %s", d.Different, plural(d.Elements, "element"), verb)
	if d.Absolute == 0 {
		return what + ", the first at " + index(d.Worst)
	}
	what += fmt.Sprintf(", by %.3g at most; worst at %s: %s and %s, %.3g relative", d.Absolute, index(d.Worst), cmp.Or(d.Integers[0], element(d.X, d.TypeA)), cmp.Or(d.Integers[1], element(d.Y, d.TypeB)), d.Relative)
	if !math.IsNaN(d.ULP) {
		what += fmt.Sprintf("; %.6g ULP", d.ULP)
	}
	return what
}

func index(list []int) string {
	texts := make([]string, len(list))
	for i, n := range list {
		texts[i] = strconv.Itoa(n)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// element returns an element of an array of that type with the digits that tell it from
// others.
func element(x complex128, typ string) string {
	bits := 32
	if typ == "float64" || typ == "complex128" || strings.Contains(typ, "int") {
		bits = 64
	}
	text := func(x float64) string {
		if x == math.Trunc(x) && math.Abs(x) < 1e15 {
			return strconv.FormatFloat(x, 'f', -1, 64)
		}
		return strconv.FormatFloat(x, 'g', -1, bits)
	}
	switch {
	case typ == "bool":
		return strconv.FormatBool(x != 0)
	case imag(x) == 0:
		return text(real(x))
	}
	sign := "+"
	if math.Signbit(imag(x)) {
		sign = ""
	}
	return "(" + text(real(x)) + sign + text(imag(x)) + "i)"
}

func diffJSON(w io.Writer, r diff.Report, a, b string) error {
	list := []fields{}
	for _, d := range r.Differ {
		f := fields{{"name", d.Name}, {"types", []string{d.TypeA, d.TypeB}}, {"shapes", [][]int{d.ShapeA, d.ShapeB}}}
		if d.Err != nil {
			f = append(f, field{"error", withoutKind(d.Err.Error())})
		} else if d.Different > 0 {
			f = append(f, field{"elements", d.Elements}, field{"different", d.Different}, field{"absolute", jsonFloat(d.Absolute)}, field{"relative", jsonFloat(d.Relative)}, field{"worst", d.Worst})
			if !math.IsNaN(d.ULP) {
				f = append(f, field{"ulp", jsonFloat(d.ULP)})
			}
		}
		list = append(list, f)
	}
	return encodeLine(w, fields{{"a", a}, {"b", b}, {"same", r.Same()}, {"equal", r.Equal}, {"differ", list}, {"only_a", append([]string{}, r.OnlyA...)}, {"only_b", append([]string{}, r.OnlyB...)}})
}

// jsonFloat returns a number, or text for what JSON has no numbers for.
func jsonFloat(x float64) any {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return fmt.Sprint(x)
	}
	return x
}
