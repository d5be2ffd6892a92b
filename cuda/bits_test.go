package cuda_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/kernels/device"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

var (
	recordTo    = flag.String("record", "", "write the results of all trials to `FILE`")
	compareWith = flag.String("compare", "", "compare with the results recorded in `FILE`")
)

// A result is what a trial wrote: the arrays, if a GPU may choose their bits, and else the
// checksum [trial.sum] of each.
type result struct {
	Out  [][]byte
	Sums [][sha256.Size]byte
}

// results are the trials' results, by the target of the code that ran, and their keys.
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
	target, err := device.Target(d.Capability)
	if err != nil {
		return err.Error()
	}
	return target
}

// tried runs a trial on d, and returns what it wrote and the entries it launched, if the
// interpreter ran them.
func (c trial) tried(t *testing.T, d *cuda.Device) (out [][]byte, entries []string) {
	before := cudatest.LaunchCounts()
	_, there := c.call(t, d)
	if err := d.Run(c.k, &there); err != nil {
		t.Fatal(err)
	}
	for _, a := range there.Out {
		b := make([]byte, a.Data.Len())
		if err := d.Download(b, a.Data, 0); err != nil {
			t.Fatal(err)
		}
		out = append(out, b)
	}
	for entry, times := range cudatest.LaunchCounts() {
		if times > before[entry] {
			entries = append(entries, entry)
		}
	}
	return out, entries
}

// floats returns the elements of output i as float64, of complex ones the real parts.
func (c trial) floats(i int, out []byte) []float64 {
	t := c.out[i].t
	from := storage.Array{Data: storage.Wrap(out), Type: t, View: views.Of(len(out) / t.Size())}
	x := make([]float64, from.Len())
	if err := from.CopyTo(storage.From(x, len(x))); err != nil {
		panic(err)
	}
	return x
}

// sum returns the checksum of output i, in which all NaNs are equal.
func (c trial) sum(i int, out []byte) [sha256.Size]byte {
	if t := c.out[i].t; t.IsFloat() {
		out = slices.Clone(out)
		for k, x := range c.floats(i, out) {
			if x != x {
				copy(out[k*t.Size():], "\xff\xff\xff\xff\xff\xff\xff\xff"[:t.Size()])
			}
		}
	}
	return sha256.Sum256(out)
}

// kept returns the result to record for the outputs of c.
func (c trial) kept(out [][]byte, free bool) result {
	if free {
		return result{Out: out}
	}
	var r result
	for i := range out {
		r.Sums = append(r.Sums, c.sum(i, out[i]))
	}
	return r
}

// inexact marks instructions whose bits a GPU may choose: approximations, products
// on tensor cores, and sums of floats in any order.
var inexact = regexp.MustCompile(`\b(?:mma\.sync|\w+\.approx|(?:atom|red)\.\S*\.f(?:16|32|64)\b)`)

// inexactEntries returns the entries of the code for d that have such instructions.
func inexactEntries(d *cuda.Device) map[string]bool {
	names, err := device.Entries(d.Capability)
	found := map[string]bool{}
	if err != nil {
		return found
	}
	for _, name := range names {
		body, err := device.Entry(d.Capability, name)
		found[name] = err == nil && inexact.MatchString(body)
	}
	return found
}

// differs describes the difference between the outputs of c and a recorded result: other
// bits, or more than the trial's tolerance.
func (c trial) differs(t *testing.T, got [][]byte, want result) string {
	for i := range want.Sums {
		if c.sum(i, got[i]) != want.Sums[i] {
			return fmt.Sprintf("output %d has other bits; %s", i, c.farthest(t, i, got[i]))
		}
	}
	for i := range want.Out {
		g, w := c.floats(i, got[i]), c.floats(i, want.Out[i])
		for k := range g {
			if apart(g[k], w[k]) > 2*c.tolerance {
				return fmt.Sprintf("output %d, element %d of %d: got %v, want %v", i, k, len(g), g[k], w[k])
			}
		}
	}
	return ""
}

// farthest shows which element of output i is farthest from the reference's, since of
// the interpreter's there is but a sum.
func (c trial) farthest(t *testing.T, i int, got []byte) string {
	plain, _ := c.call(t, storage.CPU)
	if err := c.k.Reference(&plain); err != nil {
		return err.Error()
	}
	g, w := c.floats(i, got), c.floats(i, plain.Out[i].Data.(storage.Host).Bytes())
	at := 0
	for k := range g {
		if apart(g[k], w[k]) > apart(g[at], w[at]) {
			at = k
		}
	}
	return fmt.Sprintf("farthest from the reference's is element %d of %d: %v, there %v", at, len(g), g[at], w[at])
}

// record runs all trials on each kind of GPU.
func record(t *testing.T, gpus [2]*cuda.Device, all []trial) results {
	r := results{}
	for _, d := range gpus {
		loose, of := inexactEntries(d), map[string]result{}
		for _, c := range all {
			out, entries := c.tried(t, d)
			of[c.key()] = c.kept(out, slices.ContainsFunc(entries, func(entry string) bool { return loose[entry] }))
		}
		r[target(d)] = of
	}
	return r
}

