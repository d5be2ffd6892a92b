package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/h5dnn/h5dnn/arrayfmt"
	loading "github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/internal/atomicfile"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// measuredRates are rates on this machine, with the file in the page cache.
type measuredRates struct {
	decode        float64 // MB/s of elements, read in file order
	shuffle       string  // the loader's default
	rate          float64 // rows/s of shuffled batches
	amplification float64 // rows decoded per row delivered, under exact shuffling
	train         float64 // rows/s from a part repacked for training
	rows          int     // of that part
	kept          bool    // the decoded data fits the loader's memory
}

// measureTime and measureBytes limit a measurement. Smaller datasets than worthIt are
// skipped.
const (
	measureTime  = 50 * time.Millisecond
	measureBytes = 64 << 20
	worthIt      = 64 << 10
	batchRows    = 128
)

// measure times loading from a dataset as it is, and from a repacked part of it.
func (p *trainingCandidate) measure(ctx context.Context, d *hdf5.Dataset, a storage.Array) error {
	total := p.rowBytes * a.Shape[0]
	if total < worthIt || a.Shape[0] < 2*batchRows || d.CheckDecodable() != nil {
		return nil
	}
	m := &measuredRates{rows: min(a.Shape[0], max(batchRows, measureBytes/p.rowBytes))}
	if m.rows*p.rowBytes > 4*measureBytes {
		return fmt.Errorf("not measured: %d rows take %s", m.rows, arrayfmt.Bytes(m.rows*p.rowBytes))
	}
	folder, remove, err := atomicfile.TempFolder()
	if err != nil {
		return err
	}
	defer remove()
	copied, err := a.With(blocks.Between(a.View, 0, 0, m.rows)).To(storage.CPU)
	if err != nil {
		return err
	}
	repacked, closing, err := repackedRows(filepath.Join(folder, "part.h5"), copied)
	if err != nil {
		return err
	}
	defer closing()
	set, err := loading.Of(loading.Named{Name: "x", Array: a})
	if err != nil {
		return err
	}
	m.amplification = loading.Describe(set).ExactAmplification(batchRows)
	var plan loading.Plan
	rates, err := alternate(
		func() (float64, error) {
			var watch stopwatch
			watch.start()
			n := 0
			for start := time.Now(); n == 0 || time.Since(start) < measureTime/2; n++ {
				if _, err := a.With(blocks.Between(a.View, 0, 0, m.rows)).To(storage.CPU); err != nil {
					return 0, err
				}
			}
			return float64(n*m.rows*p.rowBytes) / 1e6 / watch.seconds(), nil
		},
		func() (rate float64, err error) {
			rate, plan, err = loadRate(ctx, a, loading.Auto)
			return rate, err
		},
		func() (float64, error) {
			rate, _, err := loadRate(ctx, repacked, loading.Exact)
			return rate, err
		})
	if err != nil {
		return err
	}
	m.decode, m.rate, m.train = rates[0], rates[1], rates[2]
	m.shuffle, m.kept = plan.Shuffle.String(), plan.CacheAll
	p.measured = m
	return nil
}

// alternate makes measurements in turn, so that a disturbance affects all of them, and
// returns the rate of each that one round in eight exceeds. It stops after some rounds, if
// the rates do not change any more, or some seconds.
func alternate(measurements ...func() (float64, error)) ([]float64, error) {
	const least, enough, agree = 16, 4 * time.Second, 0.03
	rates := make([][]float64, len(measurements)) // sorted
	result := make([]float64, len(measurements))
	for start := time.Now(); ; {
		steady := true
		for k, measure := range measurements {
			rate, err := measure()
			if err != nil {
				return nil, err
			}
			at, _ := slices.BinarySearch(rates[k], rate)
			rates[k] = slices.Insert(rates[k], at, rate)
			n := len(rates[k])
			middle, upper := rates[k][n/2], rates[k][7*n/8]
			result[k] = upper
			steady = steady && upper-middle <= agree*upper
		}
		if rounds := len(rates[0]); rounds >= least && (steady || time.Since(start) > enough) || time.Since(start) > 2*enough {
			return result, nil
		}
	}
}

