//go:build cgo

package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/arrayfmt"
	loader "github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// A monitor reports the progress of training: a bar on a terminal and a line for
// each epoch.
type monitor struct {
	job   *job
	out   *lasting
	errs  *lasting // the bar, and notes
	tty   bool     // errs shows a bar
	json  bool
	bar   liveLine
	began time.Time
	chose bool // whether it was printed how steps are replayed
}

func newMonitor(c *cli.Context, j *job) *monitor {
	return &monitor{job: j, out: &lasting{w: c.App.Writer}, errs: &lasting{w: c.App.ErrWriter}, tty: isRedrawn(c.App.ErrWriter), json: c.Bool("json"), began: time.Now()}
}

// begin prints the model and the data.
func (m *monitor) begin() {
	if m.json {
		for _, text := range assumptions(m.job.train) {
			m.note("assumed: " + printable(text))
		}
		return
	}
	run, data := m.job.train, m.job.data
	parameters := 0
	for _, p := range nn.Parameters(run.Model) {
		parameters += p.Len()
	}
	fmt.Fprintf(m.out, "%d parameters, %s; %d samples of %s", parameters, outline(run.Model), data.Train.Len(), sampleTypes(data.Train))
	if data.Val != nil {
		fmt.Fprintf(m.out, ", %d for validation", data.Val.Len())
	}
	if run.Device == storage.CPU {
		fmt.Fprintf(m.out, "; cpu, %d threads, on which the last bits depend", native.Threads())
	}
	fmt.Fprintln(m.out)
	if len(run.Assumptions) > 0 {
		fmt.Fprintf(m.out, "assumed: %s\n", printable(strings.Join(assumptions(run), "; ")))
	}
	if run.Position.Step > 0 {
		fmt.Fprintf(m.out, "resuming in epoch %d, after %d of %d samples\n", run.Position.Epoch+1, run.Position.Consumed, run.Position.Samples)
	}
}

// sampleTypes lists the types and shapes of the inputs of d.
func sampleTypes(d loader.Dataset) string {
	var list []string
	for _, f := range d.Fields() {
		if f.Role == loader.Input {
			list = append(list, fmt.Sprintf("%v %v", f.Type, f.Shape))
		}
	}
	return strings.Join(list, " and ")
}

// plan prints notes about the data and how a GPU will run the steps.
func (m *monitor) plan(p train.Plan) error {
	for _, note := range slices.Concat(m.job.data.Notes, p.Notes, p.Fallbacks) {
		m.note(note)
	}
	run := m.job.train
	if shards := run.Config.Shards; !m.json && shards > 1 {
		fmt.Fprintf(m.out, "%d shards of %d samples a batch, %d on each of %d processes\n", shards, run.Config.BatchSize/shards, shards/processes(), processes())
	}
	if !m.json && run.Device != storage.CPU {
		fmt.Fprintf(m.out, "%v: %s; %s\n", run.Device, m.kept(p), captured(p))
	}
	return nil
}

func (m *monitor) note(text string) error {
	_, err := fmt.Fprintf(m.errs, "note: %s\n", text)
	return err
}

// kept describes where the samples are, and why they are not on the GPU.
func (m *monitor) kept(p train.Plan) string {
	bytes := arrayfmt.Bytes(int(loader.Bytes(m.job.data.Train)))
	switch {
	case p.Resident:
		return "all samples in GPU memory, " + bytes
	case m.job.train.Config.Data.Resident == "":
		return fmt.Sprintf("samples are streamed: %s is more than half of the free GPU memory", bytes)
	}
	return fmt.Sprintf("samples are streamed, %s", bytes)
}

// captured describes whether steps are captured in a CUDA graph, and why not.
func captured(p train.Plan) string {
	switch {
	case p.Graph:
		return "steps are captured in a CUDA graph"
	case p.NoGraph != "":
		return "steps are not captured in a CUDA graph: " + p.NoGraph
	}
	return "steps are not captured in a CUDA graph"
}

