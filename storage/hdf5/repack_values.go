package hdf5

// #include "shim.h"
import "C"

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// A memoryImage is elements as libhdf5 has them in memory, followed by what
// they point to: strings and sequences of variable length are pointers there,
// and object references the addresses of the copy.
type memoryImage struct {
	r        *repacker
	out      []byte
	pointers []uint64 // places in out that hold offsets into it
	lost     int      // references that lead nowhere now
	regions  int      // references to parts of datasets, which are not carried
}

func (r *repacker) image() *memoryImage { return &memoryImage{r: r} }

// maxImage is how many bytes one image is believed to take.
const maxImage = 1 << 30

// memSize returns the bytes of an element in memory, as H5T_set_loc has them:
// a string is a pointer, a sequence a length and a pointer, and compounds grow
// or shrink with their members.
func memSize(t *Type) int {
	switch {
	case t.Class == ClassVarLen && t.Text.Variable:
		return 8
	case t.Class == ClassVarLen:
		return 16
	case t.Class == ClassArray:
		n, _ := multiply(t.Dims...)
		return n * memSize(t.Base)
	case t.Class == ClassCompound:
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
func (m *memoryImage) elements(t *Type, src []byte, n int) error {
	size := memSize(t)
	at, err := m.alloc(n * size)
	if err != nil {
		return err
	}
	if !t.hasVarLen() && !t.hasReferences() {
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

// element writes an element to its place.
func (m *memoryImage) element(t *Type, src []byte, at int) error {
	switch {
	case !t.hasVarLen() && !t.hasReferences():
		copy(m.out[at:], src[:t.Size])
	case t.Class == ClassReference:
		m.reference(t, src, at)
	case t.Class == ClassVarLen:
		return m.sequence(t, src, at)
	case t.Class == ClassArray:
		for k := 0; k*t.Base.Size < t.Size; k++ {
			if err := m.element(t.Base, src[k*t.Base.Size:(k+1)*t.Base.Size], at+k*memSize(t.Base)); err != nil {
				return err
			}
		}
	case t.Class == ClassCompound:
		return m.compound(t, src, at)
	}
	return nil
}

func (m *memoryImage) compound(t *Type, src []byte, at int) error {
	members := slices.Clone(t.Members)
	slices.SortStableFunc(members, func(a, b Member) int { return a.Offset - b.Offset })
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

func (m *memoryImage) reference(t *Type, src []byte, at int) {
	if t.Region {
		if slices.ContainsFunc(src, func(b byte) bool { return b != 0 }) {
			m.regions++
		}
		return
	}
	old := binary.LittleEndian.Uint64(src)
	if old == 0 || old == undefined {
		return
	}
	address, ok := m.r.address(old)
	if !ok {
		m.lost++
	}
	binary.LittleEndian.PutUint64(m.out[at:], address)
}

// address returns where the copy has the object that was at old.
func (r *repacker) address(old uint64) (uint64, bool) {
	path, known := r.paths[old]
	if !known {
		return 0, false
	}
	at, err := r.w.call("find", path, func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_address(C.int64_t(r.w.file.ID()), cString(path), msg, size)
	})
	return uint64(at), err == nil
}

func (m *memoryImage) sequence(t *Type, src []byte, at int) error {
	c := m.r.f.newCursor("sequence", src)
	n, place := c.u32(), heapID{c.address(), c.u32()}
	if c.err != nil || place.address == 0 || place.address == undefined || n == 0 && !t.Text.Variable {
		return c.err
	}
	object, err := m.r.f.heapObject(place.address, place.index)
	if err != nil {
		return err
	}
	if n > len(object)/max(1, t.Base.Size) || t.Base.Size == 0 {
		return fmt.Errorf("sequence of %d elements of %d bytes in %d bytes", n, t.Base.Size, len(object))
	}
	var to int
	if t.Text.Variable {
		if to, err = m.alloc(n + 1); err == nil {
			copy(m.out[to:], trimNUL(object[:n]))
		}
		at -= 8 // there is no length before the pointer
	} else {
		binary.LittleEndian.PutUint64(m.out[at:], uint64(n))
		to = (len(m.out) + 7) &^ 7
		err = m.elements(t.Base, object, n)
	}
	if err != nil {
		return err
	}
	binary.LittleEndian.PutUint64(m.out[at+8:], uint64(to))
	m.pointers = append(m.pointers, uint64(at+8))
	return nil
}

// noteLost notes what references have lost.
func (m *memoryImage) noteLost(path string) {
	if m.regions > 0 {
		m.r.note(path, "%d references to parts of datasets became null", m.regions)
	}
	if m.lost > 0 {
		m.r.note(path, "%d references to what was left out became null", m.lost)
	}
}
