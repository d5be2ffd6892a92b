package cuda_test

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
)

// cancelling are the elementwise kernels whose formula subtracts rounded numbers, so that errors are
// relative to its terms. The errors of other kernels are relative to the result.
var cancelling = []*kernels.Kernel{
	kernels.GELU, kernels.GELUTanh, kernels.SiLU, kernels.GELUGrad, kernels.GELUTanhGrad, kernels.SiLUGrad, kernels.TanhGrad, kernels.SigmoidGrad, kernels.Lerp,
}

// limits are the precision of a float's results and the range of its normal numbers. 16-bit floats
// are computed in float32, whose subnormal numbers bfloat16 has.
var limits = map[dtype.Type]struct{ precision, least, most float64 }{
	dtype.Float32:  {4e-6, 0x1p-126, math.MaxFloat32},
	dtype.Float64:  {1e-12, 0x1p-1022, math.MaxFloat64},
	dtype.Float16:  {0x1p-10, 0x1p-24, 65504},
	dtype.BFloat16: {0x1p-7, 0x1p-126, 0x1.fep127},
}

// TestElementwiseKernelsAtExtremes compares every elementwise kernel with its reference, in float64, for
// tiny, huge, subnormal, infinite and undefined operands, on the CPU and on a GPU. The CPU may
// take subnormal operands, and both may take subnormal results, for zero.
func TestElementwiseKernelsAtExtremes(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	for _, k := range elementwiseKernels() {
		for typ := range limits {
			for _, others := range [][2]float64{{1, 0.5}, {-0.5, 2}} {
				c, defined := extreme(k.Kernel, k.inputs, typ, others)
				if c.Options = k.options; !defined {
					continue
				}
				for name, r := range map[string]kernels.Runner{"CPU, " + native.ISA(): kernels.CPU, "GPU": gpu} {
					compareExtremes(t, name, k.Kernel, c, r)
				}
				cudatest.Reset()
			}
		}
	}
}

// TestInstructionSetsAtExtremes runs TestElementwiseKernelsAtExtremes with the loops of older processors.
func TestInstructionSetsAtExtremes(t *testing.T) {
	for _, isa := range []string{"baseline", "avx2"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestElementwiseKernelsAtExtremes$")
		cmd.Env = append(os.Environ(), "H5DNN_ISA="+isa)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%.2000s", isa, err, out)
		}
	}
}

type elementwiseKernel struct {
	*kernels.Kernel
	inputs  int
	options any
}

// elementwiseKernels lists all elementwise kernels, with and without options.
func elementwiseKernels() (all []elementwiseKernel) {
	for _, k := range kernels.All() {
		if n := k.Elementwise(); n > 0 && !k.HostOnly {
			all = append(all, elementwiseKernel{k, n, nil})
		}
	}
	elu := kernels.ELUOptions{Alpha: 1.5, Scale: 0.75}
	return append(all, elementwiseKernel{kernels.ELU, 1, elu}, elementwiseKernel{kernels.ELUGrad, 2, elu},
		elementwiseKernel{kernels.ScaleOffset, 1, kernels.ScaleOffsetOptions{Scale: -1.5}})
}

// extreme returns a call of k on the CPU with extreme first operands, and others as given, and whether k is defined on
// the type.
func extreme(k *kernels.Kernel, inputs int, typ dtype.Type, others [2]float64) (c kernels.Call, defined bool) {
	l := limits[typ]
	elems := []float64{0, l.least, l.least * 1.5, l.most, l.most / 3, math.Inf(1), math.NaN()}
	for e := -140; e < 128; e += 3 {
		elems = append(elems, math.Ldexp(1.3, e))
	}
	if typ == dtype.Float64 {
		elems = append(elems, 5e-324, 1e-310, 1e-300, 1e300)
	}
	elems = append(elems, 88.5, 89, 103, 104, 709, 710, 745, 746)
	for _, x := range slices.Clone(elems) {
		elems = append(elems, -x)
	}
	for i := range inputs {
		x := slices.Clone(elems)
		if i > 0 {
			x = slices.Repeat([]float64{others[i-1]}, len(elems))
		}
		c.In = append(c.In, storageOf(typ, x))
	}
	c.Out = []storage.Array{storageOf(typ, elems)}
	if k.Reference(&c) != nil {
		c.Out = []storage.Array{storageOf(dtype.Bool, make([]float64, len(elems)))}
	}
	return c, k.Reference(&c) == nil
}

