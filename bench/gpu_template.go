package main

import (
	"bytes"
	_ "embed"
	bits "encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// A template is the part of a contiguous HDF5 file of bytes that is not data: where libhdf5 is
// missing, the file is made from it. It is the offset and the size of the data, 8 bytes
// each, and what lies before and behind them.

var (
	//go:embed gpu/upload.template
	uploadTemplate []byte // of uploadRows
	//go:embed gpu/upload_small.template
	smallTemplate []byte // of the rows for an interpreter
)

// writeTemplate writes the template of a file of the given number of rows, which is made by libhdf5, with no more than the
// first rows written: the rest takes no space on disk.
func writeTemplate(to string, rows, row int) error {
	name := to + ".h5"
	defer os.Remove(name)
	w, err := hdf5write.Create(name, hdf5write.CreateOptions{NoSync: true})
	if err != nil {
		return err
	}
	defer w.Abort()
	d, err := w.CreateDataset("/x", dtype.Uint8, []int{rows, row}, hdf5write.Layout{})
	if err != nil {
		return err
	}
	mark := bytes.Repeat([]byte("data begins here"), row/16)
	if err := errors.Join(d.WriteAt([]int{0, 0}, storage.From(mark, 1, row)), w.Close()); err != nil {
		return err
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, 8<<10)
	if _, err := io.ReadFull(f, head); err != nil {
		return err
	}
	info, err := f.Stat()
	at, size := bytes.Index(head, mark[:64]), int64(rows)*int64(row)
	if err != nil || at < 0 || int64(at)+size > info.Size() {
		return fmt.Errorf("the data of %s are not contiguous, or not all allocated: %w", name, err)
	}
	tail := make([]byte, info.Size()-int64(at)-size)
	if _, err := f.ReadAt(tail, int64(at)+size); err != nil && len(tail) > 0 {
		return err
	}
	template := bits.LittleEndian.AppendUint64(bits.LittleEndian.AppendUint64(nil, uint64(at)), uint64(size))
	return os.WriteFile(to, append(append(template, head[:at]...), tail...), 0o666)
}

// fromTemplate makes a file from a template, with other data, and opens it.
func fromTemplate(name string, template []byte) (*hdf5.File, error) {
	at, size := int(bits.LittleEndian.Uint64(template)), int(bits.LittleEndian.Uint64(template[8:]))
	rest := template[16:]
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	block := make([]byte, 4<<20)
	for i := range block {
		block[i] = uint8(i * 31 >> 3)
	}
	_, err = f.Write(rest[:at])
	for left := size; left > 0 && err == nil; left -= min(left, len(block)) {
		_, err = f.Write(block[:min(left, len(block))])
	}
	if err == nil {
		_, err = f.Write(rest[at:])
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return hdf5.Open(name)
}
