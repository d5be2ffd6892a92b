package models

import (
	"sync/atomic"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	kerasfile "github.com/h5dnn/h5dnn/serialize/keras"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A releaser keeps the mapped pages of a file that is read once from piling up in the
// memory of the process.
type releaser struct {
	file    serialize.File
	wrapped map[storage.Storage]storage.Storage // one for each, so that shared elements stay so
}

// release returns a with pages that are returned to the system when the last element has
// been read.
func (r *releaser) release(a storage.Array) storage.Array {
	source, ok := a.Data.(storage.Source)
	if chunked, is := a.Data.(storage.Chunked); !ok || is && len(chunked.ChunkShape()) > 0 {
		return a
	}
	var release func()
	if k, ok := r.file.(*kerasfile.File); ok && k.HDF5() != nil {
		release = k.HDF5().ReleasePages
	} else if mapped, ok := a.Data.(*storage.Mapped); ok {
		release = mapped.ReleasePages
	} else {
		return a
	}
	if r.wrapped == nil {
		r.wrapped = map[storage.Storage]storage.Storage{}
	}
	if r.wrapped[a.Data] == nil {
		r.wrapped[a.Data] = &released{Source: source, release: release}
	}
	a.Data = r.wrapped[a.Data]
	return a
}

// releasedBytes is how many bytes are read, in one part or several, before pages are
// released.
const releasedBytes = 8 << 20

// A released source calls release when its last element has been read, and each time that
// many have been read.
type released struct {
	storage.Source
	release func()
	read    atomic.Int64 // bytes since the last release
}

func (r *released) ReadView(dst []byte, t dtype.Type, v views.View) error {
	err := r.Source.ReadView(dst, t, v)
	if _, last := v.Bounds(); (last+1)*t.Size() >= r.Len() || r.read.Add(int64(v.Len()*t.Size())) >= releasedBytes {
		r.read.Store(0)
		r.release()
	}
	return err
}

// FillValue implements [storage.Filled].
func (r *released) FillValue() ([]byte, bool) {
	return storage.Unwritten(storage.Array{Data: r.Source})
}
