package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/arrayfmt"
	loading "github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/storage"
)

// show prints the findings, a verdict and the command to run next.
func (d *doctor) show(w io.Writer) error {
	warned := len(d.warnings)
	for _, f := range d.warnings {
		fmt.Fprintf(w, "%s\n", printable("warning: "+f.String()))
	}
	for _, p := range d.candidates {
		line := fmt.Sprintf("%s  %s %s  %s", p.path, p.dtype, p.length, p.layout)
		if p.encoding != "" {
			line += ", " + p.encoding
		}
		for _, fact := range p.facts {
			line += ", " + fact
		}
		fmt.Fprintln(w, printable(line))
		for _, warning := range p.allWarnings() {
			warned++
			fmt.Fprintln(w, printable("  warning: "+warning))
		}
		for _, text := range p.measured.lines(p.rows) {
			fmt.Fprintln(w, "  "+text)
		}
		if advice := p.advice(d.name); advice != "" {
			fmt.Fprintln(w, printable("  advice: "+advice))
		}
	}
	if n := len(d.unusable); n > 0 {
		var some []string
		for _, f := range d.unusable {
			some = append(some, fmt.Sprintf("%s (%s)", f.Path, f.Message))
		}
		fmt.Fprintf(w, "not to train on: %s\n", someOf(some, d.each))
	}
	if d.remote != nil {
		fmt.Fprintln(w, d.remote)
		switch {
		case d.remote.paged == 0:
			fmt.Fprintln(w, "  advice: h5dnn repack --paged auto puts headers together, which few requests fetch")
		case int(d.remote.requests) > 2*d.remote.paged:
			fmt.Fprintf(w, "  advice: about %d requests after h5dnn repack --paged auto\n", d.remote.paged)
		}
	}
	fmt.Fprintf(w, "%s  %s to train on, %s\n", printable(d.name), plural(d.datasets(), "dataset"), plural(warned, "warning"))
	verdict, command := d.verdict()
	_, err := fmt.Fprintf(w, "verdict: %s\nrun: %s\n", printable(verdict), printable(command))
	return err
}

// datasets returns the number of datasets that can be trained on.
func (d *doctor) datasets() (n int) {
	for _, p := range d.candidates {
		n += len(p.paths)
	}
	return n
}

// allWarnings returns the warnings, including missing values.
func (p *trainingCandidate) allWarnings() (all []string) {
	for _, m := range p.missing {
		text := m.text(p.encoding)
		if name := cmp.Or(m.First.Name, m.FirstInf.Name); name != "" && len(p.paths) == 1 { // which is above the warning
			text = strings.ReplaceAll(text, name+" ", "")
		}
		all = append(all, text)
	}
	return append(all, p.warnings...)
}

// fillValue matches a value of NetCDF that stands for missing ones, in the description of an encoding.
var fillValue = regexp.MustCompile(`(\S+) missing\b`)

// text says which values are missing: "4891 of 20000 elements (24 %) are NaN, in 3 of 40 columns; the
// first is x.h5: /obs row 12, column 7 (all 500 rows)".
func (m missingValues) text(encoding string) string {
	if m.labels > 0 {
		return fmt.Sprintf("%d of %d labels (%s) are missing (%s)", m.labels, m.elements, share(m.labels, m.elements), m.rows)
	}
	var parts []string
	add := func(n int, what string, first fmt.Stringer, in func(c int) bool) {
		if n == 0 {
			return
		}
		columns := 0
		for i := range m.Columns {
			if in(i) {
				columns++
			}
		}
		text := fmt.Sprintf("%d of %d elements (%s) are %s", n, m.elements, share(n, m.elements), what)
		if len(m.Columns) > 1 {
			text += fmt.Sprintf(", in %d of %d columns", columns, len(m.Columns))
		}
		parts = append(parts, fmt.Sprintf("%s; the first is %v", text, first))
	}
	what, fills := "NaN", []string{}
	for _, found := range fillValue.FindAllStringSubmatch(encoding, -1) {
		fills = append(fills, found[1])
	}
	if strings.HasPrefix(encoding, "from float") {
		fills = append(fills, what)
	}
	if len(fills) > 0 {
		what = "missing (stored as " + strings.Join(fills, " or ") + ")"
	}
	add(m.NaN, what, m.First, func(c int) bool { return m.Columns[c].NaN > 0 })
	add(m.Inf, "infinite", m.FirstInf, func(c int) bool { return m.Columns[c].Inf > 0 })
	return strings.Join(parts, "; ") + " (" + m.rows + ")"
}

