package tensor

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// An evaluator computes one tile of lazy storages after the other.
type evaluator struct {
	context Context
	made    map[part]storage.Array
	used    []storage.Storage // by made
	free    []storage.Storage
}

// A part is a view of a storage.
type part struct {
	of   storage.Storage
	view string
}

var evaluators = sync.Pool{New: func() any {
	return &evaluator{context: Context{device: kernels.CPU}, made: map[part]storage.Array{}}
}}

// evaluate calls f with an evaluator, whose memory is used again afterwards.
func evaluate(f func(e *evaluator) error) error {
	e := evaluators.Get().(*evaluator)
	defer evaluators.Put(e)
	defer e.reset()
	return f(e)
}

// tile returns the elements of a tile in host memory, until reset.
func (e *evaluator) tile(a storage.Array) (storage.Array, error) {
	if _, ok := a.Data.(storage.Source); !ok {
		return a, storage.CheckAlive(a.Data)
	}
	once := a.View // without the repetitions of a broadcast
	once.Shape = slices.Clone(once.Shape)
	for axis, stride := range once.Stride {
		if stride == 0 {
			once.Shape[axis] = min(once.Shape[axis], 1)
		}
	}
	id := part{a.Data, viewKey(once)}
	made, ok := e.made[id]
	if !ok {
		var err error
		if made, err = e.alloc(a.Type, once.Shape); err != nil {
			return made, err
		}
		if l, ok := a.Data.(*lazy); ok {
			err = e.fill(l, once, made)
		} else {
			began := time.Now()
			err = a.With(once).CopyTo(made)
			countRead(a.With(once), began)
		}
		if err != nil {
			return made, err
		}
		e.made[id] = made
	}
	return broadcastTo(made, a.Shape), nil
}

// fill computes a view of l to dst.
func (e *evaluator) fill(l *lazy, v views.View, dst storage.Array) error {
	for to, b := range views.Boxes(v, dst.View, l.shape) {
		in := make([]storage.Array, len(l.in))
		for i, a := range l.in {
			if w, ok := a.Data.(storage.Versioned); ok && w.Version() != l.versions[i] {
				return errChanged(l.op, a)
			}
			var err error
			if in[i], err = e.tile(a.With(b.Of(a.View))); err != nil {
				return err
			}
		}
		out := []storage.Array{dst.With(to)}
		forward := func() error { return l.op.Forward(&e.context, out, in) }
		if failed := Try(func() {
			if watching() {
				watched(l.op.Name(), mode{}, kernels.CPU, out, in, forward)
			} else {
				check(l.op.Name(), forward())
			}
		}); failed != nil {
			return failed
		}
	}
	return nil
}

// alloc returns memory until reset.
func (e *evaluator) alloc(t dtype.Type, shape []int) (storage.Array, error) {
	v := views.Of(shape...)
	n := v.Len() * t.Size()
	for i, s := range e.free {
		if s.Len() >= n {
			e.free = slices.Delete(e.free, i, i+1)
			e.used = append(e.used, s)
			return storage.Array{Data: s, Type: t, View: v}, nil
		}
	}
	s, err := storage.CPU.Alloc((n + 63) &^ 63) // for every type, when it is used again
	if err == nil {
		e.used = append(e.used, s)
	}
	return storage.Array{Data: s, Type: t, View: v}, err
}

// reset ends the use of tiles.
func (e *evaluator) reset() {
	clear(e.made)
	e.free = append(e.free, e.used...)
	e.used = e.used[:0]
	if len(e.free) > 256 {
		e.free = nil
	}
}

// viewKey returns what distinguishes a view from all others of its rank.
func viewKey(v views.View) string {
	key := strconv.AppendInt(nil, int64(v.Offset), 36)
	for axis, n := range v.Shape {
		key = strconv.AppendInt(append(key, ' '), int64(n), 36)
		key = strconv.AppendInt(append(key, ' '), int64(v.Stride[axis]), 36)
	}
	return string(key)
}
