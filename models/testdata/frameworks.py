"""Models in Keras and in PyTorch, for the test that converts them.

    frameworks.py make DIR    writes NAME.keras, NAME-x.npy and NAME-y.npy, Keras's prediction
    frameworks.py torch DIR   loads NAME.pt into PyTorch's modules and prints the errors
    frameworks.py keras DIR   loads NAME-back.keras and prints the errors
    frameworks.py train DIR   trains PyTorch's modules, writes NAME-torch.pt and NAME-torch-y.npy
    frameworks.py begin DIR   trains with each optimizer, writes NAME.keras, and the prediction after one more step
    frameworks.py resume DIR  makes that step in PyTorch from NAME.pt, and prints the errors
    frameworks.py goon DIR    makes that step in Keras from NAME-back.keras, and prints the errors
    frameworks.py weights DIR makes that step in PyTorch from NAME-run.pt, and in Keras from NAME-run.keras, and prints the errors
    frameworks.py net DIR     writes net.pt, of PyTorch, and its prediction net-y.npy for net-x.npy
    frameworks.py netback DIR loads net-back.pt and prints the error
    frameworks.py check DIR   loads NAME-torch.keras, compares with NAME-torch-y.npy
"""
import os
import sys

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

L = keras.layers


def cnn():
    return keras.Sequential([
        keras.Input((13, 9, 3)),
        L.Conv2D(6, 3, padding="same", activation="relu"),
        L.DepthwiseConv2D(3, depth_multiplier=2, name="depthwise"),
        L.BatchNormalization(),
        L.MaxPooling2D(2),
        L.SeparableConv2D(8, 2, name="separable"),
        L.Conv2DTranspose(5, 3, strides=2, name="up"),
        L.PReLU(shared_axes=[1, 2]),
        L.GroupNormalization(groups=5),
        L.Flatten(),
        L.BatchNormalization(name="norm"),
        L.Dense(7, activation="tanh"),
        L.Dense(4),
    ])


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv2d = nn.Conv2d(3, 6, 3, padding="same")
        self.depthwise = nn.Conv2d(6, 12, 3, groups=6)
        self.batch_normalization = nn.BatchNorm2d(12, eps=1e-3)
        self.separable = nn.Module()
        self.separable.depthwise = nn.Conv2d(12, 12, 2, groups=12, bias=False)
        self.separable.pointwise = nn.Conv2d(12, 8, 1)
        self.up = nn.ConvTranspose2d(8, 5, 3, stride=2)
        self.p_re_lu = nn.PReLU(5)
        self.group_normalization = nn.GroupNorm(5, 5, eps=1e-3)
        self.norm = nn.BatchNorm1d(5 * 9 * 5, eps=1e-3)
        self.dense = nn.Linear(5 * 9 * 5, 7)
        self.dense_1 = nn.Linear(7, 4)

    def forward(self, x):
        x = x.permute(0, 3, 1, 2)
        x = F.relu(self.conv2d(x))
        x = F.max_pool2d(self.batch_normalization(self.depthwise(x)), 2)
        x = self.up(self.separable.pointwise(self.separable.depthwise(x)))
        x = self.group_normalization(self.p_re_lu(x)).flatten(1)
        return self.dense_1(torch.tanh(self.dense(self.norm(x))))


def lstm():
    return keras.Sequential([
        keras.Input((7, 4)),
        L.Bidirectional(L.LSTM(5, return_sequences=True)),
        L.LSTM(6),
        L.Dense(3),
    ])


class LSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.bidirectional = nn.LSTM(4, 5, batch_first=True, bidirectional=True)
        self.lstm_1 = nn.LSTM(10, 6, batch_first=True)
        self.dense = nn.Linear(6, 3)

    def forward(self, x):
        x, _ = self.bidirectional(x)
        x, _ = self.lstm_1(x)
        return self.dense(x[:, -1])


