package hdf5write

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/loss"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/format"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/libhdf5"
)

// A memoryImage holds elements as libhdf5 has them in memory, followed by the values
// they point to. Values of variable length are pointers, and object references are
// addresses in the copy.
type memoryImage struct {
	f        *hdf5.File // that has the elements
	r        *repacker  // that finds references in the copy; nil to leave them out
	out      []byte
	pointers []uint64 // positions in out of offsets into out
	outside  int      // references to objects that are not in the copy
	dangling int      // references to objects that are not in the original
	moved    int      // references to regions of datasets whose rows were reordered
}

func (r *repacker) newImage() *memoryImage { return &memoryImage{f: r.f, r: r} }

// clear removes the elements and keeps their memory.
func (m *memoryImage) clear() { m.out, m.pointers = m.out[:0], m.pointers[:0] }

// of returns the image for the library, of elements of type t.
func (m *memoryImage) of(t *hdf5.Type) libhdf5.Image {
	return libhdf5.Image{Bytes: m.out, Pointers: m.pointers, ElemSize: memSize(t)}
}

// maxImage is the maximum size of an image in bytes.
const maxImage = 1 << 30

// memSize returns the size of an element in memory, as H5T_set_loc computes it: a
// string is a pointer, a sequence a length and a pointer, and compounds grow or shrink
// with their members.
func memSize(t *hdf5.Type) int {
	switch {
	case t.Class == hdf5.ClassVarLen && t.Text.Variable:
		return 8
	case t.Class == hdf5.ClassVarLen:
		return 16
	case t.Class == hdf5.ClassArray:
		n, _ := format.Product(t.Dims...)
		return n * memSize(t.Base)
	case t.Tagged:
		return copiedSize(t)
	case t.Class == hdf5.ClassCompound:
		size := t.Size
		for _, m := range t.Members {
			size += memSize(m.Type) - m.Type.Size
		}
		return size
	}
	return t.Size
}

// alloc returns the offset of n new bytes, aligned for pointers.
func (m *memoryImage) alloc(n int) (int, error) {
	at := (len(m.out) + 7) &^ 7
	if n < 0 || at+n > maxImage {
		return 0, fmt.Errorf("values of variable length take more than %d bytes", maxImage)
	}
	m.out = append(m.out, make([]byte, at+n-len(m.out))...)
	return at, nil
}

// elements adds n elements.
func (m *memoryImage) elements(t *hdf5.Type, src []byte, n int) error {
	size := memSize(t)
	at, err := m.alloc(n * size)
	if err != nil {
		return err
	}
	if !hasPointers(t) {
		copy(m.out[at:], src[:n*t.Size])
		return nil
	}
	for k := range n {
		if err := m.element(t, src[k*t.Size:(k+1)*t.Size], at+k*size); err != nil {
			return err
		}
	}
	return nil
}

// element writes an element at an offset of the image.
func (m *memoryImage) element(t *hdf5.Type, src []byte, at int) error {
	switch {
	case !hasPointers(t):
		copy(m.out[at:], src[:t.Size])
	case t.Class == hdf5.ClassReference && m.r != nil:
		return m.reference(t, src, at)
	case t.Class == hdf5.ClassVarLen:
		return m.varLen(t, src, at)
	case t.Class == hdf5.ClassArray:
		for k := 0; k*t.Base.Size < t.Size; k++ {
			if err := m.element(t.Base, src[k*t.Base.Size:(k+1)*t.Base.Size], at+k*memSize(t.Base)); err != nil {
				return err
			}
		}
	case t.Class == hdf5.ClassCompound:
		return m.compound(t, src, at)
	}
	return nil
}

func (m *memoryImage) compound(t *hdf5.Type, src []byte, at int) error {
	members := slices.Clone(t.Members)
	slices.SortStableFunc(members, func(a, b hdf5.Member) int { return a.Offset - b.Offset })
	shift := 0
	for _, member := range members {
		from := src[member.Offset : member.Offset+member.Type.Size]
		if err := m.element(member.Type, from, at+member.Offset+shift); err != nil {
			return fmt.Errorf("%s: %w", member.Name, err)
		}
		shift += memSize(member.Type) - member.Type.Size
	}
	return nil
}

func (m *memoryImage) reference(t *hdf5.Type, src []byte, at int) error {
	to, err := m.f.Referent(t, src)
	if err != nil || to.Address == 0 {
		return err
	}
	if to.Region != nil {
		return m.regionReference(to.Address, *to.Region, at)
	}
	path, known := m.r.paths[to.Address]
	if !known {
		m.countReference()
		return nil
	}
	return m.r.do("find", path, func() error {
		address, err := m.r.w.file.Address(path)
		binary.LittleEndian.PutUint64(m.out[at:], address)
		return err
	})
}

// countReference counts a reference to an object that is not in the copy.
func (m *memoryImage) countReference() {
	if m.r.base == "/" {
		m.dangling++
	} else {
		m.outside++
	}
}

func (m *memoryImage) varLen(t *hdf5.Type, src []byte, at int) error {
	n, data, ok, err := m.f.VarLen(t, src)
	if err != nil || !ok || n == 0 && !t.Text.Variable {
		return err
	}
	var to int
	if t.Text.Variable {
		text, _, _ := bytes.Cut(data, []byte{0})
		if m.r == nil && len(text) == 0 {
			return nil // libhdf5 stores empty strings as null pointers
		}
		if to, err = m.alloc(len(text) + 1); err == nil {
			copy(m.out[to:], text)
		}
		at -= 8 // strings have no length before the pointer
	} else {
		binary.LittleEndian.PutUint64(m.out[at:], uint64(n))
		to = (len(m.out) + 7) &^ 7
		err = m.elements(t.Base, data, n)
	}
	if err != nil {
		return err
	}
	binary.LittleEndian.PutUint64(m.out[at+8:], uint64(to))
	m.pointers = append(m.pointers, uint64(at+8))
	return nil
}

// countLost counts the references of an object's elements that became null.
func (m *memoryImage) countLost(path, what string) {
	m.r.report.Lost.Add(path, loss.Value, m.outside, "%s: references to objects outside of %s became null", what, m.r.base)
	m.r.report.Lost.AddInherent(path, loss.Value, m.dangling, "%s: references to objects without a path became null", what)
	m.r.report.Lost.Add(path, loss.Value, m.moved, "%s: references to regions of reordered datasets became null", what)
}
