package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/internal/blocks"
	h5format "github.com/h5dnn/h5dnn/serialize/hdf5"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name:      "doctor",
		Usage:     "measure how well an HDF5 file is stored for training",
		ArgsUsage: "[FILE[:/path]]",
		Description: "Checks layout, alignment, chunks, filters, label order, and a sample of the data for NaN and\n" +
			"infinity. Times shuffled batches of 128 rows from the file as it is, and from part of it\n" +
			"repacked with --layout train. Without FILE, shows the devices of this machine.",
		Flags: []cli.Flag{followFlag(), &cli.BoolFlag{Name: "json", Usage: "print one JSON object"}},
		Action: func(c *cli.Context) error {
			if c.NArg() == 0 {
				return showDevices(c.App.Writer, c.Bool("json"), false)
			}
			args, err := arguments(c, "FILE")
			if err != nil {
				return err
			}
			at := parseAddress(args[0])
			if err := anHDF5File(c.Context, at.file); err != nil {
				return err
			}
			d := &doctor{ctx: c.Context, name: at.file}
			if err := d.examine(at.path); err != nil {
				return err
			}
			return buffered(c.App.Writer, func(w io.Writer) error {
				if c.Bool("json") {
					return d.json(w)
				}
				return d.show(w)
			})
		},
	}
}

// A doctor collects findings about a file.
type doctor struct {
	ctx        context.Context
	name       string
	candidates []*trainingCandidate
	warnings   []hdf5.Finding // about groups, and what could not be read
}

// A trainingCandidate is a dataset that could hold training data.
type trainingCandidate struct {
	path     string
	dtype    string
	shape    []int
	layout   string
	rowBytes int
	facts    []string
	warnings []string
	measured *measuredRates // nil: too small to matter, or not readable
}

// manyMembers is where groups with a symbol table become slow.
const manyMembers = 10000

// mostMeasured is the number of datasets that are timed, the largest ones.
const mostMeasured = 4

func (d *doctor) examine(path string) error {
	file, err := hdf5.Open(d.name, hdf5.Options{Follow: followed(d.ctx), Budget: budgetOf(d.ctx), Context: d.ctx})
	if err != nil {
		return err
	}
	defer file.Close()
	walk := file.Walk()
	if inspect.Clean(path) != "/" {
		o, err := file.Lookup(path)
		if err != nil {
			return err
		}
		walk = o.Walk()
	}
	datasets, seen := []*hdf5.Dataset{}, map[uint64]bool{}
	for o, err := range walk {
		if err := d.ctx.Err(); err != nil {
			return err
		}
		if err != nil {
			d.warn(o.Path, "cannot be read: %v", err)
		}
		at, ok := o.Address()
		if !ok || seen[at] {
			continue
		}
		seen[at] = true
		if o.Kind == hdf5.KindGroup && o.HasSymbolTable() {
			if names, _ := o.Names(); len(names) > manyMembers {
				d.warn(o.Path, "an old-style group with %d members, which is slow to search; h5dnn repack converts it to a new-style group", len(names))
			}
		}
		if o.Kind != hdf5.KindDataset {
			continue
		}
		set, err := o.Dataset()
		if err != nil {
			d.warn(o.Path, "cannot be read: %v", err)
		} else if len(set.Shape) > 0 {
			datasets = append(datasets, set)
		}
	}
	if storage.IsURL(d.name) {
		d.warn("/", "values and speed are not measured at a URL, because that reads the data; measure a downloaded file")
	}
	return d.look(datasets)
}

func (d *doctor) warn(path, format string, args ...any) {
	text := strings.TrimPrefix(fmt.Sprintf(format, args...), d.name+": ")
	d.warnings = append(d.warnings, hdf5.Finding{Path: path, Message: text})
}

// look examines each dataset and times the largest.
func (d *doctor) look(datasets []*hdf5.Dataset) error {
	bySize := slices.Clone(datasets)
	slices.SortStableFunc(bySize, func(a, b *hdf5.Dataset) int { return cmp.Compare(sizeOf(b), sizeOf(a)) })
	for _, set := range datasets {
		p := &trainingCandidate{path: set.Path, dtype: h5format.TypeName(set.Type), shape: set.Shape, layout: set.Layout}
		a, err := set.Array()
		if err != nil {
			if _, _, notNumbers := set.Type.DType(); notNumbers == nil {
				d.warn(set.Path, "cannot be loaded: %s", strings.TrimPrefix(strings.TrimPrefix(err.Error(), d.name+": "), set.Path+": "))
			}
			continue
		}
		d.candidates = append(d.candidates, p)
		p.geometry(set, a)
		if storage.IsURL(d.name) {
			continue
		}
		if _, unwritten := storage.Unwritten(a); unwritten {
			p.fact("never written")
			continue
		}
		if err := d.checkExpansion(set, a); err != nil {
			d.warn(set.Path, "not measured: %v", err)
			continue
		}
		if err := p.values(d.ctx, a); err != nil {
			d.warn(set.Path, "%v", err)
			continue
		}
		if slices.Index(bySize, set) < mostMeasured {
			if err := p.measure(d.ctx, set, a); err != nil {
				d.warn(set.Path, "%v", err)
			}
		}
	}
	return d.ctx.Err()
}

