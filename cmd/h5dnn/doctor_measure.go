package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/h5dnn/h5dnn/arrayfmt"
	loading "github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// A measured holds rates on this machine, with the file in the page cache.
type measured struct {
	decode        float64 // MB/s of elements, read in file order
	shuffle       string  // the loader's default
	rate          float64 // rows/s of shuffled batches
	amplification float64 // rows decoded per row delivered, under exact shuffling
	train         float64 // rows/s from a part repacked for training
	rows          int     // of that part
	kept          bool    // the decoded data fits the loader's memory
}

// measureTime and measureBytes limit a measurement; smaller datasets than worthIt are skipped.
const (
	measureTime  = 300 * time.Millisecond
	measureBytes = 64 << 20
	worthIt      = 64 << 10
	batchRows    = 128
)

// measure times loading from a dataset as it is, and from a repacked part of it.
func (p *patient) measure(ctx context.Context, d *hdf5.Dataset, a storage.Array) error {
	total := p.rowBytes * a.Shape[0]
	if total < worthIt || a.Shape[0] < 2*batchRows || d.CheckDecodable() != nil {
		return nil
	}
	m := &measured{rows: min(a.Shape[0], max(batchRows, measureBytes/p.rowBytes))}
	if m.rows*p.rowBytes > 4*measureBytes {
		return fmt.Errorf("not measured: %d rows take %s", m.rows, arrayfmt.Bytes(m.rows*p.rowBytes))
	}
	folder, err := os.MkdirTemp("", "h5dnn")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	start := time.Now()
	part := a.With(blocks.Between(a.View, 0, 0, m.rows))
	copied, err := part.To(storage.CPU)
	if err != nil {
		return err
	}
	m.decode = float64(m.rows*p.rowBytes) / 1e6 / time.Since(start).Seconds()
	var plan loading.Plan
	if m.rate, plan, err = loadRate(ctx, a, loading.Auto); err != nil {
		return err
	}
	m.shuffle, m.kept = plan.Shuffle.String(), plan.CacheAll
	set, err := loading.Of(loading.Named{Name: "x", Array: a})
	if err != nil {
		return err
	}
	m.amplification = loading.Describe(set).ExactAmplification(batchRows)
	if m.train, err = trainRate(ctx, filepath.Join(folder, "part.h5"), copied); err != nil {
		return err
	}
	p.measured = m
	return nil
}

// loadRate returns the rows per second that a loader delivers.
func loadRate(ctx context.Context, a storage.Array, shuffle loading.Shuffle) (float64, loading.Plan, error) {
	set, err := loading.Of(loading.Named{Name: "x", Array: a})
	if err != nil {
		return 0, loading.Plan{}, err
	}
	l, err := loading.NewLoader(set, loading.Options{Batch: batchRows, Shuffle: shuffle})
	if err != nil {
		return 0, loading.Plan{}, err
	}
	start, rows := time.Now(), 0
	for epoch := 0; time.Since(start) < measureTime; epoch++ {
		for b, err := range l.Epoch(ctx, epoch, 0) {
			if err != nil {
				return 0, l.Plan(), err
			}
			if rows += len(b.Rows); time.Since(start) > 3*measureTime {
				break
			}
		}
		if l.Plan().CacheAll {
			break // later epochs decode nothing
		}
	}
	return float64(rows) / time.Since(start).Seconds(), l.Plan(), nil
}

// trainRate stores rows as repack --layout train does and times loading them.
func trainRate(ctx context.Context, name string, rows storage.Array) (rate float64, err error) {
	w, err := hdf5write.Create(name, hdf5write.CreateOptions{NoSync: true})
	if err != nil {
		return 0, err
	}
	defer w.Abort() // unless it was closed
	if err := errors.Join(w.Write("/x", rows), w.Close()); err != nil {
		return 0, err
	}
	file, err := hdf5.Open(name)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	d, err := file.Dataset("/x")
	if err != nil {
		return 0, err
	}
	a, err := d.Array()
	if err != nil {
		return 0, err
	}
	rate, _, err = loadRate(ctx, a, loading.Exact)
	return rate, err
}

// advice returns a recommendation from the measurements.
func (p *patient) advice() string {
	m := p.measured
	switch {
	case m == nil:
		return ""
	case m.train > 1.5*m.rate:
		return fmt.Sprintf("h5dnn repack --layout train --path %s makes the first epoch %.1f times faster and takes %s", p.path, m.train/m.rate, arrayfmt.Bytes(p.rowBytes*p.shape[0]))
	}
	return "stored well: repack --layout train would gain little"
}

func (d *doctor) show(w io.Writer) error {
	warned := len(d.warnings)
	for _, f := range d.warnings {
		fmt.Fprintf(w, "%s\n", printable("warning: "+f.String()))
	}
	for _, p := range d.patients {
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
				fmt.Fprintf(w, "  exact shuffling would decode every row %.1f times (read amplification), unless memory holds all\n", m.amplification)
			}
			fmt.Fprintf(w, "  repacked for training: %.0f rows/s, shuffled exactly (measured on %d rows)\n", m.train, m.rows)
			fmt.Fprintln(w, printable("  "+p.advice()))
		}
	}
	_, err := fmt.Fprintf(w, "%s  %s of numbers, %s\n", printable(d.name), plural(len(d.patients), "dataset"), plural(warned, "warning"))
	return err
}

func (d *doctor) json(w io.Writer) error {
	items := []fields{}
	for _, p := range d.patients {
		f := fields{{"path", p.path}, {"dtype", p.dtype}, {"shape", p.shape}, {"layout", p.layout}, {"row_bytes", p.rowBytes},
			{"facts", orEmpty(p.facts)}, {"warnings", orEmpty(p.warnings)}}
		if m := p.measured; m != nil {
			f = append(f, field{"measured", fields{{"decode_mb_s", m.decode}, {"shuffle", m.shuffle}, {"rows_s", m.rate},
				{"kept", m.kept}, {"exact_amplification", m.amplification}, {"train_rows_s", m.train}, {"train_rows", m.rows}, {"gain", m.train / m.rate}}},
				field{"advice", p.advice()})
		}
		items = append(items, f)
	}
	if err := encode(w, fields{{"file", d.name}, {"datasets", items}, {"warnings", findings(d.warnings)}}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
