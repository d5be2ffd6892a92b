"""Results of PyTorch for the models and layers that oracle_test.go builds: outputs,
gradients, and ten steps of each optimizer, in float64; written to oracle.npz.

Run by hand, with torch and numpy: python oracle.py
Arrays: MODEL/x, MODEL/y (labels), MODEL/params/NAME (first values), MODEL/out, MODEL/loss, MODEL/dx,
MODEL/grads/NAME, MODEL/OPTIMIZER/losses (before each step), MODEL/OPTIMIZER/params/NAME (after the last);
layers/LAYER/x, out, dy, dx, state/NAME (before), grads/NAME, after/NAME (buffers after a step of training).
"""
import copy
import numpy as np, torch, torch.nn as nn, torch.nn.functional as F

torch.manual_seed(1)
torch.set_default_dtype(torch.float64)
arrays = {}


def put(name, t, dtype=np.float64):
    arrays[name] = t.detach().numpy().astype(dtype)


mlp = nn.Sequential(nn.Flatten(), nn.Linear(20, 128), nn.ReLU(), nn.Linear(128, 5))
lenet = nn.Sequential(
    nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(16, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))
optimizers = {
    "sgd": lambda p: torch.optim.SGD(p, 0.05),
    "momentum": lambda p: torch.optim.SGD(p, 0.05, momentum=0.9, weight_decay=1e-3),
    "nesterov": lambda p: torch.optim.SGD(p, 0.02, momentum=0.8, nesterov=True),
    "adam": lambda p: torch.optim.Adam(p, 0.002, weight_decay=1e-2),
    "adamw": lambda p: torch.optim.AdamW(p, 0.002, betas=(0.8, 0.99), eps=1e-6, weight_decay=0.05),
}
for model, net, shape, classes in (("mlp", mlp, (6, 4, 5), 5), ("lenet", lenet, (8, 1, 12, 12), 10)):
    x, y = torch.randn(shape, requires_grad=True), torch.randint(0, classes, shape[:1])
    for p in net.parameters():  # exactly what float32 can hold, so that the file is small and both types can start from it
        p.data = p.data.float().double()
    x.data = x.data.float().double()
    put(model + "/x", x, np.float32)
    put(model + "/y", y, np.int64)
    out = net(x)
    loss = F.cross_entropy(out, y)
    loss.backward()
    put(model + "/out", out), put(model + "/loss", loss), put(model + "/dx", x.grad)
    for name, p in net.named_parameters():
        put(f"{model}/params/{name}", p, np.float32)
        put(f"{model}/grads/{name}", p.grad, np.float32)
    for kind, make in optimizers.items():
        n = copy.deepcopy(net)
        o = make(n.parameters())
        losses = []
        for _ in range(10):
            o.zero_grad()
            loss = F.cross_entropy(n(x.detach()), y)
            losses.append(loss)
            loss.backward()
            o.step()
        put(f"{model}/{kind}/losses", torch.stack(losses))
        for name, p in n.named_parameters():
            if model == "mlp" or kind == "adamw" or p.dim() == 1:
                put(f"{model}/{kind}/params/{name}", p, np.float32)

