"""Weights of Keras's layers and of PyTorch's modules that compute the same: numerics.npz.

Run with KERAS_BACKEND=torch (keras 3.15.1, torch 2.15). Every case is computed by both; the
script fails where the results differ by 1e-5. The arrays are CASE/k/WEIGHT of Keras and
CASE/t/PARAMETER of PyTorch; CASE/config has the class and the settings as JSON.
"""
import json
import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import numpy as np
import torch
from torch import nn

L, T, rng, out = keras.layers, np.transpose, np.random.default_rng(7), {}


def case(name, layer, module, x, convert, names, first=lambda x: x, last=lambda y: y):
    y = layer(*x if isinstance(x, list) else [x]).detach().numpy()
    weights = []
    for v in layer.weights:
        w = rng.standard_normal(v.shape).astype("float32") * 0.5
        if "variance" in v.path or "gamma" in v.path:
            w = np.abs(w) + 0.5
        v.assign(w)
        weights.append(w)
    k = dict(zip(names, weights, strict=True))
    t = convert(k)
    own = module.state_dict()
    module.load_state_dict({n: torch.from_numpy(np.array(t[n], order="C")) for n in own}, strict=True)
    module.eval()
    y = layer(*x if isinstance(x, list) else [x]).detach().numpy()
    with torch.no_grad():
        inputs = [first(torch.from_numpy(one)) for one in (x if isinstance(x, list) else [x])]
        got = module(*inputs)
        got = last(got[0] if isinstance(got, tuple) else got).numpy()
    error = np.max(np.abs(got - y))
    assert error < 1e-5, (name, error)
    print(name, error)
    config = layer.get_config()
    config.pop("dtype", None)
    out[name + "/config"] = np.frombuffer(json.dumps({"class_name": type(layer).__name__, "config": config}, default=str).encode(), np.uint8)
    out.update({f"{name}/k/{n}": w for n, w in k.items()})
    out.update({f"{name}/t/{n}": np.array(w, order="C") for n, w in t.items()})


def x(*shape):
    return rng.standard_normal(shape).astype("float32")


def channels(f):
    """Images of Keras as PyTorch has them, and back."""
    return dict(first=lambda x: x.movedim(-1, 1), last=lambda y: y.movedim(1, -1))


kb = ["kernel", "bias"]
zero = np.int64(0)
case("dense", L.Dense(4), nn.Linear(3, 4), x(2, 3), lambda k: {"weight": k["kernel"].T, "bias": k["bias"]}, kb)
for n, (k1, k2) in enumerate([((3,), (5, 2)), ((3, 2), (5, 4, 2)), ((2, 3, 2), (4, 5, 4, 2))], 1):
    axes = tuple(range(n))
    conv, up = [nn.Conv1d, nn.Conv2d, nn.Conv3d][n - 1], [nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d][n - 1]
    kconv, kup = [L.Conv1D, L.Conv2D, L.Conv3D][n - 1], [L.Conv1DTranspose, L.Conv2DTranspose, L.Conv3DTranspose][n - 1]
    front = lambda k: {"weight": T(k["kernel"], (n + 1, n, *axes)), "bias": k["bias"]}
    case(f"conv{n}d", kconv(4, k1), conv(2, 4, k1), x(2, *k2), front, kb, **channels(n))
    case(f"conv_transpose{n}d", kup(4, k1, strides=2), up(2, 4, k1, stride=2), x(2, *k2), front, kb, **channels(n))
case("grouped", L.Conv2D(6, 2, groups=2), nn.Conv2d(4, 6, 2, groups=2), x(2, 4, 3, 4), lambda k: {"weight": T(k["kernel"], (3, 2, 0, 1)), "bias": k["bias"]}, kb, **channels(2))
depth = lambda w: T(w, (2, 3, 0, 1)).reshape(-1, 1, *w.shape[:2])
case("depthwise", L.DepthwiseConv2D((3, 2), depth_multiplier=2), nn.Conv2d(3, 6, (3, 2), groups=3), x(2, 4, 4, 3), lambda k: {"weight": depth(k["kernel"]), "bias": k["bias"]}, kb, **channels(2))


class Separable(nn.Module):
    def __init__(self):
        super().__init__()
        self.depthwise, self.pointwise = nn.Conv2d(3, 6, 2, groups=3, bias=False), nn.Conv2d(6, 5, 1)

    def forward(self, x):
        return self.pointwise(self.depthwise(x))


case("separable", L.SeparableConv2D(5, 2, depth_multiplier=2), Separable(), x(2, 4, 4, 3),
     lambda k: {"depthwise.weight": depth(k["depthwise_kernel"]), "pointwise.weight": T(k["pointwise_kernel"], (3, 2, 0, 1)), "pointwise.bias": k["bias"]},
     ["depthwise_kernel", "pointwise_kernel", "bias"], **channels(2))
