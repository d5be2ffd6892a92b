package main

// #include "exports.h"
import "C"

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/h5dnn/h5dnn/capi/dlpack"
	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/dataset/datafiles"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A loaderSettings is the settings of h5dnn_loader_open.
type loaderSettings struct {
	Data       dataconfig.Config `json:"data"`
	Config     string            `json:"config"` // the name of a file with data in the place of Data
	Validation bool              `json:"validation"`
	BatchSize  int               `json:"batch_size"` // 0: Config's, or 64
	DropLast   bool              `json:"drop_last"`
	Seed       *uint64           `json:"seed"` // nil: Config's, or 0
	Rank       int               `json:"rank"`
	WorldSize  int               `json:"world_size"`
	Workers    int               `json:"workers"`
	Memory     int64             `json:"memory"`
	Format     string            `json:"format"` // of the files; by content if empty
	Follow     string            `json:"follow"` // the folder, or URL, of files that they refer to; none are opened if empty
}

// A loader is a loader that C has a handle of.
type loader struct {
	*dataset.Loader
	samples dataset.Dataset
	data    *dataconfig.Data
	csr     []string // inputs whose batches are sparse matrices
	files   datafiles.Files
	pool    *pool
	cancel  context.CancelFunc // ends reads of files

	mu    sync.Mutex
	epoch *epoch // nil before the first
}

// An epoch is an epoch in progress, whose batches a goroutine takes from the loader.
type epoch struct {
	batches chan batch
	cancel  context.CancelFunc
}

// A batch is a batch of an epoch, or the error in its place.
type batch struct {
	fields   []storage.Array
	rows     storage.Array
	consumed int
	err      error
}

// errAgain is the kind of error that no batch is ready yet.
var errAgain = errors.New("no batch is ready yet; call again")

//export h5dnn_loader_open
func h5dnn_loader_open(settings *C.text, out *C.h5dnn_loader) C.h5dnn_status {
	return call(func() error {
		var s loaderSettings
		if err := config.Decode(json.RawMessage(C.GoString(settings)), &s); err != nil {
			return fmt.Errorf("loader: %w", err)
		}
		l, err := s.open()
		if err != nil {
			return err
		}
		if err := hold(out, l); err != nil {
			return errors.Join(err, l.close())
		}
		return nil
	})
}

// open opens the files of samples and plans to load them.
func (s loaderSettings) open() (_ *loader, err error) {
	if s.Config != "" {
		if err := s.readConfig(); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Config, err)
		}
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("loader: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	open := func(name string) (inspect.File, error) {
		return inspect.Open(name, serialize.Options{Context: ctx, Format: cmp.Or(s.Format, s.Data.Format), Follow: s.Follow})
	}
	l := &loader{files: datafiles.New(open), pool: &pool{free: map[int][][]byte{}, owned: map[*block]bool{}}, cancel: cancel}
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	if l.data, err = dataconfig.Open(s.Data, *s.Seed, l.files); err != nil {
		return nil, err
	}
	if l.samples = l.data.Train; s.Validation {
		l.samples = l.data.Val
	}
	if l.samples == nil {
		return nil, fmt.Errorf("loader: there are no samples to validate on; name val_x or split: %w", views.ErrShape)
	}
	o := s.Data.Loading(s.BatchSize, *s.Seed)
	o.DropLast, o.Rank, o.WorldSize, o.Workers, o.Alloc = s.DropLast, s.Rank, s.WorldSize, s.Workers, l.pool.allocOwned
	if s.Memory > 0 {
		o.Memory = s.Memory
	}
	if l.Loader, err = dataset.NewLoader(l.samples, o); err != nil {
		return nil, err
	}
	l.csr = slices.Sorted(maps.Keys(l.data.CSR))
	l.pool.spare = l.Plan().InFlight * len(l.Fields())
	return l, nil
}

// readConfig reads data, batch and seed of a run's configuration, whose paths are relative to it.
func (s *loaderSettings) readConfig() error {
	text, err := os.ReadFile(s.Config)
	if err != nil {
		return err
	}
	d, err := config.ParseYAML(text)
	if err != nil {
		return err
	}
	var all map[string]json.RawMessage
	if err := d.Decode(&all); err != nil {
		return err
	}
	if err := config.Decode(all["data"], &s.Data); err != nil {
		return d.Locate(config.At(err, "data"))
	}
	if s.BatchSize == 0 && all["batch"] != nil {
		err = json.Unmarshal(all["batch"], &s.BatchSize)
	}
	if s.Seed == nil && all["seed"] != nil {
		err = errors.Join(err, json.Unmarshal(all["seed"], &s.Seed))
	}
	for _, names := range []dataconfig.Names{s.Data.File, s.Data.YFile, s.Data.ValFile, s.Data.ValYFile} {
		for i, name := range names {
			if name != "" && !filepath.IsAbs(name) && !storage.IsURL(name) {
				names[i] = filepath.Join(filepath.Dir(s.Config), name)
			}
		}
	}
	return err
}

