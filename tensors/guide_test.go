package tensors_test

// The examples of the guides of the libraries that h5dnn began with, as programs that run: KeyDNN's guide to tensors
// and the chapter on tensors of "Deep Learning with PyTorch".

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensor/sparse"
	"github.com/h5dnn/h5dnn/tensors"
)

// KeyDNN: tensors on devices, to and from host memory, which is shared where it can be.
func Example_keydnnDevices() {
	host := []float32{1, 2, 3, 4}
	x := tensor.FromSlice(host, 2, 2) // shares host
	y := x.To("cpu")                  // is there already
	host[0] = 9
	fmt.Println(tensor.Values[float32](y), y == x, x.Device())
	if _, err := storage.DeviceNamed("cuda:7"); err != nil {
		fmt.Println("no such device")
	}
	// Output:
	// [9 2 3 4] true cpu
	// no such device
}

// KeyDNN: gradients add up on leaves, across passes, until they are cleared; intermediates ask for theirs.
func Example_keydnnGradients() {
	x := tensor.New([]float32{1, 2, 3}).RequireGrad()
	h := x.Mul(x).RetainGrad()
	h.Sum().Backward()
	fmt.Println(tensor.Values[float32](x.Grad), tensor.Values[float32](h.Grad))
	x.Mul(x).Sum().Backward()
	fmt.Println(tensor.Values[float32](x.Grad))
	x.ZeroGrad()
	fmt.Println(x.Grad == nil)
	// Output:
	// [2 4 6] [1 1 1]
	// [4 8 12]
	// true
}

// KeyDNN: inference on a whole set, of any size, in one call.
func Example_keydnnInference() {
	model := nn.Sequential{
		nn.NewConv2d(nn.ConvOptions{InChannels: 1, OutChannels: 4, KernelSize: nn.Sizes{3}}), nn.ReLU{},
		nn.NewMaxPool2d(nn.PoolOptions{KernelSize: nn.Sizes{2}}), nn.Flatten{}, nn.NewLinear(nn.LinearOptions{InFeatures: 36, OutFeatures: 10}),
	}
	nn.Init(model, 1)
	images := tensor.Zeros(dtype.Float32, 10_000, 1, 8, 8) // N, C, H, W
	err := tensor.Infer(func(t *tensor.Tape) error {
		fmt.Println(model.Forward(t.Input(images.Array())).Shape())
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: [10000 10]
}

// PyTorch: a tensor is a view (offset, strides, shape) of a storage, which views share.
func Example_pytorchStorage() {
	points := tensor.New([][]float64{{4, 1}, {5, 3}, {2, 1}})
	second := points.Select(0, 1)
	fmt.Println(second.StorageOffset(), second.Shape(), points.Strides(), points.T().Strides())
	second.Set(10, 0)
	fmt.Println(points.At(1, 0), points.Storage() == points.T().Storage())
	some := tensor.Ones(dtype.Float32, 3, 4, 5).Transpose(0, 2)
	fmt.Println(some.Shape(), some.Strides(), some.IsContiguous(), some.Contiguous().Strides())
	// Output:
	// 2 [2] [2 1] [1 2]
	// 10 true
	// [5 4 3] [1 5 20] false [12 3 1]
}

// PyTorch: ranges, steps, several axes, and a new one.
func Example_pytorchIndexing() {
	x := tensor.Arange(dtype.Int64, 0, 6, 1)
	for _, expr := range []string{":", "1:4", "1:", ":4", ":-1", "1:4:2"} {
		fmt.Print(tensor.Values[int64](x.Index(expr)), " ")
	}
	fmt.Println(x.Index("None").Shape(), x.Unsqueeze(-1).Shape())
	// Output: [0 1 2 3 4 5] [1 2 3] [1 2 3 4 5] [0 1 2 3] [0 1 2 3 4] [1 3] [1 6] [6 1]
}

// PyTorch: from colours to grey by broadcasting, by Einsum, and by the names of axes.
func Example_pytorchNames() {
	images := tensor.Key{Seed: 1}.Randn(dtype.Float32, 2, 3, 5, 5) // batch, channels, rows, columns
	weights := tensor.New([]float32{0.2126, 0.7152, 0.0722})
	byHand := images.Mul(weights.Unsqueeze(-1).Unsqueeze(-1)).Sum(-3)
	bySum := tensor.Einsum("...chw,c->...hw", images, weights)
	named, channels := images.RefineNames("batch", "channels", "rows", "columns"), weights.RefineNames("channels")
	byName := named.Mul(channels.AlignAs(named)).Sum(named.Axis("channels"))
	fmt.Println(byHand.AllClose(bySum), byHand.AllClose(byName.Unnamed()), byName.Names())
	err := tensor.Try(func() { named.Index("..., :3").Mul(channels) })
	fmt.Println(err)
	// Output:
	// true true [batch rows columns]
	// mul: axis 0 of ["channels"] meets "columns"; Rename, or AlignAs
}

// PyTorch: types, casts and promotion.
func Example_pytorchTypes() {
	double, short := tensor.Ones(dtype.Float64, 10, 2), tensor.New([][]int{{1, 2}}, dtype.Int16)
	fmt.Println(double.DType(), short.DType(), double.Float().DType(), double.To(dtype.Float16).DType(), short.Double().DType())
	fmt.Println(double.Mul(short).DType(), tensor.New([]int{1, 2}).MulScalar(0.5).DType())
	// Output:
	// float64 int16 float32 float16 float64
	// float64 float32
}

// PyTorch: operations as methods; those in place change their tensor.
func Example_pytorchInPlace() {
	a := tensor.Ones(dtype.Float32, 3, 2)
	a.Zero()
	fmt.Println(tensor.Values[float32](a), tensor.Values[float32](a.AddInPlace(tensor.New([]float32{1, 2}))))
	// Output: [0 0 0 0 0 0] [1 2 1 2 1 2]
}

// PyTorch: other layouts behind the same interface.
func Example_pytorchLayouts() {
	x := tensor.New([][]float32{{0, 0, 3}, {4, 0, 0}})
	s := sparse.ToSparse(x)
	fmt.Println(s.NNZ(), s.Shape(), s.ToDense().Equal(x))
	m := tensor.NewMeta(dtype.Float32, 64, 3, 32, 32)
	fmt.Println(m.Permute(0, 2, 3, 1).Shape())
	// Output:
	// 2 [2 3] true
	// [64 32 32 3]
}

// PyTorch: tensors in HDF5. A slice of a dataset reads its rows only.
func Example_pytorchFiles() {
	name := filepath.Join(os.TempDir(), fmt.Sprint("guide", os.Getpid(), ".h5"))
	defer os.Remove(name)
	points := tensor.New([][]float32{{4, 1}, {5, 3}, {2, 1}})
	if err := tensors.SaveAll(name, map[string]*tensor.Tensor{"coords": points}, nil); err != nil {
		log.Fatal(err)
	}
	f, err := tensors.OpenFile(name)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	coords, err := f.Get("coords")
	if err != nil {
		log.Fatal(err)
	}
	before := tensor.BytesRead()
	fmt.Println(tensor.Values[float32](coords.Index("-2:")), tensor.BytesRead()-before, "bytes")
	// Output: [5 3 2 1] 16 bytes
}
