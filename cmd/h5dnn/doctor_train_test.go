//go:build cgo

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
	"github.com/h5dnn/h5dnn/train"
)

// lawRows is the number of rows of the inputs and targets that data is trained with.
const lawRows = 4096

// TestDoctorAgreesWithTrain: for all data in testdata, and in the corpus where there is one, doctor
// says that it is inputs, or labels, without missing values, if and only if train makes an
// epoch of it.
func TestDoctorAgreesWithTrain(t *testing.T) {
	var names []string
	for _, pattern := range []string{"../../testdata/*.*", "../../serialize/*/testdata/*.*", "../../storage/hdf5/testdata/*.h5", filepath.Join(*corpus, "*/*.h5")} {
		found, _ := filepath.Glob(pattern)
		names = append(names, found...)
	}
	others := filepath.Join(t.TempDir(), "others.h5")
	w, err := hdf5write.Create(others, hdf5write.CreateOptions{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if err := errors.Join(w.Write("/x", storage.From(make([]float32, lawRows), lawRows, 1)), w.Write("/y", storage.From(make([]float32, lawRows), lawRows)), w.Close()); err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, name := range names {
		if strings.Contains(name, "hostile") || testing.Short() && strings.Contains(name, "corpus") {
			continue
		}
		checked += agreesWithTrain(t, name, others)
	}
	if checked < 300 {
		t.Errorf("%d arrays were checked", checked)
	}
}

// agreesWithTrain checks the data of a file, and returns how many of it there were.
func agreesWithTrain(t *testing.T, name, others string) (checked int) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	d := &doctor{ctx: ctx, name: name, each: true, time: noTime}
	if d.examine("") != nil {
		return 0 // no file of data
	}
	said := map[string]*trainingCandidate{}
	for _, p := range d.candidates {
		said[p.path] = p
	}
	file, err := open(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	entries, err := file.Entries("")
	if err != nil {
		t.Fatal(err)
	}
	for o := range entries {
		if o.Data == nil || o.Data.Shares != "" || o.Data.Size > 1<<20 || len(o.Data.Shape) > 0 && o.Data.Shape[0] > lawRows {
			continue
		}
		if strings.HasPrefix(o.Data.DType, "float8") { // train reads it as columns of tables, and not otherwise
			continue
		}
		paths := []string{o.Path}
		if o.Data.DType == "compound" {
			for _, field := range o.Fields {
				paths = append(paths, fmt.Sprintf("%s['%s']", o.Path, field[:strings.Index(field, ": ")]))
			}
		}
		for _, path := range paths {
			checked++
			p := said[path]
			complete := p != nil && !p.broken && len(p.missing) == 0
			err := trainsOn(ctx, name, path, o, others, p != nil && (p.labels || p.named))
			if (err == nil) != complete {
				t.Errorf("%s: %s: doctor says trainable: %v, warnings %v; train says %v", name, path, p != nil, warningsOf(p), err)
			}
		}
	}
	return checked
}

func warningsOf(p *trainingCandidate) []string {
	if p == nil {
		return nil
	}
	return p.allWarnings()
}

// trainsOn returns why train does not make an epoch of the data at a path: as inputs, or as
// labels.
func trainsOn(ctx context.Context, name, path string, o inspect.Object, others string, labels bool) error {
	n := 0
	if len(o.Data.Shape) > 0 {
		n = o.Data.Shape[0]
	}
	text := fmt.Sprintf("data: {file: %q, y_file: %q, x: %q, y: %q}\nmodel: [flatten, {dense: 1}]\nloss: mse\nepochs: 1\n", name, others, path, fmt.Sprintf("y[:%d]", n))
	if labels {
		text = fmt.Sprintf("data: {file: %q, y_file: %q, x: %q, y: %q}\nmodel: mlp\nepochs: 1\n", others, name, fmt.Sprintf("x[:%d]", n), path)
	}
	config, err := train.ParseConfig([]byte(text))
	if err != nil {
		return err
	}
	data, err := openData(ctx, config)
	if err != nil {
		return err
	}
	defer data.Close()
	run, err := train.New(ctx, config, data.Data, storage.CPU)
	if err != nil {
		return err
	}
	return run.Fit(ctx, data.Data, train.Options{})
}

// TestDoctorGroupsWhatTrainReadsTogether: the paths with a star that doctor shows are those of
// data that train opens as one.
func TestDoctorGroupsWhatTrainReadsTogether(t *testing.T) {
	const name = "../../testdata/episodes.h5"
	d := &doctor{ctx: t.Context(), name: name, time: noTime}
	if err := d.examine(""); err != nil {
		t.Fatal(err)
	}
	var stars []string
	for _, p := range d.candidates {
		if len(p.paths) == 1 {
			continue
		}
		stars = append(stars, p.path)
		config, err := train.ParseConfig(fmt.Appendf(nil, "data: {file: %q, x: %q, y: %q}\nloss: mse\n", name, p.path, p.path))
		if err != nil {
			t.Fatal(err)
		}
		data, err := openData(t.Context(), config)
		if err != nil {
			t.Errorf("%s: %v", p.path, err)
			continue
		}
		if data.Train.Len() != p.rows {
			t.Errorf("%s: doctor counts %d rows, train reads %d", p.path, p.rows, data.Train.Len())
		}
		data.Close()
	}
	if want := []string{"/data/demo_*/actions", "/data/demo_*/dones", "/data/demo_*/obs/pose"}; !slices.Equal(stars, want) {
		t.Errorf("stars in %v, want %v", stars, want)
	}
}
