package train

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/h5dnn/h5dnn/internal/atomicfile"
	"github.com/h5dnn/h5dnn/internal/trace"
	"github.com/h5dnn/h5dnn/train/report"
)

// ReportOptions are the settings of a [Reporter].
type ReportOptions struct {
	File string `json:"file"` // the page; beside the run, with its name, if empty
}

// Reporter writes an HTML page about the run once it is complete: curves, confusion matrix, samples with the largest loss, what was slow.
type Reporter struct {
	OnlyProgress
	ReportOptions
	times *trace.Recorder
}

// NewReporter returns a callback that writes a page about the run.
func NewReporter(o ReportOptions) *Reporter { return &Reporter{ReportOptions: o} }

// Outputs returns the file that r writes, of a run in the named file.
func (r *Reporter) Outputs(run string) []string { return []string{besides(r.File, ".html")(run)} }

// RunBegin starts to measure.
func (r *Reporter) RunBegin(p Plan) error {
	if p.Training.Writes() {
		r.times = trace.Start(false)
	}
	return nil
}

// Finish writes the page.
func (r *Reporter) Finish(t *Training) error {
	if !t.Writes() {
		return nil
	}
	if t.File() == "" && r.File == "" {
		return errNoName
	}
	name := r.Outputs(t.File())[0]
	page, err := t.Run().Report(context.Background(), filepath.Base(cmp.Or(t.File(), name)), t.t.val)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, k := range []trace.Kind{trace.Reading, trace.Decoding, trace.Copying, trace.Augmenting, trace.Waiting, trace.Computing, trace.Validating, trace.Saving} {
		took := r.times.Total(k)
		if k == trace.Decoding {
			took = max(0, took-r.times.Total(trace.Reading)) // which happens inside
		}
		page.Times = append(page.Times, report.Time{Name: k.String(), Took: took})
	}
	slices.SortStableFunc(page.Times, func(a, b report.Time) int { return cmp.Compare(b.Took, a.Took) })
	return atomicfile.Write(name, func(f *atomicfile.File) error { return report.Write(f, page) })
}

// RunEnd ends the measurement.
func (r *Reporter) RunEnd(error) {
	if r.times != nil {
		r.times.Stop()
	}
}

var _ = RegisterCallback("report", NewReporter, ReportOptions{})
