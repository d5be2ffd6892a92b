package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	loading "github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// noTime is an epochTimer that reads nothing.
func noTime(context.Context, loading.Dataset) (first, later float64, err error) { return 1, 1, nil }

// byChunks is an epochTimer that takes 10 s for data in chunks and 1 s for other data, to which it
// adds the numbers of a series in turn.
func byChunks(series ...float64) epochTimer {
	calls := 0
	return func(_ context.Context, d loading.Dataset) (first, later float64, err error) {
		more := series[calls%len(series)]
		calls++
		if loading.Describe(d).BlockEnds != nil {
			return 10 + more, 0.5, nil
		}
		return 1 + more, 1 + more, nil
	}
}

// advised returns the advice on a file, by path, with the times of a timer, and whether extracts
// were repacked.
func advised(t *testing.T, name string, time epochTimer) (advice map[string]string, compared bool) {
	t.Helper()
	d := &doctor{ctx: t.Context(), name: name, each: true, time: time}
	if err := d.examine(""); err != nil {
		t.Fatal(err)
	}
	advice = map[string]string{}
	for _, p := range d.candidates {
		if text := p.advice(d.name); text != "" {
			advice[p.path] = text
		}
		compared = compared || p.measured != nil && p.measured.repacked != nil
		if p.broken {
			t.Errorf("%s: %q", p.path, p.warnings)
		}
	}
	return advice, compared
}