// check fills in defaults and refuses settings that cannot be.
func (s *loaderSettings) check() error {
	if s.BatchSize == 0 {
		s.BatchSize = 64
	}
	if s.Seed == nil {
		s.Seed = new(uint64)
	}
	if s.Workers < 0 || s.Memory < 0 {
		return config.Errorf("workers: %d, memory: %d: want numbers from 0 on", s.Workers, s.Memory)
	}
	return s.Data.CheckSamples()
}

func (l *loader) close() error {
	l.cancel()
	l.stop()
	err := l.files.Close()
	l.pool.close()
	return err
}

// stop ends the epoch in progress and waits for its goroutines.
func (l *loader) stop() {
	if l.epoch == nil {
		return
	}
	l.epoch.cancel()
	for b := range l.epoch.batches {
		b.free()
	}
	l.epoch = nil
}

//export h5dnn_loader_about
func h5dnn_loader_about(h C.h5dnn_loader, out **C.char) C.h5dnn_status {
	return call(func() error {
		l, err := held[*loader](h)
		if err != nil {
			return err
		}
		type field struct {
			Name  string `json:"name"`
			Role  string `json:"role"`
			DType string `json:"dtype"`
			Shape []int  `json:"shape"`
		}
		fields := []field{}
		for _, f := range l.Fields() {
			fields = append(fields, field{f.Name, f.Role.String(), f.Type.String(), append([]int{}, f.Shape...)})
		}
		p, o := l.Plan(), l.Options()
		return putJSON(out, map[string]any{
			"fields": fields, "total": l.samples.Len(), "samples": p.Samples, "batches": p.Batches, "batch_size": o.BatchSize, "seed": o.Seed,
			"shuffle": p.Shuffle.String(), "window": p.Window, "blocks": p.Blocks, "memory": p.Memory, "amplification": p.Amplification,
			"notes": append(append([]string{}, l.data.Notes...), p.Notes...), "class_names": l.data.ClassNames, "categories": l.data.Categories, "csr": l.data.CSR, "genes": l.data.Genes,
		})
	})
}

//export h5dnn_loader_start
func h5dnn_loader_start(h C.h5dnn_loader, number, start C.int64_t) C.h5dnn_status {
	return call(func() error {
		l, err := held[*loader](h)
		if err != nil {
			return err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.stop()
		ctx, cancel := context.WithCancel(context.Background())
		l.epoch = &epoch{make(chan batch), cancel}
		go l.run(ctx, l.epoch, int(number), int(start))
		return nil
	})
}

// run sends the batches of an epoch.
func (l *loader) run(ctx context.Context, e *epoch, number, start int) {
	defer close(e.batches)
	defer func() {
		if what := recover(); what != nil {
			e.send(ctx, batch{err: fmt.Errorf("%w: %v", errBug, what)})
		}
	}()
	for b, err := range l.Epoch(ctx, number, start) {
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			e.send(ctx, batch{err: err})
			continue
		}
		rows, err := l.indices(b.Rows)
		if err != nil {
			e.send(ctx, batch{err: err})
			continue
		}
		b.Retain()
		for _, f := range b.Fields {
			f.Data.(*block).disown()
		}
		fields, err := l.compact(b.Fields)
		if err != nil {
			rows.Data.(*block).release()
		}
		e.send(ctx, batch{fields: fields, rows: rows, consumed: b.Consumed, err: err})
	}
}

// send passes a batch on, or frees it if the epoch has ended.
func (e *epoch) send(ctx context.Context, b batch) {
	select {
	case e.batches <- b:
	case <-ctx.Done():
		b.free()
	}
}

// indices returns the indices of samples as an array of the pool.
func (l *loader) indices(rows []int) (storage.Array, error) {
	data, err := l.pool.alloc(8 * len(rows))
	if err != nil {
		return storage.Array{}, err
	}
	a := storage.Array{Data: data, Type: dtype.Int64, View: views.Of(len(rows))}
	elements := storage.Elements[int64](a)
	for i, row := range rows {
		elements[i] = int64(row)
	}
	return a, nil
}

// free gives the memory of a batch back.
func (b batch) free() {
	for _, a := range b.all() {
		a.Data.(*block).release()
	}
}