// share returns n of all in percent.
func share(n, all int) string {
	if percent := 100 * float64(n) / float64(max(1, all)); percent >= 0.1 {
		return strconv.FormatFloat(percent, 'g', 3, 64) + " %"
	}
	return "below 0.1 %"
}

// lines describe a measurement.
func (m *measurement) lines(n int) []string {
	if m == nil {
		return nil
	}
	text := fmt.Sprintf("an epoch: %v", m.first)
	if m.kept {
		text = fmt.Sprintf("first epoch %v, later ones %v", m.first, m.later)
	}
	lines := []string{fmt.Sprintf("%s, reading and decoding only (batches of %d, shuffle %s; measured on %s in the page cache)", text, batchRows, m.shuffle, rangeText(m.parts, n))}
	if m.shuffle == loading.Window.String() {
		lines = append(lines, fmt.Sprintf("shuffle %s mixes sorted rows %.3f times as well as a random order (entropy within batches)", m.shuffle, m.quality))
	}
	if m.amplification > 1 && !m.kept {
		lines = append(lines, fmt.Sprintf("shuffle exact decodes every row up to %.1f times (read amplification)", m.amplification))
	}
	return lines
}

// String returns seconds with their error, in the unit of the number: "12 s ± 2 s".
func (d duration) String() string {
	unit, scale := "s", 1.0
	switch {
	case d.value < 1e-3:
		unit, scale = "µs", 1e6
	case d.value < 1:
		unit, scale = "ms", 1e3
	case d.value >= 600:
		unit, scale = "min", 1.0/60
	}
	return fmt.Sprintf("%s %s ± %s %s", twoDigits(d.value*scale), unit, twoDigits(max(d.err*scale, d.value*scale/100)), unit)
}

// twoDigits returns x with two digits, or more before the point.
func twoDigits(x float64) string {
	digits := 1 - int(math.Floor(math.Log10(max(x, 1e-9))))
	return strconv.FormatFloat(x, 'f', max(0, digits), 64)
}

// advice returns what to do about slow storage, where a measurement says that it helps.
func (p *trainingCandidate) advice(file string) string {
	if !p.measured.advises() {
		return ""
	}
	r := p.measured.repacked
	return fmt.Sprintf("repacked for training, the first epoch takes %v instead of %v (%.1f ± %.1f times faster, same rows in both layouts), and the file %s more: %s",
		r.first, p.measured.first, r.gain.value, max(0.1, r.gain.err), arrayfmt.Bytes(p.bytes()), repackCommandFor(file))
}

// repackCommandFor returns the command that repacks a file for training.
func repackCommandFor(file string) string {
	out := strings.TrimSuffix(file, filepath.Ext(file)) + ".train.h5"
	return fmt.Sprintf("h5dnn repack --layout train %s %s", shellWord(file), shellWord(out))
}

