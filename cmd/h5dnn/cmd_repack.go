package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

func repackCommand() *cli.Command {
	return &cli.Command{
		Name:      "repack",
		Usage:     "copy an HDF5 file with different chunks, filters or layouts",
		ArgsUsage: "IN OUT, or --in-place FILE",
		Description: "Groups, attributes, types, links, references and virtual datasets are kept. What is lost is\n" +
			"counted on the last line, and makes the exit status 1. OUT is compared with IN before it is\n" +
			"renamed to its name.\n\n" +
			"  --layout train               arrays of numbers contiguous, uncompressed, aligned to 4096 bytes; those\n" +
			"                               that can grow, and PyTables' arrays, in uncompressed chunks of whole rows\n" +
			"  --chunks 256,28,28           chunk shape; rows=256 for whole rows; auto\n" +
			"  --filter shuffle,deflate:4   filter pipeline in this order: shuffle, deflate[:level], lz4,\n" +
			"                               zstd[:level], fletcher32; or none\n" +
			"  --paged auto                 headers and indexes together, in pages that programs fetch whole from URLs\n" +
			"  --shuffle                    rows in random order: all that is along obs of an .h5ad, also sparse matrices; in other\n" +
			"                               files, the datasets with as many rows as the largest, or those that --path names. Reading\n" +
			"                               in blocks is then a true shuffle. It takes 16 bytes of memory a row beside --memory, and\n" +
			"                               the space of one decoded dataset in the folder of OUT",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "chunks", Usage: "chunk `SHAPE`: 256,28,28, rows=256 or auto"},
			&cli.StringSliceFlag{Name: "filter", Usage: "chunk `FILTERS`: deflate:4, shuffle, fletcher32, lz4, zstd:3, none"},
			&cli.StringFlag{Name: "layout", Usage: "contiguous, chunked or train"},
			&cli.StringFlag{Name: "paged", Usage: "allocate space in pages of `SIZE` (paged aggregation), for reading at URLs: auto, or 64KiB to 16MiB"},
			&cli.BoolFlag{Name: "shuffle", Usage: "write rows in random order"},
			&cli.Uint64Flag{Name: "seed", Usage: "`SEED` of --shuffle"},
			&cli.StringSliceFlag{Name: "path", Usage: "change only datasets at or below `PATH`"},
			&cli.StringFlag{Name: "memory", Value: "256MiB", Usage: "approximate `MEMORY` limit"},
			&cli.BoolFlag{Name: "no-verify", Usage: "do not compare OUT with IN"},
			&cli.BoolFlag{Name: "in-place", Usage: "replace FILE by its copy, the only way to write over an input"},
			forceFlag(), followFlag(),
			&cli.BoolFlag{Name: "dry-run", Usage: "report what would be done, and write nothing"},
			reportFlag(),
		}, lossFlags...),
		Action: repack,
	}
}

// repackFiles returns the names of the input and the output, which are one file with
// --in-place.
func repackFiles(c *cli.Context) (in, out string, err error) {
	if c.Bool("in-place") {
		args, err := arguments(c, "FILE")
		if err != nil {
			return "", "", err
		}
		return args[0], args[0], nil
	}
	args, err := arguments(c, "IN", "OUT")
	if err != nil {
		return "", "", err
	}
	return args[0], args[1], nil
}

func repack(c *cli.Context) error {
	in, out, err := repackFiles(c)
	if err != nil {
		return err
	}
	wanted, err := parseLayout(c)
	if err != nil {
		return err
	}
	memory, err := parseBytes(c.String("memory"))
	if err != nil {
		return fmt.Errorf("--memory %w", err)
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(int64(max(memory, leastMemory))))
	file, err := openToRepack(c, in, memory)
	if err != nil {
		return err
	}
	defer file.Close()
	o, err := repackOptions(c, file, wanted, memory)
	if err != nil {
		return err
	}
	if err := checkRepacked(c, out); err != nil {
		return err
	}
	before := fileSize(in)
	bar := newMeter(c.App.ErrWriter, "repack", wanted.work(file, !o.SkipVerify))
	o.Progress = func(_ string, bytes int) { bar.add(bytes) }
	report, err := hdf5write.Repack(c.Context, file, out, o)
	bar.end()
	if err != nil && o.Complete {
		return fmt.Errorf("%w; the file is unchanged", err)
	}
	if err != nil {
		return err
	}
	wanted.note(&report, out)
	err = buffered(c.App.Writer, func(w io.Writer) error {
		if c.Bool("json") {
			return showRepackedJSON(w, in, out, before, report)
		}
		return showRepacked(c, w, out, before, report)
	})
	return cmp.Or(err, lossStatus(c, report.Lost))
}