def mlp():
    return keras.Sequential([
        keras.Input((11,)),
        L.Dense(9, use_bias=False),
        L.BatchNormalization(scale=False),
        L.ReLU(),
        L.Dense(8),
        L.BatchNormalization(center=False),
        L.LayerNormalization(),
        L.Dense(3),
    ])


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.dense = nn.Linear(11, 9, bias=False)
        self.batch_normalization = nn.BatchNorm1d(9, eps=1e-3)
        self.batch_normalization.weight.requires_grad_(False)  # Keras's has none
        self.dense_1 = nn.Linear(9, 8)
        self.batch_normalization_1 = nn.BatchNorm1d(8, eps=1e-3)
        self.batch_normalization_1.bias.requires_grad_(False)
        self.layer_normalization = nn.LayerNorm(8, eps=1e-3)
        self.dense_2 = nn.Linear(8, 3)

    def forward(self, x):
        x = F.relu(self.batch_normalization(self.dense(x)))
        return self.dense_2(self.layer_normalization(self.batch_normalization_1(self.dense_1(x))))


def gru():
    return keras.Sequential([
        keras.Input((7, 4)),
        L.GRU(5, return_sequences=True),
        L.SimpleRNN(6, return_sequences=True),
        L.Conv1D(5, 3),
        L.Conv1DTranspose(4, 2, strides=2),
        L.Flatten(),
        L.Dense(3),
    ])


