package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

func inspectCommand() *cli.Command {
	return &cli.Command{
		Name:      "inspect",
		Usage:     "show what is in a file: groups, datasets, types, layouts, attributes, links",
		ArgsUsage: "FILE[:/path]",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object"},
			&cli.BoolFlag{Name: "stats", Usage: "read the numbers: least, largest, mean, deviation, NaNs, zeros, a histogram"},
			followFlag,
		},
		Action: func(c *cli.Context) error {
			args, err := arguments(c, "FILE")
			if err != nil {
				return err
			}
			at := parseAddress(args[0])
			file, err := openAsked(c, at.file)
			if err != nil {
				return err
			}
			defer file.Close()
			return buffered(c.App.Writer, func(w io.Writer) error {
				var p printer = &tree{w: w, paint: paletteFor(c.App.Writer)}
				if c.Bool("json") {
					p = &objects{w: w}
				}
				return inspect(c.Context, file, at, c.Bool("stats"), p)
			})
		},
	}
}

// A printer shows entries one by one.
type printer interface {
	Begin(at address, format string, size int) error
	Entry(e entry, s *summary) error
	End() error
}

// inspect shows what is at the address. What cannot be read is shown as such;
// the error then says how much that was.
func inspect(ctx context.Context, file container, at address, stats bool, p printer) error {
	entries, err := file.Entries(at.path)
	if err != nil {
		return err
	}
	if err := p.Begin(at, file.Format(), fileSize(at.file)); err != nil {
		return err
	}
	var first error
	failed := 0
	note := func(err error) {
		if failed++; failed == 1 {
			first = err
		}
	}
	for e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		var s *summary
		if stats && e.Data != nil && e.Data.Numbers && e.Data.Shape != nil && e.Err == nil {
			var err error
			if s, err = statistics(ctx, file, e.Path); errors.Is(err, context.Canceled) {
				return err
			} else if err != nil {
				e.Err = err
			}
		}
		if e.Err != nil {
			note(e.Err)
		}
		if err := p.Entry(e, s); err != nil {
			return err
		}
	}
	if err := p.End(); err != nil {
		return err
	}
	switch {
	case failed == 1:
		return first
	case failed > 1:
		return fmt.Errorf("%w (and %d more places that could not be read)", first, failed-1)
	}
	return nil
}

func statistics(ctx context.Context, file container, path string) (*summary, error) {
	data, err := file.Find(path)
	if err != nil || data.Array.Type.IsComplex() {
		return nil, err
	}
	if err := data.believable(); err != nil {
		return nil, err
	}
	s, err := summarize(ctx, data.Array)
	if err != nil {
		return nil, err
	}
	return &s, s.histogram(ctx, data.Array)
}

// A tree is a printer for people.
type tree struct {
	w     io.Writer
	paint palette
	root  int // how deep the first entry is
	begun bool
}

func (t *tree) Begin(at address, format string, size int) error {
	_, err := fmt.Fprintf(t.w, "%s  %s\n", t.paint.bold(printable(at.file)), t.paint.faint(format+", "+byteCount(size)))
	return err
}

func (t *tree) End() error { return nil }

func (t *tree) Entry(e entry, s *summary) error {
	depth := strings.Count(e.Path, "/")
	name := e.Path[strings.LastIndexByte(e.Path, '/')+1:]
	if !t.begun {
		t.begun, t.root, name = true, depth, e.Path
	}
	if e.Path == "/" {
		depth, t.root = 0, 0
	}
	indent := strings.Repeat("  ", max(0, depth-t.root))
	var b strings.Builder
	line := func(deeper, text string) { b.WriteString(indent + deeper + text + "\n") }
	name = printable(name)
	switch {
	case e.Kind == "group":
		line("", t.paint.bold(t.paint.blue(strings.TrimSuffix(name, "/")+"/")))
	case e.Data != nil:
		line("", t.paint.bold(name)+"  "+describe(e.Data, t.paint))
	case e.Kind == "datatype":
		line("", t.paint.bold(name)+"  datatype "+printable(e.Type))
	case e.Kind == "soft":
		line("", name+" -> "+printable(e.Target))
	case e.Kind == "external":
		line("", name+" -> "+printable(e.Other)+":"+printable(e.Target)+t.paint.faint("  in another file, not followed"))
	default:
		line("", name+"  "+e.Kind)
	}
	if e.Err != nil {
		line("  ", t.paint.red("unreadable: "+printable(e.Err.Error())))
	}
	for _, a := range e.Attrs {
		t.attr(line, a)
	}
	if s != nil {
		for _, text := range s.lines() {
			line("  ", text)
		}
	}
	_, err := io.WriteString(t.w, b.String())
	return err
}