// verdict returns the finding that matters most, and the command to run next.
func (d *doctor) verdict() (text, command string) {
	file := shellWord(d.name)
	var slow, missing, infinite *trainingCandidate
	damaged, incomplete := d.damaged, 0
	for _, p := range d.candidates {
		damaged = damaged || p.broken
		for _, m := range p.missing {
			if m.Inf > 0 && infinite == nil {
				infinite = p
			}
			if m.NaN+m.labels > 0 {
				if incomplete++; missing == nil || p.bytes() > missing.bytes() {
					missing = p
				}
			}
		}
		if p.measured.advises() && (slow == nil || p.measured.repacked.gain.value > slow.measured.repacked.gain.value) {
			slow = p
		}
	}
	switch {
	case d.elsewhere:
		return "some of it is in other files", fmt.Sprintf("h5dnn doctor --follow %s %s", shellWord(filepath.Dir(d.name)), file)
	case len(d.candidates) == 0:
		return "nothing to train on", "h5dnn inspect " + file
	case d.checkpoint:
		return "weights of a model, not data to train on", "h5dnn inspect " + file
	case damaged:
		return "not all of it can be read", "h5dnn verify " + file
	case infinite != nil:
		return infinite.path + " has infinities, which train refuses: leave these rows out with --rows, or replace them", "h5dnn inspect --stats " + file
	case missing != nil:
		text := missing.path + " has missing values"
		if incomplete > 1 {
			text = fmt.Sprintf("%s and %d more have missing values", missing.path, incomplete-1)
		}
		return text + "; the setting missing fills inputs (--missing x=mean, also previous or a number) and leaves targets out of the loss (y=ignore)", "h5dnn init " + file
	case slow != nil:
		return fmt.Sprintf("%s is read %.1f times faster after repacking", slow.path, slow.measured.repacked.gain.value), repackCommandFor(d.name)
	}
	if storage.IsURL(d.name) {
		return "stored for training; its values and speed were not measured", "h5dnn init " + file
	}
	return "ready for training", "h5dnn init " + file
}

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
		role := "inputs or targets"
		if p.labels {
			role = "labels"
		}
		f := fields{{"path", p.path}, {"dtype", p.dtype}, {"shape", p.shape}, {"role", role}, {"layout", p.layout}, {"row_bytes", p.rowBytes},
			{"facts", orEmpty(p.facts)}, {"warnings", orEmpty(p.allWarnings())}, {"missing", p.missingFields()}}
		if m := p.measured; m != nil {
			f = append(f, field{"measured", m.fields(p)}, field{"advice", p.advice(d.name)})
		}
		items = append(items, f)
	}
	verdict, command := d.verdict()
	f := fields{{"file", d.name}, {"datasets", items}, {"unusable", findings(d.unusable)}, {"warnings", findings(d.warnings)},
		{"verdict", verdict}, {"command", command}}
	if r := d.remote; r != nil {
		f = append(f, field{"remote", fields{{"requests", r.requests}, {"bytes", r.bytes}, {"seconds", r.seconds}, {"complete", r.ended}, {"requests_if_paged", r.paged}}})
	}
	return encodeLine(w, f)
}

func (p *trainingCandidate) missingFields() []fields {
	all := []fields{}
	for _, m := range p.missing {
		f := fields{{"nan", m.NaN}, {"inf", m.Inf}, {"labels", m.labels}, {"elements", m.elements}, {"rows", m.rows}}
		if m.NaN > 0 {
			f = append(f, field{"first", fields{{"row", m.First.Row}, {"index", append([]int{}, m.First.Index...)}}})
		}
		all = append(all, f)
	}
	return all
}

func (m *measurement) fields(p *trainingCandidate) fields {
	rows := 0
	for _, part := range m.parts {
		rows += part[1] - part[0]
	}
	f := fields{{"first_epoch_s", m.first.value}, {"first_epoch_error_s", m.first.err}, {"later_epoch_s", m.later.value}, {"later_epoch_error_s", m.later.err},
		{"rows_s", float64(p.rows) / m.first.value}, {"rows", rows}, {"parts", m.parts}, {"shuffle", m.shuffle}, {"shuffle_quality", m.quality}, {"kept", m.kept}, {"exact_amplification", m.amplification}}
	if r := m.repacked; r != nil {
		f = append(f, field{"train_first_epoch_s", r.first.value}, field{"train_rows_s", float64(p.rows) / max(r.first.value, 1e-9)}, field{"gain", r.gain.value}, field{"gain_error", r.gain.err})
	}
	return f
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
