package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/dataset/datafiles"
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/remote"
)

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name:      "doctor",
		Usage:     "find what keeps a file from training well: missing values, slow storage, data that cannot be read",
		ArgsUsage: "[FILE[:/path]]",
		Description: "Opens all data as train does and says what it can be, inputs or labels, which values are missing and where,\n" +
			"and how long an epoch takes to read and decode. Data of more than 256 MiB is looked at in parts, which are\n" +
			"named. Repacking is advised if it made an extract of this file faster, beside the same extract as it is\n" +
			"stored. Of an HDF5 file of 16 MiB and more it also says what listing it at a URL takes, 20 ms and 1 Gbit/s\n" +
			"away, by a model of the server. Without FILE, shows the devices of this machine.",
		Flags: []cli.Flag{allFlag("show each of many alike datasets (demo_0 … demo_23)"), followFlag(), fromFlag(), voidFlag(), &cli.BoolFlag{Name: "json", Usage: "print one JSON object"}},
		Action: func(c *cli.Context) error {
			if c.NArg() == 0 {
				return showDevices(c.App.Writer, c.Bool("json"), false)
			}
			args, err := arguments(c, "FILE")
			if err != nil {
				return err
			}
			at := parseAddress(args[0])
			d := &doctor{ctx: c.Context, name: at.file, each: c.Bool("all") || c.Bool("json"), time: timeEpochs}
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
	ctx   context.Context
	name  string
	each  bool            // alike datasets are examined one by one
	time  epochTimer      // measures; tests replace it
	files datafiles.Files // as train opens them
	file  inspect.File

	candidates []*trainingCandidate
	unusable   []hdf5.Finding // data that is not to train on, and the reason
	warnings   []hdf5.Finding // about groups, and what could not be read
	checkpoint bool           // the file holds a model's weights, not data
	elsewhere  bool           // some data is in other files, which were not opened
	damaged    bool           // some data cannot be read
	remote     *remoteCost    // nil if it is not known
}

// manyMembers is where groups with a symbol table become slow.
const manyMembers = 10000

// A remoteCost is what listing a file takes at a URL.
type remoteCost struct {
	requests, bytes int64
	seconds         float64
	ended           bool // before the time was up
	paged           int  // requests after repacking, about; 0 if it is not known
}

// leastRemote is the size of files from which on remote costs are of interest. mostRemote limits the time for the model.
const (
	leastRemote = 16 << 20
	mostRemote  = 5 * time.Second
)

// listRemotely lists a local HDF5 file by a client whose server is 20 ms and 1 Gbit/s away.
func (d *doctor) listRemotely() (*remoteCost, error) {
	local, err := storage.OpenFile(d.name)
	if err != nil {
		return nil, err
	}
	defer local.Close()
	size := fileSize(d.name)
	client := remote.NewClient(remote.Options{Transport: &remote.Model{File: local, Size: int64(size), Latency: 20 * time.Millisecond, Rate: 125e6}})
	defer client.Close()
	ctx, cancel := context.WithTimeout(remote.NewContext(d.ctx, client), mostRemote)
	defer cancel()
	begin := time.Now()
	page, err := listFile(ctx, "http://model/x.h5")
	cost := &remoteCost{seconds: time.Since(begin).Seconds(), ended: ctx.Err() == nil}
	if err != nil && cost.ended {
		return nil, nil // of what is damaged, others tell
	}
	stats := client.Stats()
	cost.requests, cost.bytes = stats.Requests, stats.Bytes
	if page > 0 {
		cost.paged = 2 + int(cost.bytes)/page
	}
	return cost, d.ctx.Err()
}

// listFile reads what inspect lists of a file, and returns the size of pages that repack would choose for it.
func listFile(ctx context.Context, name string) (page int, err error) {
	f, err := hdf5.Open(name, hdf5.Options{Context: ctx})
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for o := range f.Walk() {
		if o.Kind == hdf5.KindDataset {
			_, err = o.Dataset()
		}
		if _, failed := o.Attributes(); err == nil {
			err = failed
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return 0, err
		}
	}
	return pageSize("auto", f)
}

