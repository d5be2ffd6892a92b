package main

import "github.com/h5dnn/h5dnn/dtype"

// inferenceRows are rows of models that are planned for prediction, beside the faster of ONNX Runtime and OpenVINO in float32; int8 beside ONNX Runtime's, bfloat16 beside our float32.
var inferenceRows = []row{
	{name: "inference, CNN 32-64-128-10, batch 1", bar: 0.8, prepare: infer(cnn, 1, 1, 28, 28)},
	{name: "inference, CNN 32-64-128-10, batch 1024", bar: 0.8, prepare: infer(cnn, 1024, 1, 28, 28)},
	{name: "inference, ResNet-18 on 3x32x32, batch 1", bar: 0.9, prepare: infer(resnet18, 1, 3, 32, 32)},
	{name: "inference, ResNet-18 on 3x32x32, batch 32", bar: 0.9, prepare: infer(resnet18, 32, 3, 32, 32)},
	{name: "inference, ResNet-50 on 3x224x224, batch 1", bar: 1.0, prepare: infer(resnet50, 1, 3, 224, 224)},
	{name: "inference, int8 ResNet-18 on 3x224x224, batch 1", bar: 1.0, prepare: inferNarrow(dtype.Int8, resnet18Large, 1, 3, 224, 224)},
	{name: "inference, LSTM of 2 layers of 256, 64 steps, batch 1", bar: 0.9, prepare: infer(recurrent(lstm, false), 1, 64, 256)},
	{name: "inference, transformer encoder of 4 layers, width 256, 128 steps, batch 1", bar: 0.9, prepare: infer(encoder, 1, 128, 256)},
	{name: "inference, MobileNetV2 on 3x224x224, batch 1", bar: 1.0, prepare: infer(mobileNetV2, 1, 3, 224, 224)},
	{name: "inference, bfloat16 transformer encoder of 4 layers, width 256, 128 steps, batch 1; float32", bar: 0.8, prepare: inferNarrow(dtype.BFloat16, encoder, 1, 128, 256), beside: infer(encoder, 1, 128, 256)},
	{name: "inference, bfloat16 ResNet-50 on 3x224x224, batch 1; float32", bar: 0.8, prepare: inferNarrow(dtype.BFloat16, resnet50, 1, 3, 224, 224), beside: infer(resnet50, 1, 3, 224, 224)},
}
