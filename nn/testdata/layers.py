"""Outputs and gradients of PyTorch's layers, in float64, for layers_test.go; written to layers.npz.

Run by hand, with torch, torchvision and numpy: python layers.py
Arrays: DESCRIPTION/x, or x0, x1, …, out, dy, dx, state/NAME (before), grads/NAME, after/NAME (buffers, after a step of training), where
DESCRIPTION is that of the same layer here. The layers are in training mode, but those whose description begins with "evaluating ".
"""
import re
import numpy as np, torch, torch.nn as nn
from torch.nn.utils.parametrizations import spectral_norm, weight_norm
from torchvision import ops

torch.manual_seed(1)
torch.set_default_dtype(torch.float64)
arrays = {}


class Fn(nn.Module):
    """A function of its inputs, with layers."""

    def __init__(self, f, *layers):
        super().__init__()
        self.f, self.within = f, nn.ModuleList(layers)

    def forward(self, *x):
        return self.f(*self.within, *x)


def attention(*a, masks=lambda *m: {}, **k):
    """Attention of the first input to the second and third, or to itself. masks makes keywords of the inputs after the first."""
    def call(net, q, *others):
        named, kv = masks(*others), [x for x in others if x.is_floating_point() and x.shape[-1] != q.shape[1]]
        key = kv[0] if kv else q
        return net(q, key, kv[1] if len(kv) > 1 else key, need_weights=False, **named)[0]
    return Fn(call, nn.MultiheadAttention(*a, batch_first=True, **k))


class Grouped(nn.Module):
    """Attention of 4 heads of 4, with 2 of keys, of 4, and of values, of 3; with rotary positions and a gate."""

    def __init__(self):
        super().__init__()
        rows = {"q": 16, "k": 8, "v": 6}
        for name, n in rows.items():
            self.register_parameter(name + "_proj_weight", nn.Parameter(torch.empty(n, 6)))
        self.in_proj_bias = nn.Parameter(torch.empty(sum(rows.values())))
        self.gate_proj, self.out_proj = nn.Linear(6, 12), nn.Linear(12, 5)

    def forward(self, x):
        t, (bq, bk, bv) = x.shape[1], self.in_proj_bias.split([16, 8, 6])
        heads = lambda w, b, n: nn.functional.linear(x, w, b).unflatten(-1, (n, -1)).transpose(1, 2)
        angle = torch.arange(t)[:, None] / 100 ** (torch.arange(2) / 2)
        turn = lambda z: torch.view_as_real(torch.complex(z[..., :2], z[..., 2:]) * torch.polar(torch.ones_like(angle), angle)).transpose(-1, -2).flatten(-2)
        q, k, v = turn(heads(self.q_proj_weight, bq, 4)), turn(heads(self.k_proj_weight, bk, 2)), heads(self.v_proj_weight, bv, 2)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True).transpose(1, 2).flatten(2)
        return self.out_proj(y * self.gate_proj(x).sigmoid())


class Scored(nn.Module):
    """Keras's Attention and AdditiveAttention: score has the parameters, queries, keys and whether each query takes each key."""

    def __init__(self, score, mask=None, **parameters):
        super().__init__()
        self.score, self.mask = score, mask
        for name, n in parameters.items():
            self.register_parameter(name, nn.Parameter(torch.empty(n)))

    def forward(self, q, v, k=None):
        scores = self.score(self, q, v if k is None else k)
        if self.mask is not None:
            scores = scores.masked_fill(~self.mask, -torch.inf)
        return scores.softmax(-1) @ v


class Frozen(nn.BatchNorm2d):
    def train(self, mode=True):
        return super().train(False)


class Token(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(1, 6))

    def forward(self, x):
        return torch.cat([self.weight.expand(len(x), 1, 6), x], 1)


def positions(n):
    """sin and cos of t/10000^(2i/D) (Vaswani et al., section 3.5)."""
    angles = torch.arange(n)[:, None] / 10000 ** (torch.arange(0, 6, 2) / 6)
    return torch.stack([angles.sin(), angles.cos()], -1).reshape(n, 6)


def integers(high, *shape):
    return torch.randint(0, high, shape)


def gru_reset_before(net, x):
    """The last state of a GRU that multiplies the state by the reset gate before the product, as Keras's reset_after=False."""
    h = torch.zeros(len(x), 3)
    for step in x.unbind(1):
        given = nn.functional.linear(step, net.weight_ih_l0, net.bias_ih_l0)
        gates = given[:, :6] + nn.functional.linear(h, net.weight_hh_l0[:6], net.bias_hh_l0[:6])
        gates = ((gates + 3) / 6).clamp(0, 1)  # the derivative of hardsigmoid is rounded to float32
        n = torch.relu(given[:, 6:] + nn.functional.linear(gates[:, :3] * h, net.weight_hh_l0[6:], net.bias_hh_l0[6:]))
        h = (1 - gates[:, 3:]) * n + gates[:, 3:] * h
    return h


def slopes(*shape):
    net = nn.PReLU()
    net.weight = nn.Parameter(torch.empty(shape))
    return net