// String returns a line with the requests, bytes and seconds of listing.
func (c *remoteCost) String() string {
	text := fmt.Sprintf("at a URL, 20 ms and 1 Gbit/s away: listing takes %s of %s, %s s", plural(int(c.requests), "request"), arrayfmt.Bytes(int(c.bytes)), twoDigits(c.seconds))
	if !c.ended {
		text = fmt.Sprintf("at a URL, 20 ms and 1 Gbit/s away: listing takes more than %s and %v", plural(int(c.requests), "request"), mostRemote)
	}
	return text
}

// mostMeasured is the number of candidates that are timed, the largest ones.
const mostMeasured = 4

// examine looks at all data at and below a path.
func (d *doctor) examine(path string) error {
	d.files = newFiles(context.WithValue(d.ctx, cacheKey{}, -1), "") // so that a second epoch of an extract decodes again
	defer d.files.Close()
	var err error
	if d.file, err = d.files.File(d.name); err != nil {
		return err
	}
	d.checkpoint = isModel(d.file)
	found, err := d.open(path)
	if err != nil {
		return err
	}
	if err := d.checkGroups(path); err != nil {
		return err
	}
	for _, group := range d.alike(found) {
		p, err := d.candidate(group)
		if err != nil {
			d.unusable = append(d.unusable, hdf5.Finding{Path: group[0].path, Message: d.reason(err, group[0].path)})
			continue
		}
		if len(group) > 1 {
			p.path = nameOf(p.paths, found)
		}
		d.candidates = append(d.candidates, p)
	}
	if h5, ok := d.file.(inspect.HDF5); ok && !storage.IsURL(d.name) && h5.Size() >= leastRemote && path == "" {
		if d.remote, err = d.listRemotely(); err != nil {
			return err
		}
	}
	return d.look()
}

// An openedData is the data at a path, as train opens it.
type openedData struct {
	path string // with the name of a member, for one of compounds
	inspect.Object
	inspect.Selection
}

// open opens the data of all objects at and below a path.
func (d *doctor) open(path string) (found []openedData, err error) {
	entries, err := d.file.Entries(path)
	if err != nil {
		return nil, err
	}
	for o := range entries {
		if err := d.ctx.Err(); err != nil {
			return nil, err
		}
		switch {
		case o.Err != nil:
			d.unread(o.Path, "cannot be read", o.Err)
			continue
		case o.Data == nil || o.Data.Shape == nil || o.Data.Shares != "": // the first name is listed
			continue
		case len(o.Data.Shape) == 0:
			d.unusable = append(d.unusable, hdf5.Finding{Path: o.Path, Message: "a single value"})
			continue
		}
		for _, path := range d.paths(o) {
			data, err := datafiles.FindLabels(d.file, path)
			if err != nil {
				d.unread(path, "cannot be loaded", err)
				continue
			}
			found = append(found, openedData{path, o, data})
		}
	}
	return found, nil
}

// paths returns the paths of the data of an object: its own, or its members' paths.
func (d *doctor) paths(o inspect.Object) (paths []string) {
	h5, ok := d.file.(inspect.HDF5)
	if !ok || o.Data.DType != "compound" {
		return []string{o.Path}
	}
	stored, err := h5.Stored(o.Path)
	if err != nil {
		return []string{o.Path}
	}
	for _, m := range stored.Type.Members {
		paths = append(paths, fmt.Sprintf("%s['%s']", o.Path, m.Name))
	}
	return paths
}

// alike divides data into that which train reads as one with a star in its path, and others.
func (d *doctor) alike(found []openedData) (groups [][]openedData) {
	paths := make([]string, len(found))
	for i, o := range found {
		if paths[i] = o.path; d.each || o.Rows != nil { // rows of different lengths are padded each to its longest
			paths[i] = ""
		}
	}
	for _, group := range alike(paths, func(i int) string {
		o := found[i]
		return fmt.Sprint(o.Selection.Type(), o.Shape()[1:], o.Numbers(), o.Names)
	}) {
		var all []openedData
		for _, i := range group {
			all = append(all, found[i])
		}
		groups = append(groups, all)
	}
	return groups
}

