//go:build cgo

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/spell"
	"github.com/h5dnn/h5dnn/train"
)

func runsCommand() *cli.Command {
	return &cli.Command{
		Name:      "runs",
		Usage:     "compare run files: settings that differ, metrics, time",
		ArgsUsage: "FOLDER|RUN…",
		Description: "A row for each run: the settings in which runs differ, the last and the best value of the loss and of metrics,\n" +
			"on validation data where there are any, the time of training and samples per second. Columns that the terminal\n" +
			"has no room for are named below the table. Of a FOLDER, all runs in it and in folders below it.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "sort", Usage: "order by the best value of `METRIC`, the best run first", DefaultText: "by name"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object per run"},
		},
		Action: func(c *cli.Context) error {
			if c.NArg() == 0 {
				return fmt.Errorf("FOLDER or RUN is missing; see h5dnn runs --help")
			}
			runs, err := readRuns(c)
			if err != nil {
				return err
			}
			if err := sortRuns(runs, c.String("sort")); err != nil {
				return err
			}
			different := settingsThatDiffer(runs)
			return buffered(c.App.Writer, func(w io.Writer) error {
				if c.Bool("json") {
					return runsJSON(w, runs, different)
				}
				return showRuns(w, runs, different, columnsOf(c.App.Writer, math.MaxInt))
			})
		},
	}
}

// A runRecord is a run file without its model.
type runRecord struct {
	name string
	*train.Run
	settings any // the configuration, as JSON has it
}

// readRuns reads the runs that c names, and reports on standard error what could not be read.
func readRuns(c *cli.Context) (runs []runRecord, err error) {
	var failed []string
	others := 0
	for _, arg := range c.Args().Slice() {
		info, err := os.Stat(arg)
		folder := err == nil && info.IsDir() && serialize.FileOf(arg) == arg
		if !folder {
			if err := isFile(arg); err != nil {
				return nil, err
			}
		}
		for name, err := range filesOf(arg, folder) {
			var run *train.Run
			if err == nil {
				run, err = train.ReadHistory(name)
			}
			switch {
			case err == nil:
				settings, err := asJSON(run.Config)
				if err != nil {
					return nil, err
				}
				runs = append(runs, runRecord{name, run, settings})
			case folder && train.IsNoRun(err):
				others++
			case len(failed) < reasonsShown:
				failed = append(failed, printable(err.Error()))
			default:
				failed = append(failed, printable(name))
			}
		}
	}
	if len(failed) > 0 {
		fmt.Fprintf(c.App.ErrWriter, "note: %s not read: %s\n", plural(len(failed), "file"), listed(failed))
	}
	if len(runs) == 0 {
		return nil, fmt.Errorf("no run among %s; h5dnn train writes one", plural(len(failed)+others, "file"))
	}
	return runs, nil
}

// reasonsShown is for how many files it is said why they are not read, and namesShown how many are named.
const reasonsShown, namesShown = 3, 10

// listed joins the first texts of a list, and counts the others.
func listed(list []string) string {
	others := ""
	if n := len(list) - namesShown; n > 0 {
		others = fmt.Sprintf("; and %d more", n)
	}
	return strings.Join(list[:min(len(list), namesShown)], "; ") + others
}

// filesOf yields the files in a folder, and in those below it, whose format holds runs, and folders that cannot be read with the
// reason; of a file, itself.
func filesOf(name string, folder bool) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if !folder {
			yield(name, nil)
			return
		}
		walk := func(path string, d fs.DirEntry, err error) error {
			format, unknown := serialize.ByExtension(path)
			if (err != nil || unknown == nil && d.Type().IsRegular() && train.HoldsRuns(format)) && !yield(path, err) {
				return fs.SkipAll
			}
			return nil
		}
		filepath.WalkDir(name, walk) // walk yields its errors
	}
}

// asJSON returns v as its JSON is decoded.
func asJSON(v any) (decoded any, err error) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &decoded)
	}
	return decoded, err
}