// openToRepack opens the input.
func openToRepack(c *cli.Context, in string, memory int) (*hdf5.File, error) {
	if c.Bool("in-place") && storage.IsURL(in) {
		return nil, fmt.Errorf("%s: files at URLs are read and not written; name a file to write instead of --in-place", in)
	}
	if err := anHDF5File(c.Context, in); err != nil {
		return nil, err
	}
	file, err := hdf5.Open(in, hdf5.Options{CacheBytes: memory / 4, Follow: followed(c.Context), Budget: budgetOf(c.Context), Context: c.Context})
	if err == nil {
		addInput(c.Context, in, file.LinkedFiles)
	}
	return file, err
}

// repackOptions returns what is to be done with a file.
func repackOptions(c *cli.Context, file *hdf5.File, wanted *wantedLayout, memory int) (o hdf5write.RepackOptions, err error) {
	o = hdf5write.RepackOptions{
		Layout: wanted.layoutOf, Memory: memory, SkipVerify: c.Bool("no-verify"), DryRun: c.Bool("dry-run"), Complete: c.Bool("in-place"), Materialize: followed(c.Context) != "",
	}
	for _, path := range wanted.paths {
		if _, err := file.Lookup(path); err != nil {
			return o, err
		}
	}
	if o.PageSize, err = pageSize(c.String("paged"), file); err != nil {
		return o, err
	}
	if c.IsSet("seed") && !c.Bool("shuffle") {
		return o, errors.New("--seed is of the order that --shuffle writes; use both or neither")
	}
	if c.Bool("shuffle") {
		o.Reorder, err = wanted.shuffle(file, c.Uint64("seed"))
	}
	return o, err
}

// checkRepacked returns an error if the output must not be written.
func checkRepacked(c *cli.Context, out string) error {
	if c.Bool("in-place") {
		return nil
	}
	err := checkOutput(c, out)
	if errors.Is(err, errInput) {
		return fmt.Errorf("%w, or use repack --in-place FILE", err)
	}
	return err
}

// note adds what is to be known of the copy.
func (w *wantedLayout) note(r *hdf5write.RepackReport, out string) {
	r.Notes = append(w.notes, r.Notes...)
	if r.Reencoded > 0 {
		for _, line := range pluginLines(w.filters) {
			r.Notes = append(r.Notes, hdf5.Finding{Path: out, Message: line})
		}
	}
}

// pageSize returns the size of the pages that are asked for, or 0. auto is large enough that few pages hold the headers
// and indexes of a file: 1 KiB of each object and 40 bytes of each chunk.
func pageSize(text string, f *hdf5.File) (int, error) {
	const least, most = 64 << 10, 16 << 20
	const wide = 1 << 20 // chunks do not cross pages, so that small pages have gaps
	switch text {
	case "":
		return 0, nil
	case "auto":
		metadata := 0
		for o := range f.Walk() {
			metadata += 1 << 10
			if o.Kind != hdf5.KindDataset {
				continue
			}
			if d, err := o.Dataset(); err == nil && d.Chunks != nil {
				chunks := 40
				for axis, n := range d.Shape {
					chunks *= max(1, n/max(1, d.Chunks[axis]))
				}
				metadata += min(chunks, most)
			}
		}
		page := least
		if f.Size() > 16*wide {
			page = wide
		}
		for page < most && 4*page < metadata {
			page *= 2
		}
		return page, nil
	}
	page, err := parseBytes(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("--paged %w", err)
	case page < least || page > most:
		return 0, fmt.Errorf("--paged %s; want auto, or 64KiB to 16MiB", text)
	}
	return page, nil
}