// all returns the arrays of a batch.
func (b batch) all() []storage.Array {
	if b.err != nil {
		return nil
	}
	return append(append([]storage.Array{}, b.fields...), b.rows)
}

//export h5dnn_loader_next
func h5dnn_loader_next(h C.h5dnn_loader, milliseconds C.int64_t, n C.int32_t, fields, rows *C.h5dnn_array, consumed *C.int64_t) C.h5dnn_status {
	return call(func() error {
		l, err := loaderOf(h, n, fields)
		if err != nil {
			return err
		}
		if consumed == nil {
			return errNull
		}
		b, ok, err := l.next(time.Duration(milliseconds) * time.Millisecond)
		switch {
		case err != nil:
			return err
		case !ok:
			*consumed = -1
			return nil
		case b.err != nil:
			return b.err
		}
		lend(fields, b.fields)
		if rows != nil {
			lend(rows, []storage.Array{b.rows})
		} else {
			b.rows.Data.(*block).release()
		}
		*consumed = C.int64_t(b.consumed)
		return nil
	})
}

// loaderOf returns the loader with that handle, whose fields C has n handles for.
func loaderOf(h C.h5dnn_loader, n C.int32_t, fields *C.h5dnn_array) (*loader, error) {
	l, err := held[*loader](h)
	switch {
	case err != nil:
		return nil, err
	case int(n) != len(l.Fields()):
		return nil, fmt.Errorf("loader: memory for %d arrays; the loader has %d fields: %w", n, len(l.Fields()), views.ErrShape)
	case fields == nil:
		return nil, errNull
	}
	return l, nil
}

// next returns the next batch of the epoch, or none after the last one. It waits for a limited time.
func (l *loader) next(limit time.Duration) (b batch, ok bool, err error) {
	l.mu.Lock()
	e := l.epoch
	l.mu.Unlock()
	if e == nil {
		return b, false, fmt.Errorf("loader: no epoch was started: %w", storage.ErrState)
	}
	select {
	case b, ok = <-e.batches:
		return b, ok, nil
	default:
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case b, ok = <-e.batches:
		return b, ok, nil
	case <-timer.C:
		return b, false, errAgain
	}
}

// lend stores handles of arrays of a pool, which take the memory back when it is not used any more.
func lend(out *C.h5dnn_array, arrays []storage.Array) {
	for i, a := range arrays {
		handle := (*C.h5dnn_array)(unsafe.Add(unsafe.Pointer(out), uintptr(i)*unsafe.Sizeof(*out)))
		hold(handle, &array{Tensor: dlpack.Tensor{Array: a}, owner: &owner{users: 1, release: a.Data.(*block).release}})
	}
}

//export h5dnn_loader_read
func h5dnn_loader_read(h C.h5dnn_loader, samples C.int64_t, rows *C.sizes, n C.int32_t, fields *C.h5dnn_array) C.h5dnn_status {
	return call(func() error {
		l, err := loaderOf(h, n, fields)
		if err != nil {
			return err
		}
		if samples < 0 || rows == nil && samples > 0 {
			return fmt.Errorf("loader: %d indices at %p: %w", samples, rows, errNull)
		}
		indices := make([]int, samples)
		for i, row := range unsafe.Slice(rows, samples) {
			if indices[i] = int(row); indices[i] < 0 || indices[i] >= l.samples.Len() {
				return fmt.Errorf("loader: sample %d of %d: %w", row, l.samples.Len(), views.ErrShape)
			}
		}
		b, err := l.read(indices)
		if err == nil {
			lend(fields, b.fields)
		}
		return err
	})
}

// read reads samples into memory of the pool.
func (l *loader) read(rows []int) (b batch, err error) {
	var into dataset.Batch
	for _, f := range l.Fields() {
		shape := append([]int{len(rows)}, f.Shape...)
		v := views.Of(shape...)
		data, err := l.pool.alloc(v.Len() * f.Type.Size())
		if err != nil {
			return b, err
		}
		into.Fields = append(into.Fields, storage.Array{Data: data, Type: f.Type, View: v})
	}
	if err := l.samples.Read(into, rows); err != nil {
		for _, a := range into.Fields {
			a.Data.(*block).release()
		}
		return b, err
	}
	b.fields, err = l.compact(into.Fields)
	return b, err
}

//export h5dnn_loader_close
func h5dnn_loader_close(h C.h5dnn_loader) C.h5dnn_status {
	return call(func() error {
		l, err := drop[*loader](h)
		if err != nil {
			return err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.close()
	})
}
