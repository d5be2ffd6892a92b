package tensor_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/hdf5"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensor/tensortest"
)

var oracleInputs = flag.String("oracle-inputs", "", "write the operands of all samples to this HDF5 file, for scripts/oracle")

// oracleAnswers holds what PyTorch and NumPy answer: see scripts/oracle.
const oracleAnswers = "testdata/oracle.h5"

// unanswered begin the names of samples that the oracle is not asked about: random numbers; layers whose
// values and gradients PyTorch gives in nn/testdata; what training counts; and writes to one place by several
// indices, where PyTorch leaves open which of them stays.
var unanswered = []string{"scatter[", "index copy", "index put[", "add metrics", "count correct", "clip grad norm", "dropout", "linear relu dropout", "conv", "batch norm", "max pool", "average pool", "indices of max pool", "recurrent"}

// TestOracle compares the value and the gradients of every sample with the answers of PyTorch and NumPy.
func TestOracle(t *testing.T) {
	if *oracleInputs != "" {
		writeOracleInputs(t)
		return
	}
	f, err := serialize.Open(oracleAnswers)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	answers := map[string]map[string]storage.Array{}
	for e, err := range f.All() {
		if err != nil {
			t.Fatal(err)
		}
		key, part, _ := strings.Cut(e.Name, "/")
		if answers[key] == nil {
			answers[key] = map[string]storage.Array{}
		}
		answers[key][part] = e.Array
	}
	keys, names := map[*tensortest.Input]string{}, oracleKeys()
	for i, s := range tensortest.Samples() {
		keys[&s.In[0]] = names[i]
	}
	tensortest.Each(t, func(t *testing.T, s tensortest.Sample) {
		key := keys[&s.In[0]]
		if isUnanswered(s) {
			t.Skip("the oracle is not asked")
		}
		if answers[key] == nil {
			t.Fatal("no answer: add the operation to scripts/oracle, and make oracle")
		}
		agreesWithOracle(t, s, answers[key])
	})
}

func isUnanswered(s tensortest.Sample) bool {
	return slices.ContainsFunc(unanswered, func(start string) bool {
		return strings.HasPrefix(s.String(), start) && !strings.HasSuffix(s.Name, "global")
	})
}

// oracleKeys returns the name of each sample in the files of the oracle.
func oracleKeys() []string {
	var keys []string
	for _, s := range tensortest.Samples() {
		key := s.String()
		for k := 2; slices.Contains(keys, key); k++ {
			key = fmt.Sprintf("%s %d", s, k)
		}
		keys = append(keys, key)
	}
	return keys
}

func agreesWithOracle(t *testing.T, s tensortest.Sample, answer map[string]storage.Array) {
	const tolerance = 1e-10
	var in []storage.Array
	for i := range s.In {
		a, err := answer[fmt.Sprintf("in%d", i)].To(storage.CPU)
		if err != nil {
			t.Fatal(err)
		}
		in = append(in, a)
	}
	xs := tensortest.Leaves(in)
	y := s.Call(xs...)
	want := tensor.FromArray(answer["out"])
	if !slices.Equal(y.Shape(), want.Shape()) || y.DType() != want.DType() {
		t.Fatalf("got %v %v, want %v %v", y.DType(), y.Shape(), want.DType(), want.Shape())
	}
	tensortest.Near(t, "value", parts(y), parts(want), tolerance)
	dy, ok := answer["dy"]
	if !ok || !y.RequiresGrad() || slices.Contains(xs, y) {
		return
	}
	dy, err := dy.To(storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	grads := tensor.Gradients(y, tensor.FromArray(dy))
	for i, x := range xs {
		dx, ok := answer[fmt.Sprintf("grad%d", i)]
		if ok != (grads[x] != nil) {
			t.Errorf("gradient of operand %d: %v, the oracle's: %v", i, grads[x] != nil, ok)
		} else if ok {
			tensortest.Near(t, fmt.Sprintf("gradient of operand %d", i), parts(grads[x]), parts(tensor.FromArray(dx)), tolerance)
		}
	}
}

// parts returns the elements of x in row-major order, of complex ones the real parts and then the imaginary.
func parts(x *tensor.Tensor) []float64 {
	if !x.DType().IsComplex() {
		return tensor.Values[float64](x)
	}
	var re, im []float64
	for _, z := range tensor.Values[complex128](x) {
		re, im = append(re, real(z)), append(im, imag(z))
	}
	return append(re, im...)
}

// writeOracleInputs writes the operands of every sample, and an incoming gradient of its result.
func writeOracleInputs(t *testing.T) {
	var entries []serialize.Entry
	keys := oracleKeys()
	for i, s := range tensortest.Samples() {
		if isUnanswered(s) {
			continue
		}
		in := tensortest.Draw(s, dtype.Float64)
		for k, a := range in {
			entries = append(entries, serialize.Entry{Name: fmt.Sprintf("%s/in%d", keys[i], k), Array: a})
		}
		if y := s.Call(tensortest.Leaves(in)...); y.RequiresGrad() && y.DType() == dtype.Float64 {
			entries = append(entries, serialize.Entry{Name: keys[i] + "/dy", Array: tensortest.Weights(y).Array()})
		}
	}
	if err := serialize.Save(*oracleInputs, "hdf5", serialize.Contents{Entries: serialize.Entries(entries...)}); err != nil {
		t.Fatal(err)
	}
}
