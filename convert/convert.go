// Package convert writes the arrays of a file in another format, and reports what the
// other format cannot hold.
//
// From HDF5 to HDF5 it copies objects as they are stored: layouts, filters, attributes,
// types, links, references and virtual mappings. Objects with a meaning that HDF5 does not
// know, such as sparse matrices of AnnData, are written as what they mean if they are named.
package convert

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/loss"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// A Plan is a conversion: a step for every object of the file.
type Plan struct {
	Format string
	Steps  []Step
	Lost   loss.List // of all steps

	meta    map[string]string // of the output
	options Options
	source  *inspect.HDF5 // if objects are copied as they are stored
	path    string
}

// A Step writes one object, or leaves it out.
type Step struct {
	inspect.Object
	To      string // the path it is written to
	LeftOut bool
	Lost    loss.List         // the object, or parts of it
	Notes   []string          // what is changed
	data    inspect.Selection // of datasets
	renamed bool              // the format does not have the name of the entry
}

// Options configure a conversion. The zero value is suitable for most files.
type Options struct {
	// Materialize writes the elements of virtual datasets and of datasets with external
	// data, instead of the names of the other files.
	Materialize bool

	// Decode writes what the objects of an HDF5 file mean by the convention of its format,
	// such as dense arrays instead of sparse matrices. Without it a whole file is copied to
	// HDF5 as it is stored. Other formats, and objects that are named, are always decoded.
	Decode bool

	// Verify makes Write compare every element of the output with the input.
	Verify bool

	// Out is the file that will be written, for notes on the names of other files that
	// are relative to the folder of the input.
	Out string
}

