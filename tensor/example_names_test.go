package tensor_test

import (
	"fmt"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/tensor"
)

// Weights of channels are aligned with images by name, in whatever order the axes are: the luminance of RGB.
func ExampleTensor_AlignAs() {
	images := tensor.Ones(dtype.Float32, 2, 3, 1, 2).RefineNames("...", "channels", "rows", "columns")
	weights := tensor.FromSlice([]float32{0.2126, 0.7152, 0.0722}, 3).Rename("channels")
	gray := images.Mul(weights.AlignAs(images.Select(0, 0)))
	gray = gray.Sum(gray.Axis("channels"))
	fmt.Printf("%q %v %.4f\n", gray.Names(), gray.Shape(), tensor.Values[float32](gray))
	err := tensor.Try(func() { images.Add(images.Rename("...", "columns", "rows")) })
	fmt.Println(err)
	// Output:
	// ["" "rows" "columns"] [2 1 2] [1.0000 1.0000 1.0000 1.0000]
	// add: axis 3 of ["" "channels" "columns" "rows"] meets "columns"; Rename, or AlignAs
}

// A hook sees a gradient before it is passed on, and may change it.
func ExampleTensor_RegisterHook() {
	x := tensor.FromSlice([]float64{1, 2}, 2).RequireGrad()
	y := x.Mul(x).RetainGrad()
	y.RegisterHook(func(grad *tensor.Tensor) *tensor.Tensor { return grad.MulScalar(10) })
	y.Sum().Backward()
	fmt.Println(tensor.Values[float64](y.Grad), tensor.Values[float64](x.Grad))
	// Output: [10 10] [20 40]
}
