package train

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// LogOptions are the settings of a log.
type LogOptions struct {
	File  string `json:"file"`  // the log; beside the run, with its name, if empty
	Every int    `json:"every"` // steps between rows of steps; rows of epochs only if 0
}

// A log is a callback that appends records to a file: rows of every N steps and of epochs. The first process writes it.
// The number of records is part of the run's state, so that the rows of a run that is resumed follow those before its last
// save, as if it had not been interrupted.
type log struct {
	OnlyProgress
	name   string
	every  int
	path   func(run string) string                    // of the file, for a run file
	append func(b []byte, row logRow) ([]byte, error) // appends a row to b, as the file has it
	begin  func(continued bool) error                 // reads what rows depend on from a file that is continued, or writes what comes before rows; nil for neither
	size   func(r *bufio.Reader) (int64, error)       // reads a record and returns its bytes

	run     *Run
	file    *os.File // nil if this process does not write
	rows    []byte   // that are not in the file yet
	flushed time.Time
	err     error // of a write that nothing could return
	records int   // of the file, with rows
	resumed bool

	sums            Metrics       // of the epoch, up to its last row
	elapsed, waited time.Duration // then
}

// A logRow is a row of a log.
type logRow struct {
	Epoch   bool // of an epoch, else of steps
	Time    time.Time
	Step    uint64
	Numbers []logNumber // epoch and step first
}

type logNumber struct {
	name  string
	value float64
}

var errNoName = fmt.Errorf("the run is not saved, so that a file beside it has no name; name it: %w", storage.ErrState)

// flushAfter is how long rows may wait to be written, unless an epoch ends or the run is saved before.
const flushAfter = time.Second

// Name returns the name of l in run files.
func (l *log) Name() string { return l.name }

// Outputs returns the files that l writes, of a run in the named file.
func (l *log) Outputs(run string) []string { return []string{l.path(run)} }

// besides returns the function that names a log: file, or the run file with another ending.
func besides(file, ending string) func(run string) string {
	return func(run string) string {
		if file != "" {
			return file
		}
		return strings.TrimSuffix(run, filepath.Ext(run)) + ending
	}
}

// RunBegin opens the file, and cuts off what was written after the run was saved.
func (l *log) RunBegin(p Plan) error {
	l.run, l.elapsed, l.waited, l.flushed = p.Training.Run(), 0, 0, time.Now()
	if !p.Training.Writes() {
		return nil
	}
	path := l.path(p.Training.File())
	if p.Training.File() == "" && path != l.path("other") {
		return fmt.Errorf("%s: %w", l.name, errNoName)
	}
	if err := l.open(path); err != nil {
		return fmt.Errorf("%s: %w", l.name, err)
	}
	return nil
}

func (l *log) open(path string) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	if l.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666); err != nil {
		return err
	}
	info, err := l.file.Stat()
	switch {
	case err != nil:
		return err
	case !l.resumed && info.Size() > 0:
		return fmt.Errorf("%s exists, and is of another run; move it away or name another file: %w", path, storage.ErrState)
	}
	length, err := l.lengthOf(l.file, l.records)
	if err != nil {
		return fmt.Errorf("%s has fewer than the %d records that it had when the run was saved (%w); put it back, or copy it there", path, l.records, err)
	}
	if err := l.file.Truncate(length); err != nil {
		return err
	}
	if _, err := l.file.Seek(length, io.SeekStart); err != nil || l.begin == nil {
		return err
	}
	return l.begin(l.records > 0)
}

// lengthOf returns the bytes of a number of records.
func (l *log) lengthOf(r io.Reader, records int) (length int64, err error) {
	buffered := bufio.NewReader(r)
	for range records {
		n, err := l.size(buffered)
		if err != nil {
			return 0, err
		}
		length += n
	}
	return length, nil
}

// lineSize reads a line and returns its bytes.
func lineSize(r *bufio.Reader) (n int64, err error) {
	for {
		part, err := r.ReadSlice('\n')
		n += int64(len(part))
		if err != bufio.ErrBufferFull {
			return n, err
		}
	}
}

// write appends records to the file, now or soon.
func (l *log) write(b []byte) {
	l.rows = append(l.rows, b...)
	for r := bufio.NewReader(bytes.NewReader(b)); ; l.records++ {
		if _, err := l.size(r); err != nil {
			return
		}
	}
}

// flush writes the rows that wait.
func (l *log) flush() error {
	if l.file == nil || l.err != nil {
		return l.err
	}
	if _, err := l.file.Write(l.rows); err != nil {
		l.err = fmt.Errorf("%s: %w", l.name, err)
	}
	l.rows, l.flushed = l.rows[:0], time.Now()
	return l.err
}