// loadRate returns the rows per second that loaders deliver, each of them until it decodes
// nothing any more.
func loadRate(ctx context.Context, a storage.Array, shuffle loading.Shuffle) (float64, loading.Plan, error) {
	set, err := loading.Of(loading.Named{Name: "x", Array: a})
	if err != nil {
		return 0, loading.Plan{}, err
	}
	var plan loading.Plan
	var watch stopwatch
	watch.start()
	start, rows := time.Now(), 0
	for time.Since(start) < measureTime {
		l, err := loading.NewLoader(set, loading.Options{Batch: batchRows, Shuffle: shuffle})
		if err != nil {
			return 0, plan, err
		}
		plan = l.Plan()
		for epoch := 0; time.Since(start) < measureTime && (epoch == 0 || !l.Plan().CacheAll); epoch++ {
			n, err := loadSome(ctx, l, epoch, start.Add(3*measureTime))
			if rows += n; err != nil {
				return 0, plan, err
			}
		}
	}
	return float64(rows) / watch.seconds(), plan, nil
}

// loadSome returns the number of rows that an epoch delivers before the given time.
func loadSome(ctx context.Context, l *loading.Loader, epoch int, until time.Time) (rows int, err error) {
	for b, err := range l.Epoch(ctx, epoch, 0) {
		if err != nil {
			return rows, err
		}
		if rows += len(b.Rows); time.Now().After(until) {
			break
		}
	}
	return rows, nil
}

// repackedRows stores rows as repack --layout train does, and opens them.
func repackedRows(name string, rows storage.Array) (a storage.Array, closing func() error, err error) {
	w, err := hdf5write.Create(name, hdf5write.CreateOptions{NoSync: true})
	if err != nil {
		return a, nil, err
	}
	defer w.Abort() // unless it was closed
	if err := errors.Join(w.Write("/x", rows), w.Close()); err != nil {
		return a, nil, err
	}
	file, err := hdf5.Open(name)
	if err != nil {
		return a, nil, err
	}
	d, err := file.Dataset("/x")
	if err == nil {
		a, err = d.Array()
	}
	if err != nil {
		file.Close()
		return a, nil, err
	}
	return a, file.Close, nil
}

// advice returns a recommendation from the measurements.
func (p *trainingCandidate) advice() string {
	m := p.measured
	switch {
	case m == nil:
		return ""
	case m.train > worthRepacking*m.rate:
		return fmt.Sprintf("h5dnn repack --layout train --path %s makes the first epoch %.1f times faster and takes %s", p.path, m.train/m.rate, arrayfmt.Bytes(p.rowBytes*p.shape[0]))
	}
	return "stored well: repack --layout train would gain little"
}

func (d *doctor) show(w io.Writer) error {
	warned := len(d.warnings)
	for _, f := range d.warnings {
		fmt.Fprintf(w, "%s\n", printable("warning: "+f.String()))
	}
	for _, p := range d.candidates {
		warned += len(p.warnings)
		line := fmt.Sprintf("%s  %s %s  %s", p.path, p.dtype, arrayfmt.Shape(p.shape), p.layout)
		for _, fact := range p.facts {
			line += ", " + fact
		}
		fmt.Fprintln(w, printable(line))
		for _, warning := range p.warnings {
			fmt.Fprintln(w, printable("  warning: "+warning))
		}
		if m := p.measured; m != nil {
			fmt.Fprintf(w, "  sequential: %.0f MB/s; shuffled (%s), batches of %d: %.0f rows/s, %.0f MB/s\n", m.decode, m.shuffle, batchRows, m.rate, m.rate*float64(p.rowBytes)/1e6)
			if m.kept {
				fmt.Fprintln(w, "  this is the first epoch; the decoded data fits the loader's memory, so later epochs decode nothing")
			}
			if m.amplification > 1 {
				fmt.Fprintf(w, "  exact shuffling would decode every row up to %.1f times (read amplification), unless memory holds all\n", m.amplification)
			}
			fmt.Fprintf(w, "  repacked for training: %.0f rows/s, shuffled exactly (measured on %d rows)\n", m.train, m.rows)
			fmt.Fprintln(w, printable("  "+p.advice()))
		}
	}
	fmt.Fprintf(w, "%s  %s of numbers, %s\n", printable(d.name), plural(len(d.candidates), "dataset"), plural(warned, "warning"))
	verdict, command := d.verdict()
	_, err := fmt.Fprintf(w, "verdict: %s\nrun: %s\n", printable(verdict), printable(command))
	return err
}

