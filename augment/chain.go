package augment

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
)

// Options say what the fields of samples are to a Chain. Their zero values are for images (C, H, W), grey images (H, W)
// or signals, and a label.
type Options struct {
	Seed uint64
	// Fields are the kinds of fields by name. Without a kind, an input of three axes is an image, one of two an image or,
	// if augmentations change signals alone, a signal, one of one axis a signal; a target that is an integer is a label.
	Fields       map[string]Kind
	ChannelsLast bool           // images are (H, W, C)
	Classes      map[string]int // numbers of classes of targets, which mixtures need
}

// A Chain applies augmentations one after the other.
type Chain struct {
	list    []Augmentation
	options Options
	plan    atomic.Pointer[plan] // of the fields that Output saw last
}

// A plan is the fields of samples before each augmentation, and after the last.
type plan struct {
	stored []dataset.Field
	fields [][]Field
	sizes  [][]int // in bytes
	pool   sync.Pool
}

// NewChain returns a chain of augmentations.
func NewChain(list []Augmentation, o Options) *Chain { return &Chain{list: list, options: o} }

// Output returns the fields of augmented samples.
func (c *Chain) Output(fields []dataset.Field) ([]dataset.Field, error) {
	first, err := c.fieldsOf(fields)
	if err != nil {
		return nil, err
	}
	p := &plan{stored: slices.Clone(fields), fields: [][]Field{first}}
	for i, a := range c.list {
		in := p.fields[i]
		if !slices.ContainsFunc(in, func(f Field) bool { return a.Changes(f.Kind) }) {
			var has []string
			for _, f := range in {
				has = append(has, fmt.Sprintf("%s: %s", f.Name, f.Kind))
			}
			return nil, fmt.Errorf("augment %d: %s changes no field, which are {%s}; augment_fields sets other kinds: %w", i+1, Name(a), strings.Join(has, ", "), config.ErrInvalid)
		}
		out, err := a.Output(slices.Clone(in))
		if err != nil {
			return nil, fmt.Errorf("augment %d: %w", i+1, err)
		}
		if len(out) != len(in) {
			return nil, fmt.Errorf("augment %d: %s makes %d fields of %d: %w", i+1, Name(a), len(out), len(in), config.ErrInvalid)
		}
		if s, ok := a.(Sometimes); ok && s.Probability() < 1 {
			for k := range out {
				if !out[k].Equal(in[k].Field) {
					return nil, fmt.Errorf("augment %d: %s makes %v of %v, which it cannot do with a probability of %v; leave p out: %w", i+1, Name(a), out[k].Field, in[k].Field, s.Probability(), config.ErrInvalid)
				}
			}
		}
		p.fields = append(p.fields, out)
	}
	for _, list := range p.fields {
		sizes := make([]int, len(list))
		for k, f := range list {
			sizes[k] = sizeOf(f)
		}
		p.sizes = append(p.sizes, sizes)
	}
	p.pool.New = func() any { return &scratch{} }
	c.plan.Store(p)
	last := p.fields[len(p.fields)-1]
	out := make([]dataset.Field, len(last))
	for k, f := range last {
		out[k] = f.Field
	}
	return out, nil
}

func sizeOf(f Field) int {
	n := f.Type.Size()
	for _, s := range f.Shape {
		n *= s
	}
	return n
}

// changes reports whether an augmentation of c changes fields of a kind.
func (c *Chain) changes(k Kind) bool {
	return slices.ContainsFunc(c.list, func(a Augmentation) bool { return a.Changes(k) })
}