// add appends a row.
func (l *log) add(row logRow) error {
	b, err := l.append(nil, row)
	if err != nil {
		return fmt.Errorf("%s: %w", l.name, err)
	}
	l.write(b)
	if row.Epoch || time.Since(l.flushed) > flushAfter {
		return l.flush()
	}
	return l.err
}

// looksAtMetrics reports whether l looks at the metrics after a step.
func (l *log) looksAtMetrics(step uint64) bool { return l.every > 0 && step%uint64(l.every) == 0 }

// StepEnd adds a row: means over the steps since the row before, in the epoch.
func (l *log) StepEnd(p Progress) error {
	if !l.looksAtMetrics(p.Step) {
		return nil
	}
	since := Metrics{
		Samples: p.Metrics.Samples - l.sums.Samples, Loss: p.Loss - l.sums.Loss, Correct: p.Correct - l.sums.Correct, Ignored: p.Ignored - l.sums.Ignored,
		Seconds: (p.Elapsed - l.elapsed).Seconds(), Waited: (p.Waited - l.waited).Seconds(),
	}
	l.sums, l.elapsed, l.waited = p.Metrics, p.Elapsed, p.Waited
	if l.file == nil {
		return nil
	}
	row := logRow{Time: time.Now(), Step: p.Step, Numbers: []logNumber{{"epoch", float64(p.Epoch)}, {"step", float64(p.Step)}}}
	row.addMetrics(since, l.run.HasAccuracy(), "")
	row.addSpeed(l.run.Optimizer.Rate(), since)
	return l.add(row)
}

// EpochEnd adds a row of the epoch.
func (l *log) EpochEnd(e Epoch) error {
	l.sums, l.elapsed, l.waited = Metrics{}, 0, 0
	if l.file == nil {
		return nil
	}
	row := logRow{Epoch: true, Time: time.Now(), Step: l.run.Position.Step, Numbers: []logNumber{{"epoch", float64(e.Number)}, {"step", float64(l.run.Position.Step)}}}
	row.addMetrics(e.Train, l.run.HasAccuracy(), "")
	if e.Val != nil {
		row.addMetrics(*e.Val, l.run.HasAccuracy(), "val_")
	}
	for _, name := range slices.Sorted(maps.Keys(e.Numbers)) {
		row.Numbers = append(row.Numbers, logNumber{name, e.Numbers[name]})
	}
	rate, _ := l.run.History.Last("lr")
	row.addSpeed(rate, e.Train)
	return l.add(row)
}

// addMetrics adds the loss and the metrics that are single numbers.
func (r *logRow) addMetrics(m Metrics, accuracy bool, prefix string) {
	for name, value := range m.Numbers(accuracy) {
		r.Numbers = append(r.Numbers, logNumber{prefix + name, value})
	}
}

// addSpeed adds the learning rate, the speed and the share of time spent waiting for data.
func (r *logRow) addSpeed(rate float64, m Metrics) {
	seconds := max(m.Seconds, 1e-9)
	r.Numbers = append(r.Numbers, logNumber{"lr", rate}, logNumber{"samples_per_second", float64(m.Samples) / seconds}, logNumber{"waiting", m.Waited / seconds})
}

// State yields the number of records and the sums at the last row. What waits is written.
func (l *log) State() iter.Seq2[string, storage.Array] {
	return func(yield func(string, storage.Array) bool) {
		l.flush()
		state := []float64{float64(l.records), float64(l.sums.Samples), l.sums.Loss, float64(l.sums.Correct), float64(l.sums.Ignored)}
		yield("position", storage.From(state, len(state)))
	}
}

// Load takes what State yielded.
func (l *log) Load(_ iter.Seq2[string, *nn.Parameter], state iter.Seq2[string, storage.Array]) error {
	for _, a := range state {
		s, err := storage.Read[float64](a)
		if err != nil || len(s) != 5 || !(s[0] >= 0 && s[0] < 1<<53) {
			return errors.Join(err, fmt.Errorf("the position of the log is %v; want a number of records and four sums: %w", s, storage.ErrState))
		}
		l.resumed, l.records = true, int(s[0])
		l.sums = Metrics{Samples: int(s[1]), Loss: s[2], Correct: int(s[3]), Ignored: int(s[4])}
	}
	return nil
}

// RunEnd writes what waits and closes the file.
func (l *log) RunEnd(error) {
	if l.file != nil {
		l.flush()
		l.file.Close()
		l.file = nil
	}
}

// checkEvery refuses negative numbers of steps.
func checkEvery(name string, every int) {
	if every < 0 {
		tensor.Fail(name, nn.ErrConfig, "every %d steps; want a positive number, or 0 for epochs only", every)
	}
}
