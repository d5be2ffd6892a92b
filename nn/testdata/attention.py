"""Results of PyTorch for attention and transformers, in float64: written to attention.npz for attention_test.go.

Run by hand, with torch and numpy: python attention.py
Arrays: CASE/state/NAME (float32), CASE/x0, x1, … (inputs), CASE/out, CASE/dy, CASE/dx0, …, CASE/grads/NAME (float32).
"""
import numpy as np, torch, torch.nn as nn

torch.manual_seed(2)
torch.set_default_dtype(torch.float64)
arrays = {}


def put(name, t, dtype=np.float32):
    t = t.detach().numpy()
    arrays[name] = t.astype(dtype) if t.dtype == np.float64 else t.astype(np.int64)


class Attention(nn.MultiheadAttention):
    def forward(self, q, k=None, v=None, **masks):
        k = q if k is None else k
        return super().forward(q, k, k if v is None else v, need_weights=False, **masks)[0]


def case(name, net, *inputs, call=None):
    net.eval()
    for p in net.parameters():
        p.data = (torch.randn_like(p) * 0.3 + (0.7 if p.dim() == 1 else 0)).float().double()
    xs = [x.float().double().requires_grad_() if x.is_floating_point() else x for x in inputs]
    out = (call or net)(*xs)
    dy = torch.randn_like(out)
    (out * dy).sum().backward()
    for n, p in net.state_dict().items():
        put(f"{name}/state/{n}", p)
    for i, x in enumerate(xs):
        put(f"{name}/x{i}", x)
        if x.is_floating_point():
            put(f"{name}/dx{i}", x.grad, np.float64)
    put(f"{name}/out", out, np.float64), put(f"{name}/dy", dy, np.float64)
    for n, p in net.named_parameters():
        put(f"{name}/grads/{n}", p.grad)


x, m = torch.randn(2, 4, 6), torch.randn(2, 3, 6)
pad, padm = torch.tensor([[0, 0, 0, 1], [0, 0, 1, 1]]), torch.tensor([[0, 0, 1], [0, 0, 0]])
causal = nn.Transformer.generate_square_subsequent_mask(4)
first = dict(batch_first=True)
case("self", Attention(6, 2, **first), x)
net = Attention(6, 2, **first)
case("causal", net, x, call=lambda x: net(x, attn_mask=causal, is_causal=True))
case("cross", Attention(6, 3, kdim=5, vdim=4, bias=False, **first), x, torch.randn(2, 3, 5), torch.randn(2, 3, 4))
net2 = Attention(6, 2, **first)
case("masked", net2, x, m, padm, call=lambda x, m, p: net2(x, m, key_padding_mask=p.bool()))
net3 = Attention(6, 2, **first)
case("added", net3, x, torch.randn(2, 4, 4), call=lambda x, a: net3(x, attn_mask=a.repeat_interleave(2, 0)))
sizes = dict(dim_feedforward=10, dropout=0, batch_first=True)
case("encoder_layer", nn.TransformerEncoderLayer(6, 2, **sizes), x)
case("encoder_layer_first", nn.TransformerEncoderLayer(6, 2, activation="gelu", norm_first=True, layer_norm_eps=1e-3, **sizes), x)
encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, **sizes), 2, nn.LayerNorm(6), enable_nested_tensor=False)
case("encoder", encoder, x, pad, call=lambda x, p: encoder(x, src_key_padding_mask=p.bool()))
decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(6, 2, **sizes), 2, nn.LayerNorm(6))
case("decoder", decoder, x, m, padm, call=lambda x, m, p: decoder(x, m, tgt_mask=causal, tgt_is_causal=True, memory_key_padding_mask=p.bool()))
case("decoder_first", nn.TransformerDecoderLayer(6, 3, norm_first=True, activation="gelu", **sizes), x, m)
case("rmsnorm", nn.RMSNorm((4, 6), eps=1e-3), x)
case("rmsnorm default", nn.RMSNorm(6), x)

np.savez_compressed("attention.npz", **arrays)
print(len(arrays), "arrays by PyTorch", torch.__version__)