// fieldsOf returns what the fields of samples are to augmentations.
func (c *Chain) fieldsOf(fields []dataset.Field) ([]Field, error) {
	all := make([]Field, len(fields))
	for _, name := range slices.Sorted(maps.Keys(c.options.Fields)) {
		if !slices.ContainsFunc(fields, func(f dataset.Field) bool { return f.Name == name }) {
			var names []string
			for _, f := range fields {
				names = append(names, f.Name)
			}
			return nil, config.At(config.Unknown("field", name, names), "augment_fields")
		}
		if k := c.options.Fields[name]; !slices.Contains(kinds, k) {
			return nil, config.At(config.Errorf("no kind %q of %s; want one of %v", k, name, kinds), "augment_fields", name)
		}
	}
	for i, f := range fields {
		all[i] = Field{Field: f, Kind: c.options.Fields[f.Name], ChannelsLast: c.options.ChannelsLast, Classes: c.options.Classes[f.Name]}
		if all[i].Kind == "" {
			all[i].Kind = c.kindOf(f)
		}
		if f.Role == dataset.Target && all[i].Kind == Still && c.options.Fields[f.Name] == "" && len(longAxes(f.Shape)) > 0 && c.changes(Points) {
			return nil, fmt.Errorf("augment: samples of %v move with the image or not; set augment_fields: {%s: mask}, boxes, points or still: %w", f, f.Name, config.ErrInvalid)
		}
	}
	for i, f := range all {
		f = f.inFloats()
		if err := f.check(); err != nil {
			return nil, fmt.Errorf("augment: %w", err)
		}
		all[i] = f
		if f.Kind == Image || f.Kind == Mask {
			if first := frameOf(all); f.height() != first.height() || f.width() != first.width() {
				return nil, fmt.Errorf("augment: %v and %v move together and differ in size; set augment_fields: {%s: still}: %w", first.Field, f.Field, all[i].Name, config.ErrInvalid)
			}
		}
	}
	return all, nil
}

// kindOf returns the kind of a field without one in the options.
func (c *Chain) kindOf(f dataset.Field) Kind {
	axes := len(f.Shape)
	ofSignals := slices.ContainsFunc(c.list, func(a Augmentation) bool { return a.Changes(Signal) && !a.Changes(Image) })
	switch {
	case f.Role == dataset.Input && axes == 3:
		return Image
	case f.Role == dataset.Input && (axes == 1 && c.changes(Signal) || axes == 2 && ofSignals):
		return Signal
	case f.Role == dataset.Input && axes == 2 && c.changes(Image):
		return Image
	case f.Role == dataset.Target && f.Type.IsInt() && len(longAxes(f.Shape)) == 0:
		return Label
	case f.Role == dataset.Target && f.Type.IsFloat() && axes == 1 && c.options.Classes[f.Name] == f.Shape[0]:
		return Label
	}
	return Still
}

// longAxes returns the axes of a shape that are not 1.
func longAxes(shape []int) []int {
	return slices.DeleteFunc(slices.Clone(shape), func(n int) bool { return n == 1 })
}

// A scratch is memory for the fields of a sample between augmentations: two buffers for each, by turns.
type scratch struct {
	data [2][][]byte
	turn []int // by field
}

// buffer returns memory of n bytes for field k, other than what the call before returned.
func (s *scratch) buffer(k, n int) []byte {
	for len(s.turn) <= k {
		s.turn, s.data[0], s.data[1] = append(s.turn, 0), append(s.data[0], nil), append(s.data[1], nil)
	}
	s.turn[k] = 1 - s.turn[k]
	data := &s.data[s.turn[k]][k]
	if cap(*data) < n {
		*data = make([]byte, n)
	}
	return (*data)[:n]
}

// Apply augments the samples of a batch.
func (c *Chain) Apply(to, from []storage.Array, epoch int, rows []int) error {
	p := c.plan.Load()
	if p == nil {
		return fmt.Errorf("augment: no fields; call Output first: %w", storage.ErrState)
	}
	in, err := p.inFloats(from)
	if err != nil {
		return err
	}
	out := bytesOf(to)
	s := p.pool.Get().(*scratch)
	defer p.pool.Put(s)
	for first := 0; first < len(c.list) || first == 0; {
		last := first // the augmentations of a run, up to a mixture
		for last < len(c.list) && !isMixing(c.list[last]) {
			last++
		}
		dst := out
		if last < len(c.list) {
			dst = newBatch(p.sizes[last], len(rows))
		}
		for i, row := range rows {
			if err := c.sample(p, s, part(dst, p.sizes[last], i), part(in, p.sizes[first], i), first, last, epoch, row); err != nil {
				return err
			}
		}
		if last == len(c.list) {
			return nil
		}
		in = dst
		dst = out
		if last+1 < len(c.list) {
			dst = newBatch(p.sizes[last+1], len(rows))
		}
		if err := c.mixed(p, dst, in, last, epoch, rows); err != nil {
			return err
		}
		if in, first = dst, last+1; first == len(c.list) {
			return nil
		}
	}
	return nil
}

