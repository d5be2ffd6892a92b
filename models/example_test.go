package models_test

import (
	"context"
	"fmt"
	"os"

	"github.com/h5dnn/h5dnn/models"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"

	_ "github.com/h5dnn/h5dnn/serialize/hdf5"
	_ "github.com/h5dnn/h5dnn/serialize/kerasfile"
	_ "github.com/h5dnn/h5dnn/serialize/npy"
	_ "github.com/h5dnn/h5dnn/serialize/torch"
)

// Example plans the conversion of a model of Keras to a state_dict of PyTorch. Write writes
// it, and Verify compares the predictions of both sides.
func Example() {
	source, err := models.Open("../serialize/kerasfile/testdata/keras3_cnn.keras")
	if err != nil {
		panic(err)
	}
	defer source.Close()
	plan, err := models.New(source, "torch", models.Options{})
	if err != nil {
		panic(err)
	}
	for _, t := range plan.Tensors[:2] {
		fmt.Println(t.Name, t.Array.Shape, t.From, t.Operation)
	}
	fmt.Println(plan.Modules[0].Name, "=", plan.Modules[0].Call)
	fmt.Println(plan.Err())
	// Output:
	// conv2d.weight [4 3 3 3] [conv2d/kernel] transpose(3 2 0 1)
	// conv2d.bias [4] [conv2d/bias] copy
	// conv2d = nn.Conv2d(3, 4, kernel_size=(3, 3), padding='same')
	// <nil>
}

// ExamplePlan_Run predicts with a model of Keras: the model becomes a run of h5dnn in memory.
func ExamplePlan_Run() {
	source, err := models.Open("../serialize/kerasfile/testdata/keras3_cnn.keras")
	if err != nil {
		panic(err)
	}
	defer source.Close()
	plan, err := models.New(source, "h5", models.Options{})
	if err != nil {
		panic(err)
	}
	run, err := plan.Run(storage.CPU)
	if err != nil {
		panic(err)
	}
	predictor, err := run.Predictor()
	if err != nil {
		panic(err)
	}
	samples, err := serialize.Open("../serialize/kerasfile/testdata/keras3_cnn.npz")
	if err != nil {
		panic(err)
	}
	defer samples.Close()
	x, err := serialize.Find(samples, "x0")
	if err != nil {
		panic(err)
	}
	y, err := predictor.Predict(x)
	if err != nil {
		panic(err)
	}
	values, err := storage.Read[float32](y)
	fmt.Printf("%v %.3f %v\n", y.Shape, values[:5], err)
	// Output: [4 5] [0.142 0.075 0.611 0.060 0.113] <nil>
}

// ExampleFromModule writes a file of Keras of a model of package nn.
func ExampleFromModule() {
	model := nn.Sequential{
		nn.NewConv2d(nn.ConvOptions{OutChannels: 4, KernelSize: nn.Sizes{3, 3}}), nn.ReLU{},
		nn.Flatten{}, nn.NewDense(nn.DenseOptions{OutFeatures: 5}),
	}
	if _, err := nn.Build(model, []int{3, 8, 6}); err != nil {
		panic(err)
	}
	nn.Init(model, 1)
	source, err := models.FromModule(model, []int{3, 8, 6})
	if err != nil {
		panic(err)
	}
	defer source.Close()
	plan, err := models.New(source, "keras", models.Options{})
	if err != nil {
		panic(err)
	}
	defer os.Remove("net.keras")
	if err := plan.Write(context.Background(), "net.keras"); err != nil {
		panic(err)
	}
	for _, t := range plan.Tensors {
		fmt.Println(t.Name, t.Array.Shape, t.From)
	}
	verified, err := plan.Verify(context.Background(), "net.keras")
	fmt.Println(verified.Written, verified.Predicted, len(plan.Lost), err)
	// Output:
	// conv2d_0/kernel [3 3 3 4] [0.weight]
	// conv2d_0/bias [4] [0.bias]
	// dense_3/kernel [96 5] [3.weight]
	// dense_3/bias [5] [3.bias]
	// 4 true 0 <nil>
}
