"""Exports models with random weights to a folder: NAME.onnx, and NAME.npz with the inputs in_0, … and the outputs of ONNX Runtime out_0, ….

    python models.py FOLDER NAME…
"""
import os
import sys
import warnings

os.environ.setdefault("KERAS_BACKEND", "torch")
warnings.filterwarnings("ignore")

import numpy as np
import onnx
import onnxruntime as ort
import torch
from torch import nn

torch.manual_seed(1)
torch.set_num_threads(2)
folder = sys.argv[1]


def settle(model):
    """Gives normalizations statistics and scales other than 0 and 1."""
    for m in model.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d)):
            nn.init.uniform_(m.running_mean, -0.1, 0.1)
            nn.init.uniform_(m.running_var, 0.5, 1.5)
            nn.init.uniform_(m.weight, 0.5, 1.5)
            nn.init.uniform_(m.bias, -0.1, 0.1)
        if isinstance(m, nn.MultiheadAttention):
            nn.init.uniform_(m.in_proj_bias, -0.1, 0.1)
            nn.init.uniform_(m.out_proj.bias, -0.1, 0.1)
    return model.eval()


def compare(name, inputs):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 2
    options.log_severity_level = 4
    session = ort.InferenceSession(f"{folder}/{name}.onnx", options, providers=["CPUExecutionProvider"])
    feed = {i.name: np.asarray(x) for i, x in zip(session.get_inputs(), inputs)}
    outputs = session.run(None, feed)
    arrays = {f"in_{i}": x for i, x in enumerate(feed.values())}
    arrays |= {f"out_{i}": y for i, y in enumerate(outputs) if isinstance(y, np.ndarray) and y.dtype.kind in "fiub"}
    np.savez(f"{folder}/{name}.npz", **arrays)


def export(name, model, inputs, opset=17, dynamo=False, dynamic=True, names=None):
    model = settle(model)
    path = f"{folder}/{name}.onnx"
    if dynamo:
        dims = None
        if dynamic:
            dims = tuple({0: torch.export.Dim("batch")} for _ in inputs)
        torch.onnx.export(model, tuple(inputs), path, dynamo=True, opset_version=max(opset, 18), dynamic_shapes=dims, external_data=False, verbose=False)
        graph = onnx.load(path)
        for part in (graph.graph, *graph.graph.node, *graph.graph.value_info):  # stacks of calls
            del part.metadata_props[:]
        onnx.save(graph, path)
    else:
        names = [f"x{i}" for i in range(len(inputs))]
        torch.onnx.export(model, tuple(inputs), path, dynamo=False, opset_version=opset, input_names=names,
                          dynamic_axes={n: {0: "batch"} for n in names} if dynamic else None)
    compare(name, [torch.cat([x, x.flip(-1)]).numpy() if dynamic else x.numpy() for x in inputs])


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        block = lambda i, o: nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(), nn.Conv2d(o, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())
        self.down1, self.down2, self.middle = block(1, 16), block(16, 32), block(32, 64)
        self.up2, self.up1 = nn.ConvTranspose2d(64, 32, 2, 2), nn.Upsample(scale_factor=2, mode="bilinear")
        self.block2, self.block1, self.last = block(64, 32), block(48, 16), nn.Conv2d(16, 2, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(nn.functional.max_pool2d(a, 2))
        c = self.middle(nn.functional.max_pool2d(b, 2))
        b = self.block2(torch.cat([b, self.up2(c)], 1))
        return self.last(self.block1(torch.cat([a, self.up1(b)], 1)))


class Recurrent(nn.Module):
    def __init__(self, layer, bidirectional=True, batch_first=True):
        super().__init__()
        self.embed = nn.Embedding(50, 24)
        self.layer = layer(24, 32, 2, batch_first=batch_first, bidirectional=bidirectional)
        self.head = nn.Linear(64 if bidirectional else 32, 5)

    def forward(self, x):
        y, _ = self.layer(self.embed(x))
        return self.head(y[:, -1]), y


class Encoder(nn.Module):
    def __init__(self, activation="gelu", norm_first=True):
        super().__init__()
        self.embed, self.position = nn.Embedding(50, 32), nn.Parameter(torch.randn(1, 12, 32))
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, activation=activation, norm_first=norm_first)
        self.encoder, self.head = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(32, 5)

    def forward(self, x):
        return self.head(self.encoder(self.embed(x) + self.position).mean(1))