// inFloats returns the elements of a batch in the types of the first augmentation.
func (p *plan) inFloats(batch []storage.Array) ([][]byte, error) {
	all := bytesOf(batch)
	for k, f := range p.fields[0] {
		if stored := p.stored[k].Type; f.Type != stored {
			elems := make([]byte, len(all[k])/stored.Size()*f.Type.Size())
			if err := dtype.Convert(elems, f.Type, all[k], stored); err != nil {
				return nil, fmt.Errorf("augment: %s: %w", f.Name, err)
			}
			all[k] = elems
		}
	}
	return all, nil
}

func isMixing(a Augmentation) bool {
	_, ok := a.(Mixing)
	return ok
}

// bytesOf returns the bytes of arrays.
func bytesOf(arrays []storage.Array) [][]byte {
	all := make([][]byte, len(arrays))
	for i, a := range arrays {
		all[i], _ = a.Bytes()
	}
	return all
}

// newBatch returns memory for n samples of fields of these sizes.
func newBatch(sizes []int, n int) [][]byte {
	all := make([][]byte, len(sizes))
	for i, size := range sizes {
		all[i] = make([]byte, n*size)
	}
	return all
}

// part returns the i-th sample of a batch.
func part(batch [][]byte, sizes []int, i int) [][]byte {
	one := make([][]byte, len(batch))
	for k, size := range sizes {
		one[k] = batch[k][i*size:][:size:size]
	}
	return one
}

// sample applies the augmentations from first to last-1 to a sample.
func (c *Chain) sample(p *plan, s *scratch, to, from [][]byte, first, last, epoch, row int) error {
	now := from
	for i := first; i < last; i++ {
		a, r := c.list[i], newRandom(c.options.Seed, epoch, row, 2*i)
		if s, ok := a.(Sometimes); ok && s.Probability() < 1 && !r.Bool(s.Probability()) {
			continue
		}
		next := slices.Clone(now)
		for k, f := range p.fields[i] {
			if a.Changes(f.Kind) {
				next[k] = s.buffer(k, p.sizes[i+1][k])
			}
		}
		if err := a.Apply(Sample{p.fields[i+1], next}, Sample{p.fields[i], now}, r); err != nil {
			return fmt.Errorf("augment %d: %s: row %d: %w", i+1, Name(a), row, err)
		}
		now = next
	}
	for k := range to {
		copy(to[k], now[k])
	}
	return nil
}

// mixed applies a mixture to a batch. Sorted by a random number that belongs to the row, each sample is mixed with the
// next one.
func (c *Chain) mixed(p *plan, to, from [][]byte, i, epoch int, rows []int) error {
	a := c.list[i].(Mixing)
	order, keys := make([]int, len(rows)), make([]uint32, len(rows))
	for k, row := range rows {
		order[k], keys[k] = k, newRandom(c.options.Seed, epoch, row, 2*i+1).Uint32()
	}
	slices.SortFunc(order, func(x, y int) int { return cmp.Or(cmp.Compare(keys[x], keys[y]), cmp.Compare(rows[x], rows[y])) })
	for n, k := range order {
		other := order[(n+1)%len(order)]
		err := a.Mix(Sample{p.fields[i+1], part(to, p.sizes[i+1], k)}, Sample{p.fields[i], part(from, p.sizes[i], k)},
			Sample{p.fields[i], part(from, p.sizes[i], other)}, newRandom(c.options.Seed, epoch, rows[k], 2*i))
		if err != nil {
			return fmt.Errorf("augment %d: %s: row %d: %w", i+1, Name(a), rows[k], err)
		}
		for f := range to {
			if !a.Changes(p.fields[i][f].Kind) {
				copy(part(to, p.sizes[i+1], k)[f], part(from, p.sizes[i], k)[f])
			}
		}
	}
	return nil
}
