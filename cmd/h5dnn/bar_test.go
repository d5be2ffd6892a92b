//go:build cgo

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// TestLinesFitTheTerminal: the bar and the lines of epochs fit 40, 80 and 120 columns, and
// keep the losses. The bar's line has the loss, the accuracy, the speed, the time left and the share of waiting in each.
func TestLinesFitTheTerminal(t *testing.T) {
	withDigits(t)
	config, err := train.ParseConfig([]byte("data: {file: testdata/digits.h5, x: train/images, y: train/labels}\nepochs: 1"))
	if err != nil {
		t.Fatal(err)
	}
	data, err := openData(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	run, err := train.New(t.Context(), config, data.Data, storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	m := &monitor{job: &job{train: run}}
	metrics := train.Metrics{Samples: 60000, Loss: 60000 * 0.1234, Correct: 58800, Seconds: 12.3, Waited: 3}
	e := train.Epoch{Number: 23, Epochs: 100, Train: metrics, Val: &metrics}
	p := train.Progress{Epoch: 23, Epochs: 100, Done: 25600, Samples: 60000, Metrics: metrics, Elapsed: 5 * time.Second, Waited: 2 * time.Second, Trained: 25600}
	for columns, want := range map[int][2]string{
		40:  {"23/100  0.123  98.0%  val 0.123  98.0%", "23/100 42% 0.1234 98.0% 5.1k/s 0:07 40%w"},
		80:  {"epoch 23/100  loss 0.1234  accuracy 98.00%  val_loss 0.1234  val_accuracy 98.00%", "epoch 23/100 █████░░░░░░░  42%  loss 0.1234  accuracy 98.00%  5.1k/s  0:07  40%w"},
		120: {"epoch 23/100  loss 0.1234  accuracy 98.00%  val_loss 0.1234  val_accuracy 98.00%  12.3 s  24% waiting for data", "epoch 23/100 █████████░░░░░░░░░░░░░░  42%  loss 0.1234  accuracy 98.00%  5120 samples/s  0:07 left  40% waiting for data"},
	} {
		line, bar := fit(m.epochParts(e), columns), m.progress(p, nil, columns)
		if len([]rune(line)) > columns || len([]rune(bar)) > columns || bar != want[1] {
			t.Errorf("%d columns:\n%s\n%s", columns, line, bar)
		}
		if columns < 120 && line != want[0] {
			t.Errorf("%d columns: %q, want %q", columns, line, want[0])
		}
	}
	more := []namedNumber{{"loss", 0.1234, false}, {"f1", 0.98765, false}}
	for columns, want := range map[int]string{40: "23/100 42% 0.1234 98.0% 5.1k/s 0:07 40%w", 80: "epoch 23/100 █████░░░░░░░░  42%  loss 0.1234  98.0%  f1 0.99  5.1k/s  0:07  40%w", 160: "f1 0.9877"} {
		if bar := m.progress(p, more, columns); !strings.Contains(bar, want) || len([]rune(bar)) > columns {
			t.Errorf("%d columns with a metric: %q, want %q", columns, bar, want)
		}
	}
	for columns := range 200 {
		if line := fit(m.epochParts(e), columns); len([]rune(line)) > max(1, columns) {
			t.Errorf("%d columns: %q", columns, line)
		}
		if bar := m.progress(p, nil, columns); len([]rune(bar)) > max(1, columns) {
			t.Errorf("%d columns: %q", columns, bar)
		}
	}
}