// storageOf returns elements on the CPU, converted to typ.
func storageOf(typ dtype.Type, elems []float64) storage.Array {
	a, err := storage.Make(storage.CPU, typ, len(elems))
	if err == nil {
		err = storage.From(elems, len(elems)).CopyTo(a)
	}
	if err != nil {
		panic(err)
	}
	return a
}

// compareExtremes runs k by r and compares with the reference, also for operands without subnormal
// numbers.
func compareExtremes(t *testing.T, name string, k *kernels.Kernel, c kernels.Call, r kernels.Runner) {
	typ := c.In[0].Type
	l := limits[typ]
	got := onDevice(t, c, r)
	if err := r.Run(k, &got); err != nil {
		t.Fatalf("%s: %s of %v: %v", name, k.Name, typ, err)
	}
	want, flushed, x, results := referenceOf(k, c, 0), referenceOf(k, c, l.least), floats64(c.In[0]), floats64(got.Out[0])
	for i, g := range results {
		ok := false
		for _, w := range []float64{want[i], flushed[i]} {
			tolerance := l.precision * math.Abs(w)
			if slices.Contains(cancelling, k) {
				tolerance += l.precision * 4
			}
			ok = ok || g == w || g != g && w != w || math.Abs(g-w) <= tolerance || math.Abs(w) < 4*l.least && math.Abs(g) < 4*l.least ||
				math.Abs(w) > l.most/2 && math.IsInf(g, int(w/l.most*4)) // after a product that is larger
		}
		if k == kernels.Log && x[i] > 0 && math.Abs(g-want[i]) > l.precision*(1+math.Abs(want[i])) && !math.IsInf(want[i], 0) {
			ok = false // also of subnormal numbers
		}
		if !ok {
			t.Errorf("%s: %s of %v %v%v: %v, want %v", name, k.Name, typ, x[i], rest(c, i), g, want[i])
		}
	}
}

// referenceOf returns the results of the reference, with zeros for operands below least.
func referenceOf(k *kernels.Kernel, c kernels.Call, least float64) []float64 {
	c.In, c.Out = slices.Clone(c.In), []storage.Array{storageOf(c.Out[0].Type, make([]float64, c.Out[0].Len()))}
	for i, a := range c.In {
		x := floats64(a)
		for j := range x {
			if math.Abs(x[j]) < least {
				x[j] = math.Copysign(0, x[j])
			}
		}
		c.In[i] = storageOf(a.Type, x)
	}
	if err := k.Reference(&c); err != nil {
		panic(err)
	}
	return floats64(c.Out[0])
}

func onDevice(t *testing.T, c kernels.Call, d storage.Device) kernels.Call {
	t.Helper()
	there := kernels.Call{Options: c.Options}
	for _, a := range c.In {
		b, err := a.To(d)
		if err != nil {
			t.Fatal(err)
		}
		there.In = append(there.In, b)
	}
	out, err := storage.Make(d, c.Out[0].Type, c.Out[0].Shape...)
	if err != nil {
		t.Fatal(err)
	}
	there.Out = []storage.Array{out}
	return there
}

func floats64(a storage.Array) []float64 {
	x, err := storage.Read[float64](a)
	if err != nil {
		panic(err)
	}
	return x
}

// rest describes the second and third operands.
func rest(c kernels.Call, i int) (text string) {
	for _, a := range c.In[1:] {
		text += fmt.Sprint(", ", floats64(a)[i])
	}
	return text
}
