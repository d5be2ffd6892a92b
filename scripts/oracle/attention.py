"""Attention and what transformers have besides."""
import torch
import torch.nn.functional as F


def attention(**settings):
    def f(q, k, v, mask=None):
        if mask is not None and settings.get("is_causal"):  # PyTorch takes one of the two
            causal = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril()
            return F.scaled_dot_product_attention(q, k, v, mask.masked_fill(~causal, -torch.inf))
        return F.scaled_dot_product_attention(q, k, v, mask, **settings)
    return f


def rotary(x, angle):
    n = angle.shape[-1]
    a, b, rest = x.split([n, n, x.shape[-1] - 2 * n], -1)
    z = torch.complex(a, b) * torch.polar(torch.ones_like(angle), angle)
    return torch.cat([z.real, z.imag, rest], -1)


ops = {
    "attention": attention(),
    "attention scaled": attention(scale=1.0),
    "attention causal": attention(is_causal=True),
    "attention mask": attention(),
    "attention bias": attention(is_causal=True),
    "attention grouped": attention(is_causal=True, enable_gqa=True),
    "attention grouped mask": attention(enable_gqa=True),
    "rotary": rotary,
    "rms norm": lambda x, w=None: F.rms_norm(x, w.shape if w is not None else x.shape[-1:], w, 1e-5),
}