// outline names the layers that have parameters, in order, or counts them where the
// model is not a list of layers.
func outline(model nn.Module) string {
	var kinds []string
	layers, list := model.(nn.Sequential)
	if list {
		for _, layer := range layers {
			for range nn.Parameters(layer) {
				kinds = append(kinds, kindOf(layer))
				break
			}
		}
		return strings.Join(kinds, "-")
	}
	counts := map[string]int{}
	for _, m := range nn.Modules(model) {
		switch m.(type) {
		case nn.Sequential, *nn.Sequential, *nn.Graph, *nn.Residual:
			continue
		}
		for range nn.Parameters(m) {
			if counts[kindOf(m)]++; counts[kindOf(m)] == 1 {
				kinds = append(kinds, kindOf(m))
			}
			break
		}
	}
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%d %s", counts[kind], kind)
	}
	return strings.Join(kinds, ", ")
}

// kindOf names the type of a layer.
func kindOf(m nn.Module) string {
	return strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", m), "*nn."))
}

// batch updates the bar.
func (m *monitor) batch(p train.Progress) error {
	if m.json || !m.tty || !m.bar.due() {
		return nil
	}
	m.bar.w = m.errs
	metrics := p.Metrics
	var err error
	if metrics.Values, err = p.Values(); err != nil {
		return err
	}
	m.bar.show(m.progress(p, numbersOf(metrics, m.job.train.HasAccuracy(), ""), columnsOf(m.errs.w, 80)))
	return nil
}

// progress returns the line of the bar, with the metrics of the configuration among numbers. Narrow terminals show the same numbers without their names, and no bar.
func (m *monitor) progress(p train.Progress, numbers []namedNumber, columns int) string {
	share := float64(p.Done) / float64(max(1, p.Samples))
	var behind []part
	if p.Metrics.Samples > 0 { // else the GPU has not been read yet
		behind = append(behind, part{"loss " + lossText(p.MeanLoss()), lossText(p.MeanLoss()), 0})
	}
	if p.Metrics.Samples > 0 && m.job.train.HasAccuracy() {
		behind = append(behind, part{fmt.Sprintf("accuracy %.2f%%", 100*p.Accuracy()), fmt.Sprintf("%.1f%%", 100*p.Accuracy()), 1})
	}
	for _, n := range numbers {
		if n.name != "loss" && n.name != "accuracy" {
			behind = append(behind, part{fmt.Sprintf("%s %.4g", n.name, n.value), fmt.Sprintf("%s %.2g", n.name, n.value), 4})
		}
	}
	if seconds := p.Elapsed.Seconds(); seconds > 0 {
		rate := float64(p.Trained) / seconds
		behind = append(behind, part{fmt.Sprintf("%.0f samples/s", rate), rateText(rate), 3})
	}
	left := remaining(p.Elapsed, float64(p.Trained)/float64(max(1, p.Trained+p.Samples-p.Done)))
	behind = append(behind, part{left, strings.TrimSuffix(left, " left"), 2})
	if text := waiting(p.Waited.Seconds(), p.Elapsed.Seconds(), 0.01); text != "" {
		behind = append(behind, part{text, strings.Replace(text, " waiting for data", "w", 1), 3})
	}
	epoch := fmt.Sprintf("%d/%d", p.Epoch, p.Epochs)
	return barLine(columns, part{"epoch " + epoch, epoch, 0}, share, behind)
}