// verdict returns the finding that matters most, and the command to run next.
func (d *doctor) verdict() (text, command string) {
	file := shellWord(d.name)
	var slow *trainingCandidate
	damaged, odd, elsewhere := false, false, false
	for _, w := range d.warnings {
		outside := strings.Contains(w.Message, "other files are not opened")
		elsewhere, damaged = elsewhere || outside, damaged || !outside
	}
	for _, p := range d.candidates {
		damaged = damaged || slices.ContainsFunc(p.warnings, func(w string) bool { return strings.Contains(w, "cannot be") })
		odd = odd || slices.ContainsFunc(p.warnings, func(w string) bool { return strings.Contains(w, "NaN") })
		if m := p.measured; m != nil && m.train > worthRepacking*m.rate && p.waits() && (slow == nil || m.train/m.rate > slow.measured.train/slow.measured.rate) {
			slow = p
		}
	}
	switch {
	case elsewhere:
		return "some of it is in other files", fmt.Sprintf("h5dnn doctor --follow %s %s", shellWord(filepath.Dir(d.name)), file)
	case len(d.candidates) == 0:
		return "no numbers to train on", "h5dnn inspect " + file
	case damaged:
		return "not all of it can be read", "h5dnn verify " + file
	case odd:
		return "NaN or infinities would make the loss NaN", "h5dnn inspect --stats " + file
	case slow != nil:
		out := strings.TrimSuffix(d.name, filepath.Ext(d.name)) + ".train.h5"
		return fmt.Sprintf("%s is read %.1f times faster after repacking", slow.path, slow.measured.train/slow.measured.rate),
			fmt.Sprintf("h5dnn repack --layout train %s %s", file, shellWord(out))
	}
	return "ready for training", "h5dnn init " + file
}

// waits reports whether loading as stored costs more than a first epoch that is soon over.
func (p *trainingCandidate) waits() bool {
	const soon = 2 // seconds
	return !p.measured.kept || float64(p.shape[0]) > soon*p.measured.rate
}

// worthRepacking is how many times faster loading has to become.
const worthRepacking = 1.5

// shellWord quotes a word for a shell, if it has to be.
func shellWord(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("/._-+:,@%", r))
	}) || s == "" {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}

func (d *doctor) json(w io.Writer) error {
	items := []fields{}
	for _, p := range d.candidates {
		f := fields{{"path", p.path}, {"dtype", p.dtype}, {"shape", p.shape}, {"layout", p.layout}, {"row_bytes", p.rowBytes},
			{"facts", orEmpty(p.facts)}, {"warnings", orEmpty(p.warnings)}}
		if m := p.measured; m != nil {
			f = append(f, field{"measured", fields{{"decode_mb_s", m.decode}, {"shuffle", m.shuffle}, {"rows_s", m.rate},
				{"kept", m.kept}, {"exact_amplification", m.amplification}, {"train_rows_s", m.train}, {"train_rows", m.rows}, {"gain", m.train / m.rate}}},
				field{"advice", p.advice()})
		}
		items = append(items, f)
	}
	verdict, command := d.verdict()
	return encodeLine(w, fields{{"file", d.name}, {"datasets", items}, {"warnings", findings(d.warnings)},
		{"verdict", verdict}, {"command", command}})
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
