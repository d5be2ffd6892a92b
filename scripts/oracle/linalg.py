"""Linear algebra."""
import torch
from complex import parts

L = torch.linalg


def regular(x):
    return x + 4 * torch.eye(x.shape[-1], dtype=x.dtype)


def positive(x):
    return x @ x.mT + torch.eye(x.shape[-1], dtype=x.dtype)


def projected(x):
    return x * torch.arange(1, x.shape[-1] + 1, dtype=x.dtype) @ x.mT


def of_qr(x):
    q, r = L.qr(x)
    return projected(q) @ (q @ r)


def of_svd(x):
    u, s, vt = L.svd(x, full_matrices=False)
    return projected(u) * s.sum()


def of_eigh(x):
    l, v = L.eigh(x + x.mT)
    return projected(v) * l.sum()


def of_eig(x):
    l, v = L.eig(x)
    return parts(v * l.unsqueeze(-2) @ v.mH)


def complex_matrix(re, im):
    return torch.complex(regular(re), im)


ops = {
    "inv": lambda x: L.inv(regular(x)),
    "solve": lambda a, b: L.solve(regular(a), b),
    "solve vector": lambda a, b: L.solve(regular(a), b),
    "det": lambda x: L.det(regular(x)),
    "slogdet": lambda x: L.slogdet(regular(x))[1],
    "matrix power": lambda x: L.matrix_power(regular(x), -3),
    "cholesky": lambda x: L.cholesky(positive(x)),
    "qr": of_qr,
    "svd": of_svd,
    "svd wide": lambda x: projected(L.svd(x, full_matrices=False)[2].mT),
    "svd values": L.svdvals,
    "eigh": of_eigh,
    "eig": of_eig,
    "eig values": lambda x: L.eigvals(x).abs().sort(-1).values,
    "inv complex": lambda re, im: parts(L.inv(complex_matrix(re, im))),
    "solve complex": lambda re, im, b: parts(L.solve(complex_matrix(re, im), b + 0j)),
    "pinv": L.pinv,
    "pinv wide": L.pinv,
    "lstsq": lambda a, b: L.pinv(a) @ b,
    "matrix rank": L.matrix_rank,
    "matrix norm fro": L.matrix_norm,
    "matrix norm nuc": lambda x: L.matrix_norm(x, "nuc"),
    "matrix norm 2": lambda x: L.matrix_norm(x, 2),
    "matrix norm 1": lambda x: L.matrix_norm(x, 1),
    "matrix norm inf": lambda x: L.matrix_norm(x, float("inf")),
}