layers = {
    "linear": (nn.Linear(4, 3), (5, 4)),
    "linear without bias": (nn.Linear(4, 3, bias=False), (5, 4)),
    "conv2d": (nn.Conv2d(3, 4, (3, 2), stride=(2, 1), padding=(1, 0)), (2, 3, 6, 5)),
    "conv2d without bias": (nn.Conv2d(2, 3, 3, padding=1, bias=False), (2, 2, 4, 4)),
    "maxpool2d": (nn.MaxPool2d(3, stride=2, padding=1), (2, 3, 6, 5)),
    "avgpool2d": (nn.AvgPool2d((3, 2), stride=(2, 1), padding=(1, 0)), (2, 3, 6, 5)),
    "globalavgpool2d": (nn.AdaptiveAvgPool2d(1), (2, 3, 4, 5)),
    "batchnorm1d": (nn.BatchNorm1d(3), (6, 3)),
    "batchnorm2d": (nn.BatchNorm2d(3, eps=1e-3, momentum=0.3), (4, 3, 2, 5)),
    "batchnorm2d without affine": (nn.BatchNorm2d(3, affine=False), (4, 3, 2, 5)),
    "batchnorm2d evaluating": (nn.BatchNorm2d(3), (4, 3, 2, 5)),
    "relu": (nn.ReLU(), (3, 4)),
    "tanh": (nn.Tanh(), (3, 4)),
    "sigmoid": (nn.Sigmoid(), (3, 4)),
    "softmax": (nn.Softmax(-1), (3, 4)),
    "softmax over channels": (nn.Softmax(1), (2, 3, 4)),
    "conv2d tanh": (nn.Sequential(nn.Conv2d(2, 3, 3), nn.Tanh()), (2, 2, 5, 4)),
    "linear sigmoid": (nn.Sequential(nn.Linear(4, 3), nn.Sigmoid()), (5, 4)),
    "silu": (nn.SiLU(), (3, 4)),
    "gelu": (nn.GELU(), (3, 4)),
    "gelu tanh": (nn.GELU("tanh"), (3, 4)),
    "layernorm": (nn.LayerNorm((3, 4)), (2, 3, 4)),
    "layernorm without affine": (nn.LayerNorm(4, eps=1e-3, elementwise_affine=False), (2, 3, 4)),
    "conv1d": (nn.Conv1d(4, 6, 3, stride=2, padding=1, dilation=2, groups=2), (2, 4, 11)),
    "conv1d padding": (nn.Sequential(nn.ConstantPad1d((2, 1), 0), nn.Conv1d(3, 2, 4)), (2, 3, 7)),
    "conv2d groups": (nn.Conv2d(4, 4, (3, 2), padding=(2, 1), dilation=(2, 1), groups=4), (2, 4, 6, 5)),
    "conv2d padding": (nn.Sequential(nn.ConstantPad2d((1, 0, 2, 1), 0), nn.Conv2d(2, 3, (3, 2))), (2, 2, 4, 5)),
    "conv3d": (nn.Conv3d(2, 3, (2, 3, 2), stride=(1, 2, 1), padding=(1, 0, 1), bias=False), (2, 2, 4, 5, 3)),
    "conv3d groups": (nn.Conv3d(4, 2, 2, dilation=2, groups=2), (1, 4, 4, 3, 5)),
    "conv_transpose1d": (nn.ConvTranspose1d(4, 6, 3, stride=3, padding=1, output_padding=2, groups=2), (2, 4, 5)),
    "conv_transpose2d": (nn.ConvTranspose2d(3, 2, (3, 2), stride=(2, 1), padding=(1, 0), output_padding=(1, 0)), (2, 3, 4, 5)),
    "conv_transpose2d dilation": (nn.ConvTranspose2d(2, 3, 3, stride=2, dilation=2, bias=False), (2, 2, 3, 3)),
    "conv_transpose3d": (nn.ConvTranspose3d(2, 3, (2, 1, 3), stride=(2, 1, 2), output_padding=(1, 0, 0)), (1, 2, 3, 2, 3)),
    "maxpool1d": (nn.MaxPool1d(3, stride=2, padding=1), (2, 3, 8)),
    "maxpool3d": (nn.MaxPool3d((2, 3, 2), padding=(1, 1, 0)), (2, 2, 4, 5, 6)),
    "maxpool2d ceil": (nn.MaxPool2d(2, ceil_mode=True), (2, 3, 5, 7)),
    "avgpool1d": (nn.AvgPool1d(3, stride=1, padding=1), (2, 3, 8)),
    "avgpool3d": (nn.AvgPool3d(2), (2, 2, 4, 4, 6)),
    "globalavgpool1d": (nn.AdaptiveAvgPool1d(1), (2, 3, 5)),
    "globalavgpool3d": (nn.AdaptiveAvgPool3d(1), (2, 3, 2, 4, 3)),
    "globalmaxpool1d": (nn.AdaptiveMaxPool1d(1), (2, 3, 5)),
    "globalmaxpool2d": (nn.AdaptiveMaxPool2d(1), (2, 3, 4, 5)),
    "globalmaxpool3d": (nn.AdaptiveMaxPool3d(1), (2, 3, 2, 4, 3)),
    "leaky_relu": (nn.LeakyReLU(), (3, 4)),
    "leaky_relu 0.3": (nn.LeakyReLU(0.3), (3, 4)),
    "batchnorm1d sequence": (nn.BatchNorm1d(3), (4, 3, 5)),
    "batchnorm3d": (nn.BatchNorm3d(3), (2, 3, 2, 2, 3)),
}
ours = {"weight": "gamma", "bias": "beta"}
for layer, (net, shape) in layers.items():
    rename = lambda n: ours.get(n, n) if "norm" in layer else n.removeprefix("1.") if "padding" in layer else n
    for name, t in net.state_dict().items():
        if t.dtype == torch.float64:
            t.copy_(torch.rand_like(t) + 0.5)
            put(f"layers/{layer}/state/{rename(name)}", t)
    net.train("evaluating" not in layer)
    x = torch.randn(shape, requires_grad=True)
    out = net(x)
    dy = torch.randn_like(out)
    (out * dy).sum().backward()
    for name, t in dict(x=x, out=out, dy=dy, dx=x.grad).items():
        put(f"layers/{layer}/{name}", t)
    for name, p in net.named_parameters():
        put(f"layers/{layer}/grads/{rename(name)}", p.grad)
    for name, b in net.named_buffers():
        if b.dtype == torch.float64:
            put(f"layers/{layer}/after/{name}", b)

np.savez_compressed("oracle.npz", **arrays)
print(len(arrays), "arrays by PyTorch", torch.__version__)