// rateText formats samples per second in few characters: 870/s, 5.1k/s, 64k/s, 1.2M/s.
func rateText(rate float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e6, "M"}, {1e3, "k"}} {
		if rate >= 10*unit.size {
			return fmt.Sprintf("%.0f%s/s", rate/unit.size, unit.name)
		} else if rate >= unit.size {
			return fmt.Sprintf("%.1f%s/s", rate/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%.0f/s", rate)
}

// lossText formats a loss: with four digits after the point, or with an exponent if it is
// large.
func lossText(x float64) string {
	if math.Abs(x) >= 1e5 {
		return fmt.Sprintf("%.5g", x)
	}
	return fmt.Sprintf("%.4f", x)
}

// waiting returns the share of time spent waiting for data, if it is more than least.
func waiting(waited, seconds, least float64) string {
	if waited <= seconds*least {
		return ""
	}
	return fmt.Sprintf("%.0f%% waiting for data", 100*waited/seconds)
}

// epoch prints the line of an epoch.
func (m *monitor) epoch(e train.Epoch) error {
	m.end()
	if m.json {
		return m.epochJSON(e)
	}
	if err := m.choice(e.Plan); err != nil {
		return err
	}
	_, err := fmt.Fprintln(m.out, fit(m.epochParts(e), columnsOf(m.out.w, math.MaxInt)))
	return err
}

// epochParts returns the parts of the line of an epoch. What narrow terminals have no room
// for goes in this order: the share of waiting, time and speed, the metrics of the
// configuration, the accuracy of training.
func (m *monitor) epochParts(e train.Epoch) []part {
	parts := []part{{fmt.Sprintf("epoch %d/%d", e.Number, e.Epochs), fmt.Sprintf("%d/%d", e.Number, e.Epochs), 0}}
	for _, n := range m.numbersOf(e) {
		name, short, rank := n.name, strings.NewReplacer("val_loss", "val", "val_accuracy", "val", "accuracy", "acc", "loss", "").Replace(n.name), 2
		switch n.name {
		case "loss", "val_loss":
			rank = 0
		case "val_accuracy":
			short, rank = "", 0
		case "accuracy":
			short, rank = "", 1
		}
		text, brief := lossText(n.value), fmt.Sprintf("%.3g", n.value)
		if n.percent {
			text, brief = fmt.Sprintf("%.2f%%", 100*n.value), fmt.Sprintf("%.1f%%", 100*n.value)
		}
		parts = append(parts, part{name + " " + text, strings.TrimSpace(short + " " + brief), rank})
	}
	parts = append(parts, part{fmt.Sprintf("%.0f samples/s", float64(e.Train.Samples)/e.Train.Seconds), "", 4}, part{fmt.Sprintf("%.1f s", e.Train.Seconds), "", 3})
	if text := waiting(e.Train.Waited, e.Train.Seconds, 0.1); text != "" {
		parts = append(parts, part{text, "", 5})
	}
	return parts
}

// numbersOf returns those of training and of validation.
func (m *monitor) numbersOf(e train.Epoch) []namedNumber {
	accuracy := m.job.train.HasAccuracy()
	all := numbersOf(e.Train, accuracy, "")
	if e.Val != nil {
		all = append(all, numbersOf(*e.Val, accuracy, "val_")...)
	}
	return all
}

func (m *monitor) epochJSON(e train.Epoch) error {
	all := m.numbersOf(e)
	for _, name := range slices.Sorted(maps.Keys(e.Numbers)) {
		all = append(all, namedNumber{name: name, value: e.Numbers[name]})
	}
	line := append(fields{{"epoch", e.Number}, {"epochs", e.Epochs}}, numbersJSON(all)...)
	line = append(line, field{"samples", e.Train.Samples}, field{"seconds", e.Train.Seconds}, field{"waited", e.Train.Waited},
		field{"device", m.job.train.Device.String()}, field{"data", held(e.Plan)}, field{"captured", e.Plan.Graph}, field{"recorded", e.Plan.Graph}) // recorded is the old name, for one version
	if err := encode(m.out, line); err != nil {
		return err
	}
	_, err := io.WriteString(m.out, "\n")
	return err
}

// choice prints once how captured steps are replayed, when that was measured.
func (m *monitor) choice(p train.Plan) error {
	if p.GraphChoice == nil || m.chose {
		return nil
	}
	m.chose = true
	_, err := fmt.Fprintf(m.out, "%v: %v\n", m.job.train.Device, p.GraphChoice)
	return err
}

// held names the place that samples are read from in each epoch.
func held(p train.Plan) string {
	switch {
	case p.Resident:
		return "resident" // on the device
	case p.CacheAll:
		return "memory" // decoded once
	}
	return "streamed" // out of files
}

// end clears the bar.
func (m *monitor) end() {
	m.bar.clear()
}

// done prints where the run was written. It returns an error if what was printed is lost.
func (m *monitor) done(curves string) error {
	if !m.json {
		fmt.Fprintf(m.out, "%.1f s; run written to %s%s\n", time.Since(m.began).Seconds(), m.job.file, curves)
	}
	if err := m.out.lost(); err != nil {
		return fmt.Errorf("run written to %s; its report is lost: %w", m.job.file, err)
	}
	return nil
}

// assumptions lists what a run assumed, with the flags that say otherwise.
func assumptions(run *train.Run) []string {
	var list []string
	for _, a := range run.Assumptions {
		if a.Setting != "" {
			a.Text += fmt.Sprintf("; --%s %s says otherwise", a.Setting, a.Value)
		}
		list = append(list, a.Text)
	}
	return list
}
