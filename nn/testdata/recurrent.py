"""Results of PyTorch for the recurrent layers that recurrent_test.go builds, in float64; written to recurrent.npz.

Run by hand, with torch and numpy: python recurrent.py
Arrays: LAYER/x, out, dy, dx, state/NAME (parameters), grads/NAME; of layers with states, for each layer and direction h and c:
before/I, after/I, dafter/I (gradients of these), dbefore/I; lengths of packed sequences.
"""
import numpy as np, torch, torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

torch.manual_seed(1)
torch.set_default_dtype(torch.float64)
arrays = {}


def put(name, t):
    arrays[name] = t.detach().numpy()


N, T, F, H = 3, 4, 2, 3
layers = {
    "rnn": nn.RNN(F, H), "rnn relu": nn.RNN(F, H, 2, nonlinearity="relu", bias=False),
    "lstm": nn.LSTM(F, H), "lstm stacked": nn.LSTM(F, H, 2, bidirectional=True), "lstm without bias": nn.LSTM(F, H, bias=False),
    "lstm projected": nn.LSTM(F, H, 2, bidirectional=True, proj_size=2), "lstm lengths": nn.LSTM(F, H, 2, bidirectional=True),
    "gru": nn.GRU(F, H), "gru stacked": nn.GRU(F, H, 2, bidirectional=True), "gru without bias": nn.GRU(F, H, bias=False),
    "gru lengths": nn.GRU(F, H),
}


def flat(states):
    """The states of each layer and direction: h and, of an LSTM, c."""
    tensors = states if isinstance(states, tuple) else (states,)
    return [t[i] for i in range(len(tensors[0])) for t in tensors]


for name, layer in layers.items():
    layer.batch_first = True
    for key, p in layer.named_parameters():
        put(f"{name}/state/{key}", p)
    x = torch.randn(N, T, F, requires_grad=True)
    rows = layer.num_layers * (2 if layer.bidirectional else 1)
    before = torch.randn(rows, N, layer.proj_size or H, requires_grad=True)
    if isinstance(layer, nn.LSTM):
        before = (before, torch.randn(rows, N, H, requires_grad=True))
    lengths = torch.tensor([2, 4, 1])
    if "lengths" in name:
        put(name + "/lengths", lengths)
        out, after = layer(pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False), before)
        out = pad_packed_sequence(out, batch_first=True, total_length=T)[0]
    else:
        out, after = layer(x, before)
    dy = torch.randn_like(out)
    dafter = [torch.randn_like(s) for s in flat(after)]
    ((out * dy).sum() + sum((s * d).sum() for s, d in zip(flat(after), dafter))).backward()
    for key, t in dict(x=x, out=out, dy=dy, dx=x.grad).items():
        put(f"{name}/{key}", t)
    dbefore = tuple(t.grad for t in before) if isinstance(before, tuple) else before.grad
    for i, (b, a, da, db) in enumerate(zip(flat(before), flat(after), dafter, flat(dbefore))):
        put(f"{name}/before/{i}", b), put(f"{name}/after/{i}", a), put(f"{name}/dafter/{i}", da), put(f"{name}/dbefore/{i}", db)
    for key, p in layer.named_parameters():
        put(f"{name}/grads/{key}", p.grad)

np.savez_compressed("recurrent.npz", **arrays)
print(len(arrays), "arrays by PyTorch", torch.__version__)
