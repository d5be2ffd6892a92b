package train

import (
	"context"
	"iter"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/storage"
)

// A streamed feed copies each batch to a ring as it is read.
type streamed struct {
	*ring
	loader *dataset.Loader
	check  checked
	tell   tell // nil where nothing is learned
}

// A tell copies what a step is told besides its samples.
type tell func(s *slot, rows []int) error

// telling gives each slot of r a memo, and returns what fills it in.
func (f *fitting) telling(r *ring) (_ tell, err error) {
	for _, s := range r.slots {
		if s.memo, err = newMemo(r.device, f.whole()); err != nil {
			return nil, err
		}
	}
	return func(s *slot, rows []int) error { return s.memo.send(r.copies, f.head(), rows) }, r.settle()
}

func (f *streamed) epoch(ctx context.Context, number, start int) iter.Seq2[*batch, error] {
	sent := func(yield func(*slot, error) bool) {
		f.begin()
		for from, err := range f.loader.Epoch(ctx, number, start) {
			var s *slot
			if err == nil {
				s, err = f.bring(from)
			}
			if !yield(s, err) || err != nil {
				return
			}
		}
	}
	if f.tell == nil {
		return f.serve(early(sent))
	}
	return f.serve(sent)
}

// bring returns a slot with from on its way to it.
func (f *streamed) bring(from *dataset.Batch) (*slot, error) {
	if err := f.check.of(from); err != nil {
		return nil, err
	}
	if f.turn < f.timed { // before the first there is no computation
		f.wait += from.Waited
	}
	n := len(from.Rows)
	return f.send(func(s *slot) error {
		s.n, s.next = n, from.Next
		if f.tell != nil {
			if err := f.tell(s, nil); err != nil {
				return err
			}
		}
		for i, field := range from.Fields {
			s.fields[i] = rows(s.room[i], 0, n)
			if err := f.upload(s.room[i], 0, field); err != nil {
				return err
			}
		}
		return nil
	})
}

// upload copies samples that the loader has read to those of to from one on.
func (r *ring) upload(to storage.Array, first int, from storage.Array) error {
	n := from.Len() * from.Type.Size()
	return r.copies.Upload(to.Data, first*n/max(1, from.Shape[0]), from.Data.(storage.Host), n)
}
