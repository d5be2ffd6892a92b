package kernels

import (
	"math"

	"github.com/h5dnn/h5dnn/dtype"
)

// Functions that only the host computes, in float64.
var (
	// Lgamma is y = ln|Γ(x)|.
	Lgamma = hostUnary("lgamma", func(x float64) float64 {
		y, _ := math.Lgamma(x)
		return y
	})
	Digamma  = hostUnary("digamma", digamma)    // the derivative of ln Γ
	Trigamma = hostUnary("trigamma", trigamma)  // the derivative of Digamma
	Erfinv   = hostUnary("erfinv", math.Erfinv) // the number whose error function is x
)

// hostUnary is the kernel y = f(x), elementwise, for floats on the host.
func hostUnary(name string, f func(x float64) float64) *Kernel {
	return hostOnly(updatesInPlace(define(name,
		func(c *Call, _ struct{}) error {
			if err := c.checkAlike(1, dtype.Invalid); err != nil {
				return err
			}
			return allFloats(c.In...)
		},
		func(c *Call, _ struct{}) error {
			referenceMap(f, c.Out[0], c.In[0])
			return nil
		}, nil)))
}

// digamma is ψ(x): by the reflection and the recurrence to x ≥ 10, and an asymptotic series from there on (Abramowitz and
// Stegun, 6.3.18).
func digamma(x float64) float64 {
	switch {
	case x == 0:
		return math.Copysign(math.Inf(1), -x)
	case x < 0 && x == math.Trunc(x):
		return math.NaN()
	case x < 0:
		_, fraction := math.Modf(x)
		return digamma(1-x) - math.Pi/math.Tan(math.Pi*fraction)
	}
	sum := 0.0
	for ; x < 10; x++ {
		sum -= 1 / x
	}
	z := 1 / (x * x)
	series := z * (1./12 - z*(1./120-z*(1./252-z*(1./240-z*(1./132-z*(691./32760-z/12))))))
	return sum + math.Log(x) - 0.5/x - series
}

// trigamma is ψ′(x), likewise (6.4.12).
func trigamma(x float64) float64 {
	if x <= 0 {
		if x == math.Trunc(x) {
			return math.Inf(1)
		}
		_, fraction := math.Modf(x)
		s := math.Pi / math.Sin(math.Pi*fraction)
		return s*s - trigamma(1-x)
	}
	sum := 0.0
	for ; x < 10; x++ {
		sum += 1 / (x * x)
	}
	z := 1 / (x * x)
	return sum + 1/x + z/2 + z/x*(1./6-z*(1./30-z*(1./42-z*(1./30-z*(5./66-z*(691./2730-z*7/6))))))
}