// sortRuns orders runs by a metric, or by name.
func sortRuns(runs []runRecord, metric string) error {
	if metric == "" {
		slices.SortStableFunc(runs, func(a, b runRecord) int { return strings.Compare(a.name, b.name) })
		return nil
	}
	known := metricsOf(runs)
	if !slices.Contains(known, metric) {
		return fmt.Errorf("--sort %s: no run has that metric%s; known are %s", metric, spell.Hint(metric, known), strings.Join(known, ", "))
	}
	slices.SortStableFunc(runs, func(a, b runRecord) int {
		x, _, hasX := a.History.Best(metric)
		y, _, hasY := b.History.Best(metric)
		if hasX != hasY {
			return cmp.Compare(fmt.Sprint(hasY), fmt.Sprint(hasX)) // true first
		}
		if train.Rises(metric) {
			x, y = y, x
		}
		return cmp.Compare(x, y)
	})
	return nil
}

// metricsOf lists the metrics that some run has.
func metricsOf(runs []runRecord) []string {
	all := map[string]bool{}
	for _, r := range runs {
		for _, name := range r.History.Metrics() {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// A setting is a setting in which runs differ, with its value in each; nil where it is not set.
type setting struct {
	path   string
	values []any
}

// settingsThatDiffer returns the settings in which runs differ, by their paths in a configuration.
func settingsThatDiffer(runs []runRecord) []setting {
	values := make([]any, len(runs))
	for i, r := range runs {
		values[i] = r.settings
	}
	return differences("", values)
}

// differences returns the parts in which values differ, as deep inside as all of them have parts of the same names or
// numbers. Names with other settings are not compared inside.
func differences(path string, values []any) (list []setting) {
	if !slices.ContainsFunc(values, func(v any) bool { return !reflect.DeepEqual(v, values[0]) }) {
		return nil
	}
	keys, lengths := map[string]bool{}, map[int]bool{}
	for _, v := range values {
		if settingName(v) != settingName(values[0]) { // adam: {lr: 0.01} and sgd
			return []setting{{path, values}}
		}
		switch v := v.(type) {
		case map[string]any:
			for key := range v {
				keys[key] = true
			}
			lengths[-1] = true
		case []any:
			lengths[len(v)] = true
		default:
			return []setting{{path, values}}
		}
	}
	if len(lengths) > 1 {
		return []setting{{path, values}}
	}
	part := func(name string, of func(v any) any) {
		inside := make([]any, len(values))
		for i, v := range values {
			inside[i] = of(v)
		}
		list = append(list, differences(strings.TrimPrefix(path+"."+name, "."), inside)...)
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		part(key, func(v any) any { return v.(map[string]any)[key] })
	}
	if first, ok := values[0].([]any); ok {
		for i := range first {
			part(fmt.Sprint(i), func(v any) any { return v.([]any)[i] })
		}
	}
	return list
}

// seconds returns how long a run was trained, without validation, and samples per second.
func (r runRecord) seconds() (total, rate float64) {
	total = r.Position.Running.Seconds
	for _, s := range r.History["seconds"] {
		total += s
	}
	samples := float64(r.Position.Epoch)*float64(r.Position.Samples) + float64(r.Position.Consumed)
	return total, samples / max(total, 1e-9)
}

// A column of a table is left out where there is no room: the highest rank first, and of one rank the last.
type column struct {
	cells []string // the heading first
	rank  int
}

// showRuns prints a table of at most the given width.
func showRuns(w io.Writer, runs []runRecord, different []setting, width int) error {
	var columns []column
	add := func(rank int, heading string, cell func(i int, r runRecord) string) {
		cells := []string{heading}
		for i, r := range runs {
			cells = append(cells, clip(printable(cell(i, r)), widestCell))
		}
		columns = append(columns, column{cells, rank})
	}
	add(0, "run", func(_ int, r runRecord) string { return r.name })
	for _, s := range different {
		if s.path == "epochs" {
			continue // which has a column
		}
		add(3, s.path, func(i int, _ runRecord) string { return settingText(s.values[i]) })
	}
	add(2, "epochs", func(_ int, r runRecord) string { return fmt.Sprintf("%d/%d", r.Position.Epoch, r.Config.Epochs) })
	for _, name := range shownMetrics(metricsOf(runs)) {
		rank := 4
		if strings.HasSuffix(name, "loss") || strings.HasSuffix(name, "accuracy") {
			rank = 1
		}
		add(rank+1, name, func(_ int, r runRecord) string {
			x, ok := r.History.Last(name)
			return metricText(name, x, ok)
		})
		add(rank, "best "+name, func(_ int, r runRecord) string {
			x, epoch, ok := r.History.Best(name)
			if !ok {
				return "-"
			}
			return fmt.Sprintf("%s @%d", metricText(name, x, ok), epoch)
		})
	}
	add(4, "time", func(_ int, r runRecord) string {
		total, _ := r.seconds()
		return timeText(total)
	})
	add(5, "samples/s", func(_ int, r runRecord) string {
		_, rate := r.seconds()
		return fmt.Sprintf("%.0f", rate)
	})
	columns, left := fitColumns(columns, width)
	rows := make([][]string, len(runs)+1)
	for _, c := range columns {
		for i, cell := range c.cells {
			rows[i] = append(rows[i], cell)
		}
	}
	if err := writeTable(w, rows); err != nil || len(left) == 0 {
		return err
	}
	_, err := fmt.Fprintf(w, "no room for %s; --json has all\n", strings.Join(left, ", "))
	return err
}

// shownMetrics returns those on validation data where there are any, and others of training; losses first.
func shownMetrics(all []string) (shown []string) {
	for _, loss := range []bool{true, false} {
		for _, name := range all {
			if strings.HasSuffix(name, "loss") == loss && !slices.Contains(all, "val_"+name) {
				shown = append(shown, name)
			}
		}
	}
	return shown
}

// timeText formats seconds.
func timeText(seconds float64) string {
	if seconds < 60 {
		return fmt.Sprintf("%.1f s", seconds)
	}
	return clockText(time.Duration(seconds * float64(time.Second)))
}

// fitColumns leaves out columns until those that stay fit the width, and returns the headings of the others.
func fitColumns(columns []column, width int) (fitting []column, left []string) {
	used := 0
	for _, c := range columns {
		used += c.width()
	}
	for used > width {
		last := 0
		for i, c := range columns {
			if c.rank > 0 && c.rank >= columns[last].rank {
				last = i
			}
		}
		if columns[last].rank == 0 {
			break
		}
		used -= columns[last].width()
		left = append(left, columns[last].cells[0])
		columns = slices.Delete(columns, last, last+1)
	}
	slices.Reverse(left)
	return columns, slices.Compact(left)
}

// width returns the number of characters of a column, with the space before it.
func (c column) width() int {
	widest := 0
	for _, cell := range c.cells {
		widest = max(widest, min(widestCell, len([]rune(cell))))
	}
	return widest + 2
}

// metricText formats the value of a metric.
func metricText(name string, x float64, ok bool) string {
	switch {
	case !ok:
		return "-"
	case strings.HasSuffix(name, "accuracy"):
		return fmt.Sprintf("%.2f%%", 100*x)
	}
	return lossText(x)
}

// settingText formats a setting as YAML would in one line: of layers, their names.
func settingText(v any) string {
	switch v := v.(type) {
	case nil:
		return "-"
	case float64:
		return fmt.Sprintf("%.4g", v)
	case []any:
		var names []string
		for _, part := range v {
			if name := settingName(part); name != "" {
				names = append(names, name)
			}
		}
		if len(names) == len(v) {
			return strings.Join(names, "-")
		}
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return strings.NewReplacer(`"`, "", ":", ": ", ",", ", ").Replace(string(text))
}

// settingName returns the name of a setting that is a name, or a name with settings; else "".
func settingName(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case map[string]any:
		if names := slices.Collect(maps.Keys(v)); len(names) == 1 {
			return names[0]
		}
	}
	return ""
}

// runsJSON prints an object for each run.
func runsJSON(w io.Writer, runs []runRecord, different []setting) error {
	for i, r := range runs {
		settings, last, best := fields{}, fields{}, fields{}
		for _, s := range different {
			settings = append(settings, field{s.path, s.values[i]})
		}
		for _, name := range r.History.Metrics() {
			if x, ok := r.History.Last(name); ok {
				last = append(last, field{name, jsonNumber(x)})
			}
			if x, epoch, ok := r.History.Best(name); ok {
				best = append(best, field{name, fields{{"value", jsonNumber(x)}, {"epoch", epoch}}})
			}
		}
		total, rate := r.seconds()
		err := encodeLine(w, fields{{"run", r.name}, {"settings", settings}, {"epoch", r.Position.Epoch}, {"epochs", r.Config.Epochs}, {"step", r.Position.Step},
			{"last", last}, {"best", best}, {"seconds", total}, {"samples_per_second", rate}})
		if err != nil {
			return err
		}
	}
	return nil
}

// jsonNumber returns x, or null where JSON has no such number.
func jsonNumber(x float64) any {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return x
}
