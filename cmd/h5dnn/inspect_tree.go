package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

// A treePrinter prints entries as an indented tree.
type treePrinter struct {
	w     io.Writer
	paint palette
	attrs int      // most attributes shown of an object; all if negative
	above []string // the entries that the next one may be below, each with a "/" at the end
	total string   // the last line, of a checkpoint

	plugins pluginNotes
}

func (t *treePrinter) Begin(at address, format string, size int) error {
	_, err := fmt.Fprintf(t.w, "%s  %s\n", t.paint.bold(printable(at.file)), t.paint.faint(format+", "+arrayfmt.Bytes(size)))
	return err
}

func (t *treePrinter) End() error {
	for _, note := range t.plugins.lines() {
		fmt.Fprintln(t.w, t.paint.faint(printable("note: "+note)))
	}
	if t.total == "" {
		return nil
	}
	_, err := fmt.Fprintln(t.w, t.paint.faint(t.total))
	return err
}

func (t *treePrinter) Entry(e inspect.Object, m objectDetails) error {
	name, alone := e.Path, t.above == nil // the object that was asked for
	for n := len(t.above); n > 0; n-- {
		if rest, below := strings.CutPrefix(e.Path, t.above[n-1]); below || n == 1 {
			name, t.above = rest, t.above[:n]
			break
		}
	}
	indent := strings.Repeat("  ", len(t.above))
	t.above = append(t.above, strings.TrimSuffix(e.Path, "/")+"/")
	var b strings.Builder
	line := func(deeper, text string) { b.WriteString(indent + deeper + text + "\n") }
	if m.fold != nil && m.fold.names != "" {
		name = m.fold.names
	}
	if name = printable(name); name == "" {
		name = `""` // an array may have that name
	}
	line("", t.title(e, name, m, alone))
	if e.Data != nil {
		for _, f := range e.Data.Filters {
			t.plugins.add(f.ID, f.Name)
		}
		for _, text := range contents(e.Data, alone) {
			line("  ", text)
		}
	}
	if alone && longType(e) {
		for _, text := range e.Fields {
			line("  ", printable(text))
		}
	}
	if e.Err != nil {
		line("  ", t.paint.red("unreadable: "+printable(withoutKind(e.Err.Error()))))
	}
	for i, a := range e.Attrs {
		if i == t.attrs {
			line("  ", t.paint.faint(fmt.Sprintf("@… %d more", len(e.Attrs)-i)))
			break
		}
		t.attr(line, a, m.fold.mark(a.Name))
	}
	for _, i := range e.Omitted {
		line("  ", t.paint.faint(printable("not shown: "+i.Path+", "+i.Reason)))
	}
	if m.stats != nil {
		for _, text := range m.stats.lines() {
			line("  ", text)
		}
	}
	for _, c := range m.columns {
		line("  ", printable(c.name)+"  "+strings.Join(c.lines(), "  "))
	}
	if m.values != "" {
		line("  ", strings.ReplaceAll(m.values, "\n", "\n  "+indent))
	}
	_, err := io.WriteString(t.w, b.String())
	return err
}

// title returns the line of an object.
func (t *treePrinter) title(e inspect.Object, name string, m objectDetails, alone bool) string {
	switch {
	case e.Kind == "group":
		return t.paint.bold(t.paint.blue(strings.TrimSuffix(name, "/")+"/")) + t.paint.faint(m.fold.counted())
	case e.Data != nil && m.scalar != "":
		return t.paint.bold(name) + "  " + describe(e, m.fold, alone, t.paint) + m.fold.counted() + " = " + shorten(m.scalar) + m.fold.mark("")
	case e.Data != nil:
		return t.paint.bold(name) + "  " + describe(e, m.fold, alone, t.paint) + t.paint.faint(m.fold.counted())
	case e.Kind == "datatype":
		return t.paint.bold(name) + "  datatype " + typeText(e, alone)
	case e.Kind == "soft":
		return name + " -> " + printable(e.Target)
	case e.Kind == "external":
		return name + " -> " + printable(e.Other) + ":" + printable(e.Target) + t.paint.faint("  external link")
	}
	return name + "  " + e.Kind
}

// contents returns lines with the datasets that a virtual dataset consists of and, if it was
// asked for alone, the members of an enum.
func contents(d *inspect.Dataset, alone bool) (lines []string) {
	if len(d.Sources) > 0 {
		lines = append(lines, "from "+someOf(d.Sources, alone))
	}
	if alone && len(d.Names) > 0 {
		members := make([]string, len(d.Names))
		for i, name := range d.Names {
			members[i] = fmt.Sprintf("%s = %d", name, d.Values[i])
		}
		lines = append(lines, "members "+printable(strings.Join(members, ", ")))
	}
	return lines
}

// someOf lists names: all, or the first.
func someOf(names []string, all bool) string {
	const shown = 3
	if all || len(names) <= shown {
		return printable(strings.Join(names, ", "))
	}
	return printable(strings.Join(names[:shown], ", ")) + fmt.Sprintf(" and %d more", len(names)-shown)
}

// configAttr is the attribute of a run file with the configuration of the run.
const configAttr = "h5dnn_config"

const (
	attrElements = 8    // shown of an attribute's value
	attrRunes    = 96   // shown of a text
	configRunes  = 4096 // shown of a setting, such as the names of genes
)

// attr prints an attribute, with a mark behind its value.
func (t *treePrinter) attr(line func(deeper, text string), a inspect.Attr, mark string) {
	value, err := a.Get()
	if text, ok := value.(string); ok && a.Name == configAttr {
		line("  ", t.paint.faint("@"+a.Name))
		for _, text := range configLines(text) {
			line("    ", clip(printable(text), configRunes))
		}
		return
	}
	text := brief(value)
	if err != nil {
		text = t.paint.red("unreadable: " + printable(err.Error()))
	} else if a.Shape == nil {
		text = a.DType + ", no value"
	}
	line("  ", t.paint.faint("@"+printable(a.Name)+" = ")+text+t.paint.faint(mark))
}

