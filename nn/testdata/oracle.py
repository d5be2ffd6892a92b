"""Results of PyTorch for the models and layers that oracle_test.go builds: outputs,
gradients, and ten steps of each optimizer, in float64; written to oracle.npz.

Run by hand, with torch and numpy: python oracle.py
Arrays: MODEL/x, MODEL/y (labels), MODEL/params/NAME (first values), MODEL/out, MODEL/loss, MODEL/dx,
MODEL/grads/NAME, MODEL/OPTIMIZER/losses (before each step), MODEL/OPTIMIZER/params/NAME (after the last);

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

np.savez_compressed("oracle.npz", **arrays)
print(len(arrays), "arrays by PyTorch", torch.__version__)