def torchvision_model(name, size=64, **options):
    import torchvision
    return getattr(torchvision.models, name)(weights=None, **options), [torch.randn(1, 3, size, size)]


def tokens():
    return [torch.randint(0, 50, (1, 12))]


def keras_model(kind):
    import keras
    keras.utils.set_random_seed(1)
    layers = keras.layers
    if kind == "cnn":
        model = keras.Sequential([layers.Input((16, 16, 3)), layers.Conv2D(8, 3, activation="relu", padding="same"), layers.MaxPooling2D(),
                                  layers.BatchNormalization(), layers.Conv2D(16, 3, strides=2, padding="same"), layers.Flatten(), layers.Dense(10, activation="softmax")])
        x = np.random.default_rng(1).normal(size=(2, 16, 16, 3)).astype("f4")
    else:
        layer = {"lstm": layers.LSTM, "gru": layers.GRU}[kind]
        model = keras.Sequential([layers.Input((12, 6)), layers.Bidirectional(layer(16, return_sequences=True)), layer(8), layers.Dense(3)])
        x = np.random.default_rng(1).normal(size=(2, 12, 6)).astype("f4")
    model(x)
    return model, x


def keras_export(name, kind):
    model, x = keras_model(kind)
    model.export(f"{folder}/{name}.onnx", format="onnx", verbose=False)
    compare(name, [x])


def sklearn_probabilities(name, *steps):
    """A pipeline whose outputs are the label and the matrix of probabilities, of three classes with names."""
    from skl2onnx import to_onnx
    from sklearn.pipeline import make_pipeline
    x = np.random.default_rng(1).normal(size=(100, 4)).astype("f4") * 3 + 1
    model = make_pipeline(*steps).fit(x, np.array(["low", "middle", "high"])[np.digitize(x[:, 0], [0, 2])])
    onnx.save(to_onnx(model, x[:1], options={id(model): {"zipmap": False}}), f"{folder}/{name}.onnx")
    compare(name, [x[:5]])


def small_logistic(name):
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler
    sklearn_probabilities(name, StandardScaler(), LogisticRegression())


def small_mlp(name):
    from sklearn.neural_network import MLPClassifier
    from sklearn.preprocessing import MinMaxScaler
    sklearn_probabilities(name, MinMaxScaler(), MLPClassifier(hidden_layer_sizes=(3,), max_iter=50))


def sklearn_export(name, classifier):
    from skl2onnx import to_onnx
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    random = np.random.default_rng(1)
    x = random.normal(size=(100, 6)).astype("f4")
    if classifier == "text":
        y = np.array(["low", "middle", "high"])[np.digitize(x[:, 0], [-0.5, 0.5])]
    elif classifier:
        y = np.digitize(x[:, 0], [-0.5, 0.5]) if classifier == "multi" else (x[:, 0] > 0).astype(int)
    else:
        y = x[:, 0] * 2 + x[:, 1]
    model = make_pipeline(StandardScaler(), (MLPClassifier if classifier else MLPRegressor)(hidden_layer_sizes=(8,), max_iter=50)).fit(x, y)
    onnx.save(to_onnx(model, x[:1]), f"{folder}/{name}.onnx")
    compare(name, [x[:7]])


def quantized(name):
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static
    model, inputs = torchvision_model("resnet18", 32)
    export(name + "_float", model, inputs, dynamic=False)
    samples = [{"x0": np.random.default_rng(i).normal(size=(1, 3, 32, 32)).astype("f4")} for i in range(4)]

    class Reader(CalibrationDataReader):
        def get_next(self):
            return samples.pop() if samples else None

    quantize_static(f"{folder}/{name}_float.onnx", f"{folder}/{name}.onnx", Reader(), quant_format=QuantFormat.QDQ, per_channel=True)
    compare(name, [inputs[0].numpy()])


