package ziparchive

import (
	"cmp"
	"compress/flate"
	"hash/crc32"
	"io"
	"sync"

	"github.com/h5dnn/h5dnn/serialize"
)

// inflaters are decompressors for later records, each of which takes 40 KiB.
var inflaters = sync.Pool{New: func() any { return flate.NewReader(nil) }}

// Open returns the bytes of a located record, decompressed. Their checksum, if it is known, is compared where
// they end.
func (x Record) Open(r io.ReaderAt) io.ReadCloser {
	o := &openRecord{Reader: io.NewSectionReader(r, x.Data, x.Size), name: x.Name, want: x.CRC}
	if x.Method == Deflated {
		o.inflater = inflaters.Get().(io.ReadCloser)
		o.inflater.(flate.Resetter).Reset(o.Reader, nil)
		o.Reader = o.inflater
	}
	return o
}

// An openRecord reads a record.
type openRecord struct {
	io.Reader
	inflater  io.ReadCloser // nil for a record that is not compressed
	name      string
	sum, want uint32 // want is 0 if it is unknown
}

func (o *openRecord) Read(b []byte) (int, error) {
	n, err := o.Reader.Read(b)
	o.sum = crc32.Update(o.sum, crc32.IEEETable, b[:n])
	if err == io.EOF && o.want != 0 {
		err = cmp.Or(serialize.CompareChecksums("record "+o.name, o.sum, o.want), err)
	}
	return n, err
}

// Close lets another record use the decompressor. No bytes are read afterwards.
func (o *openRecord) Close() error {
	if o.inflater != nil {
		inflaters.Put(o.inflater)
	}
	o.inflater, o.Reader = nil, nil
	return nil
}
