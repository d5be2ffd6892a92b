package cuda_test

import (
	"bytes"
	"compress/gzip"
	"encoding/gob"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/device"
	"github.com/h5dnn/h5dnn/storage"
)

var (
	recordTo = flag.String("record", "", "write what all trials give to `FILE`")
	parity   = flag.String("parity", "", "compare with what was recorded in `FILE`")
)

// A result is what a trial wrote, in memory order.
type result struct {
	Entries []string // that it launched
	Out     [][]byte
}

// results are those of trials, by the target of the code that ran, and their keys.
type results map[string]map[string]result

// key tells c from all trials that are not the same.
func (c trial) key() string {
	h := fnv.New64()
	fmt.Fprintf(h, "%+v", c.set)
	for _, s := range slices.Concat(c.out, c.in) {
		fmt.Fprint(h, s.below, s.lies != nil, s.is)
	}
	return fmt.Sprintf("%v %x", c, h.Sum64())
}

// target names the code that a GPU takes.
func target(d *cuda.Device) string {
	text, err := device.PTX(d.Capability)
	if err != nil {
		return err.Error()
	}
	return regexp.MustCompile(`(?m)^\.target (\w+)`).FindStringSubmatch(text)[1]
}

// tried runs a trial on d.
func (c trial) tried(t *testing.T, d *cuda.Device) result {
	before := cudatest.Launched()
	_, there := c.call(t, d)
	if err := d.Run(c.k, &there); err != nil {
		t.Fatal(err)
	}
	r := result{}
	for _, a := range there.Out {
		b := make([]byte, a.Data.Len())
		if err := d.Download(b, a.Data, 0); err != nil {
			t.Fatal(err)
		}
		r.Out = append(r.Out, b)
	}
	for entry, times := range cudatest.Launched() {
		if times > before[entry] {
			r.Entries = append(r.Entries, entry)
		}
	}
	return r
}

func (all results) write(w io.Writer) error {
	z := gzip.NewWriter(w)
	if err := gob.NewEncoder(z).Encode(all); err != nil {
		return err
	}
	return z.Close()
}

func readResults(r io.Reader) (all results, err error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	return all, gob.NewDecoder(z).Decode(&all)
}

// inexact marks instructions whose bits a GPU may choose: approximations, products
// on tensor cores, and sums of floats in any order.
var inexact = regexp.MustCompile(`\b(?:mma\.sync|\w+\.approx|(?:atom|red)\.\S*\.f(?:16|32|64)\b)`)

// free returns the entries of the code for d that have such instructions.
func free(d *cuda.Device) map[string]bool {
	text, err := device.PTX(d.Capability)
	found := map[string]bool{}
	if err != nil {
		return found
	}
	for _, body := range strings.Split(text, ".visible .entry ")[1:] {
		name, _, _ := strings.Cut(body, "(")
		found[name] = inexact.MatchString(body)
	}
	return found
}

// differs describes where what c wrote is not what was recorded: the same bits,
// any NaN for any other, or within the trial's tolerance if it is free.
func (c trial) differs(got, want result, free bool) string {
	for i := range want.Out {
		typ := c.out[i].t
		for k := 0; k < len(want.Out[i]); k += typ.Size() {
			g, w := got.Out[i][k:][:typ.Size()], want.Out[i][k:][:typ.Size()]
			if bytes.Equal(g, w) {
				continue
			}
			x, y := float(g, typ), float(w, typ)
			if x != x && y != y || free && math.Abs(x-y) <= 2*c.tolerance*(1+math.Abs(y)) {
				continue
			}
			return fmt.Sprintf("output %d, element %d of %d: got %v (%x), want %v (%x)", i, k/typ.Size(), len(want.Out[i])/typ.Size(), x, g, y, w)
		}
	}
	return ""
}

// float returns an element as a float64; of a complex one the real part.
func float(element []byte, t dtype.Type) float64 {
	x, err := storage.Read[float64](storage.Array{Data: storage.Wrap(element), Type: t})
	if err != nil {
		return math.Inf(1)
	}
	return x[0]
}

// record tries all on each kind of GPU.
func record(t *testing.T, gpus [2]*cuda.Device, all []trial) results {
	r := results{}
	for _, d := range gpus {
		r[target(d)] = map[string]result{}
		for _, c := range all {
			r[target(d)][c.key()] = c.tried(t, d)
		}
	}
	return r
}

// compare holds d to what was recorded of the same trials, and returns what differs,
// and how many trials were held to the bits.
func compare(t *testing.T, d *cuda.Device, all []trial, recorded results) (wrong []string, exact int) {
	loose := free(d)
	for _, c := range all {
		want, ok := recorded[target(d)][c.key()]
		if !ok {
			t.Fatalf("%v is not recorded for %s: record with this program", c, target(d))
		}
		free := slices.ContainsFunc(want.Entries, func(entry string) bool { return loose[entry] })
		if !free {
			exact++
		}
		if what := c.differs(c.tried(t, d), want, free); what != "" {
			wrong = append(wrong, fmt.Sprintf("%v: %s", c, what))
		}
	}
	return wrong, exact
}

// TestBitsAreTheInterpreters holds a GPU, with -parity, to what the interpreter has
// recorded, with -record. Without either it does both with a few trials, on GPUs
// that work as late and as early as may be.
func TestBitsAreTheInterpreters(t *testing.T) {
	switch {
	case *recordTo != "":
		recordAll(t)
	case *parity != "":
		compareAll(t)
	default:
		recordedAndCompared(t)
	}
}

func recordAll(t *testing.T) {
	file, err := os.Create(*recordTo)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(record(t, cudatest.Devices(t, cudatest.Deferred), trials()).write(file), file.Close()); err != nil {
		t.Fatal(err)
	}
}

func compareAll(t *testing.T) {
	file, err := os.Open(*parity)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	recorded, err := readResults(file)
	if err != nil {
		t.Fatalf("%s: %v", *parity, err)
	}
	d := cudatest.Devices(t, cudatest.Eager)[0]
	wrong, exact := compare(t, d, trials(), recorded)
	for _, what := range wrong {
		t.Error(what)
	}
	t.Logf("%s: %d trials, %d of them held to the same bits; %d differ", d.Model, len(trials()), exact, len(wrong))
}

func recordedAndCompared(t *testing.T) {
	var some []trial
	for i, c := range trials() {
		if i%101 == 0 {
			some = append(some, c)
		}
	}
	var file bytes.Buffer
	if err := record(t, cudatest.Devices(t, cudatest.Deferred), some).write(&file); err != nil {
		t.Fatal(err)
	}
	recorded, err := readResults(&file)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range cudatest.Devices(t, cudatest.Eager) {
		if wrong, exact := compare(t, d, some, recorded); len(wrong) > 0 || exact < len(some)/2 {
			t.Errorf("%v: %d of %d trials held to the same bits, %q", d, exact, len(some), wrong)
		}
		recorded[target(d)][some[0].key()].Out[0][0] ^= 1
		if wrong, _ := compare(t, d, some, recorded); len(wrong) != 1 {
			t.Errorf("%v: one bit was changed, and %q differ", d, wrong)
		}
	}
}