class Small(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.layers, self.lstm, self.head = nn.Sequential(*layers), nn.LSTM(4, 5, batch_first=True, bidirectional=True), nn.Linear(10, 3)

    def forward(self, x):
        return self.head(self.lstm(self.layers(x))[0][:, -1])


class States(nn.Module):
    """Recurrent layers whose last states are used, joined, or the first of others."""

    def __init__(self):
        super().__init__()
        self.first, self.both = nn.GRU(2, 3, batch_first=True), nn.LSTM(3, 2, 2, batch_first=True, bidirectional=True)
        self.last, self.other = nn.RNN(4, 2, batch_first=True, nonlinearity="relu"), nn.GRU(2, 3, batch_first=True)

    def forward(self, x):
        y, h = self.first(x)
        z, (ends, cells) = self.both(y)
        return torch.cat([h[-1], ends[-2], ends[-1], cells[0], self.last(z)[1][-1], self.other(x, h)[0][:, -1]], 1)


class Parts(nn.Module):
    """Operators that are layers of nn, or its functions of elements and along axes."""

    def __init__(self):
        super().__init__()
        self.image = nn.Sequential(nn.Conv2d(2, 8, 1), nn.GroupNorm(2, 8), nn.PReLU(8), nn.InstanceNorm2d(8, affine=True))
        self.scale, self.places, self.gain = (nn.Parameter(torch.rand(*shape)) for shape in ((8, 1, 1), (12, 12), (12,)))

    def forward(self, x):
        a, b = nn.functional.pixel_shuffle(self.image(x) * self.scale, 2).split(1, 1)
        t = (a * b.sigmoid()).squeeze(1) + self.places
        t = (t @ t.transpose(1, 2) / 3).softmax(-1) @ t
        t = t * torch.rsqrt(t.pow(2).mean(-1, keepdim=True) + 1e-5) * self.gain
        t = torch.where(t > 0.5, t, t.abs().sqrt())[:, 2::3]
        return torch.cat([t.amax(1), t.norm(dim=1), t.logsumexp(1), (t * t.sum(2, keepdim=True)).mean(1)], 1)


class Attends(nn.Module):
    """Attention as PyTorch's layers and as modules by hand write it: of an encoder with masked keys, of one product for queries, keys and values
    behind a class token, and causal with a mask by hand."""

    def __init__(self):
        super().__init__()
        self.embed, self.places, self.token = nn.Embedding(9, 8), nn.Parameter(torch.randn(1, 6, 8)), nn.Parameter(torch.randn(1, 1, 8))
        self.encoder = nn.TransformerEncoderLayer(8, 2, 12, batch_first=True, activation="gelu")
        self.qkv, self.last = nn.Linear(8, 24), nn.Linear(8, 3)
        self.cross = nn.MultiheadAttention(8, 2)

    def forward(self, x):
        y = self.encoder(self.embed(x) + self.places, src_key_padding_mask=x == 0)
        n, t, c = y.shape
        q, k, v = (part.view(n, t, 2, c // 2).transpose(1, 2) for part in self.qkv(y).split(c, 2))
        scores = (q @ k.transpose(-2, -1)).masked_fill(torch.tril(torch.ones(t, t)) == 0, float("-inf"))
        y = y + nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(n, t, c)
        y = y + (scores.softmax(-1) @ v).transpose(1, 2).reshape(n, t, c)
        y = torch.cat([self.token.expand(n, -1, -1), y], 1)
        q, k, v = self.qkv(y).reshape(n, t + 1, 3, 2, c // 2).permute(2, 0, 3, 1, 4).unbind(0)
        y = y + nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(n, t + 1, c)
        first, others = y[:, :1].transpose(0, 1), y[:, 1:].transpose(0, 1)  # the steps come first
        return self.last(self.cross(first, others, others)[0].transpose(0, 1)[:, 0])


class Frames(nn.Module):
    """A convolution of each frame, whose samples and steps share an axis, and one number for each sample."""

    def __init__(self):
        super().__init__()
        self.image, self.steps = nn.Sequential(nn.Conv2d(1, 3, 3, 2, 1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()), nn.GRU(3, 4, batch_first=True)

    def forward(self, x):
        n, t = x.shape[:2]
        y = self.steps(self.image(x.flatten(0, 1)).view(n, t, -1))[0]
        return y, nn.functional.cosine_similarity(y[:, 0], y[:, -1]).clamp(min=0.5) ** 0.5


MODELS = {
    "small_frames": lambda n: export(n, Frames(), [torch.randn(2, 3, 1, 4, 4)], dynamo=True),
    "small_logistic": small_logistic,
    "small_mlp": small_mlp,
    "small_attention": lambda n: export(n, Attends(), [torch.tensor([[1, 2, 3, 4, 0, 0]])], opset=14),
    "small_attention_dynamo": lambda n: export(n, Attends(), [torch.tensor([[1, 2, 3, 4, 0, 0], [5, 6, 7, 8, 1, 0]])], dynamo=True),
    "small_attention_fixed": lambda n: export(n, Attends(), [torch.tensor([[1, 2, 3, 4, 0, 0]])], dynamo=True, dynamic=False),
    "small_states": lambda n: export(n, States(), [torch.randn(2, 5, 2)]),
    "small_parts": lambda n: export(n, Parts(), [torch.randn(2, 2, 6, 6)]),
    "small_cnn": lambda n: export(n, nn.Sequential(nn.Conv2d(2, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 3), nn.Softmax(1)), [torch.randn(1, 2, 6, 6)]),
    "small_lstm": lambda n: export(n, Small(nn.Linear(2, 4), nn.LayerNorm(4)), [torch.randn(1, 7, 2)]),
    "unet": lambda n: export(n, UNet(), [torch.randn(1, 1, 32, 32)]),
    "unet_dynamo": lambda n: export(n, UNet(), [torch.randn(1, 1, 32, 32)], dynamo=True),
    "lstm": lambda n: export(n, Recurrent(nn.LSTM), tokens()),
    "gru": lambda n: export(n, Recurrent(nn.GRU), tokens()),
    "rnn": lambda n: export(n, Recurrent(nn.RNN, False), tokens()),
    "lstm_dynamo": lambda n: export(n, Recurrent(nn.LSTM), tokens(), dynamo=True, dynamic=False),
    "gru_dynamo": lambda n: export(n, Recurrent(nn.GRU), tokens(), dynamo=True, dynamic=False),
    "encoder": lambda n: export(n, Encoder(), tokens()),
    "encoder_relu": lambda n: export(n, Encoder("relu", False), tokens(), opset=14),
    "encoder_dynamo": lambda n: export(n, Encoder(), tokens(), dynamo=True, dynamic=False),
    "keras_lstm": lambda n: keras_export(n, "lstm"),
    "keras_gru": lambda n: keras_export(n, "gru"),
    "keras_cnn": lambda n: keras_export(n, "cnn"),
    "sklearn_binary": lambda n: sklearn_export(n, "binary"),
    "sklearn_multi": lambda n: sklearn_export(n, "multi"),
    "sklearn_text": lambda n: sklearn_export(n, "text"),
    "sklearn_regressor": lambda n: sklearn_export(n, ""),
    "resnet18_int8": quantized,
}
SIZES = {"inception_v3": 75, "vit_b_16": 224, "swin_t": 224}
for zoo in ("resnet18", "mobilenet_v2", "mobilenet_v3_small", "efficientnet_b0", "densenet121", "squeezenet1_1", "shufflenet_v2_x0_5", "regnet_y_400mf", "mnasnet0_5", "googlenet", "inception_v3", "alexnet", "vgg11", "convnext_tiny", "vit_b_16", "swin_t"):
    def make(n, zoo=zoo, dynamo=False):
        options = {"init_weights": True, "aux_logits": False} if zoo in ("googlenet", "inception_v3") else {}
        model, inputs = torchvision_model(zoo, SIZES.get(zoo, 64), **options)
        export(n, model, inputs, opset=13 if zoo == "resnet18" else 17, dynamo=dynamo)
    MODELS[zoo] = make
    MODELS[zoo + "_dynamo"] = lambda n, make=make: make(n, dynamo=True)

failed = []
for name in sys.argv[2:]:
    try:
        MODELS[name](name)
        print(name)
    except Exception as e:  # an exporter that is not installed, or does not take the model
        failed.append(f"{name}: {type(e).__name__}: {str(e).strip().splitlines()[0] if str(e).strip() else ''}")
for line in failed:
    print("not exported:", line)
