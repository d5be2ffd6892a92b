package train_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/train"
)

// TestReportOfARun: of 20 samples, all of them among the worst, the losses are in descending order and their mean is that of the
// evaluation, the matrix counts each once, and curves pair training and validation. Without samples the report says what it lacks.
func TestReportOfARun(t *testing.T) {
	for name, text := range map[string]string{
		"classes": "data: {file: blobs, x: images, y: labels}\nmodel: [flatten, {dense: 6}, relu, {dense: 4}]\nepochs: 2\nbatch: 32\n",
		"ema":     "data: {file: blobs, x: images, y: labels}\nmodel: mlp\nema: 0.9\nepochs: 1\nbatch: 32\n",
		"matrix":  "data: {file: blobs, x: images, y: labels}\nmodel: mlp\nmetrics: [{confusion_matrix: {ignore_index: -1}}]\nepochs: 1\nbatch: 32\n",
	} {
		run, data := setUp(t, text)
		if err := run.Fit(context.Background(), data, train.Options{}); err != nil {
			t.Fatal(err)
		}
		samples, err := dataset.Subset(data.Val, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19})
		if err != nil {
			t.Fatal(err)
		}
		p, err := run.Report(context.Background(), "run.h5", samples)
		if err != nil {
			t.Fatal(err)
		}
		m, err := run.Evaluate(context.Background(), samples)
		if err != nil {
			t.Fatal(err)
		}
		sum, count, wrong := 0.0, 0.0, 0
		for i, s := range p.Worst {
			sum += s.Loss
			if i > 0 && s.Loss > p.Worst[i-1].Loss || s.Picture == nil {
				t.Errorf("%s: sample %d is %+v", name, i, s)
			}
			if !strings.HasPrefix(s.Predicted, s.Target+" ") {
				wrong++
			}
		}
		for _, row := range p.Matrix {
			for _, n := range row {
				count += n
			}
		}
		if len(p.Worst) != 20 || math.Abs(sum/20-m.MeanLoss()) > 1e-5 || count != 20 || wrong != 20-m.Correct {
			t.Errorf("%s: %d samples of mean loss %v, %v of them in the matrix, %d wrong; want 20 of %v, %d right", name, len(p.Worst), sum/20, count, wrong, m.MeanLoss(), m.Correct)
		}
		if len(p.Curves) == 0 || len(p.Curves[0].Series) != 2 || !strings.Contains(p.Settings, `"epochs"`) {
			t.Errorf("%s: curves %v, settings %s", name, p.Curves, p.Settings)
		}
		if p, err = run.Report(context.Background(), "run.h5", nil); err != nil || len(p.Missing) != 1 || p.Matrix != nil {
			t.Errorf("%s: without samples: %+v, %v", name, p, err)
		}
	}
}

// TestReportAtTheEndOfTraining: the callback writes the page beside the run, with the times of steps.
func TestReportAtTheEndOfTraining(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.npz")
	run, data := setUp(t, settings+"\ncallbacks: [report]\n")
	if err := run.Fit(context.Background(), data, train.Options{File: file}); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(strings.TrimSuffix(file, ".npz") + ".html")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"<h1>run.npz</h1>", `id="times"`, `id="confusion"`, `id="worst"`, "<th>step</th>"} {
		if !strings.Contains(string(page), part) {
			t.Errorf("no %s in the page", part)
		}
	}
}