causal = nn.Transformer.generate_square_subsequent_mask(4)
padding, memory_padding = torch.tensor([[0, 0, 0, 1], [0, 0, 1, 1]]), torch.tensor([[0, 0, 1], [0, 0, 0]])  # 1 where a step is left out
sizes = dict(dim_feedforward=10, dropout=0, batch_first=True)
layers = {  # by description: the layer and the shapes of its inputs, or integers
    '{"linear": {"in_features": 4, "out_features": 3, "dtype": "float64"}}': (nn.Linear(4, 3), (5, 4)),
    '{"linear": {"in_features": 4, "out_features": 3, "bias": false, "dtype": "float64"}}': (nn.Linear(4, 3, bias=False), (5, 4)),
    '{"Conv2D": {"in_channels": 3, "out_channels": 4, "kernel_size": [3, 2], "stride": [2, 1], "padding": [1, 0], "dtype": "float64"}}': (nn.Conv2d(3, 4, (3, 2), stride=(2, 1), padding=(1, 0)), (2, 3, 6, 5)),
    '{"conv2d": {"in_channels": 2, "out_channels": 3, "kernel_size": 3, "padding": 1, "bias": false, "dtype": "float64"}}': (nn.Conv2d(2, 3, 3, padding=1, bias=False), (2, 2, 4, 4)),
    '{"max_pool2d": {"kernel_size": 3, "stride": 2, "padding": 1}}': (nn.MaxPool2d(3, stride=2, padding=1), (2, 3, 6, 5)),
    '{"AvgPool2d": {"kernel_size": [3, 2], "stride": [2, 1], "padding": [1, 0]}}': (nn.AvgPool2d((3, 2), stride=(2, 1), padding=(1, 0)), (2, 3, 6, 5)),
    '{"globalavgpool2d": {"keepdims": true}}': (nn.AdaptiveAvgPool2d(1), (2, 3, 4, 5)),
    '{"batchnorm1d": {"num_features": 3, "dtype": "float64"}}': (nn.BatchNorm1d(3), (6, 3)),
    '{"batchnorm2d": {"num_features": 3, "eps": 1e-3, "momentum": 0.3, "dtype": "float64"}}': (nn.BatchNorm2d(3, eps=1e-3, momentum=0.3), (4, 3, 2, 5)),
    '{"batchnorm2d": {"num_features": 3, "frozen": true, "dtype": "float64"}}': (Frozen(3), (4, 3, 2, 5)),
    '{"batchnorm2d": {"num_features": 3, "affine": false, "dtype": "float64"}}': (nn.BatchNorm2d(3, affine=False), (4, 3, 2, 5)),
    'evaluating {"batchnorm2d": {"num_features": 3, "dtype": "float64"}}': (nn.BatchNorm2d(3), (4, 3, 2, 5)),
    '"relu"': (nn.ReLU(), (3, 4)),
    '"tanh"': (nn.Tanh(), (3, 4)),
    '"sigmoid"': (nn.Sigmoid(), (3, 4)),
    '"softmax"': (nn.Softmax(-1), (3, 4)),
    '{"softmax": 1}': (nn.Softmax(1), (2, 3, 4)),
    '[{"conv2d": {"in_channels": 2, "out_channels": 3, "kernel_size": 3, "dtype": "float64"}}, "tanh"]': (nn.Sequential(nn.Conv2d(2, 3, 3), nn.Tanh()), (2, 2, 5, 4)),
    '[{"linear": {"in_features": 4, "out_features": 3, "dtype": "float64"}}, "sigmoid"]': (nn.Sequential(nn.Linear(4, 3), nn.Sigmoid()), (5, 4)),
    '"silu"': (nn.SiLU(), (3, 4)),
    '"gelu"': (nn.GELU(), (3, 4)),
    '{"gelu": "tanh"}': (nn.GELU("tanh"), (3, 4)),
    '{"layernorm": {"normalized_shape": [3, 4], "dtype": "float64"}}': (nn.LayerNorm((3, 4)), (2, 3, 4)),
    '{"layer_norm": {"normalized_shape": 4, "eps": 1e-3, "affine": false, "dtype": "float64"}}': (nn.LayerNorm(4, eps=1e-3, elementwise_affine=False), (2, 3, 4)),
    '{"conv1d": {"in_channels": 4, "out_channels": 6, "kernel_size": 3, "stride": 2, "padding": 1, "dilation": 2, "groups": 2, "dtype": "float64"}}': (nn.Conv1d(4, 6, 3, stride=2, padding=1, dilation=2, groups=2), (2, 4, 11)),
    '{"conv1d": {"in_channels": 3, "out_channels": 2, "kernel_size": 4, "padding": 2, "padding_after": 1, "dtype": "float64"}}': (nn.Sequential(nn.ConstantPad1d((2, 1), 0), nn.Conv1d(3, 2, 4)), (2, 3, 7)),
    '{"conv2d": {"in_channels": 4, "out_channels": 4, "kernel_size": [3, 2], "padding": [2, 1], "dilation": [2, 1], "groups": 4, "dtype": "float64"}}': (nn.Conv2d(4, 4, (3, 2), padding=(2, 1), dilation=(2, 1), groups=4), (2, 4, 6, 5)),
    '{"conv2d": {"in_channels": 2, "out_channels": 3, "kernel_size": [3, 2], "padding": [2, 1], "padding_after": [1, 0], "dtype": "float64"}}': (nn.Sequential(nn.ConstantPad2d((1, 0, 2, 1), 0), nn.Conv2d(2, 3, (3, 2))), (2, 2, 4, 5)),
    '{"conv3d": {"in_channels": 2, "out_channels": 3, "kernel_size": [2, 3, 2], "stride": [1, 2, 1], "padding": [1, 0, 1], "bias": false, "dtype": "float64"}}': (nn.Conv3d(2, 3, (2, 3, 2), stride=(1, 2, 1), padding=(1, 0, 1), bias=False), (2, 2, 4, 5, 3)),
    '{"conv3d": {"in_channels": 4, "out_channels": 2, "kernel_size": 2, "dilation": 2, "groups": 2, "dtype": "float64"}}': (nn.Conv3d(4, 2, 2, dilation=2, groups=2), (1, 4, 4, 3, 5)),
    '{"ConvTranspose1d": {"in_channels": 4, "out_channels": 6, "kernel_size": 3, "stride": 3, "padding": 1, "output_padding": 2, "groups": 2, "dtype": "float64"}}': (nn.ConvTranspose1d(4, 6, 3, stride=3, padding=1, output_padding=2, groups=2), (2, 4, 5)),
    '{"Conv2dTranspose": {"in_channels": 3, "out_channels": 2, "kernel_size": [3, 2], "stride": [2, 1], "padding": [1, 0], "output_padding": [1, 0], "dtype": "float64"}}': (nn.ConvTranspose2d(3, 2, (3, 2), stride=(2, 1), padding=(1, 0), output_padding=(1, 0)), (2, 3, 4, 5)),
    '{"conv_transpose2d": {"in_channels": 2, "out_channels": 3, "kernel_size": 3, "stride": 2, "dilation": 2, "bias": false, "dtype": "float64"}}': (nn.ConvTranspose2d(2, 3, 3, stride=2, dilation=2, bias=False), (2, 2, 3, 3)),
    '{"conv_transpose3d": {"in_channels": 2, "out_channels": 3, "kernel_size": [2, 1, 3], "stride": [2, 1, 2], "output_padding": [1, 0, 0], "dtype": "float64"}}': (nn.ConvTranspose3d(2, 3, (2, 1, 3), stride=(2, 1, 2), output_padding=(1, 0, 0)), (1, 2, 3, 2, 3)),
    '{"maxpool1d": {"kernel_size": 3, "stride": 2, "padding": 1}}': (nn.MaxPool1d(3, stride=2, padding=1), (2, 3, 8)),
    '{"maxpool3d": {"kernel_size": [2, 3, 2], "padding": [1, 1, 0]}}': (nn.MaxPool3d((2, 3, 2), padding=(1, 1, 0)), (2, 2, 4, 5, 6)),
    '{"maxpool2d": {"kernel_size": 2, "ceil_mode": true}}': (nn.MaxPool2d(2, ceil_mode=True), (2, 3, 5, 7)),
    '{"avgpool1d": {"kernel_size": 3, "stride": 1, "padding": 1}}': (nn.AvgPool1d(3, stride=1, padding=1), (2, 3, 8)),
    '{"avgpool3d": 2}': (nn.AvgPool3d(2), (2, 2, 4, 4, 6)),
    '"globalavgpool1d"': (nn.AdaptiveAvgPool1d(1), (2, 3, 5)),
    '"global_avg_pool3d"': (nn.AdaptiveAvgPool3d(1), (2, 3, 2, 4, 3)),
    '"globalmaxpool1d"': (nn.AdaptiveMaxPool1d(1), (2, 3, 5)),
    '"globalmaxpool2d"': (nn.AdaptiveMaxPool2d(1), (2, 3, 4, 5)),
    '"globalmaxpool3d"': (nn.AdaptiveMaxPool3d(1), (2, 3, 2, 4, 3)),
    '"LeakyReLU"': (nn.LeakyReLU(), (3, 4)),
    '{"leaky_relu": 0.3}': (nn.LeakyReLU(0.3), (3, 4)),
    '{"batchnorm1d": {"num_features": 3, "dtype": "float64"}}': (nn.BatchNorm1d(3), (4, 3, 5)),
    '{"batchnorm3d": {"num_features": 3, "dtype": "float64"}}': (nn.BatchNorm3d(3), (2, 3, 2, 2, 3)),
    '"relu6"': (nn.ReLU6(), (3, 4)),
    '"hardsigmoid"': (Fn(lambda x: (x / 6 + 0.5).clamp(0, 1)), (3, 4)),
    '"hardswish"': (Fn(lambda x: x * (x / 6 + 0.5).clamp(0, 1)), (3, 4)),
    '{"threshold": {"threshold": 0.2, "value": -1}}': (nn.Threshold(0.2, -1), (3, 4)),
    '"mish"': (nn.Mish(), (3, 4)),
    '"log_sigmoid"': (nn.LogSigmoid(), (3, 4)),
    '"squareplus"': (Fn(lambda x: (x + (x * x + 4).sqrt()) / 2), (3, 4)),
    '"softplus"': (nn.Softplus(), (3, 4)),
    '"softsign"': (nn.Softsign(), (3, 4)),
    '"exponential"': (Fn(torch.exp), (3, 4)),
    '"elu"': (nn.ELU(), (3, 4)),
    '{"elu": 0.7}': (nn.ELU(0.7), (3, 4)),
    '"selu"': (nn.SELU(), (3, 4)),
    '{"celu": 1.5}': (nn.CELU(1.5), (3, 4)),
    '"hardtanh"': (nn.Hardtanh(), (3, 4)),
    '{"hardtanh": {"min": 0, "max": 6}}': (nn.ReLU6(), (3, 4)),
    '"hardshrink"': (nn.Hardshrink(), (3, 4)),
    '{"softshrink": 0.3}': (nn.Softshrink(0.3), (3, 4)),
    '"tanhshrink"': (nn.Tanhshrink(), (3, 4)),
    '"log_softmax"': (nn.LogSoftmax(-1), (3, 4)),
    '{"glu": 1}': (nn.GLU(1), (3, 4, 2)),
    '{"prelu": {"dtype": "float64"}}': (nn.PReLU(), (3, 4)),
    '{"prelu": {"num_parameters": 4, "init": 0.1, "dtype": "float64"}}': (nn.PReLU(4), (3, 4, 2)),
    '"identity"': (nn.Identity(), (3, 4)),
    '{"rescale": {"scale": 2, "offset": 1}}': (Fn(lambda x: 2 * x + 1), (3, 4)),
    '"flatten"': (nn.Flatten(), (2, 3, 4)),
    '{"reshape": [2, -1]}': (nn.Unflatten(1, (2, -1)), (3, 8)),
    '{"permute": [3, 1, 2]}': (Fn(lambda x: x.permute(0, 3, 1, 2)), (2, 3, 4, 5)),
    '{"zeropad": {"before": [1, 0], "after": [0, 2]}}': (nn.ZeroPad2d((0, 2, 1, 0)), (2, 3, 4, 5)),
    '{"crop": {"before": [1, 0], "after": [0, 2]}}': (nn.ZeroPad2d((0, -2, -1, 0)), (2, 3, 4, 5)),
    '{"pad": {"before": [2], "after": [1], "value": 1.5}}': (nn.ConstantPad1d((2, 1), 1.5), (2, 3, 4)),
    '{"pad": {"before": [1, 2], "mode": "reflect"}}': (nn.ReflectionPad2d((2, 2, 1, 1)), (2, 3, 4, 5)),
    '{"pad": {"before": [1, 2], "after": [0, 3], "mode": "replicate"}}': (nn.ReplicationPad2d((2, 3, 1, 0)), (2, 3, 4, 5)),
    '{"pad": {"before": [1, 2, 0], "mode": "circular"}}': (nn.CircularPad3d((0, 0, 2, 2, 1, 1)), (2, 3, 4, 5, 2)),
    '{"upsample": [2, 3]}': (nn.Upsample(scale_factor=(2, 3)), (2, 3, 4, 5)),
    '{"upsample": {"size": [5, 3]}}': (nn.Upsample(size=(5, 3)), (2, 3, 4, 5)),
    '{"upsample": {"scale": [2, 2], "mode": "bilinear"}}': (nn.Upsample(scale_factor=2, mode="bilinear"), (2, 3, 4, 5)),
    '{"upsample": {"size": [7], "mode": "linear", "align_corners": true}}': (nn.Upsample(size=7, mode="linear", align_corners=True), (2, 3, 4)),
    '{"upsample": {"size": [3, 2, 9], "mode": "trilinear"}}': (nn.Upsample(size=(3, 2, 9), mode="trilinear"), (1, 2, 2, 3, 4)),
    '{"pixel_shuffle": 2}': (nn.PixelShuffle(2), (2, 8, 3, 2)),
    '{"pixel_unshuffle": 2}': (nn.PixelUnshuffle(2), (2, 3, 4, 6)),
    '{"adaptive_avg_pool": [3, 2]}': (nn.AdaptiveAvgPool2d((3, 2)), (2, 3, 5, 4)),
    '{"adaptive_avg_pool": 4}': (nn.AdaptiveAvgPool1d(4), (2, 3, 8)),
    '{"adaptive_max_pool": [2, 3, 2]}': (nn.AdaptiveMaxPool3d((2, 3, 2)), (1, 2, 4, 5, 2)),
    '{"avgpool2d": {"kernel_size": 3, "stride": 2, "padding": 1, "count_include_pad": false}}': (nn.AvgPool2d(3, 2, 1, count_include_pad=False), (2, 3, 6, 5)),
    '{"avgpool1d": {"kernel_size": 2, "stride": 1, "padding": 0, "padding_after": 1, "count_include_pad": false}}':
        (Fn(lambda x: torch.cat([(x[..., :-1] + x[..., 1:]) / 2, x[..., -1:]], -1)), (2, 3, 6)),
    '{"maxpool2d": {"kernel_size": 2, "stride": 2, "padding": 0, "padding_after": 1}}': (nn.MaxPool2d(2, 2, ceil_mode=True), (2, 3, 5, 7)),
    '{"maxpool1d": {"kernel_size": 3, "stride": 1, "dilation": 2}}': (nn.MaxPool1d(3, 1, dilation=2), (2, 3, 8)),
    '{"groupnorm": {"num_groups": 2, "num_channels": 6, "dtype": "float64"}}': (nn.GroupNorm(2, 6), (2, 6, 3, 2)),
    '{"groupnorm": {"num_groups": 3, "num_channels": 6, "eps": 1e-2, "affine": false}}': (nn.GroupNorm(3, 6, 1e-2, affine=False), (4, 6)),
    '{"instancenorm": {"num_features": 3, "affine": true, "dtype": "float64"}}': (nn.InstanceNorm2d(3, affine=True), (2, 3, 4, 5)),
    '{"instancenorm": 3}': (nn.InstanceNorm1d(3), (2, 3, 5)),
    '{"local_response_norm": 2}': (nn.LocalResponseNorm(2), (2, 5, 3)),
    '{"local_response_norm": {"size": 3, "alpha": 0.5, "beta": 0.6, "k": 2}}': (nn.LocalResponseNorm(3, 0.5, 0.6, 2), (2, 5, 3, 2)),
    'evaluating {"dropout": 0.3}': (nn.Dropout(0.3), (3, 4)),
    'evaluating {"gaussian_sample": 0.5}': (Fn(lambda x: x[:, :2]), (3, 4, 2)),
    'evaluating {"dropout2d": 0.3}': (nn.Dropout2d(0.3), (3, 4, 2, 2)),
    'evaluating {"drop_path": 0.3}': (nn.Identity(), (3, 4)),
    'evaluating {"alpha_dropout": 0.3}': (nn.AlphaDropout(0.3), (3, 4)),
    '{"embedding": {"num_embeddings": 5, "embedding_dim": 3, "dtype": "float64"}}': (nn.Embedding(5, 3), integers(5, 2, 4)),
    '{"embedding": {"num_embeddings": 5, "embedding_dim": 3, "padding_idx": 1, "dtype": "float64"}}': (nn.Embedding(5, 3, padding_idx=1), integers(5, 2, 4)),
    '{"dense": {"out_features": 3, "in_features": 4, "dtype": "float64"}}': (nn.Linear(4, 3), (5, 2, 4)),
    '"add"': (Fn(lambda a, b: a + b), (3, 4), (3, 4)),
    '"subtract"': (Fn(lambda a, b: a - b), (3, 4), (3, 4)),
    '"mul"': (Fn(lambda a, b: a * b), (3, 4), (3, 4)),
    '"average"': (Fn(lambda a, b: (a + b) / 2), (3, 4), (3, 4)),
    '"maximum"': (Fn(torch.maximum), (3, 4), (3, 4)),
    '"minimum"': (Fn(torch.minimum), (3, 4), (3, 4)),
    '"concat"': (Fn(lambda a, b: torch.cat([a, b], 1)), (3, 4), (3, 2)),
    '{"residual": {"body": ["tanh"]}}': (Fn(lambda x: x.tanh() + x), (3, 4)),
    '{"branches": [["tanh"], ["relu", {"rescale": 2}], "identity"]}': (Fn(lambda x: torch.cat([x.tanh(), x.relu() * 2, x], 1)), (3, 4)),
    '{"branches": {"branches": ["identity", ["sigmoid"]], "join": "mul"}}': (Fn(lambda x: x * x.sigmoid()), (3, 4)),
    '{"graph": {"nodes": [{"name": "h", "layer": "tanh", "from": ["x"]}, {"name": "y", "layer": "mul", "from": ["h", "x"]}]}}': (Fn(lambda x: x.tanh() * x), (3, 4)),
    '{"multihead_attention": {"embed_dim": 6, "num_heads": 2, "dtype": "float64"}}': (attention(6, 2), (2, 4, 6)),
    '{"multihead_attention": {"embed_dim": 6, "num_heads": 2, "causal": true, "dtype": "float64"}}':
        (attention(6, 2, masks=lambda: dict(attn_mask=causal, is_causal=True)), (2, 4, 6)),
    '{"multihead_attention": {"embed_dim": 6, "num_heads": 3, "kdim": 5, "vdim": 4, "bias": false, "dtype": "float64"}}':
        (attention(6, 3, kdim=5, vdim=4, bias=False), (2, 7, 6), (2, 3, 5), (2, 3, 4)),
    '{"multihead_attention": {"embed_dim": 6, "num_heads": 2, "inputs": ["query", "key", "key_padding_mask"], "dtype": "float64"}}':
        (attention(6, 2, masks=lambda k, p: dict(key_padding_mask=p.bool())), (2, 4, 6), (2, 3, 6), memory_padding),
    '{"multihead_attention": {"embed_dim": 6, "num_heads": 2, "inputs": ["query", "attn_mask"], "dtype": "float64"}}':
        (attention(6, 2, masks=lambda a: dict(attn_mask=a.repeat_interleave(2, 0))), (2, 4, 6), (2, 4, 4)),
    '{"multihead_attention": {"embed_dim": 6, "num_heads": 4, "head_dim": 4, "value_dim": 3, "num_kv_heads": 2, "out_features": 5, "rotary_base": 100, "gate": true, "causal": true, "dtype": "float64"}}':
        (Grouped(), (2, 4, 6)),
    '{"attention": {"dtype": "float64"}}': (Scored(lambda s, q, k: q @ k.mT), (2, 4, 6), (2, 3, 5), (2, 3, 6)),
    '{"attention": {"score": "dot", "use_scale": true, "causal": true, "dtype": "float64"}}':
        (Scored(lambda s, q, k: s.scale * q @ k.mT, torch.ones(4, 3, dtype=bool).tril(), scale=()), (2, 4, 6), (2, 3, 6)),
    '{"attention": {"score": "concat", "use_scale": true, "dtype": "float64"}}':
        (Scored(lambda s, q, k: s.concat_score_weight * (s.scale * (q[:, :, None] + k[:, None])).tanh().sum(-1), scale=(), concat_score_weight=()), (2, 4, 6), (2, 3, 6)),
    '{"attention": {"score": "additive", "use_scale": true, "features": 6, "causal": true, "dtype": "float64"}}':
        (Scored(lambda s, q, k: (s.scale * (q[:, :, None] + k[:, None]).tanh()).sum(-1), torch.ones(4, 3, dtype=bool).tril(), scale=6), (2, 4, 6), (2, 3, 6)),
    '{"class_token": {"embedding_dim": 6, "dtype": "float64"}}': (Token(), (2, 4, 6)),
    '{"select": -1}': (Fn(lambda x: x[:, -1]), (2, 4, 6)),
    '{"transformer_encoder_layer": {"d_model": 6, "nhead": 2, "dim_feedforward": 10, "dropout": 0, "dtype": "float64"}}':
        (nn.TransformerEncoderLayer(6, 2, **sizes), (2, 4, 6)),
    '{"transformer_encoder_layer": {"d_model": 6, "nhead": 2, "dim_feedforward": 10, "dropout": 0, "activation": "gelu", "norm_first": true, "layer_norm_eps": 1e-3, "dtype": "float64"}}':
        (nn.TransformerEncoderLayer(6, 2, activation="gelu", norm_first=True, layer_norm_eps=1e-3, **sizes), (2, 4, 6)),
    '{"transformer_encoder": {"num_layers": 2, "norm": true, "d_model": 6, "nhead": 2, "dim_feedforward": 10, "dropout": 0, "key_padding_mask": true, "dtype": "float64"}}':
        (Fn(lambda net, x, p: net(x, src_key_padding_mask=p.bool()),
            nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, **sizes), 2, nn.LayerNorm(6), enable_nested_tensor=False)), (2, 4, 6), padding),
    '{"transformer_decoder": {"num_layers": 2, "norm": true, "d_model": 6, "nhead": 2, "dim_feedforward": 10, "dropout": 0, "key_padding_mask": true, "causal": true, "dtype": "float64"}}':
        (Fn(lambda net, x, m, p: net(x, m, tgt_mask=causal, tgt_is_causal=True, memory_key_padding_mask=p.bool()),
            nn.TransformerDecoder(nn.TransformerDecoderLayer(6, 2, **sizes), 2, nn.LayerNorm(6))), (2, 4, 6), (2, 3, 6), memory_padding),
    '{"transformer_decoder_layer": {"d_model": 6, "nhead": 3, "dim_feedforward": 10, "dropout": 0, "activation": "gelu", "norm_first": true, "dtype": "float64"}}':
        (nn.TransformerDecoderLayer(6, 3, norm_first=True, activation="gelu", **sizes), (2, 4, 6), (2, 3, 6)),
    '{"rmsnorm": {"normalized_shape": [4, 6], "eps": 1e-3, "dtype": "float64"}}': (nn.RMSNorm((4, 6), eps=1e-3), (2, 4, 6)),
    '{"rmsnorm": {"normalized_shape": 6, "dtype": "float64"}}': (nn.RMSNorm(6), (2, 4, 6)),
    '{"positions": {"max_len": 4, "embedding_dim": 6, "kind": "sinusoidal", "dtype": "float64"}}': (Fn(lambda x: x + positions(4)), (2, 4, 6)),
    '{"positions": {"max_len": 4, "embedding_dim": 6, "dtype": "float64"}}': (Fn(lambda net, x: x + net.weight, nn.Embedding(4, 6)), (2, 4, 6)),
    '{"reversible_embedding": {"num_embeddings": 5, "embedding_dim": 3, "dtype": "float64"}}': (nn.Embedding(5, 3), integers(5, 2, 4)),
    '{"squeeze_excite": {"input_channels": 4, "squeeze_channels": 2, "dtype": "float64"}}': (ops.SqueezeExcitation(4, 2, nn.SiLU), (2, 4, 3, 5)),
    '{"rnn": {"hidden_size": 3, "input_size": 2, "num_layers": 2, "dtype": "float64"}}': (Fn(lambda net, x: net(x)[0][:, -1], nn.RNN(2, 3, 2, batch_first=True)), (2, 4, 2)),
    '{"rnn": {"hidden_size": 3, "input_size": 2, "nonlinearity": "relu", "bias": false, "return_sequences": true, "dtype": "float64"}}':
        (Fn(lambda net, x: net(x)[0], nn.RNN(2, 3, nonlinearity="relu", bias=False, batch_first=True)), (2, 4, 2)),
    '{"lstm": {"hidden_size": 3, "input_size": 2, "go_backwards": true, "dtype": "float64"}}': (Fn(lambda net, x: net(x.flip(1))[0][:, -1], nn.LSTM(2, 3, batch_first=True)), (2, 4, 2)),
    '{"lstm": {"hidden_size": 3, "input_size": 2, "num_layers": 2, "bidirectional": true, "return_sequences": true, "dtype": "float64"}}':
        (Fn(lambda net, x: net(x)[0], nn.LSTM(2, 3, 2, bidirectional=True, batch_first=True)), (2, 4, 2)),
    '{"lstm": {"hidden_size": 3, "input_size": 2, "proj_size": 2, "bidirectional": true, "merge_mode": "sum", "return_sequences": true, "dtype": "float64"}}':
        (Fn(lambda net, x: sum(net(x)[0].chunk(2, 2)), nn.LSTM(2, 3, proj_size=2, bidirectional=True, batch_first=True)), (2, 4, 2)),
    '{"gru": {"hidden_size": 3, "input_size": 2, "bidirectional": true, "dtype": "float64"}}':
        (Fn(lambda net, x: torch.cat(list(net(x)[1]), 1), nn.GRU(2, 3, bidirectional=True, batch_first=True)), (2, 4, 2)),
    '{"gru": {"hidden_size": 3, "input_size": 2, "reset_after": false, "activation": "relu", "recurrent_activation": "hardsigmoid", "dtype": "float64"}}':
        (Fn(gru_reset_before, nn.GRU(2, 3, batch_first=True)), (2, 4, 2)),
    '{"masking": {"mask_value": 0.5}}': (Fn(lambda x: torch.where((x != 0.5).any(-1, keepdim=True), x, 0)), (2, 4, 2)),
    '{"time_distributed": {"layer": {"linear": {"in_features": 4, "out_features": 3, "dtype": "float64"}}}}': (Fn(lambda net, x: net["layer"](x), nn.ModuleDict({"layer": nn.Linear(4, 3)})), (2, 5, 4)),
    '{"weight_norm": {"layer": {"linear": {"in_features": 4, "out_features": 3, "dtype": "float64"}}}}': (weight_norm(nn.Linear(4, 3)), (5, 4)),
    '{"weight_norm": {"layer": {"conv2d": {"in_channels": 3, "out_channels": 4, "kernel_size": 3, "bias": false, "dtype": "float64"}}, "dim": -1}}': (weight_norm(nn.Conv2d(3, 4, 3, bias=False), dim=None), (2, 3, 6, 5)),
    '{"weight_norm": {"layer": {"conv_transpose1d": {"in_channels": 3, "out_channels": 2, "kernel_size": 3, "dtype": "float64"}}, "dim": 1}}': (weight_norm(nn.ConvTranspose1d(3, 2, 3), dim=1), (2, 3, 5)),
    '{"spectral_norm": {"layer": {"linear": {"in_features": 4, "out_features": 3, "dtype": "float64"}}}}': (spectral_norm(nn.Linear(4, 3)), (5, 4)),
    '{"spectral_norm": {"layer": {"conv2d": {"in_channels": 2, "out_channels": 3, "kernel_size": 3, "dtype": "float64"}}, "n_power_iterations": 3, "eps": 1e-6}}': (spectral_norm(nn.Conv2d(2, 3, 3), n_power_iterations=3, eps=1e-6), (2, 2, 5, 4)),
    '{"spectral_norm": {"layer": {"conv_transpose2d": {"in_channels": 3, "out_channels": 2, "kernel_size": 2, "dtype": "float64"}}}}': (spectral_norm(nn.ConvTranspose2d(3, 2, 2)), (2, 3, 4, 3)),
    'evaluating {"spectral_norm": {"layer": {"linear": {"in_features": 4, "out_features": 3, "dtype": "float64"}}}}': (spectral_norm(nn.Linear(4, 3)), (5, 4)),
    '{"slice": {"start": 1, "stop": -1, "step": 2}}': (Fn(lambda x: x[:, 1:-1:2]), (2, 6, 3)),
    '{"slice": {"start": -2, "axis": 2}}': (Fn(lambda x: x[:, :, -2:]), (2, 3, 4)),
    '{"function": {"name": "mean", "settings": {"dim": [1, -1], "keepdim": true}}}': (Fn(lambda x: x.mean((1, -1), keepdim=True)), (2, 3, 4)),
    '{"function": {"name": "pow", "settings": {"exponent": 2}}}': (Fn(lambda x: x ** 2), (2, 3)),
    '{"function": {"name": "div"}}': (Fn(lambda x, y: x / y), (2, 3, 4), (2, 1, 4)),
    '{"function": {"name": "matmul"}}': (Fn(lambda x, y: x @ y), (2, 3, 4), (2, 4, 2)),
    '{"function": {"name": "stack", "settings": {"dim": 1}}}': (Fn(lambda x, y: torch.stack([x, y], 1)), (2, 3), (2, 3)),
    '{"function": {"name": "einsum", "settings": {"equation": "bij,bj->bi"}}}': (Fn(lambda x, y: torch.einsum("bij,bj->bi", x, y)), (2, 3, 4), (2, 4)),
    '{"function": "sqrt"}': (Fn(lambda x: x.sqrt()), torch.rand(2, 3).add(0.5).requires_grad_()),
    '{"graph": {"inputs": ["a", "b"], "nodes": [{"name": "c", "layer": {"function": "gt"}, "from": ["a", "b"]}, {"name": "y", "layer": {"function": "where"}, "from": ["c", "a", "b"]}]}}':
        (Fn(lambda a, b: torch.where(a > b, a, b)), (2, 3), (2, 3)),
    '{"function": {"name": "pad", "settings": {"pad": [1, 2, 0, 3], "value": 0.5}}}': (Fn(lambda x: nn.functional.pad(x, (1, 2, 0, 3), value=0.5)), (2, 3, 4)),
    '{"cast": {"dtype": "float64"}}': (Fn(lambda x: x.double()), (2, 3)),
    '{"constant": {"values": [1, 2.5, 3, 4, 5, 6], "shape": [2, 3], "dtype": "float64"}}':
        (Fn(lambda x: torch.tensor([[1, 2.5, 3], [4, 5, 6]]).expand(len(x), 2, 3)), torch.tensor([[1], [2]])),
    '{"graph": {"inputs": ["a", "b"], "nodes": [{"name": "y", "layer": "mul", "from": ["a", "b"]}]}}': (Fn(lambda x, y: x * y), (2, 3, 4), (2, 3, 1)),
    '{"graph": {"inputs": ["a", "b"], "nodes": [{"name": "y", "layer": "maximum", "from": ["a", "b"]}]}}': (Fn(torch.maximum), (2, 1, 4), (2, 3, 4)),
    '{"prelu": {"shape": [3, 1, 2], "dtype": "float64"}}': (Fn(lambda net, x: torch.where(x > 0, x, x * net.weight), slopes(3, 1, 2)), (2, 3, 4, 2)),
}
ours = {"weight": "gamma", "bias": "beta"}


