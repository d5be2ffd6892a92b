package main

import (
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// encoder classifies (N, 128, 256) by the mean over the steps of PyTorch's nn.TransformerEncoder, with its dropout of 0.1.
func encoder() nn.Module {
	return nn.Sequential{
		nn.NewTransformerEncoder(nn.TransformerStackOptions{NumLayers: 4, TransformerOptions: nn.TransformerOptions{DModel: 256, NHead: 4, DimFeedforward: 1024}}),
		nn.NewPermute(nn.PermuteOptions{Axes: nn.Sizes{2, 1}}), nn.GlobalAvgPool1d{}, nn.Flatten{},
		nn.NewLinear(nn.LinearOptions{InFeatures: 256, OutFeatures: 10}),
	}
}

// gpt is the preset without dropout, as GPT-2's is trained.
func gpt() nn.Module {
	model, err := nn.Preset("gpt", 256)
	if err != nil {
		panic(err)
	}
	for _, m := range nn.Modules(model) {
		if d, ok := m.(*nn.Dropout); ok {
			d.P = 0
		}
	}
	return model
}

func tokens(shape ...int) storage.Array {
	n := 1
	for _, size := range shape {
		n *= size
	}
	return storage.From(classes(n, 256), shape...)
}

// gptStep is a training step of gpt.
func gptStep(folders) (task, error) {
	return stepOf(gpt(), tokens(8, 256), tokens(8, 256), noChange), nil
}

// gptStepBF16 is gptStep with products of numbers of bfloat16.
func gptStepBF16(folders) (task, error) {
	return stepOf(gpt(), tokens(8, 256), tokens(8, 256), (*tensor.Tape).RoundProducts), nil
}

// generation draws tokens one after another, with cached keys and values.
func generation(folders) (task, error) {
	model, prompt := gpt(), make([]int, 32)
	for i := range prompt {
		prompt[i] = i
	}
	once := func() error {
		for _, err := range nn.Generate(model, prompt, nn.GenerateOptions{Tokens: 128, Temperature: 1, TopK: 40}) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	return task{once: once, done: tensor.ReleaseMemory}, nil
}