class GRU(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(4, 5, batch_first=True)
        self.simple_rnn = nn.RNN(5, 6, batch_first=True)
        self.conv1d = nn.Conv1d(6, 5, 3)
        self.conv1d_transpose = nn.ConvTranspose1d(5, 4, 2, stride=2)
        self.dense = nn.Linear(40, 3)

    def forward(self, x):
        x, _ = self.gru(x)
        x, _ = self.simple_rnn(x)
        x = self.conv1d_transpose(self.conv1d(x.permute(0, 2, 1)))
        return self.dense(x.flatten(1))


def transformer():
    tokens = keras.Input((7,), dtype="int32")
    x = L.Embedding(20, 12, name="tokens")(tokens)
    y = L.MultiHeadAttention(3, 4, name="attention")(x, x)
    x = L.LayerNormalization(name="norm1")(L.Add()([x, y]))
    y = L.Dense(12, name="down")(L.Dense(24, activation="relu", name="up")(x))
    x = L.LayerNormalization(name="norm2")(L.Add()([x, y]))
    x = L.Flatten()(x)
    return keras.Model(tokens, L.Dense(3, name="head")(x))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(20, 12)
        self.attention = nn.MultiheadAttention(12, 3, batch_first=True)
        self.norm1 = nn.LayerNorm(12, eps=1e-3)
        self.up = nn.Linear(12, 24)
        self.down = nn.Linear(24, 12)
        self.norm2 = nn.LayerNorm(12, eps=1e-3)
        self.head = nn.Linear(84, 3)

    def forward(self, x):
        x = self.tokens(x.long())
        y, _ = self.attention(x, x, x, need_weights=False)
        x = self.norm1(x + y)
        x = self.norm2(x + self.down(F.relu(self.up(x))))
        return self.head(x.flatten(1))


def volume():
    return keras.Sequential([
        keras.Input((5, 6, 7, 2)),
        L.Conv3D(4, 2, strides=2),
        L.Conv3DTranspose(3, 2),
        L.Flatten(),
        L.Dense(3),
    ])


class Volume(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv3d = nn.Conv3d(2, 4, 2, stride=2)
        self.conv3d_transpose = nn.ConvTranspose3d(4, 3, 2)
        self.dense = nn.Linear(3 * 3 * 4 * 4, 3)

    def forward(self, x):
        x = self.conv3d_transpose(self.conv3d(x.permute(0, 4, 1, 2, 3)))
        return self.dense(x.flatten(1))


MODELS = {"cnn": (cnn, CNN), "lstm": (lstm, LSTM), "mlp": (mlp, MLP), "gru": (gru, GRU), "transformer": (transformer, Transformer), "volume": (volume, Volume)}


def randomized(model, rng):
    """Weights of which none is what a layer starts with."""
    for v in model.weights:
        if "seed" in v.path:
            continue
        x = rng.standard_normal(v.shape) * 0.3
        if "variance" in v.path or "gamma" in v.path:
            x = np.abs(x) + 0.5
        v.assign(x.astype("float32"))


OPTIMIZERS = {
    "adam": (lambda: keras.optimizers.Adam(1e-2), torch.optim.Adam),
    "amsgrad": (lambda: keras.optimizers.Adam(1e-2, amsgrad=True), torch.optim.Adam),
    "adamw": (lambda: keras.optimizers.AdamW(1e-2, weight_decay=0.1), torch.optim.AdamW),
    "sgd": (lambda: keras.optimizers.SGD(1e-2, momentum=0.9), torch.optim.SGD),
    "nesterov": (lambda: keras.optimizers.SGD(1e-2, momentum=0.9, nesterov=True), torch.optim.SGD),
    "rmsprop": (lambda: keras.optimizers.RMSprop(1e-2, momentum=0.5, centered=True), torch.optim.RMSprop),
    "adagrad": (lambda: keras.optimizers.Adagrad(1e-2), torch.optim.Adagrad),
    "adadelta": (lambda: keras.optimizers.Adadelta(0.5), torch.optim.Adadelta),
}


def begin(at, optimizer):
    """A model whose weights are transposed, reordered, split and joined."""
    rng = np.random.default_rng(5)
    x, y = rng.standard_normal((8, 6, 4, 2)).astype("float32"), rng.standard_normal((8, 3)).astype("float32")
    m = keras.Sequential([keras.Input((6, 4, 2)), L.Conv2D(5, 3, name="conv"), L.Flatten(), L.Dense(6, activation="tanh", name="first"), L.Dense(3, name="second")])
    randomized(m, rng)
    m.compile(optimizer, "mse")
    for _ in range(20):
        m.train_on_batch(x, y)
    m.save(at + ".keras")
    m.train_on_batch(x, y)
    np.savez(at + "-data.npz", x=x, y=y, after=m.predict(x, verbose=0), **{".".join(v.path.split("/")[-2:]): np.array(v) for v in m.trainable_variables})


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.first, self.second = nn.Conv2d(2, 5, 3), nn.Linear(40, 6), nn.Linear(6, 3)

    def forward(self, x):
        return self.second(torch.tanh(self.first(self.conv(x.permute(0, 3, 1, 2)).flatten(1))))


def resume(at, optimizer):
    d, data, net = torch.load(at + ".pt", weights_only=True), np.load(at + "-data.npz"), Net()
    net.load_state_dict(d["model_state_dict"])
    o = optimizer(net.parameters(), lr=1.0)
    o.load_state_dict(d["optimizer_state_dict"])
    x, y = torch.from_numpy(data["x"]), torch.from_numpy(data["y"])
    o.zero_grad()
    F.mse_loss(net(x), y).backward()
    before = net(x).detach().numpy()
    o.step()
    after = net(x).detach().numpy()
    return error(after, data["after"]), error(after, before)


def goon(at):
    data, m = np.load(at + "-data.npz"), keras.models.load_model(at + "-back.keras")
    m.train_on_batch(data["x"], data["y"])
    return error(m.predict(data["x"], verbose=0), data["after"])


def weights(at, optimizer):
    """The largest differences of weights after one step, from files that h5dnn wrote of a run."""
    data, m, net = np.load(at + "-data.npz"), keras.models.load_model(at + "-run.keras"), Net()
    m.train_on_batch(data["x"], data["y"])
    got = {".".join(v.path.split("/")[-2:]): np.array(v) for v in m.trainable_variables}
    in_keras = max(error(got[name], data[name]) for name in got)
    d = torch.load(at + "-run.pt", weights_only=True)
    net.load_state_dict(d["model_state_dict"])
    o = optimizer(net.parameters(), lr=1.0)
    o.load_state_dict(d["optimizer_state_dict"])
    o.zero_grad()
    F.mse_loss(net(torch.from_numpy(data["x"])), torch.from_numpy(data["y"])).backward()
    o.step()
    second = net.second.weight.detach().numpy().T
    return max(in_keras, error(second, data["second.kernel"]))


def plain():
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(4 * 4 * 3, 6), nn.LayerNorm(6), nn.Linear(6, 3))


def error(a, b):
    return float(np.max(np.abs(a - b)))


def main(act, folder):
    rng = np.random.default_rng(3)
    for name, (make, optimizer) in OPTIMIZERS.items():
        if act == "begin":
            begin(os.path.join(folder, name), make())
        elif act == "resume":
            print(name, *resume(os.path.join(folder, name), optimizer))
        elif act == "weights" and name in ("adam", "amsgrad", "adamw", "sgd", "nesterov", "adadelta"):
            print(name, weights(os.path.join(folder, name), optimizer))
        elif act == "goon":
            print(name, goon(os.path.join(folder, name)))
    if act == "net":
        torch.manual_seed(1)
        m, x = plain(), torch.randn(5, 3, 8, 6)
        for _ in range(3):
            m(x)
        for p in m.parameters():
            p.data += 0.1 * torch.randn_like(p)
        torch.save(m.state_dict(), os.path.join(folder, "net.pt"))
        np.save(os.path.join(folder, "net-x.npy"), x.numpy())
        np.save(os.path.join(folder, "net-y.npy"), m.eval()(x).detach().numpy())
    elif act == "netback":
        m, load = plain(), lambda name: np.load(os.path.join(folder, name))
        m.load_state_dict(torch.load(os.path.join(folder, "net-back.pt"), weights_only=True))
        print("net", error(m.eval()(torch.from_numpy(load("net-x.npy"))).detach().numpy(), load("net-y.npy")))
    for name, (make, module) in MODELS.items() if act in ("make", "torch", "keras", "train", "check") else []:
        at = os.path.join(folder, name)
        if act == "make":
            keras.utils.clear_session()
            model = make()
            randomized(model, rng)
            shape = (6, *model.inputs[0].shape[1:])
            x = rng.integers(0, 20, shape).astype("int32") if name == "transformer" else rng.standard_normal(shape).astype("float32")
            np.save(at + "-x.npy", x)
            np.save(at + "-y.npy", model.predict(x, verbose=0))
            model.save(at + ".keras")
            continue
        x = np.load(at + "-x.npy")
        if act == "torch":
            net = module()
            net.load_state_dict(torch.load(at + ".pt", weights_only=True), strict=True)
            with torch.no_grad():
                print(name, error(net.eval()(torch.from_numpy(x)).numpy(), np.load(at + "-y.npy")))
        elif act == "keras":
            print(name, error(keras.models.load_model(at + "-back.keras").predict(x, verbose=0), np.load(at + "-y.npy")))
        elif act == "train":
            torch.manual_seed(1)
            net = module()
            optimizer = torch.optim.Adam(net.parameters(), 1e-2)
            for _ in range(5):
                optimizer.zero_grad()
                net(torch.from_numpy(x)).square().mean().backward()
                optimizer.step()
            torch.save(net.state_dict(), at + "-torch.pt")
            with torch.no_grad():
                np.save(at + "-torch-y.npy", net.eval()(torch.from_numpy(x)).numpy())
        elif act == "check":
            print(name, error(keras.models.load_model(at + "-torch.keras").predict(x, verbose=0), np.load(at + "-torch-y.npy")))


main(*sys.argv[1:])
