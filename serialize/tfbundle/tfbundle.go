// Package tfbundle reads the checkpoints of TensorFlow: NAME.index, and the files
// NAME.data-00000-of-00001 beside it.
//
// Variables of TensorFlow 2 are named by their path without /.ATTRIBUTES/VARIABLE_VALUE. The
// slices of a partitioned variable are joined.
// The format is described in tensorflow/core/util/tensor_bundle/tensor_bundle.h and
// tensorflow/core/protobuf/tensor_bundle.proto.
package tfbundle

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/protowire"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

func init() {
	serialize.Register(serialize.Format{Name: "tfbundle", Extensions: []string{".index"}, Match: match, Open: open})
}

func match(r io.ReaderAt, size int64) serialize.Confidence {
	var footer [footerSize]byte
	if size < footerSize {
		return serialize.NoMatch
	}
	if _, err := r.ReadAt(footer[:], size-footerSize); err != nil || binary.LittleEndian.Uint64(footer[footerSize-8:]) != tableMagic {
		return serialize.NoMatch
	}
	return serialize.ContentMatch
}

// Fields of messages.
const (
	headerShards, headerEndianness                                                        = 1, 2
	entryType, entryShape, entryShard, entryOffset, entrySize, entryChecksum, entrySlices = 1, 2, 3, 4, 5, 6, 7
	shapeDim, dimSize                                                                     = 2, 1
)

// types are those of tensorflow/core/framework/types.proto.
var types = map[uint64]struct {
	name string
	typ  dtype.Type
}{
	1: {"float", dtype.Float32}, 2: {"double", dtype.Float64}, 3: {"int32", dtype.Int32}, 4: {"uint8", dtype.Uint8}, 5: {"int16", dtype.Int16},
	6: {"int8", dtype.Int8}, typeString: {"string", dtype.Invalid}, 8: {"complex64", dtype.Complex64}, 9: {"int64", dtype.Int64}, 10: {"bool", dtype.Bool},
	14: {"bfloat16", dtype.BFloat16}, 17: {"uint16", dtype.Uint16}, 18: {"complex128", dtype.Complex128}, 19: {"half", dtype.Float16},
	22: {"uint32", dtype.Uint32}, 23: {"uint64", dtype.Uint64}, 24: {"float8_e5m2", dtype.Float8E5M2}, 25: {"float8_e4m3fn", dtype.Float8E4M3},
	11: {"qint8", dtype.Int8}, 12: {"quint8", dtype.Uint8}, 13: {"qint32", dtype.Int32}, 15: {"qint16", dtype.Int16}, 16: {"quint16", dtype.Uint16}, 20: {"resource", dtype.Invalid}, 21: {"variant", dtype.Invalid}, 29: {"int4", dtype.Invalid}, 30: {"uint4", dtype.Invalid},
}

const (
	typeString = 7
	maxShards  = 1 << 16
	maxRank    = 254              // of TensorFlow
	maxLen     = math.MaxInt / 16 // elements
)

// suffix ends the names of variables in object-based checkpoints.
const suffix = "/.ATTRIBUTES/VARIABLE_VALUE"

// objectGraph is the key of what says which Python objects the variables belong to. It is
// needed to restore objects, and not listed.
const objectGraph = "_CHECKPOINTABLE_OBJECT_GRAPH"

// A bundle is a checkpoint that is being opened.
type bundle struct {
	in     serialize.Input
	memory int                // bytes of the list, about
	places []serialize.Extent // of elements
	shards []*storage.Mapping // nil until they are used
	order  binary.ByteOrder
	list   *serialize.List
	slices map[string][]slice // of variables that are not joined yet
	texts  map[string]*texts  // by the names of their arrays
}

func open(in serialize.Input) (serialize.File, error) {
	if in.Size > maxIndex {
		return nil, fmt.Errorf("an index of %d bytes; at most %d are allowed", in.Size, maxIndex)
	}
	if err := in.Budget.Allocate(int(in.Size), int(in.Size)); err != nil {
		return nil, err
	}
	index := table{r: in, size: uint64(in.Size)}
	b := &bundle{in: in, order: binary.LittleEndian, slices: map[string][]slice{}, texts: map[string]*texts{}}
	b.list = serialize.NewList(0, nil, func() error { return errors.Join(b.closeShards(), in.Close()) })
	err := index.all(b.add)
	if err == nil {
		err = cmp.Or(b.addSlices(), serialize.CheckOverlap(b.places))
	}
	b.places, b.slices = nil, nil // which the checksums of arrays would keep
	if err == nil && b.shards == nil {
		err = fmt.Errorf("no header: %w", errTable)
	}
	if err != nil {
		b.closeShards()
		return nil, err
	}
	return &file{b.list, b.texts}, nil
}