stats = lambda k: {"weight": k["gamma"], "bias": k["beta"], "running_mean": k["moving_mean"], "running_var": k["moving_variance"], "num_batches_tracked": zero}
case("batchnorm", L.BatchNormalization(), nn.BatchNorm2d(3, eps=1e-3), x(2, 4, 4, 3), stats, ["gamma", "beta", "moving_mean", "moving_variance"], **channels(2))
norm = lambda k: {"weight": k["gamma"], "bias": k["beta"]}
case("layernorm", L.LayerNormalization(), nn.LayerNorm(5, eps=1e-3), x(2, 4, 5), norm, ["gamma", "beta"])
case("groupnorm", L.GroupNormalization(2), nn.GroupNorm(2, 4, eps=1e-3), x(2, 3, 3, 4), norm, ["gamma", "beta"], **channels(2))
case("embedding", L.Embedding(7, 3), nn.Embedding(7, 3), rng.integers(0, 7, (2, 5)), lambda k: {"weight": k["embeddings"]}, ["embeddings"])
case("prelu", L.PReLU(shared_axes=[1, 2]), nn.PReLU(3), x(2, 4, 4, 3), lambda k: {"weight": k["alpha"].reshape(-1)}, ["alpha"], **channels(2))

rnn = ["kernel", "recurrent_kernel", "bias"]


def lstm(k, prefix="", suffix=""):
    return {"weight_ih_l0" + suffix: k[prefix + "kernel"].T, "weight_hh_l0" + suffix: k[prefix + "recurrent_kernel"].T,
            "bias_ih_l0" + suffix: k[prefix + "bias"], "bias_hh_l0" + suffix: np.zeros_like(k[prefix + "bias"])}


def gru(k, prefix="", suffix=""):
    swap = lambda w: np.concatenate([np.split(w, 3, -1)[i] for i in (1, 0, 2)], -1)
    return {"weight_ih_l0" + suffix: swap(k[prefix + "kernel"]).T, "weight_hh_l0" + suffix: swap(k[prefix + "recurrent_kernel"]).T,
            "bias_ih_l0" + suffix: swap(k[prefix + "bias"][0]), "bias_hh_l0" + suffix: swap(k[prefix + "bias"][1])}


seq = dict(return_sequences=True)
case("simplernn", L.SimpleRNN(3, **seq), nn.RNN(2, 3, batch_first=True), x(2, 4, 2), lstm, rnn)
case("lstm", L.LSTM(3, **seq), nn.LSTM(2, 3, batch_first=True), x(2, 4, 2), lstm, rnn)
case("gru", L.GRU(3, **seq), nn.GRU(2, 3, batch_first=True), x(2, 4, 2), gru, rnn)
both = ["forward/" + n for n in rnn] + ["backward/" + n for n in rnn]
case("bidirectional_lstm", L.Bidirectional(L.LSTM(3, **seq)), nn.LSTM(2, 3, batch_first=True, bidirectional=True), x(2, 4, 2),
     lambda k: lstm(k, "forward/") | lstm(k, "backward/", "_reverse"), both)
case("bidirectional_gru", L.Bidirectional(L.GRU(3, **seq)), nn.GRU(2, 3, batch_first=True, bidirectional=True), x(2, 4, 2),
     lambda k: gru(k, "forward/") | gru(k, "backward/", "_reverse"), both)


class Attention(nn.Module):
    def __init__(self, **widths):
        super().__init__()
        self.inner = nn.MultiheadAttention(6, 2, batch_first=True, **widths)

    def forward(self, q, v, k):
        return self.inner(q, k, v)[0]

    def state_dict(self):
        return self.inner.state_dict()

    def load_state_dict(self, d, strict):
        return self.inner.load_state_dict(d, strict)


def attention(k, joined=True):
    flat = lambda w: w.reshape(w.shape[0], -1).T
    parts = [flat(k[n + "/kernel"]) for n in ("query", "key", "value")]
    t = {"in_proj_bias": np.concatenate([k[n + "/bias"].reshape(-1) for n in ("query", "key", "value")]),
         "out_proj.weight": k["attention_output/kernel"].reshape(-1, k["attention_output/kernel"].shape[-1]).T, "out_proj.bias": k["attention_output/bias"]}
    return t | ({"in_proj_weight": np.concatenate(parts)} if joined else dict(zip(["q_proj_weight", "k_proj_weight", "v_proj_weight"], parts)))


parts = [f"{n}/{w}" for n in ("query", "key", "value", "attention_output") for w in kb]
case("attention", L.MultiHeadAttention(2, 3), Attention(), [x(2, 4, 6), x(2, 5, 6), x(2, 5, 6)], attention, parts)
case("cross_attention", L.MultiHeadAttention(2, 3), Attention(kdim=4, vdim=5), [x(2, 4, 6), x(2, 5, 5), x(2, 5, 4)], lambda k: attention(k, False), parts)

np.savez_compressed(os.path.join(os.path.dirname(__file__), "numerics.npz"), **out)