parametrized = {"original0": "_g", "original1": "_v", "original": "_orig", "0._u": "_u", "0._v": "_v"}  # the names before torch.nn.utils.parametrize


def renamed(net):
    """Names of parameters and buffers here, by their names in PyTorch."""
    norms = {path for path, m in net.named_modules() if isinstance(m, (nn.LayerNorm, nn.modules.batchnorm._BatchNorm))}
    names = {}
    for name in net.state_dict():
        path, _, last = name.rpartition(".")
        names[name] = ".".join([path] * (path != "") + [ours.get(last, last) if path in norms else last]).removeprefix("within.0.").removeprefix("1.")
        names[name] = re.sub(r"parametrizations\.weight\.(.*)", lambda m: "weight" + parametrized[m[1]], names[name])
    return names


for description, (net, *inputs) in layers.items():
    names = renamed(net)
    for name, t in net.state_dict().items():
        if t.dtype == torch.float64:
            t.copy_(torch.rand_like(t) + 0.5 if t.dim() == 1 else torch.randn_like(t) / 2)
            arrays[f"{description}/state/{names[name]}"] = t.clone()
    net.train(not description.startswith("evaluating "))
    xs = [x if isinstance(x, torch.Tensor) else torch.randn(x, requires_grad=True) for x in inputs]
    out = net(*xs)
    dy = torch.randn_like(out)
    if out.requires_grad:
        (out * dy).sum().backward()
    for i, x in enumerate(xs):
        name = str(i) if len(xs) > 1 else ""
        arrays[f"{description}/x{name}"] = x
        if x.grad is not None:
            arrays[f"{description}/dx{name}"] = x.grad
    arrays[f"{description}/out"], arrays[f"{description}/dy"] = out, dy
    for name, p in net.named_parameters():
        arrays[f"{description}/grads/{names[name]}"] = p.grad
    for name, b in net.named_buffers():
        if b.dtype == torch.float64:
            arrays[f"{description}/after/{names[name]}"] = b
np.savez_compressed("layers.npz", **{name: t.detach().numpy() for name, t in arrays.items()})