// TestAdviceEndsWhenItWasFollowed: repacking is advised for compressed chunks that are slower than
// what repack makes of them, and never for what it made, in all ways in which it stores arrays.
func TestAdviceEndsWhenItWasFollowed(t *testing.T) {
	t.Chdir(t.TempDir())
	const n = 20000
	x := storage.From(make([]float32, n*8), n, 8)
	packed := hdf5write.Layout{Chunks: []int{512, 4}, Filters: []filter.Filter{filter.Deflate(1)}}
	growing := packed
	growing.MaxShape = []int{hdf5.Unlimited, 8}
	for name, layout := range map[string]hdf5write.Layout{
		"packed.h5": packed, "growing.h5": growing, "chunked.h5": {Chunks: []int{100, 8}}, "contiguous.h5": {},
	} {
		w, err := hdf5write.Create(name, hdf5write.CreateOptions{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.WriteWith("/x", x, layout), w.Close()); err != nil {
			t.Fatal(err)
		}
		advice, compared := advised(t, name, byChunks(0))
		wanted := name == "packed.h5" || name == "chunked.h5" // growing arrays stay chunked: no gain with these times
		if (advice["/x"] != "") != wanted || compared != (name != "contiguous.h5") {
			t.Errorf("%s: advice %q, compared %v", name, advice, compared)
		}
		after := strings.TrimSuffix(name, ".h5") + ".train.h5"
		if out := output(t, "h5dnn repack --layout train "+name+" "+after); !strings.Contains(out, "verified") {
			t.Fatal(out)
		}
		if advice, compared := advised(t, after, byChunks(0)); len(advice) > 0 || compared {
			t.Errorf("%s: advice %q, compared %v", after, advice, compared)
		}
	}
}

// TestAdviceOnRealFiles: what repack made of the files in testdata gets no advice.
func TestAdviceOnRealFiles(t *testing.T) {
	names, _ := filepath.Glob("../../testdata/*.h5")
	dir := t.TempDir()
	for _, name := range names {
		after := filepath.Join(dir, filepath.Base(name))
		if out := output(t, fmt.Sprintf("h5dnn repack --layout train %s %s", name, after)); !strings.Contains(out, "verified") {
			continue // such as a file with links to others
		}
		if _, err := os.Stat(after); err != nil {
			continue
		}
		if advice, compared := advised(t, after, byChunks(0)); len(advice) > 0 || compared {
			t.Errorf("%s: advice %q, compared %v", after, advice, compared)
		}
	}
}

// TestEstimates computes epochs from given times.
func TestEstimates(t *testing.T) {
	some := &extract{repacked: emptySamples{}}
	for _, c := range []struct {
		name      string
		extracts  []*extract
		later     bool
		want      measurement
		repacking *repacking
	}{
		{"steady", []*extract{{first: []float64{2, 2, 2}, later: []float64{1, 1, 1}}}, true, measurement{first: duration{200, 0}, later: duration{100, 0}}, nil},
		{"not kept", []*extract{{first: []float64{2, 2, 2}, later: []float64{1, 1, 1}}}, false, measurement{first: duration{200, 0}, later: duration{200, 0}}, nil},
		{"noise", []*extract{{first: []float64{1, 2, 3}, later: []float64{1, 1, 1}}}, true, measurement{first: duration{200, 100}, later: duration{100, 0}}, nil},
		{"one round disturbed", []*extract{{first: []float64{2, 2, 2, 2, 2, 2, 2, 2, 50}, later: []float64{1}}}, true, measurement{first: duration{200, 0}, later: duration{100, 0}}, nil},
		{"parts differ", []*extract{{first: []float64{1}, later: []float64{1}}, {first: []float64{3}, later: []float64{1}}}, true, measurement{first: duration{200, 100}, later: duration{100, 0}}, nil},
		{"repacked", []*extract{{repacked: some.repacked, first: []float64{4}, later: []float64{1}, saved: []float64{3}, ratio: []float64{4}}}, true,
			measurement{first: duration{400, 0}, later: duration{100, 0}}, &repacking{first: duration{100, 0}, gain: duration{4, 0}}},
		{"repacked in no time", []*extract{{repacked: some.repacked, first: []float64{1}, later: []float64{1}, saved: []float64{3}, ratio: []float64{4}}}, true,
			measurement{first: duration{100, 0}, later: duration{100, 0}}, &repacking{first: duration{0, 0}, gain: duration{4, 0}}},
		{"repacked with noise", []*extract{{repacked: some.repacked, first: []float64{3, 4, 5}, later: []float64{1}, saved: []float64{1, 2, 3}, ratio: []float64{2}}}, true,
			measurement{first: duration{400, 100}, later: duration{100, 0}}, &repacking{first: duration{200, 200}, gain: duration{2, 0}}},
	} {
		m := estimate(c.extracts, 100, c.later)
		if m.first != c.want.first || m.later != c.want.later || (m.repacked == nil) != (c.repacking == nil) || m.repacked != nil && *m.repacked != *c.repacking {
			t.Errorf("%s: got %+v, %+v", c.name, m, m.repacked)
		}
	}
}

type emptySamples struct{ loading.Dataset }

// TestRoundsAlternate: what a convention decodes takes the same time after repacking, and the
// extracts of a round are timed one after the other.
func TestRoundsAlternate(t *testing.T) {
	at := func(name string) loading.Dataset { return namedSamples{name: name} }
	var order []string
	timer := func(_ context.Context, d loading.Dataset) (first, later float64, err error) {
		name := d.(namedSamples).name
		order = append(order, name)
		return map[string]float64{"decoded": 12, "stored": 8, "repacked": 2}[name], 1, nil
	}
	e := &extract{samples: at("decoded"), stored: at("stored"), repacked: at("repacked"), rows: 2}
	if err := rounds(t.Context(), []*extract{e}, timer); err != nil {
		t.Fatal(err)
	}
	for k, name := range order {
		if name != []string{"decoded", "stored", "repacked"}[k%3] {
			t.Fatalf("the order is %v", order)
		}
	}
	if len(order) < 15 || e.first[0] != 6 || e.later[0] != 0.5 || e.saved[0] != 3 || e.ratio[0] != 2 {
		t.Errorf("%d measurements, %+v", len(order), e)
	}
}

type namedSamples struct {
	loading.Dataset
	name string
}

// TestVerdicts: the finding that matters most is the verdict.
func TestVerdicts(t *testing.T) {
	measured := func(first, repacked, gain, err float64) *measurement {
		return &measurement{first: duration{first, 0}, repacked: &repacking{first: duration{repacked, 0}, gain: duration{gain, err}}}
	}
	nan := missingValues{Missing: loading.Missing{NaN: 1}, elements: 10}
	inf := missingValues{Missing: loading.Missing{Inf: 1}, elements: 10}
	at := func(p trainingCandidate) []*trainingCandidate {
		p.path, p.rows, p.rowBytes = cmp.Or(p.path, "/x"), max(p.rows, 1), 1
		return []*trainingCandidate{&p}
	}
	for _, c := range []struct {
		doctor  doctor
		verdict string // its beginning
		command string
	}{
		{doctor{}, "nothing to train on", "h5dnn inspect f.h5"},
		{doctor{candidates: at(trainingCandidate{})}, "ready for training", "h5dnn init f.h5"},
		{doctor{candidates: at(trainingCandidate{}), checkpoint: true}, "weights of a model", "h5dnn inspect f.h5"},
		{doctor{candidates: at(trainingCandidate{missing: []missingValues{nan}})}, "/x has missing values; the setting missing", "h5dnn init f.h5"},
		{doctor{candidates: append(at(trainingCandidate{missing: []missingValues{nan}}), at(trainingCandidate{missing: []missingValues{{labels: 3}}})...)}, "/x and 1 more have missing values", "h5dnn init f.h5"},
		{doctor{candidates: at(trainingCandidate{missing: []missingValues{inf}})}, "/x has infinities", "h5dnn inspect --stats f.h5"},
		{doctor{candidates: at(trainingCandidate{broken: true})}, "not all of it can be read", "h5dnn verify f.h5"},
		{doctor{candidates: at(trainingCandidate{}), damaged: true}, "not all of it can be read", "h5dnn verify f.h5"},
		{doctor{candidates: at(trainingCandidate{}), elsewhere: true}, "some of it is in other files", "h5dnn doctor --follow . f.h5"},
		{doctor{candidates: at(trainingCandidate{measured: measured(30, 10, 3, 0.2)})}, "/x is read 3.0 times faster", "h5dnn repack --layout train f.h5 f.train.h5"},
		{doctor{candidates: append(at(trainingCandidate{missing: []missingValues{nan}}), at(trainingCandidate{path: "/large", rows: 9, missing: []missingValues{nan}})...)}, "/large and 1 more", "h5dnn init f.h5"},
		{doctor{candidates: append(at(trainingCandidate{measured: measured(30, 10, 3, 0)}), at(trainingCandidate{path: "/slower", measured: measured(30, 6, 5, 0)})...)}, "/slower is read 5.0 times", "h5dnn repack --layout train f.h5 f.train.h5"},
		{doctor{candidates: at(trainingCandidate{measured: measured(30, 10, 3, 2)})}, "ready", "h5dnn init f.h5"},               // the error is too large
		{doctor{candidates: at(trainingCandidate{measured: measured(12, 10, 1.2, 0)})}, "ready", "h5dnn init f.h5"},             // the gain is too small
		{doctor{candidates: at(trainingCandidate{measured: measured(0.3, 0.1, 3, 0.2)})}, "ready", "h5dnn init f.h5"},           // an epoch is soon over
		{doctor{candidates: at(trainingCandidate{measured: &measurement{first: duration{30, 0}}})}, "ready", "h5dnn init f.h5"}, // nothing to compare with
	} {
		c.doctor.name = "f.h5"
		if verdict, command := c.doctor.verdict(); !strings.HasPrefix(verdict, c.verdict) || command != c.command {
			t.Errorf("got %q and %q, want %q and %q", verdict, command, c.verdict, c.command)
		}
	}
}

// TestPartsAreBlocks: the parts of a candidate that are looked at are ascending, whole blocks, and of
// about the size that is wanted.
func TestPartsAreBlocks(t *testing.T) {
	for _, block := range []int{0, 1, 7, 100, 5000} {
		for _, rows := range []int{1, 99, 1000, 99999} {
			p := &trainingCandidate{rows: rows, rowBytes: 8, samples: blockedRows{n: rows, block: block}}
			for _, bytes := range []int{8, 800, 80000} {
				parts := p.parts(bytes, scannedParts)
				total, before := 0, 0
				for k, part := range parts {
					if part[0] < before || k > 0 && part[0] == before || part[1] <= part[0] || part[1] > rows || block > 0 && (part[0]%block != 0 || part[1]%block != 0 && part[1] != rows) {
						t.Errorf("%d rows in blocks of %d, %d bytes: %v", rows, block, bytes, parts)
						break
					}
					before, total = part[1], total+part[1]-part[0]
				}
				if most := bytes/8 + scannedParts*(max(1, block)+1); total > most {
					t.Errorf("%d rows in blocks of %d, %d bytes: %d rows in %v", rows, block, bytes, total, parts)
				}
				if rows*8 <= bytes && total != rows {
					t.Errorf("%d rows, %d bytes: %v", rows, bytes, parts)
				}
			}
		}
	}
}

// blockedRows are rows in blocks.
type blockedRows struct {
	loading.Dataset
	n, block int
}

func (b blockedRows) Len() int                { return b.n }
func (b blockedRows) Fields() []loading.Field { return nil }
func (b blockedRows) Blocks() (ends []int, decoded int) {
	for end := b.block; b.block > 0 && end < b.n; end += b.block {
		ends = append(ends, end)
	}
	if b.block == 0 {
		return nil, b.n
	}
	return append(ends, b.n), b.n
}

// TestDurations have the digits that their errors leave.
func TestDurations(t *testing.T) {
	for want, d := range map[string]duration{
		"12 s ± 2.0 s": {12.3, 2}, "1.2 s ± 0.10 s": {1.23, 0.1}, "123 ms ± 20 ms": {0.1234, 0.02}, "85 µs ± 1.0 µs": {85.2e-6, 1e-6}, "20 min ± 1.0 min": {1200, 60}, "10 s ± 0.10 s": {10, 0},
	} {
		if got := d.String(); got != want {
			t.Errorf("%g ± %g s: got %q, want %q", d.value, d.err, got, want)
		}
	}
	if s := spreadOf([]float64{3, 1, 2}); s.value != 2 || math.Abs(s.err-1) > 1e-9 {
		t.Errorf("the spread is %v", s)
	}
}
