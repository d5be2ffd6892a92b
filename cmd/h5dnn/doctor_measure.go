package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/h5dnn/h5dnn/arrayfmt"
	loading "github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/internal/atomicfile"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// A measurement is how long epochs of a candidate take on this machine to read and decode, with
// the file in the page cache.
type measurement struct {
	first, later  duration // of an epoch of all rows
	parts         [][2]int // rows that were read
	shuffle       string   // the loader's default
	quality       float64  // of the shuffle; a random permutation has 1
	kept          bool     // the decoded data fits the loader's memory, so later epochs decode nothing
	amplification float64  // rows decoded per row delivered, under exact shuffling
	repacked      *repacking
}

// A repacking is the first epoch of data that was repacked for training, computed from extracts:
// the same rows as stored and repacked, read in turn.
type repacking struct {
	first duration
	gain  duration // how many times faster the first epoch is
}

// A duration is a number of seconds with its error.
type duration struct{ value, err float64 }

// An epochTimer returns the seconds that the first and a later epoch of all samples take.
type epochTimer func(ctx context.Context, samples loading.Dataset) (first, later float64, err error)

// measureTime limits a measurement, of at most measureBytes in measuredParts parts. Candidates
// smaller than worthIt are not timed.
const (
	measureTime   = 30 * time.Millisecond
	measureBytes  = 64 << 20
	measuredParts = 3
	worthIt       = 64 << 10
	batchRows     = 64 // train's default
)

// An extract is a part of the rows of a candidate, with the seconds for a row of it in each round.
type extract struct {
	samples          loading.Dataset // as train loads them
	stored, repacked loading.Dataset // as they are stored, without a convention; nil unless both can be compared
	rows             int
	first, later     []float64
	saved, ratio     []float64 // by repacking: seconds for a row, and the ratio of epochs
}

// measure times epochs of a candidate, and of extracts as stored and repacked.
func (p *trainingCandidate) measure(d *doctor) error {
	if p.labels || p.broken || p.bytes() < worthIt || p.rows < 2*batchRows {
		return nil
	}
	parts := p.parts(measureBytes, measuredParts)
	if _, n, _ := p.within(parts); n*p.rowBytes > 4*measureBytes {
		return fmt.Errorf("not measured: %s take %s", rangeText(parts, p.rows), arrayfmt.Bytes(n*p.rowBytes))
	}
	extracts, closing, err := p.extracts(d.ctx, parts)
	defer closing()
	if err != nil {
		return err
	}
	if err := rounds(d.ctx, extracts, d.time); err != nil {
		return err
	}
	loader, err := loading.NewLoader(p.samples, loading.Options{BatchSize: batchRows})
	if err != nil {
		return err
	}
	plan := loader.Plan()
	p.measured = estimate(extracts, p.rows, plan.CacheAll || plan.Blocks == 0)
	p.measured.parts, p.measured.shuffle, p.measured.kept = parts, plan.Shuffle.String(), plan.CacheAll
	p.measured.quality = loader.Quality()
	p.measured.amplification = loading.Describe(p.samples).ExactAmplification(batchRows)
	return nil
}

// extracts returns parts of the samples. Those of datasets that repack --layout train would change
// are also written as it does, to a temporary folder that closing removes.
func (p *trainingCandidate) extracts(ctx context.Context, parts [][2]int) (all []*extract, closing func(), err error) {
	files, closing := &repackedFiles{}, func() {}
	if p.changedByRepacking() {
		if files.folder, files.remove, err = atomicfile.TempFolder(); err != nil {
			return nil, closing, err
		}
		closing = files.close
	}
	for _, part := range parts {
		e := &extract{}
		e.samples, e.rows, err = p.within([][2]int{part})
		if err == nil && files.folder != "" {
			e.stored, e.repacked, err = p.repack(ctx, files, part)
		}
		if err != nil {
			return nil, closing, err
		}
		all = append(all, e)
	}
	return all, closing, nil
}