// nameOf returns a path with a star with which train reads the given paths and no others of a
// file, or else the first and the last of them.
func nameOf(paths []string, found []openedData) string {
	star := starOf(paths)
	before, after, _ := strings.Cut(star, "*")
	n := 0
	for _, o := range found {
		if rest, ok := strings.CutPrefix(o.path, before); ok && strings.HasSuffix(rest, after) && !strings.Contains(strings.TrimSuffix(rest, after), "/") {
			n++
		}
	}
	if _, members := datafiles.CutMembers(star); n > len(paths) || members != nil {
		return span(paths)
	}
	return star
}

// checkGroups warns of groups that are slow to search.
func (d *doctor) checkGroups(path string) error {
	h5, ok := d.file.(inspect.HDF5)
	if !ok {
		return nil
	}
	at, err := h5.Lookup(path)
	if err != nil || at.Kind != hdf5.KindGroup {
		return nil // such as an element of a cell of MATLAB
	}
	for o, err := range at.Walk() {
		if d.ctx.Err() != nil {
			return d.ctx.Err()
		}
		if err == nil && o.Kind == hdf5.KindGroup && o.HasSymbolTable() {
			if names, _ := o.Names(); len(names) > manyMembers {
				d.warn(o.Path, "an old-style group with %d members, which is slow to search; h5dnn repack converts it to a new-style group", len(names))
			}
		}
	}
	return nil
}

// unread warns of data that was not read.
func (d *doctor) unread(path, what string, err error) {
	if other := (*hdf5.NotFollowedError)(nil); errors.As(err, &other) {
		d.elsewhere = true
	} else {
		d.damaged = true
	}
	d.warn(path, "%s: %v", what, err)
}

func (d *doctor) warn(path, format string, args ...any) {
	d.warnings = append(d.warnings, hdf5.Finding{Path: path, Message: d.reason(fmt.Errorf(format, args...), path)})
}

// reason returns an error about data of the file without the names of the file and the data.
func (d *doctor) reason(err error, path string) string {
	text := withoutKind(err.Error())
	stored, _ := datafiles.CutMembers(path)
	for _, name := range []string{d.name + ": ", path + ": ", path + " ", stored + ": "} {
		text = strings.Replace(text, name, "", 1)
	}
	return text
}

// look examines the values of each candidate, and times the largest.
func (d *doctor) look() error {
	if storage.IsURL(d.name) {
		d.warn("/", "values and speed are not measured at a URL, because that reads the data; measure a downloaded file")
		return nil
	}
	bySize := slices.Clone(d.candidates)
	slices.SortStableFunc(bySize, func(a, b *trainingCandidate) int { return b.bytes() - a.bytes() })
	for _, p := range d.candidates {
		if p.unwritten {
			continue
		}
		err := p.values(d.ctx)
		if err == nil && slices.Index(bySize, p) < mostMeasured {
			err = p.measure(d)
		}
		var beyond *storage.BudgetError
		switch {
		case errors.Is(err, context.Canceled):
			return err
		case errors.As(err, &beyond):
			p.warn("not looked at: %s", d.reason(err, p.paths[0]))
		case err != nil:
			p.broken = true
			p.warn("cannot be read: %s", d.reason(err, p.paths[0]))
		}
	}
	return d.ctx.Err()
}

// rangeText describes rows first to end-1 of n: "all 1000 rows", "rows 0 to 99 of 1000".
func rangeText(parts [][2]int, n int) string {
	if len(parts) == 1 && parts[0] == [2]int{0, n} {
		return fmt.Sprintf("all %s", plural(n, "row"))
	}
	var texts []string
	for _, p := range parts {
		texts = append(texts, fmt.Sprintf("%d to %d", p[0], p[1]-1))
	}
	return fmt.Sprintf("rows %s of %d", strings.Join(texts, ", "), n)
}

// lengthText returns the shape of data, with the range of the lengths of alike ones.
func lengthText(group []openedData) string {
	f := &fold{}
	least, most := rowsOf(group[0]), rowsOf(group[0])
	for _, o := range group {
		least, most = min(least, rowsOf(o)), max(most, rowsOf(o))
	}
	if least < most {
		f.rows = fmt.Sprintf("%d…%d", least, most)
	}
	return f.shapeOf(&inspect.Dataset{Shape: group[0].Shape()})
}

func rowsOf(o openedData) int { return o.Shape()[0] }