// configLines splits a configuration in JSON into one line for each member, and one
// for each item of a list, such as the layers of a model.
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

// brief formats a value on one line.
func brief(value any) string {
	more := ""
	if list, ok := value.([]any); ok && len(list) > attrElements {
		value, more = list[:attrElements], fmt.Sprintf("… %d in all", len(list))
	}
	return shorten(printable(hdf5.Format(value))) + more
}

// shorten truncates a long text.
func shorten(s string) string { return clip(s, attrRunes) }

// typeOf returns the type of a dataset of elements that are not numbers, or of a datatype; ""
// for numbers.
func typeOf(e inspect.Object) string {
	if e.Data != nil {
		return printable(e.Data.Detail)
	}
	return printable(e.Type)
}

// longType reports whether the members of a compound do not fit a line.
func longType(e inspect.Object) bool {
	return len(e.Fields) > 0 && len([]rune(typeOf(e))) > attrRunes
}

// typeText returns the type on one line. The members of a compound that do not fit are
// counted, and follow below if the object is shown alone.
func typeText(e inspect.Object, alone bool) string {
	switch {
	case longType(e) && alone:
		return fmt.Sprintf("%s of %d members", typeOf(e)[:strings.Index(typeOf(e)+"{", "{")], len(e.Fields))
	case longType(e):
		return fmt.Sprintf("%s of %d members", shorten(typeOf(e)), len(e.Fields))
	}
	return shorten(typeOf(e))
}

// describe returns the type, shape and storage of a dataset on one line, or of a fold of
// alike ones. alone is whether it is the object that was named.
func describe(e inspect.Object, f *fold, alone bool, paint palette) string {
	d := e.Data
	if d.Shape == nil {
		return printable(d.DType) + paint.faint(", no value")
	}
	what := printable(d.DType)
	if d.Detail != "" {
		what = typeText(e, alone)
	}
	if d.Text != "" {
		what += " (" + d.Text + ")"
	}
	if d.Big {
		what += " big-endian"
	}
	if d.Element != nil && d.Detail == "" {
		what += arrayfmt.Shape(d.Element)
	}
	what += " " + f.shapeOf(d)
	if d.MaxShape != nil && arrayfmt.Shape(d.MaxShape) != arrayfmt.Shape(d.Shape) {
		what += " maxshape " + arrayfmt.Shape(d.MaxShape)
	}
	how := d.Layout
	if d.Encoding != "" {
		how = strings.TrimSuffix(printable(d.Encoding)+", "+d.Layout, ", group")
	}
	if d.Strides != nil {
		how += " " + arrayfmt.Shape(d.Strides)
	}
	if d.Chunks != nil {
		how += " " + arrayfmt.Shape(d.Chunks)
	}
	for _, f := range d.Filters {
		how += ", " + printable(f.Name)
	}
	if d.External > 0 {
		how += fmt.Sprintf(", in %d external files", d.External)
	}
	switch {
	case d.Size < 0 && !d.Numbers && d.Stored < 0:
	case d.Size < 0:
		how += ", size overflows 64 bits"
	case d.Stored < 0 || d.Stored == d.Size && d.Filters == nil || d.Layout == "virtual":
		how += ", " + arrayfmt.Bytes(d.Size)
	case d.Stored == 0:
		how += fmt.Sprintf(", %s, none written", arrayfmt.Bytes(d.Size))
	default:
		how += fmt.Sprintf(", %s in %s, ratio %.2f", arrayfmt.Bytes(d.Size), arrayfmt.Bytes(d.Stored), ratio(d))
	}
	if f != nil && d.Size >= 0 {
		how += " in all"
	}
	if d.Renamed != "" {
		how += fmt.Sprintf(", its name in the file is %q", d.Renamed)
	}
	if d.Shares != "" {
		how += ", shared with " + printable(d.Shares)
	}
	return what + "  " + paint.faint(how)
}

// shapeOf returns the shape, with the names of the axes: (time: 4, lat: 3), or (38…112, 3).
func (f *fold) shapeOf(d *inspect.Dataset) string {
	named, ranged := len(d.Axes) == len(d.Shape), f != nil && f.rows != ""
	if len(d.Shape) == 0 || !named && !ranged {
		return arrayfmt.Shape(d.Shape)
	}
	axes := make([]string, len(d.Shape))
	for i, n := range d.Shape {
		axes[i] = strconv.Itoa(n)
		if i == 0 && ranged {
			axes[i] = f.rows
		}
		if named {
			axes[i] = printable(d.Axes[i]) + ": " + axes[i]
		}
	}
	return "(" + strings.Join(axes, ", ") + ")"
}

// ratio returns the compression ratio.
func ratio(d *inspect.Dataset) float64 { return float64(d.Size) / float64(d.Stored) }

// lines returns a summary as text.
func (s *summary) lines() []string {
	show := func(x float64) string { return strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%.6g", x), "+")) }
	text := []string{fmt.Sprintf("min %s  max %s  mean %s  std %s  zeros %d  nan %d  inf %d  of %d",
		show(s.Min), show(s.Max), show(s.Mean), show(s.Std), s.Zeros, s.NaN, s.Inf, s.Count)}
	if len(s.Counts) > 0 {
		text = append(text, show(s.Edges[0])+" "+bars(s.Counts)+" "+show(s.most))
	}
	return text
}

// bars draws counts as a bar chart of block characters. Zero is blank; any other
// count is visible.
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