// changedByRepacking reports whether repack --layout train stores the data otherwise.
func (p *trainingCandidate) changedByRepacking() bool {
	for _, d := range p.stored {
		if _, changed := trainLayout(d); changed {
			return true
		}
	}
	return false
}

// trainLayout returns how repack --layout train stores a dataset, and whether that is another way.
func trainLayout(d *hdf5.Dataset) (hdf5write.Layout, bool) {
	l, changed, err := (&wantedLayout{layout: "train"}).layoutOf(d)
	same := len(d.Filters) == 0 && slices.Equal(l.Chunks, d.Chunks)
	return l, err == nil && changed && !same && d.Chunks != nil
}

// repackedFiles are files of extracts.
type repackedFiles struct {
	folder string
	remove func()
	open   []*hdf5.File
}

func (r *repackedFiles) close() {
	for _, f := range r.open {
		f.Close()
	}
	r.remove()
}

// repack returns the rows of a part as they are stored, and as repack --layout train stores them.
func (p *trainingCandidate) repack(ctx context.Context, files *repackedFiles, part [2]int) (stored, repacked loading.Dataset, err error) {
	name := filepath.Join(files.folder, fmt.Sprintf("part%d.h5", len(files.open)))
	w, err := hdf5write.Create(name, hdf5write.CreateOptions{NoSync: true})
	if err != nil {
		return nil, nil, err
	}
	defer w.Abort() // unless it was closed
	var before, after []loading.Dataset
	var paths []string
	for i, d := range p.stored {
		a, err := d.Array()
		if err != nil {
			return nil, nil, err
		}
		first, end := max(0, part[0]), min(part[1], a.Shape[0])
		part[0], part[1] = part[0]-a.Shape[0], part[1]-a.Shape[0]
		if first >= end {
			continue
		}
		a = blocks.WithContext(ctx, a.With(a.View.Narrow(0, first, end)))
		one, err := loading.FromArrays(loading.NamedArray{Name: "x", Array: a})
		if err != nil {
			return nil, nil, err
		}
		l, _ := trainLayout(d)
		if l.MaxShape = nil; l.Chunks != nil {
			l.Chunks[0] = min(l.Chunks[0], end-first)
		}
		before, paths = append(before, one), append(paths, fmt.Sprintf("/%d", i))
		if err := w.WriteWith(paths[len(paths)-1], a, l); err != nil {
			return nil, nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, nil, err
	}
	file, err := hdf5.Open(name, hdf5.Options{CacheBytes: -1})
	if err != nil {
		return nil, nil, err
	}
	files.open = append(files.open, file)
	for _, path := range paths {
		one, err := samplesIn(file, path)
		if err != nil {
			return nil, nil, err
		}
		after = append(after, one)
	}
	stored, err1 := joined(before)
	repacked, err2 := joined(after)
	return stored, repacked, errors.Join(err1, err2)
}

// samplesIn returns the rows of a dataset of numbers.
func samplesIn(file *hdf5.File, path string) (loading.Dataset, error) {
	d, err := file.Dataset(path)
	if err != nil {
		return nil, err
	}
	a, err := d.Array()
	if err != nil {
		return nil, err
	}
	return loading.FromArrays(loading.NamedArray{Name: "x", Array: a})
}

// joined returns the samples of datasets, one after the other.
func joined(all []loading.Dataset) (loading.Dataset, error) {
	if len(all) == 1 {
		return all[0], nil
	}
	return loading.Concat(all...)
}

// rounds times the extracts in turn, so that a disturbance affects all of them. It stops after
// some rounds if the times do not change any more, or after some seconds.
func rounds(ctx context.Context, extracts []*extract, timer epochTimer) error {
	const least, enough, agree = 7, 2 * time.Second, 0.05
	for start, n := time.Now(), 1; ; n++ {
		steady := true
		for _, e := range extracts {
			if err := e.round(ctx, timer); err != nil {
				return err
			}
			first := spreadOf(e.first)
			steady = steady && first.err <= agree*first.value
		}
		passed := time.Since(start)
		if n >= least && (steady || passed > enough) || passed > 4*enough && n >= 3 {
			return nil
		}
	}
}

// round times an extract once.
func (e *extract) round(ctx context.Context, timer epochTimer) error {
	first, later, err := timer(ctx, e.samples)
	if err != nil {
		return err
	}
	perRow := 1 / float64(e.rows)
	e.first, e.later = append(e.first, first*perRow), append(e.later, later*perRow)
	if e.repacked == nil {
		return nil
	}
	stored, _, err := timer(ctx, e.stored)
	if err != nil {
		return err
	}
	repacked, _, err := timer(ctx, e.repacked)
	if err != nil {
		return err
	}
	// Decoding by a convention takes the same time after repacking.
	rest := max(0, first-stored)
	e.saved = append(e.saved, (stored-repacked)*perRow)
	e.ratio = append(e.ratio, (rest+stored)/(rest+repacked))
	return nil
}

// spreadOf returns the median of values, and half the range that three quarters of them are in.
func spreadOf(values []float64) duration {
	s := slices.Sorted(slices.Values(values))
	n := len(s)
	return duration{s[n/2], (s[7*n/8] - s[n/8]) / 2}
}

// over returns the mean over the extracts, and its error: the error of the rounds, or half of
// what the extracts differ in.
func over(extracts []*extract, values func(*extract) []float64) duration {
	least, most, total := math.Inf(1), math.Inf(-1), duration{}
	for _, e := range extracts {
		d := spreadOf(values(e))
		least, most = min(least, d.value), max(most, d.value)
		total.value += d.value / float64(len(extracts))
		total.err += d.err / float64(len(extracts))
	}
	total.err = max(total.err, (most-least)/2)
	return total
}

// times returns d, of a row, for n rows.
func (d duration) times(n int) duration { return duration{d.value * float64(n), d.err * float64(n)} }

// estimate computes epochs of n rows from extracts. later epochs are as measured if nothing is
// decoded any more then, and else like the first.
func estimate(extracts []*extract, n int, later bool) *measurement {
	m := &measurement{first: over(extracts, func(e *extract) []float64 { return e.first }).times(n)}
	if m.later = m.first; later {
		m.later = over(extracts, func(e *extract) []float64 { return e.later }).times(n)
	}
	if extracts[0].repacked != nil {
		saved := over(extracts, func(e *extract) []float64 { return e.saved }).times(n)
		m.repacked = &repacking{
			first: duration{max(0, m.first.value-saved.value), m.first.err + saved.err},
			gain:  over(extracts, func(e *extract) []float64 { return e.ratio }),
		}
	}
	return m
}

// timeEpochs is the epochTimer that loads samples, with train's default order and memory.
func timeEpochs(ctx context.Context, samples loading.Dataset) (first, later float64, err error) {
	start, n := time.Now(), 0
	for ; n == 0 || time.Since(start) < measureTime; n++ {
		l, err := loading.NewLoader(samples, loading.Options{BatchSize: batchRows})
		if err != nil {
			return 0, 0, err
		}
		for epoch, seconds := range []*float64{&first, &later} {
			var watch stopwatch
			watch.start()
			for _, err := range l.Epoch(ctx, epoch, 0) {
				if err != nil {
					return 0, 0, err
				}
			}
			*seconds += watch.seconds()
		}
	}
	return first / float64(n), later / float64(n), ctx.Err()
}

// Repacking is advised if the first epoch becomes worthRepacking times faster, whatever the error,
// and if that saves worthSeconds.
const (
	worthRepacking = 1.5
	worthSeconds   = 2
)

// advises reports whether repacking is worth its time: in each epoch, or in the first one only if
// the decoded data is kept.
func (m *measurement) advises() bool {
	return m != nil && m.repacked != nil && m.repacked.gain.value-m.repacked.gain.err >= worthRepacking &&
		m.first.value-m.repacked.first.value >= worthSeconds
}