// configAttr is where a run file keeps the configuration that made it: its
// model, above all.
const configAttr = "h5dnn_config"

const (
	attrElements = 8  // shown of an attribute
	attrRunes    = 96 // and how much text
)

func (t *tree) attr(line func(deeper, text string), a attr) {
	value, err := a.Get()
	if text, ok := value.(string); ok && a.Name == configAttr {
		line("  ", t.paint.faint("@"+a.Name))
		for _, text := range configLines(text) {
			line("    ", printable(text))
		}
		return
	}
	text := brief(value)
	if err != nil {
		text = t.paint.red("unreadable: " + printable(err.Error()))
	} else if a.Shape == nil {
		text = a.DType + ", no value"
	}
	line("  ", t.paint.faint("@"+printable(a.Name)+" = ")+text)
}

// configLines breaks a configuration in JSON into a line for each of its members,
// and for each item of those that are lists: the layers of a model.
func configLines(config string) []string {
	var members fields
	if json.Unmarshal([]byte(config), &members) != nil {
		return strings.Split(config, "\n")
	}
	var lines []string
	for _, member := range members {
		var items []json.RawMessage
		if json.Unmarshal(member.Value.(json.RawMessage), &items) != nil {
			lines = append(lines, fmt.Sprintf("%s: %s", member.Name, member.Value))
			continue
		}
		lines = append(lines, member.Name+":")
		for _, item := range items {
			lines = append(lines, "  "+string(item))
		}
	}
	return lines
}

// brief writes a value on part of a line.
func brief(value any) string {
	more := ""
	if list, ok := value.([]any); ok && len(list) > attrElements {
		value, more = list[:attrElements], fmt.Sprintf("… %d in all", len(list))
	}
	return shorten(printable(hdf5.Format(value))) + more
}

// shorten cuts a long text.
func shorten(s string) string {
	if text := []rune(s); len(text) > attrRunes {
		return string(text[:attrRunes-1]) + "…"
	}
	return s
}

// describe says on one line what a dataset is and how it is stored.
func describe(d *dataset, paint palette) string {
	if d.Shape == nil {
		return printable(d.DType) + paint.faint(", no value")
	}
	what := printable(d.DType)
	if d.Detail != "" {
		what = shorten(printable(d.Detail))
	}
	if d.Element != nil && d.Detail == "" {
		what += tuple(d.Element)
	}
	what += " " + tuple(d.Shape)
	if d.MaxShape != nil && tuple(d.MaxShape) != tuple(d.Shape) {
		what += " of at most " + tuple(d.MaxShape)
	}
	how := d.Layout
	if d.Chunks != nil {
		how += " " + tuple(d.Chunks)
	}
	for _, f := range d.Filters {
		how += ", " + printable(f.Name)
	}
	if d.External > 0 {
		how += fmt.Sprintf(", in %d other files", d.External)
	}
	switch {
	case d.Size < 0:
		how += ", more bytes than any memory has"
	case d.Stored < 0 || d.Stored == d.Size && d.Filters == nil:
		how += ", " + byteCount(d.Size)
	case d.Stored == 0:
		how += fmt.Sprintf(", %s, none written", byteCount(d.Size))
	default:
		how += fmt.Sprintf(", %s in %s, ratio %.2f", byteCount(d.Size), byteCount(d.Stored), ratio(d))
	}
	return what + "  " + paint.faint(how)
}

// ratio returns how many times smaller the data is in the file.
func ratio(d *dataset) float64 { return float64(d.Size) / float64(d.Stored) }