// checkExpansion returns an error if what would be read of a dataset is more than its
// stored bytes account for.
func (d *doctor) checkExpansion(set *hdf5.Dataset, a storage.Array) error {
	stored, err := set.Backing()
	if err != nil {
		return err
	}
	return set.File().Budget().Make(min(sizeOf(set), max(mostSampled, 4*measureBytes)), stored)
}

func sizeOf(d *hdf5.Dataset) int {
	n, _ := d.Len()
	return n * d.Type.Size
}

func (p *trainingCandidate) fact(format string, args ...any) {
	p.facts = append(p.facts, fmt.Sprintf(format, args...))
}

func (p *trainingCandidate) warn(format string, args ...any) {
	p.warnings = append(p.warnings, fmt.Sprintf(format, args...))
}

// geometry checks how a dataset is stored.
func (p *trainingCandidate) geometry(d *hdf5.Dataset, a storage.Array) {
	p.rowBytes = a.Type.Size()
	for _, n := range a.Shape[1:] {
		p.rowBytes *= n
	}
	if d.Type.BigEndian {
		p.warn("big-endian: every element is byte-swapped when it is read")
	}
	if at, ok := d.Offset(); ok {
		p.fact("at byte %d", at)
		if at%a.Type.Size() != 0 && sizeOf(d) >= worthIt {
			p.warn("elements are not aligned to their size of %d bytes", a.Type.Size())
		} else if at%4096 == 0 {
			p.fact("aligned to 4096")
		}
	}
	if d.Chunks != nil {
		p.chunks(d)
	}
}

// Chunks smaller than tinyChunk cost more to find than to read; chunks larger than
// hugeChunk need much memory to shuffle.
const tinyChunk, hugeChunk = 4 << 10, 32 << 20

func (p *trainingCandidate) chunks(d *hdf5.Dataset) {
	chunk, perRow := d.Type.Size, 1
	for axis, n := range d.Chunks {
		chunk *= n
		if axis > 0 {
			perRow *= (d.Shape[axis] + n - 1) / max(1, n)
		}
	}
	p.fact("chunks of %s, %s", plural(d.Chunks[0], "row"), arrayfmt.Bytes(chunk))
	if perRow > 1 {
		p.warn("a row spans %d chunks, so reading one row decodes %d; chunks of whole rows are better", perRow, perRow)
	}
	stored, err := d.StoredChunks()
	switch {
	case err != nil:
		p.warn("chunk index cannot be read: %v", err)
		return
	case chunk < tinyChunk && len(stored) > 1000:
		p.warn("%d chunks of only %s", len(stored), arrayfmt.Bytes(chunk))
	case chunk > hugeChunk:
		p.warn("chunks of %s, each decoded whole to read a single row", arrayfmt.Bytes(chunk))
	}
	if err := d.CheckDecodable(); err != nil {
		p.warn("cannot be decoded: %v", err)
	}
	var names []string
	for _, f := range d.Filters {
		names = append(names, f.String())
	}
	if len(names) > 0 {
		p.fact("%s", strings.Join(names, ", "))
	}
}

// mostSampled is the number of bytes whose values are checked.
const mostSampled = 32 << 20

// values checks a sample of the elements.
func (p *trainingCandidate) values(ctx context.Context, a storage.Array) error {
	rows := a.Shape[0]
	if p.rowBytes == 0 || rows == 0 {
		return nil
	}
	some := min(rows, max(1, mostSampled/p.rowBytes))
	sample := a.With(blocks.Between(a.View, 0, 0, some))
	if a.Type.IsFloat() {
		s, err := summarize(ctx, sample)
		if err != nil {
			return err
		}
		if s.NaN+s.Inf > 0 {
			p.warn("%d NaN and %d infinities among %d elements checked", s.NaN, s.Inf, s.Count)
		}
	}
	if !a.Type.IsInt() || a.Rank() != 1 {
		return nil
	}
	labels, err := storage.Read[int64](sample)
	if err != nil {
		return err
	}
	if differ, expected, classes := disorder(labels); classes > 1 && differ*5 < expected {
		p.warn("labels look sorted: of %d neighbours %.0f differ; in random order of %d classes %.0f would; use --shuffle exact or a large --window", len(labels), differ, classes, expected)
	}
	return nil
}

// disorder counts neighbours that differ, and the number expected in random order,
// n·(1-Σp²), where p is the share of each label. It returns zeros if there are too
// many distinct values to be labels.
func disorder(labels []int64) (differ, expected float64, classes int) {
	const most, fewest = 4096, 64
	counts := map[int64]int{}
	for k, label := range labels {
		if counts[label]++; len(counts) > most {
			return 0, 0, 0
		}
		if k > 0 && label != labels[k-1] {
			differ++
		}
	}
	if len(labels) < fewest || len(counts) > len(labels)/2 {
		return 0, 0, 0
	}
	same := 0.0
	for _, n := range slices.Sorted(maps.Values(counts)) { // the same sum for the same labels
		same += float64(n) / float64(len(labels)) * float64(n) / float64(len(labels))
	}
	return differ, float64(len(labels)) * (1 - same), len(counts)
}