// New plans the conversion of the objects at and below path to a format, which is
// named as in package serialize. Nothing is written yet.
func New(ctx context.Context, file inspect.File, path, format string, o Options) (*Plan, error) {
	if _, err := serialize.ByName(format); err != nil {
		return nil, err
	}
	p := &Plan{Format: format, options: o, path: inspect.Clean(path)}
	if h5, ok := file.(inspect.HDF5); ok && format == "hdf5" && (p.path == "/" && !o.Decode || !h5.Meant(path)) {
		h5 = h5.Plain()
		file, p.source = h5, &h5
	}
	entries, err := file.Entries(path)
	if err != nil {
		return nil, err
	}
	for e := range entries {
		if e.Err != nil && file.Format() == "hdf5" {
			return nil, e.Err // a conversion is complete or an error
		}
		p.Steps = append(p.Steps, Step{Object: e, To: target(e, p.path)})
	}
	if p.source != nil {
		return p, p.repack(ctx, o.Out, hdf5write.RepackOptions{DryRun: true})
	}
	for k := range p.Steps {
		p.decide(file, &p.Steps[k])
	}
	p.loseGroups()
	p.moveBelowArrays()
	p.noteAliases()
	for _, s := range p.Steps {
		p.Lost = append(p.Lost, s.Lost...)
	}
	n := len(p.Arrays())
	switch {
	case n == 0 && !slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Data != nil || s.Err != nil }):
		return nil, fmt.Errorf("%s has no arrays", file.Name())
	case n == 0:
		reason := ""
		if i := slices.IndexFunc(p.Lost, func(i loss.Item) bool { return i.Kind == loss.Array }); i >= 0 {
			lost := p.Lost[i]
			reason = fmt.Sprintf("; %s: %s", lost.Path, lost.Reason)
		}
		return nil, fmt.Errorf("%s has no arrays that %s can hold%s", file.Name(), format, reason)
	case n > 1 && p.targetFormat().Single:
		return nil, fmt.Errorf("%s has %d arrays, and %s files hold one; name it, as in %s:%s, or write .npz", file.Name(), n, format, file.Name(), p.Arrays()[0].Path)
	}
	if format := p.targetFormat(); format.Table {
		if _, err := format.Columns(p.contents(ctx)); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// noteAliases notes arrays that have the elements of one before them, where the format keeps
// their names in its metadata.
func (p *Plan) noteAliases() {
	if !p.targetFormat().Aliases {
		return
	}
	var known serialize.Aliases
	for _, s := range p.Arrays() {
		if first := known.Of(p.entry(context.Background(), s)); first != "" {
			s.Notes = append(s.Notes, serialize.AliasNote(first))
		}
	}
}

// repack copies the objects, or finds out in a dry run what is lost.
func (p *Plan) repack(ctx context.Context, out string, o hdf5write.RepackOptions) error {
	o.Root, o.Materialize = p.path, p.options.Materialize
	report, err := hdf5write.Repack(ctx, p.source.File, out, o)
	if err != nil || !o.DryRun {
		return err
	}
	p.Lost = report.Lost
	for k := range p.Steps {
		s := &p.Steps[k]
		s.Lost = report.Lost.Of(s.Path)
		s.LeftOut = slices.ContainsFunc(s.Lost, func(i loss.Item) bool { return i.Kind == s.kind() })
		for _, n := range report.Notes {
			if n.Path == s.Path {
				s.Notes = append(s.Notes, n.Message)
			}
		}
	}
	return nil
}

// kind returns the kind of loss that the object is when it is left out.
func (s *Step) kind() loss.Kind {
	switch {
	case s.Data != nil && s.Data.Shape == nil:
		return loss.Null
	case s.Data != nil:
		return loss.Array
	case s.Kind == "group":
		return loss.Group
	case s.Kind == "datatype":
		return loss.Type
	}
	return loss.Link
}

// leaveOut records that the object is not written. Anything but an array has no place in
// the format.
func (s *Step) leaveOut(format string, args ...any) {
	s.LeftOut = true
	s.Lost.AddInherent(s.Path, s.kind(), 1, format, args...)
}

// target returns the path of an entry when base becomes the root.
func target(e inspect.Object, base string) string {
	switch {
	case base == "/":
		return e.Path
	case e.Path == base && e.Kind == "group":
		return "/"
	case e.Path == base:
		return "/" + filepath.Base(base)
	default:
		return strings.TrimPrefix(e.Path, base)
	}
}

// targetFormat returns the format that is written.
func (p *Plan) targetFormat() serialize.Format {
	f, err := serialize.ByName(p.Format)
	if err != nil {
		panic(err) // New has checked it
	}
	return f
}

// Arrays returns the steps that write data.
func (p *Plan) Arrays() []*Step {
	var list []*Step
	for k := range p.Steps {
		if s := &p.Steps[k]; s.Data != nil && !s.LeftOut {
			list = append(list, s)
		}
	}
	return list
}

// decide sets what happens to an object that is not copied as it is stored.
func (p *Plan) decide(file inspect.File, s *Step) {
	switch {
	case s.Err != nil:
		s.LeftOut = true
		s.Lost.Add(s.Path, loss.Array, 1, "%v", s.Err)
		return
	case s.Data != nil:
		p.decideData(file, s)
	case s.Kind == "group" && p.Format == "hdf5" && hdf5write.CheckPath(s.To) != nil:
		s.leaveOut("%v", hdf5write.CheckPath(s.To))
	case s.Kind == "group":
	case s.Kind == "datatype":
		s.leaveOut("%s has no committed datatypes; datasets keep their own types", p.Format)
	default:
		s.leaveOut("%s has no %s links", p.Format, s.Kind)
	}
	if p.Format != "hdf5" {
		p.decideAttrs(s)
		return
	}
	for _, a := range s.Attrs {
		if _, err := keepHDF5(a); err != nil {
			s.Lost.AddInherent(s.Path, loss.Attribute, 1, "attribute %s: %v", a.Name, err)
		}
	}
}

// keepHDF5 returns the value of an attribute if HDF5 has such attributes.
func keepHDF5(a inspect.Attr) (any, error) {
	value, err := a.Keep()
	if err != nil {
		return nil, err
	}
	format, err := serialize.ByName("hdf5")
	if err != nil {
		return nil, err
	}
	text, _ := value.(string)
	return value, format.FitsMeta(map[string]string{a.Name: text})
}

// decideAttrs counts the attributes that a format other than HDF5 does not keep: strings of the
// root are metadata, those of arrays are attributes, and other groups have none.
func (p *Plan) decideAttrs(s *Step) {
	format, lost := p.targetFormat(), 0
	for _, a := range s.Attrs {
		value, err := a.Keep()
		text, isText := value.(string)
		switch {
		case s.To == "/" && s.Kind == "group" && format.Meta && isText && err == nil:
			if p.meta == nil {
				p.meta = map[string]string{}
			}
			p.meta[a.Name] = text
		case s.Data == nil:
			lost++
		case err != nil:
			s.Lost.AddInherent(s.Path, loss.Attribute, 1, "attribute %s: %v", a.Name, err)
		}
	}
	if s.Data != nil {
		_, lost = format.KeepAttrs(s.withAttrs())
	}
	if s.To == "/" && s.Kind == "group" && format.Meta {
		var failed map[string]error
		p.meta, failed = format.KeepMeta(p.meta)
		for _, key := range slices.Sorted(maps.Keys(failed)) {
			s.Lost.AddInherent(s.Path, loss.Attribute, 1, "%v", failed[key])
		}
	}
	switch {
	case lost == 0:
	case s.Data == nil && format.Meta:
		s.Lost.AddInherent(s.Path, loss.Attribute, lost, "%s keeps texts of the root as metadata, and no other attributes of groups", p.Format)
	default:
		s.Lost.AddInherent(s.Path, loss.Attribute, lost, "%s has no attributes", p.Format)
	}
}

func (p *Plan) decideData(file inspect.File, s *Step) {
	data, err := file.Find(s.Path)
	switch {
	case s.Unread != nil:
		err = s.Unread
	case err == nil:
		err = data.CheckSize()
	}
	s.data = data
	format := p.targetFormat()
	switch {
	case s.Data.Shape == nil:
		s.leaveOut("%s has no datasets without a value", p.Format)
	case err != nil:
		s.leaveOut("%v", err)
	case data.Numbers && format.Holds(data.Array.Type):
	case data.Numbers && format.Holds(ForNumPy(data.Array).Type):
		s.data.Array = ForNumPy(data.Array)
		s.Notes = append(s.Notes, "converted to float32: "+p.Format+" has no "+data.Array.Type.String())
	case data.DType == "compound" && p.Format == "hdf5":
		s.leaveOut("compounds are only copied from HDF5 to HDF5; write .npz, or name a member, as in PATH['x']")
	case data.Numbers || format.Elements == nil || !format.Elements(data.DType):
		s.leaveOut("%s has no elements of type %s", p.Format, s.Data.DType)
	}
	if !s.LeftOut && format.Fits != nil {
		p.fit(format, s)
	}
	if !s.LeftOut {
		s.Notes = append(s.Notes, s.Data.Changes...)
		if s.Data.Renamed != "" {
			s.Notes = append(s.Notes, fmt.Sprintf("its name in the file is %q", s.Data.Renamed))
		}
		if len(s.Data.Names) > 0 {
			s.Lost.AddInherent(s.Path, loss.Type, 1, "%s has no enums, so the %d names of the values are not written", p.Format, len(s.Data.Names))
		}
	}
}

// fit leaves out an array that does not fit the format. One whose name does not fit, such as
// /model/weight in .npz, is written under its path without slashes at the ends, if that does.
func (p *Plan) fit(format serialize.Format, s *Step) {
	err := format.Fits(p.entry(context.Background(), s))
	if err == nil {
		return
	}
	s.renamed = true
	if name := p.name(s); name != s.data.Name && format.Fits(p.entry(context.Background(), s)) == nil {
		if s.Data.Renamed == "" {
			s.Notes = append(s.Notes, fmt.Sprintf("as %s: %s has no name %q", name, p.Format, s.data.Name))
		}
		return
	}
	s.leaveOut("%v", err)
}

// loseGroups leaves out the groups that no array's name implies, where the format has
// no groups.
func (p *Plan) loseGroups() {
	if p.Format == "hdf5" {
		return
	}
	implied := map[string]bool{"/": true}
	for _, s := range p.Arrays() {
		for k := range s.To {
			if k > 0 && s.To[k] == '/' {
				implied[s.To[:k]] = true
			}
		}
	}
	for k := range p.Steps {
		if s := &p.Steps[k]; s.Kind == "group" && !implied[s.To] {
			s.leaveOut("%s has no empty groups", p.Format)
		}
	}
}

// moveBelowArrays renames the groups that have the name of an array: an object of HDF5 is a
// dataset or a group. The variable w and its slot w/Adam of TensorFlow become w and w'/Adam.
func (p *Plan) moveBelowArrays() {
	if p.Format != "hdf5" {
		return
	}
	arrays, taken, moved := map[string]bool{}, map[string]bool{}, map[string]string{}
	for _, s := range p.Steps {
		taken[s.To] = true
		arrays[s.To] = s.Data != nil && !s.LeftOut || arrays[s.To]
	}
	var steps []*Step
	for k := range p.Steps {
		steps = append(steps, &p.Steps[k])
	}
	slices.SortStableFunc(steps, func(s, other *Step) int { return len(s.To) - len(other.To) }) // arrays before what is below them
	for _, s := range steps {
		below := ""
		for i := 1; i <= len(s.To); i++ {
			path := s.To[:i]
			if i < len(s.To) && s.To[i] != '/' || !arrays[path] || i == len(s.To) && s.Kind != "group" {
				continue
			}
			group := moved[path]
			if group == "" {
				for group = path + "'"; taken[group]; {
					group += "'"
				}
				moved[path], taken[group] = group, true
			}
			below, s.To, i = path, group+s.To[i:], len(group)
		}
		if below != "" && !s.LeftOut {
			arrays[s.To] = s.Data != nil
			s.Notes = append(s.Notes, below+" is an array, and HDF5 has nothing below arrays")
		}
	}
}

// DeflateLevel is the usual level of deflate.
const DeflateLevel = 4

// Write writes the output file, atomically.
func (p *Plan) Write(ctx context.Context, out string) error {
	if p.source != nil {
		return p.repack(ctx, out, hdf5write.RepackOptions{SkipVerify: !p.options.Verify})
	}
	write := p.writeArrays
	if p.Format == "hdf5" {
		write = p.writeHDF5
	}
	if err := write(ctx, out); err != nil || !p.options.Verify {
		return err
	}
	return p.verify(ctx, out)
}

// WriteTo writes the output to w. HDF5, which is not written in order, is an error.
func (p *Plan) WriteTo(ctx context.Context, w io.Writer) error {
	if p.Format == "hdf5" {
		return fmt.Errorf("HDF5 cannot be written to a stream: %w; write a file, or another format", errors.ErrUnsupported)
	}
	return serialize.Write(w, p.Format, p.contents(ctx))
}

func (p *Plan) writeArrays(ctx context.Context, out string) error {
	return serialize.Save(out, p.Format, p.contents(ctx))
}

// contents returns what is written.
func (p *Plan) contents(ctx context.Context) serialize.Contents {
	return serialize.Contents{Meta: p.meta, Entries: func(yield func(serialize.Entry, error) bool) {
		for e := range p.entries(ctx) {
			if !yield(e, nil) {
				return
			}
		}
	}}
}

// entries yields what the steps write.
func (p *Plan) entries(ctx context.Context) iter.Seq[serialize.Entry] {
	return func(yield func(serialize.Entry) bool) {
		for _, s := range p.Arrays() {
			if !yield(p.entry(ctx, s)) {
				return
			}
		}
	}
}

// name returns the name of an array in the output: that in the input, which may begin or
// end with a slash as paths do not, if the format has such names.
func (p *Plan) name(s *Step) string {
	if s.data.Entry && p.path == "/" && p.Format != "hdf5" && !s.renamed {
		return s.data.Name
	}
	return strings.TrimPrefix(s.To, "/")
}

// entry returns what a step writes.
func (p *Plan) entry(ctx context.Context, s *Step) serialize.Entry {
	e := s.withAttrs()
	e.Name = p.name(s)
	e.Attrs, _ = p.targetFormat().KeepAttrs(e)
	if s.data.Numbers {
		e.Array, e.Shared = blocks.WithContext(ctx, s.data.Array), s.data.Shared
	}
	return e
}

// withAttrs returns the data of a step with those of its attributes that any format can have.
func (s *Step) withAttrs() serialize.Entry {
	e := serialize.Entry{Attrs: map[string]any{}}
	if s.data.Numbers {
		e.Array = s.data.Array
	} else {
		e.Elements = &serialize.Elements{View: s.data.View, Type: s.data.DType, Values: s.data.Values}
	}
	for _, a := range s.Attrs {
		if value, err := a.Keep(); err == nil { // else it is lost
			e.Attrs[a.Name] = value
		}
	}
	return e
}

func (p *Plan) writeHDF5(ctx context.Context, out string) error {
	w, err := hdf5write.Create(out, hdf5write.CreateOptions{Space: serialize.ElementBytes(p.entries(ctx))})
	if err != nil {
		return err
	}
	defer w.Abort()                 // unless it was closed
	written := map[string][]*Step{} // by what they share
	for k := range p.Steps {
		s := &p.Steps[k]
		err := s.write(ctx, w, written)
		if errors.Is(err, hdf5write.ErrString) {
			s.LeftOut = true
			s.Lost.AddInherent(s.Path, loss.Array, 1, "%v", err)
			p.Lost = append(p.Lost, s.Lost[len(s.Lost)-1])
			continue
		}
		if err != nil {
			return err
		}
	}
	return w.Close()
}

// sameAs returns the step among others that writes the same elements with the same
// attributes, such as tied weights; nil if there is none.
func (s *Step) sameAs(others []*Step) *Step {
	e := s.withAttrs()
	e.Shared = s.data.Shared
	for _, other := range others {
		o := other.withAttrs()
		if o.Shared = other.data.Shared; e.SameElements(o) && serialize.SameAttrs(e.Attrs, o.Attrs) {
			return other
		}
	}
	return nil
}

// write writes the object, as a hard link if its elements are written already.
func (s *Step) write(ctx context.Context, w *hdf5write.Writer, written map[string][]*Step) error {
	var err error
	shared := s.data.Shared
	switch {
	case s.LeftOut:
		return nil
	case shared != "" && s.data.Numbers:
		if same := s.sameAs(written[shared]); same != nil {
			return w.HardLink(s.To, same.To)
		}
		written[shared] = append(written[shared], s)
		err = writeDataset(ctx, w, s.To, s.data, hdf5write.Layout{})
	case s.Data != nil:
		err = writeDataset(ctx, w, s.To, s.data, hdf5write.Layout{})
	case s.To != "/":
		err = w.Group(s.To)
	}
	if err != nil {
		return err
	}
	for _, a := range s.Attrs {
		if value, err := keepHDF5(a); err == nil { // else it is lost
			if err := w.SetAttr(s.To, a.Name, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// verify reads the output and compares every element.
func (p *Plan) verify(ctx context.Context, out string) error {
	if p.Format == "csv" {
		return p.verifyText(ctx, out)
	}
	if format := p.targetFormat(); format.Elements == nil && !format.Single {
		return p.verifyArrays(ctx, out)
	}
	file, err := inspect.Open(out)
	if err != nil {
		return err
	}
	defer file.Close()
	for _, s := range p.Arrays() {
		path := s.To
		if p.targetFormat().Single {
			path = ""
		}
		written, err := file.Find(path)
		if err == nil {
			err = sameData(ctx, s.data, written)
		}
		if err != nil {
			return fmt.Errorf("verify %s: %s: %w", out, s.To, err)
		}
	}
	return nil
}

// verifyText is verify for text, which has no types: the text of every element, the shortest
// that gives its bits in its own type, is compared.
func (p *Plan) verifyText(ctx context.Context, out string) error {
	file, err := os.Open(out)
	if err != nil {
		return err
	}
	defer file.Close()
	w := &comparingWriter{r: bufio.NewReaderSize(file, 64<<10)}
	if err := serialize.Write(w, p.Format, p.contents(ctx)); err != nil {
		return fmt.Errorf("verify %s: %w", out, err)
	}
	if _, err := w.r.ReadByte(); err != io.EOF {
		return fmt.Errorf("verify %s: %w", out, cmp.Or(err, errDiffers))
	}
	return nil
}

// A comparingWriter compares what is written with what r holds.
type comparingWriter struct{ r *bufio.Reader }

func (c *comparingWriter) Write(b []byte) (int, error) {
	for n := 0; n < len(b); {
		part, err := c.r.Peek(min(len(b)-n, c.r.Size()))
		if len(part) == 0 && err != nil && err != io.EOF {
			return n, err
		}
		if len(part) == 0 || !bytes.HasPrefix(b[n:], part) {
			return n, errDiffers
		}
		c.r.Discard(len(part))
		n += len(part)
	}
	return len(b), nil
}

// verifyArrays is verify for a format of numbers.
func (p *Plan) verifyArrays(ctx context.Context, out string) error {
	file, err := serialize.Open(out)
	if err != nil {
		return err
	}
	defer file.Close()
	for _, s := range p.Arrays() {
		e, err := serialize.Lookup(file, p.name(s))
		if err == nil {
			err = sameData(ctx, s.data, inspect.Selection{Array: e.Array, Numbers: true})
		}
		if err != nil {
			return fmt.Errorf("verify %s: %s: %w", out, s.To, err)
		}
	}
	return nil
}

var errDiffers = errors.New("differs from the input")

// sameData compares the elements of two selections bit by bit.
func sameData(ctx context.Context, a, b inspect.Selection) error {
	if a.Numbers != b.Numbers || !slices.Equal(a.Selected().Shape, b.Selected().Shape) || a.Numbers && a.Array.Type != b.Array.Type {
		return errDiffers
	}
	if !a.Numbers && !(a.Texts && b.Texts) {
		return sameValues(ctx, a, b)
	}
	if !a.Numbers {
		x, err1 := a.Strings()
		y, err2 := b.Strings()
		if err := errors.Join(err1, err2); err != nil || !slices.Equal(x, y) {
			return errors.Join(err, errDiffers)
		}
		return nil
	}
	equal, err := blocks.Equal(ctx, a.Array, b.Array)
	if err == nil && !equal {
		err = errDiffers
	}
	return err
}

// sameValues compares elements that are neither numbers nor strings, such as structures, along
// the first axis.
func sameValues(ctx context.Context, a, b inspect.Selection) error {
	if a.DType != b.DType {
		return errDiffers
	}
	const rows = 1 << 10 // compared at a time
	n := 1
	if a.View.Rank() > 0 {
		n = a.View.Shape[0]
	}
	for i := 0; i < n; i += rows {
		v, w := a.View, b.View
		if v.Rank() > 0 {
			var err1, err2 error
			v, err1 = v.Slice(0, i, min(i+rows, n), 1)
			w, err2 = w.Slice(0, i, min(i+rows, n), 1)
			if err := errors.Join(err1, err2, ctx.Err()); err != nil {
				return err
			}
		}
		x, err1 := a.Values(v)
		y, err2 := b.Values(w)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		if !slices.EqualFunc(x, y, sameValue) {
			return errDiffers
		}
	}
	return nil
}

// sameValue compares values of elements. NaNs are equal, and integers of several sizes.
func sameValue(a, b any) bool {
	if x, ok := a.(hdf5.Record); ok {
		y, ok := b.(hdf5.Record)
		return ok && slices.Equal(x.Names, y.Names) && slices.EqualFunc(x.Values, y.Values, sameValue)
	}
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	switch {
	case !x.IsValid() || !y.IsValid():
		return x.IsValid() == y.IsValid()
	case x.Kind() == reflect.Slice && y.Kind() == reflect.Slice:
		if x.Len() != y.Len() {
			return false
		}
		for i := range x.Len() {
			if !sameValue(x.Index(i).Interface(), y.Index(i).Interface()) {
				return false
			}
		}
		return true
	}
	return fmt.Sprint(a) == fmt.Sprint(b)
}

// writeDataset writes data as a dataset. Numbers are streamed.
func writeDataset(ctx context.Context, w *hdf5write.Writer, path string, data inspect.Selection, layout hdf5write.Layout) error {
	if data.Numbers {
		return w.WriteWith(path, blocks.WithContext(ctx, data.Array), layout)
	}
	cells, err := data.Strings()
	if err != nil {
		return err
	}
	return w.WriteStrings(path, cells, data.View.Shape...)
}
