package train

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/tensor"
)

// Normalize is how elements become a model's inputs: Scale·x + Shift, as
// float32. The zero Normalize is still to be worked out from the data.
type Normalize struct{ Scale, Shift float64 }

// identity leaves numbers as they are.
var identity = Normalize{Scale: 1}

// UnmarshalJSON reads "auto", "none", {"mean": m, "std": s} or
// {"scale": a, "shift": b}.
func (n *Normalize) UnmarshalJSON(text []byte) error {
	var name string
	if json.Unmarshal(text, &name) == nil {
		known := map[string]Normalize{"auto": {}, "none": identity}
		named, ok := known[name]
		if !ok {
			return fmt.Errorf("want auto, none, {mean, std} or {scale, shift}")
		}
		*n = named
		return nil
	}
	given := struct {
		Scale float64 `json:"scale"`
		Shift float64 `json:"shift"`
		Mean  float64 `json:"mean"`
		Std   float64 `json:"std"`
	}{}
	if err := nn.Decode(text, &given); err != nil {
		return err
	}
	switch {
	case given.Scale != 0 && given.Std == 0 && given.Mean == 0:
		*n = Normalize{given.Scale, given.Shift}
	case given.Std > 0 && given.Scale == 0 && given.Shift == 0:
		*n = standard(given.Mean, given.Std)
	default:
		return fmt.Errorf("want mean and std > 0, or scale ≠ 0 and shift")
	}
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads.
func (n Normalize) MarshalJSON() ([]byte, error) {
	if n == (Normalize{}) {
		return json.Marshal("auto")
	}
	return json.Marshal(map[string]float64{"scale": n.Scale, "shift": n.Shift})
}

// standard makes numbers of that mean and deviation ones of mean 0 and deviation 1.
func standard(mean, deviation float64) Normalize {
	return Normalize{1 / deviation, -mean / deviation}
}

// An Input is how samples as files have them become a model's input. The zero
// Input leaves them as they are.
type Input struct {
	Normalize
	ChannelsLast bool // images come as (H, W, C)
	AddChannel   bool // images come as (H, W)
}

// inputFor returns the Input that model needs of samples of the given shape.
func inputFor(model nn.Module, c DataConfig, sample []int) Input {
	return Input{
		Normalize:    c.Normalize,
		ChannelsLast: c.Layout == "nhwc" && len(sample) == 3,
		AddChannel:   len(sample) == 2 && wantsImages(model),
	}
}

// wantsImages reports whether the first layer of m works on (N, C, H, W).
func wantsImages(m nn.Module) bool {
	switch m := m.(type) {
	case nn.Sequential:
		return len(m) > 0 && wantsImages(m[0])
	case *nn.Conv2d, *nn.BatchNorm2d, nn.MaxPool2d, nn.AvgPool2d, nn.GlobalAvgPool2d:
		return true
	}
	return false
}

// Of returns a batch as the model takes it.
func (in Input) Of(x *tensor.Tensor) *tensor.Tensor {
	if in.AddChannel {
		x = x.Reshape(x.Shape[0], 1, x.Shape[1], x.Shape[2])
	}
	if in.ChannelsLast {
		x = x.Transpose(0, 3, 1, 2)
	}
	if in.Scale == 0 || in.Normalize == identity && x.Type == dtype.Float32 {
		return x
	}
	return x.Normalize(in.Scale, in.Shift)
}

// Sample returns the shape that Of makes of samples of the given shape.
func (in Input) Sample(shape []int) []int {
	switch {
	case in.AddChannel:
		return []int{1, shape[0], shape[1]}
	case in.ChannelsLast:
		return []int{shape[2], shape[0], shape[1]}
	}
	return slices.Clone(shape)
}
