//go:build cgo

package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	loader "github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// confusionMatrix is the name of that metric.
const confusionMatrix = "confusion_matrix"

// An evaluation is the metrics of a run on labelled samples.
type evaluation struct {
	run       *train.Run
	confusion bool // whether to show the confusion matrix

	metrics train.Metrics
	matrix  []float64 // samples by label and predicted class; nil if it was not computed
	classes int
}

// evaluate computes the metrics, and the confusion matrix where classes have names.
func (e *evaluation) evaluate(ctx context.Context, samples loader.Dataset) (err error) {
	config := &e.run.Config
	if e.confusion && !e.run.Classifies() {
		return fmt.Errorf("--confusion: the loss is %v, not one of classes", config.Loss)
	}
	if e.confusion || e.run.Classifies() && e.run.ClassNames() != nil {
		if !config.HasMetric(confusionMatrix) {
			config.Metrics = append(slices.Clone(config.Metrics), confusionMatrix)
		}
	}
	if e.metrics, err = e.run.EvaluateTogether(ctx, samples, group()); err != nil {
		return err
	}
	if counts, ok := e.metrics.Values[confusionMatrix]; ok && counts.Rank() == 2 {
		e.matrix, err = storage.Read[float64](counts)
		e.classes = counts.Shape[0]
		e.confusion = e.confusion || e.run.ClassNames() == nil
	}
	return err
}

// className returns the name of a class, or its number.
func (e *evaluation) className(class int) string {
	if names := e.run.ClassNames(); class < len(names) {
		return names[class]
	}
	return fmt.Sprint(class)
}

// counted says what the matrix counts.
func (e *evaluation) counted() string {
	if data := &e.run.Config.Data; data.Weights != "" || data.ValWeights != "" {
		return "weight"
	}
	return "samples"
}

// of returns how many samples have a label, and for how many of them the model says so.
func (e *evaluation) of(label int) (samples, correct float64) {
	for _, n := range e.matrix[label*e.classes:][:e.classes] {
		samples += n
	}
	return samples, e.matrix[label*e.classes+label]
}

// others returns the metrics without the confusion matrix, which is shown by class.
func (e *evaluation) others() train.Metrics {
	m := e.metrics
	if e.matrix != nil {
		m.Values = maps.Clone(m.Values)
		delete(m.Values, confusionMatrix)
	}
	return m
}

func (e *evaluation) show(w io.Writer) error {
	tables, err := tablesText(e.others())
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%d samples  %s\n%s", e.metrics.Samples, numbersText(numbersOf(e.metrics, e.run.HasAccuracy(), "")), tables)
	if err != nil || e.matrix == nil {
		return err
	}
	if e.run.ClassNames() != nil {
		rows := [][]string{{"class", e.counted(), "correct"}}
		for class := range e.classes {
			samples, correct := e.of(class)
			share := "-"
			if samples > 0 {
				share = fmt.Sprintf("%.1f%%", 100*correct/samples)
			}
			rows = append(rows, []string{e.className(class), fmt.Sprintf("%.6g", samples), share})
		}
		if err := writeTable(w, rows); err != nil {
			return err
		}
	}
	if !e.confusion {
		return nil
	}
	fmt.Fprintln(w, "confusion matrix: a row for each label, a column for each predicted class")
	head := []string{""}
	for class := range e.classes {
		head = append(head, e.className(class))
	}
	rows := [][]string{head}
	for label := range e.classes {
		row := []string{e.className(label)}
		for _, n := range e.matrix[label*e.classes:][:e.classes] {
			row = append(row, fmt.Sprintf("%.6g", n))
		}
		rows = append(rows, row)
	}
	return writeTable(w, rows)
}

// widestCell is the most characters of a cell that are shown.
const widestCell = 24

// writeTable writes rows of cells below one another: the first column to the left, the
// others to the right.
func writeTable(w io.Writer, rows [][]string) error {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for k, cell := range row {
			row[k] = clip(printable(cell), widestCell)
			widths[k] = max(widths[k], len([]rune(row[k])))
		}
	}
	for _, row := range rows {
		var b strings.Builder
		for k, cell := range row {
			space := strings.Repeat(" ", widths[k]-len([]rune(cell)))
			if k == 0 {
				b.WriteString("  " + cell + space)
			} else {
				b.WriteString("  " + space + cell)
			}
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(b.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

func (e *evaluation) json(w io.Writer) error {
	object := slices.Concat(fields{{"samples", e.metrics.Samples}}, numbersJSON(numbersOf(e.metrics, e.run.HasAccuracy(), "")), tablesJSON(e.others()))
	if e.matrix != nil {
		classes, matrix := []fields{}, [][]float64{}
		for class := range e.classes {
			samples, correct := e.of(class)
			classes = append(classes, fields{{"name", e.className(class)}, {e.counted(), samples}, {"correct", correct}})
			matrix = append(matrix, e.matrix[class*e.classes:][:e.classes])
		}
		object = append(object, field{"classes", classes})
		if e.confusion {
			object = append(object, field{confusionMatrix, matrix})
		}
	}
	return encodeLine(w, object)
}
