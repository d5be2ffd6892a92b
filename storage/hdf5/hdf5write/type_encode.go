package hdf5write

import (
	"encoding/binary"
	"fmt"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/format"
)

// encodeType returns t as a datatype message of version 3 (the diagrams are in
// datatype.go of package hdf5). libhdf5 thus gets a well-formed message, whatever was
// in the file that t was read from.
func encodeType(t *hdf5.Type) ([]byte, error) {
	w := &typeWriter{}
	w.write(t)
	return w.out, w.err
}

type typeWriter struct {
	out []byte
	err error
}

func (w *typeWriter) head(t *hdf5.Type, bits int) {
	w.out = append(w.out, 3<<4|byte(t.Class), byte(bits), byte(bits>>8), byte(bits>>16))
	w.u32(t.Size)
}

func (w *typeWriter) u8(x int)      { w.out = append(w.out, byte(x)) }
func (w *typeWriter) u16(x int)     { w.out = binary.LittleEndian.AppendUint16(w.out, uint16(x)) }
func (w *typeWriter) u32(x int)     { w.out = binary.LittleEndian.AppendUint32(w.out, uint32(x)) }
func (w *typeWriter) text(s string) { w.out = append(append(w.out, s...), 0) }

func (w *typeWriter) write(t *hdf5.Type) {
	switch t.Class {
	case hdf5.ClassInteger, hdf5.ClassBitfield:
		w.head(t, flag(t.BigEndian, 0)|flag(t.Signed, 3))
		w.u16(t.BitOffset)
		w.u16(t.Precision)
	case hdf5.ClassFloat:
		w.float(t)
	case hdf5.ClassTime:
		w.head(t, flag(t.BigEndian, 0))
		w.u16(t.Precision)
	case hdf5.ClassString:
		w.head(t, int(t.Text.Padding)|flag(t.Text.UTF8, 4))
	case hdf5.ClassOpaque:
		tag := append([]byte(t.Tag), 0)
		tag = append(tag, make([]byte, -len(tag)&7)...)
		if len(tag) > 248 {
			w.err = fmt.Errorf("opaque type with a tag of %d bytes: %w", len(t.Tag), dtype.ErrType)
		}
		w.head(t, len(tag)&0xff)
		w.out = append(w.out, tag...)
	case hdf5.ClassReference:
		w.head(&hdf5.Type{Class: t.Class, Size: copiedSize(t)}, flag(t.Region, 0))
	case hdf5.ClassCompound:
		w.compound(t)
	case hdf5.ClassComplex: // newer than libhdf5: the compound that h5py uses, with the same bytes
		w.compound(&hdf5.Type{Size: t.Size, Class: hdf5.ClassCompound, Members: []hdf5.Member{{Name: "r", Type: t.Base}, {Name: "i", Offset: t.Base.Size, Type: t.Base}}})
	case hdf5.ClassEnum:
		w.enum(t)
	case hdf5.ClassVarLen:
		w.head(t, flag(t.Text.Variable, 0)|int(t.Text.Padding)<<4|flag(t.Text.UTF8, 8))
		w.write(t.Base)
	case hdf5.ClassArray:
		w.head(t, 0)
		w.u8(len(t.Dims))
		for _, n := range t.Dims {
			w.u32(n)
		}
		w.write(t.Base)
	default:
		w.err = fmt.Errorf("elements of class %v are newer than libhdf5: %w", t.Class, dtype.ErrType)
	}
}

func flag(set bool, k int) int {
	if set {
		return 1 << k
	}
	return 0
}

func (w *typeWriter) float(t *hdf5.Type) {
	f := t.Float
	w.head(t, flag(t.BigEndian, 0)|flag(f.VAX, 6)|f.Normalization<<4|f.Sign<<8)
	w.u16(t.BitOffset)
	w.u16(t.Precision)
	for _, x := range []int{f.Exponent, f.ExpSize, f.Mantissa, f.MantSize} {
		w.u8(x)
	}
	w.u32(f.Bias)
}

func (w *typeWriter) compound(t *hdf5.Type) {
	w.head(t, len(t.Members))
	for _, m := range t.Members {
		w.text(m.Name)
		for k := range format.BytesFor(t.Size) {
			w.u8(m.Offset >> (8 * k))
		}
		w.write(m.Type)
	}
}

func (w *typeWriter) enum(t *hdf5.Type) {
	w.head(t, len(t.Names))
	w.write(t.Base)
	for _, name := range t.Names {
		w.text(name)
	}
	for _, value := range t.Values {
		w.out = append(w.out, value...)
	}
}