// lines writes a summary for people.
func (s *summary) lines() []string {
	show := func(x float64) string { return strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%.6g", x), "+")) }
	text := []string{fmt.Sprintf("min %s  max %s  mean %s  std %s  zeros %d  nan %d  inf %d  of %d",
		show(s.Min), show(s.Max), show(s.Mean), show(s.Std), s.Zeros, s.NaN, s.Inf, s.Count)}
	if len(s.Counts) > 0 {
		text = append(text, show(s.Edges[0])+" "+bars(s.Counts)+" "+show(s.most))
	}
	return text
}

// bars draws counts as columns of up to eight eighths; nothing is blank, and
// something is always seen.
func bars(counts []int) string {
	most := 0
	for _, n := range counts {
		most = max(most, n)
	}
	var b strings.Builder
	for _, n := range counts {
		if n == 0 {
			b.WriteRune(' ')
		} else {
			b.WriteRune([]rune("▁▂▃▄▅▆▇█")[int(float64(n)/float64(most)*7.999)])
		}
	}
	return b.String()
}

// An objects is a printer for programs: one JSON object, a line for each entry.
type objects struct {
	w     io.Writer
	begun bool
}

func (o *objects) Begin(at address, format string, size int) error {
	name, err := json.Marshal(at.file)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.w, "{\"file\":%s,\"format\":%q,\"size\":%d,\"objects\":[", name, format, size)
	return err
}

func (o *objects) Entry(e entry, s *summary) error {
	separator := ",\n"
	if !o.begun {
		o.begun, separator = true, "\n"
	}
	if _, err := io.WriteString(o.w, separator); err != nil {
		return err
	}
	return encode(o.w, e.fields(s))
}

func (o *objects) End() error {
	_, err := io.WriteString(o.w, "\n]}\n")
	return err
}

func (e entry) fields(s *summary) fields {
	f := fields{{"path", e.Path}, {"kind", e.Kind}}
	switch e.Kind {
	case "soft":
		f = append(f, field{"target", e.Target})
	case "external":
		f = append(f, field{"target", e.Target}, field{"target_file", e.Other})
	case "datatype":
		f = append(f, field{"dtype", e.Type})
	}
	if e.Data != nil {
		f = append(f, e.Data.fields()...)
	}
	if s != nil {
		f = append(f, field{"stats", s.fields()})
	}
	if e.Kind != "soft" && e.Kind != "external" {
		attrs := fields{}
		for _, a := range e.Attrs {
			attrs = append(attrs, field{a.Name, fields{{"shape", orNull(a.Shape)}, {"dtype", a.DType}, {"value", a.value()}}})
		}
		f = append(f, field{"attrs", attrs})
	}
	if e.Err != nil {
		f = append(f, field{"error", e.Err.Error()})
	}
	return f
}

// value returns what JSON shows of an attribute; null if it has no value, or none that can be read.
func (a attr) value() json.RawMessage {
	value, err := a.Get()
	if value == nil || err != nil {
		return json.RawMessage("null")
	}
	return json.RawMessage(jsonValue(value))
}

func (d *dataset) fields() fields {
	ids := []int{}
	pipeline := []filter{}
	for _, f := range d.Filters {
		f.Params = append([]uint32{}, f.Params...) // [] rather than null
		ids = append(ids, f.ID)
		pipeline = append(pipeline, f)
	}
	f := fields{{"shape", orNull(d.Shape)}, {"dtype", d.DType}}
	if d.Element != nil {
		f = append(f, field{"element_shape", d.Element})
	}
	if d.NumPy != "" {
		f = append(f, field{"numpy", d.NumPy})
	}
	f = append(f, field{"layout", d.Layout}, field{"chunks", orNull(d.Chunks)}, field{"maxshape", unlimited(d.MaxShape)},
		field{"filters", ids}, field{"pipeline", pipeline}, field{"external", d.External})
	if d.Size >= 0 {
		f = append(f, field{"size", d.Size})
	}
	if d.Stored >= 0 {
		f = append(f, field{"stored", d.Stored})
	}
	return f
}

// unlimited returns a largest shape with null for axes without end.
func unlimited(shape []int) any {
	if shape == nil {
		return nil
	}
	list := make([]any, len(shape))
	for axis, n := range shape {
		if n >= 0 {
			list[axis] = n
		}
	}
	return list
}

func (s *summary) fields() fields {
	number := func(x float64) json.RawMessage { return json.RawMessage(jsonNumber(dtype.Float64, x)) }
	edges := []json.RawMessage{}
	for _, x := range s.Edges {
		edges = append(edges, number(x))
	}
	counts := s.Counts
	if counts == nil {
		counts = []int{}
	}
	return fields{{"count", s.Count}, {"nan", s.NaN}, {"inf", s.Inf}, {"zeros", s.Zeros},
		{"min", number(s.Min)}, {"max", number(s.Max)}, {"mean", number(s.Mean)}, {"std", number(s.Std)},
		{"histogram", fields{{"edges", edges}, {"counts", counts}}}}
}
