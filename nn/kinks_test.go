package nn_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/tensor"
)

// kinks has the values and derivatives of activations at -17, -1, -1e-7, 0, 1e-7, 1 and 17, by
// PyTorch 2.15 in float64. The float32 ones are exact if their errors are relative to the result.
var kinks = map[string]struct {
	y, dx [7]float64
	exact bool
}{
	"relu":       {[7]float64{0, 0, 0, 0, 1e-07, 1, 17}, [7]float64{0, 0, 0, 0, 1, 1, 1}, true},
	"leaky_relu": {[7]float64{-0.17, -0.01, -1e-09, 0, 1e-07, 1, 17}, [7]float64{0.01, 0.01, 0.01, 0.01, 1, 1, 1}, true},
	"elu": {[7]float64{-0.9999999586006229, -0.6321205588285577, -9.999999500000016e-08, 0, 1e-07, 1, 17},
		[7]float64{4.139937718785167e-08, 0.36787944117144233, 0.999999900000005, 1, 1, 1, 1}, true},
	"selu": {[7]float64{-1.7580992680631589, -1.1113307378125625, -1.7580992529424125e-07, 0, 1.0507009873554804e-07, 1.0507009873554805, 17.861916785043167},
		[7]float64{7.278421774545394e-08, 0.646768603034814, 1.7580991650374513, 1.7580993408473766, 1.0507009873554805, 1.0507009873554805, 1.0507009873554805}, true},
	"softplus": {[7]float64{4.139937633089748e-08, 0.31326168751822286, 0.6931471305599466, 0.6931471805599453, 0.6931472305599465, 1.3132616875182228, 17.000000041399375},
		[7]float64{4.1399375473943306e-08, 0.2689414213699951, 0.499999975, 0.5, 0.5000000250000001, 0.7310585786300049, 0.9999999586006245}, true},
	"softsign": {[7]float64{-0.9444444444444444, -0.5, -9.999999000000099e-08, 0, 9.999999000000099e-08, 0.5, 0.9444444444444444},
		[7]float64{0.0030864197530864196, 0.25, 0.99999980000003, 1, 0.99999980000003, 0.25, 0.0030864197530864196}, false},
	"hardtanh": {[7]float64{-1, -1, -1e-07, 0, 1e-07, 1, 1}, [7]float64{0, 0, 1, 1, 1, 0, 0}, true},
	"silu": {[7]float64{-7.037893830570362e-07, -0.2689414213699951, -4.99999975e-08, 0, 5.0000002499999994e-08, 0.7310585786300049, 16.999999296210614},
		[7]float64{-6.62389978446652e-07, 0.07232948812851325, 0.49999995000000014, 0.5, 0.5000000499999999, 0.9276705118714869, 1.0000006623899802}, false},
	"gelu": {[7]float64{0, -0.15865525393145702, -4.9999996010577195e-08, 0, 5.00000039894228e-08, 0.841344746068543, 17},
		[7]float64{-1.190710962834159e-62, -0.08331547058768635, 0.49999992021154394, 0.5, 0.5000000797884561, 1.0833154705876864, 1}, false},
	"tanh": {[7]float64{-0.9999999999999966, -0.7615941559557649, -9.999999999999966e-08, 0, 9.999999999999966e-08, 0.7615941559557649, 0.9999999999999966},
		[7]float64{6.883382752675959e-15, 0.41997434161402614, 0.99999999999999, 1, 0.99999999999999, 0.41997434161402614, 6.883382752675959e-15}, false},
	"sigmoid": {[7]float64{4.1399375473943306e-08, 0.2689414213699951, 0.4999999750000001, 0.5, 0.500000025, 0.7310585786300049, 0.9999999586006244},
		[7]float64{4.1399373760035016e-08, 0.19661193324148185, 0.24999999999999933, 0.25, 0.24999999999999936, 0.19661193324148185, 4.139937388042264e-08}, false},
}

// TestActivationsAtKinksAreThoseOfPyTorch in values and derivatives.
func TestActivationsAtKinksAreThoseOfPyTorch(t *testing.T) {
	at := []float64{-17, -1, -1e-7, 0, 1e-7, 1, 17}
	for name, want := range kinks {
		y, dx := activate(t, name, dtype.Float64, at)
		nearAt(t, name, at, y, want.y[:], 1e-12, 1e-15)
		nearAt(t, name+" derivative", at, dx, want.dx[:], 1e-9, 1e-15)
	}
}

// TestFloat32ActivationsAgreeWithFloat64 over the exponents that float32 has.
func TestFloat32ActivationsAgreeWithFloat64(t *testing.T) {
	var at []float64
	for e := -30; e <= 30; e++ {
		for _, f := range []float64{1, 2.5, 6} {
			x := float64(float32(f * math.Pow(10, float64(e))))
			at = append(at, x, -x)
		}
	}
	for name, c := range kinks {
		y, dx := activate(t, name, dtype.Float32, at)
		wantY, wantDX := activate(t, name, dtype.Float64, at)
		absolute := 1e-36 // results that small may be 0
		if !c.exact {
			absolute = 1e-6
		}
		nearAt(t, name, at, y, wantY, 4e-6, absolute)
		nearAt(t, name+" derivative", at, dx, wantDX, 1e-5, absolute)
	}
}

// activate returns the values and derivatives of an activation.
func activate(t *testing.T, name string, elem dtype.Type, at []float64) (y, dx []float64) {
	x := tensor.FromSlice(at, len(at)).Cast(elem).RequireGrad()
	out := fromJSON(t, fmt.Sprintf("%q", name)).Forward(x)
	return tensor.Values[float64](out.Detach()), tensor.Values[float64](tensor.Gradients(out.Sum())[x])
}

// nearAt compares results with a relative and an absolute tolerance.
func nearAt(t *testing.T, name string, at, got, want []float64, relative, absolute float64) {
	t.Helper()
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= relative*math.Abs(want[i])+absolute) {
			t.Errorf("%s of %v: %v, want %v", name, at[i], got[i], want[i])
		}
	}
}