// leastMemory is the lowest memory limit given to the garbage collector.
const leastMemory = 64 << 20

// writableFilters are those that --filter can name, with their levels.
var writableFilters = []struct {
	name               string
	least, most, usual int
	make               func(level int) filter.Filter
}{
	{"deflate", 1, 9, 4, filter.Deflate},
	{"gzip", 1, 9, 4, filter.Deflate},
	{"shuffle", 0, 0, 0, func(int) filter.Filter { return filter.Shuffle() }},
	{"fletcher32", 0, 0, 0, func(int) filter.Filter { return filter.Fletcher32() }},
	{"lz4", 0, 0, 0, func(int) filter.Filter { return filter.LZ4() }},
	{"zstd", 1, 22, 3, filter.Zstd},
}

// work returns the number of bytes to copy and compare.
func (w *wantedLayout) work(f *hdf5.File, twice bool) int {
	total, seen := 0, map[uint64]bool{}
	for o := range f.Walk() {
		at, ok := o.Address()
		if o.Kind != hdf5.KindDataset || !ok || seen[at] {
			continue
		}
		seen[at] = true
		if d, err := o.Dataset(); err == nil {
			n, _ := d.Len()
			total += n * d.Type.Size
		}
	}
	if twice {
		total *= 2
	}
	return total
}

// noteLines returns a line for each message of several findings: with the paths of up to
// three of them.
func noteLines(notes []hdf5.Finding) []string {
	var messages []string
	paths := map[string][]string{}
	for _, n := range notes {
		if paths[n.Message] == nil {
			messages = append(messages, n.Message)
		}
		paths[n.Message] = append(paths[n.Message], n.Path)
	}
	for k, m := range messages {
		some := paths[m]
		text := strings.Join(some[:min(3, len(some))], ", ")
		if len(some) > 3 {
			text += fmt.Sprintf(" and %d more", len(some)-3)
		}
		messages[k] = text + ": " + m
	}
	return messages
}

// showRepacked prints what became of a file that had that many bytes before.
func showRepacked(c *cli.Context, w io.Writer, out string, before int, r hdf5write.RepackReport) error {
	for _, i := range r.Lost {
		fmt.Fprintf(w, "%s\n", printable(i.String()))
	}
	for _, n := range noteLines(r.Notes) {
		fmt.Fprintf(w, "note: %s\n", printable(n))
	}
	if c.Bool("dry-run") {
		_, err := fmt.Fprintf(w, "%s  %s to copy (%s); %s\n", printable(out), plural(r.Datasets, "dataset"), changedText(r), lossSummary(c, r.Lost))
		return err
	}
	checked := " and verified"
	if c.Bool("no-verify") {
		checked = ""
	}
	_, err := fmt.Fprintf(w, "%s  %s copied (%s)%s; %s -> %s; %s\n", printable(out), plural(r.Datasets, "dataset"), changedText(r),
		checked, arrayfmt.Bytes(before), arrayfmt.Bytes(fileSize(out)), lossSummary(c, r.Lost))
	return err
}

// changedText counts the datasets that differ from the original in storage or order.
func changedText(r hdf5write.RepackReport) string {
	text := fmt.Sprintf("%d re-encoded", r.Reencoded)
	if r.Reordered > 0 {
		text += fmt.Sprintf(", %d shuffled", r.Reordered)
	}
	return text
}

func showRepackedJSON(w io.Writer, in, out string, before int, r hdf5write.RepackReport) error {
	return encodeLine(w, append(fields{{"in", in}, {"out", out}, {"in_bytes", before}, {"out_bytes", fileSize(out)}, {"groups", r.Groups},
		{"datasets", r.Datasets}, {"changed", r.Reencoded}, {"shuffled", r.Reordered}, {"links", r.Links}, {"attributes", r.Attributes},
		{"notes", findings(r.Notes)}}, lossFields(r.Lost)...))
}