// compare compares d with the recorded results of the same trials. It returns the
// differences, and the number of trials compared bit by bit.
func compare(t *testing.T, d *cuda.Device, all []trial, recorded results) (wrong []string, exact int) {
	for _, c := range all {
		want, ok := recorded[target(d)][c.key()]
		if !ok {
			t.Fatalf("%v is not recorded for %s: record with this program", c, target(d))
		}
		if want.Sums != nil {
			exact++
		}
		got, _ := c.tried(t, d)
		if what := c.differs(t, got, want); what != "" {
			wrong = append(wrong, fmt.Sprintf("%v: %s", c, what))
		}
	}
	return wrong, exact
}

// TestGPUMatchesInterpreter compares a GPU, with -compare, with what the interpreter has
// recorded, with -record. Without either it does both for a few trials, under the latest
// and the earliest schedule.
func TestGPUMatchesInterpreter(t *testing.T) {
	switch {
	case *recordTo != "":
		recordAll(t)
	case *compareWith != "":
		compareAll(t)
	default:
		cudatest.FakeOnly(t)
		recordedAndCompared(t)
	}
}

func recordAll(t *testing.T) {
	file, err := os.Create(*recordTo)
	if err != nil {
		t.Fatal(err)
	}
	recorded := record(t, cudatest.Devices(t, cudatest.Deferred), trials())
	if err := errors.Join(gob.NewEncoder(file).Encode(recorded.sorted()), file.Close()); err != nil {
		t.Fatal(err)
	}
}

func compareAll(t *testing.T) {
	file, err := os.Open(*compareWith)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []keyedResult
	if err := gob.NewDecoder(file).Decode(&all); err != nil {
		t.Fatalf("%s: %v", *compareWith, err)
	}
	recorded := results{}
	for _, r := range all {
		if recorded[r.Target] == nil {
			recorded[r.Target] = map[string]result{}
		}
		recorded[r.Target][r.Key] = r.Result
	}
	d := cudatest.Devices(t, cudatest.Eager)[0]
	exact, wrong := 0, 0
	for _, c := range trials() {
		t.Run(c.String(), func(t *testing.T) {
			differences, same := compare(t, d, []trial{c}, recorded)
			exact += same
			for _, what := range differences {
				wrong++
				t.Error(what)
			}
		})
	}
	t.Logf("%s: %d trials, %d of them held to the same bits; %d differ", d.Model, len(trials()), exact, wrong)
}

// A keyedResult is a result as it is recorded, in the order of targets and keys.
type keyedResult struct {
	Target, Key string
	Result      result
}

func (r results) sorted() (all []keyedResult) {
	for _, target := range slices.Sorted(maps.Keys(r)) {
		for _, key := range slices.Sorted(maps.Keys(r[target])) {
			all = append(all, keyedResult{target, key, r[target][key]})
		}
	}
	return all
}

func recordedAndCompared(t *testing.T) {
	var some []trial
	for i, c := range trials() {
		if i%101 == 0 {
			some = append(some, c)
		}
	}
	recorded := record(t, cudatest.Devices(t, cudatest.Deferred), some)
	for _, d := range cudatest.Devices(t, cudatest.Eager) {
		if wrong, exact := compare(t, d, some, recorded); len(wrong) > 0 || exact < len(some)/2 {
			t.Errorf("%v: %d of %d trials held to the same bits, %q", d, exact, len(some), wrong)
		}
		for _, c := range some {
			c.showsFaults(t, d, recorded[target(d)][c.key()])
		}
	}
}

// showsFaults checks that a flipped bit, in the record or in the outputs of c, is found.
func (c trial) showsFaults(t *testing.T, d *cuda.Device, want result) {
	got, _ := c.tried(t, d)
	seen := func(at *byte, bit byte) {
		*at ^= bit
		if c.differs(t, got, want) == "" {
			t.Errorf("%v, %v: a bit is another, and nothing differs", d, c)
		}
		*at ^= bit
	}
	for i := range want.Sums {
		seen(&got[i][c.out[i].t.Size()-1], 0x40) // which makes a number of a NaN
		seen(&want.Sums[i][0], 1)
	}
	for i := range want.Out {
		last := len(got[i]) - 1
		seen(&got[i][last], 0x40)
		seen(&want.Out[i][last], 0x40)
	}
}

func TestChecksumsTreatAllNaNsAlike(t *testing.T) {
	one := trial{out: list(of(2))}
	sum := func(first, second uint32) [sha256.Size]byte {
		return one.sum(0, binary.NativeEndian.AppendUint32(binary.NativeEndian.AppendUint32(nil, first), second))
	}
	if sum(0x7fc00000, 1) != sum(0xffc00001, 1) {
		t.Error("NaNs with other bits have another sum")
	}
	if sum(0x7fc00000, 1) == sum(0x7fc00000, 2) || sum(0x7fc00000, 1) == sum(0x7f800000, 1) {
		t.Error("other numbers have the same sum")
	}
}
