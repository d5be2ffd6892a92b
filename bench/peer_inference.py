"""ONNX Runtime's and OpenVINO's side of the benchmark, the faster of the two: a line "COUNT ROW" in, COUNT seconds out, as JSON."""
import os
import sys
import tempfile
import time
import warnings

import numpy as np
import onnxruntime as ort
import openvino as ov
import torch
import torch.nn as nn
import torchvision.models as zoo

threads = int(sys.argv[1])
torch.set_num_threads(threads)
torch.manual_seed(0)
warnings.filterwarnings('ignore')


def cnn():
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 49, 128), nn.ReLU(), nn.Linear(128, 10))


def small_resnet18():
    """ResNet-18 for small images: a 3x3 convolution and no pooling before the residual blocks."""
    model = zoo.resnet18(num_classes=10)
    model.conv1, model.maxpool = nn.Conv2d(3, 64, 3, padding=1, bias=False), nn.Identity()
    return model


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.head = nn.LSTM(256, 256, 2, batch_first=True), nn.Linear(256, 10)

    def forward(self, x):
        return self.head(self.layer(x)[0][:, -1])


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.TransformerEncoder(nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True), 4, enable_nested_tensor=False)
        self.head = nn.Linear(256, 10)

    def forward(self, x):
        return self.head(self.blocks(x).mean(1))


def in_memory(model, *inputs):
    """The ONNX model as a file that lives as long as the process."""
    path = os.path.join(folder.name, f'{len(os.listdir(folder.name))}.onnx')
    torch.onnx.export(model.eval(), inputs, path, dynamo=False)
    return path


def with_onnxruntime(path, feed):
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    session = ort.InferenceSession(path, options, providers=['CPUExecutionProvider'])
    named = dict(zip([i.name for i in session.get_inputs()], feed))
    return lambda: session.run(None, named)


def with_openvino(path, feed):
    """In float32: OpenVINO would take bfloat16 where the processor has it."""
    model = ov.Core().compile_model(path, 'CPU', {'INFERENCE_NUM_THREADS': threads, 'INFERENCE_PRECISION_HINT': 'f32', 'PERFORMANCE_HINT': 'LATENCY'})
    request = model.create_infer_request()
    for i, x in enumerate(feed):
        request.set_input_tensor(i, ov.Tensor(x))
    return request.infer


def fastest(model, *inputs):
    path, feed = in_memory(model, *inputs), [x.numpy() for x in inputs]
    choices = []
    for prepare in (with_onnxruntime, with_openvino):
        once = prepare(path, feed)
        for _ in range(3):
            once()
        took, began = [], time.perf_counter()
        while len(took) < 5 or time.perf_counter() - began < 0.5:
            start = time.perf_counter()
            once()
            took.append(time.perf_counter() - start)
        choices.append((sorted(took)[len(took) // 2], once))
    return min(choices, key=lambda c: c[0])[1]


def image(model, n, *size):
    return lambda: fastest(model(), torch.rand(n, *size))


def int8_resnet18():
    """ONNX Runtime's static quantization, a scale for each channel; what it changes is printed."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Samples(CalibrationDataReader):
        def __init__(self, count):
            self.left = [{name: x.numpy()} for x in torch.rand(count, 1, 3, 224, 224)]

        def get_next(self):
            return self.left.pop() if self.left else None

    path = in_memory(zoo.resnet18(), torch.rand(1, 3, 224, 224))
    name = ort.InferenceSession(path, providers=['CPUExecutionProvider']).get_inputs()[0].name
    prepared, quantized = path + '.prepared', path + '.int8'
    quant_pre_process(path, prepared, skip_symbolic_shape=True)
    quantize_static(prepared, quantized, Samples(8), quant_format=QuantFormat.QDQ, per_channel=True, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    difference, same, largest, samples = 0, 0, 0, 16
    for x in torch.rand(samples, 1, 3, 224, 224):
        want, got = with_onnxruntime(path, [x.numpy()])()[0], with_onnxruntime(quantized, [x.numpy()])()[0]
        difference, largest, same = max(difference, abs(got - want).max()), max(largest, abs(want).max()), same + int(got.argmax() == want.argmax())
    print(f'bench: ONNX Runtime, int8: outputs for {samples} samples differ by at most {100 * difference / largest:.2g} % of the largest, and the largest is the same in {same}', file=sys.stderr)
    return with_onnxruntime(quantized, [torch.rand(1, 3, 224, 224).numpy()])


rows = {
    'inference, CNN 32-64-128-10, batch 1': image(cnn, 1, 1, 28, 28),
    'inference, CNN 32-64-128-10, batch 1024': image(cnn, 1024, 1, 28, 28),
    'inference, ResNet-18 on 3x32x32, batch 1': image(small_resnet18, 1, 3, 32, 32),
    'inference, ResNet-18 on 3x32x32, batch 32': image(small_resnet18, 32, 3, 32, 32),
    'inference, ResNet-50 on 3x224x224, batch 1': image(zoo.resnet50, 1, 3, 224, 224),
    'inference, int8 ResNet-18 on 3x224x224, batch 1': int8_resnet18,
    'inference, LSTM of 2 layers of 256, 64 steps, batch 1': lambda: fastest(Recurrent(), torch.rand(1, 64, 256)),
    'inference, transformer encoder of 4 layers, width 256, 128 steps, batch 1': lambda: fastest(Encoder(), torch.rand(1, 128, 256)),
    'inference, MobileNetV2 on 3x224x224, batch 1': image(zoo.mobilenet_v2, 1, 3, 224, 224),
}

folder = tempfile.TemporaryDirectory()
answer(f'the faster of ONNX Runtime {ort.__version__} and OpenVINO {ov.__version__.split("-")[0]}', rows)