// A file is a checkpoint, every array of which has a checksum.
type file struct {
	*serialize.List
	texts map[string]*texts
}

// Verify reads every array and compares its checksum.
func (f *file) Verify(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for name, err := range serialize.ReadAll(ctx, f.List) {
			if t := f.texts[name]; t != nil && err == nil {
				err = t.verify(ctx, name)
			}
			if !yield(name, err) {
				return
			}
		}
	}
}

func (b *bundle) closeShards() error {
	var errs []error
	for _, m := range b.shards {
		if m != nil {
			errs = append(errs, m.Close())
		}
	}
	return errors.Join(errs...)
}

// each calls do with every field of a message in memory.
func each(message []byte, do func(*protowire.Reader, protowire.Field) error) error {
	r := protowire.NewReader(bytes.NewReader(message), 0, int64(len(message)))
	for r.More() {
		f, err := r.Next()
		if err == nil {
			err = do(r, f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// add reads an entry of the table. That of the empty key is the header.
func (b *bundle) add(key string, value []byte) error {
	const cost = 512 // bytes of memory for an entry beside its name, about
	b.memory += len(key) + cost
	if err := b.in.Budget.Allocate(b.memory, int(b.in.Size)); err != nil { // keys share beginnings
		return fmt.Errorf("names: %w", err)
	}
	switch key {
	case "":
		return b.header(value)
	case objectGraph:
		return nil
	}
	if b.shards == nil {
		return fmt.Errorf("no header: %w", errTable)
	}
	e, err := entryOf(value)
	if err != nil {
		return fmt.Errorf("%q: %w", key, err)
	}
	if name, extents, ok := parseSlice(key); ok { // keys of slices are before those of variables
		s := slice{key: key, extents: extents}
		s.entry, s.err = b.entry(sliceName(name, extents), e)
		b.slices[name] = append(b.slices[name], s)
		return nil
	}
	name := strings.TrimSuffix(key, suffix)
	entry, err := b.entry(name, e)
	return b.addEntry(entry, key, err)
}

// addEntry lists an entry. If its name is taken, it has that of its key.
func (b *bundle) addEntry(e serialize.Entry, key string, err error) error {
	if b.list.Has(e.Name) {
		e.Name = key
	}
	return b.list.Add(e, err)
}

// addSlices lists the slices that are not part of any variable.
func (b *bundle) addSlices() error {
	for _, name := range slices.Sorted(maps.Keys(b.slices)) {
		for _, s := range b.slices[name] {
			if err := b.addEntry(s.entry, s.key, s.err); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bundle) header(message []byte) error {
	if b.shards != nil {
		return fmt.Errorf("two headers: %w", errTable)
	}
	shards := uint64(0)
	err := each(message, func(_ *protowire.Reader, f protowire.Field) error {
		switch f.Number {
		case headerShards:
			if f.Type == 2 { // a SavedTensorSliceMeta
				return errors.New("a checkpoint in the format of TensorFlow before 0.12 (V1), which is not read; restore it and save it with tf.compat.v1.train.Saver, whose default is V2")
			}
			if f.Value == 0 || f.Value > maxShards {
				return fmt.Errorf("%d data files: %w", f.Value, errTable)
			}
			shards = f.Value
		case headerEndianness:
			if f.Value == 1 {
				b.order = binary.BigEndian
			}
		}
		return nil
	})
	if shards > 0 {
		b.shards = make([]*storage.Mapping, shards)
	}
	return err
}

// An entry is a BundleEntryProto.
type entry struct {
	typ, shard, offset, size uint64
	shape                    []int
	checksum                 uint32
	sliced                   bool
}

func entryOf(message []byte) (e entry, err error) {
	err = each(message, func(r *protowire.Reader, f protowire.Field) error {
		switch f.Number {
		case entryType:
			e.typ = f.Value
		case entryShape:
			return e.addShape(message[f.At : f.At+f.Size])
		case entryShard:
			e.shard = f.Value
		case entryOffset:
			e.offset = f.Value
		case entrySize:
			e.size = f.Value
		case entryChecksum:
			e.checksum = uint32(f.Value)
		case entrySlices:
			e.sliced = true
		}
		return nil
	})
	return e, err
}

func (e *entry) addShape(message []byte) error {
	return each(message, func(_ *protowire.Reader, f protowire.Field) error {
		if f.Number != shapeDim || f.Type != 2 {
			return nil
		}
		if len(e.shape) == maxRank {
			return fmt.Errorf("more than %d axes", maxRank)
		}
		size := 0
		err := each(message[f.At:f.At+f.Size], func(_ *protowire.Reader, f protowire.Field) error {
			if f.Number == dimSize {
				size = int(f.Value)
			}
			return nil
		})
		e.shape = append(e.shape, size)
		return err
	})
}

func (b *bundle) entry(name string, e entry) (serialize.Entry, error) {
	out := serialize.Entry{Name: name}
	t, known := types[e.typ]
	if !known {
		t.name = fmt.Sprintf("unknown (%d)", e.typ)
	}
	if e.sliced {
		return b.partitioned(name, t.name, t.typ, e)
	}
	if !t.typ.Valid() && e.typ != typeString {
		return serialize.Unsupported(name, e.shape, t.name)
	}
	v, err := views.New(e.shape, maxLen)
	if err != nil {
		return out, err
	}
	data, err := b.section(e)
	if err != nil {
		return out, err
	}
	b.places = append(b.places, serialize.Extent{Name: name, File: int(e.shard), At: int64(e.offset), Size: int64(e.size)})
	if e.typ == typeString {
		if int64(v.Len()) > int64(data.Len()) {
			return out, fmt.Errorf("%d strings in %d bytes: %w", v.Len(), data.Len(), storage.ErrState)
		}
		b.texts[name] = newTexts(data, v, b.order, e.checksum)
		out.Elements = &serialize.Elements{View: v, Type: "string", Values: b.texts[name].values}
		return out, nil
	}
	if need := v.Len() * t.typ.Size(); need != data.Len() {
		return out, fmt.Errorf("%v%v takes %d bytes, but there are %d: %w", t.typ, e.shape, need, data.Len(), storage.ErrState)
	}
	checked := serialize.Verified(data, castagnoli, 0, func(sum uint32) error { return serialize.CompareChecksums(name, masked(sum), e.checksum) })
	out.Array = storage.Array{Data: serialize.Normalize(checked, t.typ, b.order), Type: t.typ, View: v}
	return out, nil
}

// partitioned returns a variable whose slices were read before it.
func (b *bundle) partitioned(name, typeName string, t dtype.Type, e entry) (serialize.Entry, error) {
	out, err := serialize.Unsupported(name, e.shape, typeName+" in slices")
	if out.Elements == nil || !t.Valid() {
		return out, err
	}
	a, err := b.join(name, t, e.shape, b.slices[name])
	if err != nil {
		return out, err
	}
	delete(b.slices, name)
	return serialize.Entry{Name: name, Array: a}, nil
}

// section returns the bytes of an entry in a data file.
func (b *bundle) section(e entry) (storage.Source, error) {
	if e.shard >= uint64(len(b.shards)) || e.offset > math.MaxInt64 || e.size > math.MaxInt64 {
		return nil, fmt.Errorf("%d bytes at offset %d of data file %d of %d: %w", e.size, e.offset, e.shard, len(b.shards), storage.ErrState)
	}
	m := b.shards[e.shard]
	if m == nil {
		var err error
		if m, err = b.openShard(int(e.shard)); err != nil {
			return nil, err
		}
		b.shards[e.shard] = m
	}
	return m.Range(int64(e.offset), int64(e.size))
}

// openShard maps a data file. It is in the folder of the index, or that of
// serialize.Options.Follow.
func (b *bundle) openShard(k int) (*storage.Mapping, error) {
	folder := b.in.Follow
	if folder == "" && b.in.File() != nil {
		folder = filepath.Dir(b.in.Name)
	}
	name := fmt.Sprintf("%s.data-%05d-of-%05d", strings.TrimSuffix(filepath.Base(b.in.Name), ".index"), k, len(b.shards))
	if folder == "" {
		return nil, fmt.Errorf("%s is beside the index, which is not a file in a folder; Options.Follow names the folder: %w", name, storage.ErrState)
	}
	file, err := storage.OpenFile(filepath.Join(folder, name))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s, which has the elements, is not beside the index: %w", name, os.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b.in.NoteOpened(filepath.Join(folder, name))
	return storage.Map(file)
}
