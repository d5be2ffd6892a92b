"""Complex numbers: their parts are pairs of operands, and the parts of the results are compared."""
import torch

functions = {
    "abs": torch.abs,
    "angle": torch.angle,
    "conj": torch.conj,
    "adjoint": torch.adjoint,
    "exp": torch.exp,
    "log": torch.log,
    "sqrt": torch.sqrt,
    "sin": torch.sin,
    "cos": torch.cos,
    "sinh": torch.sinh,
    "cosh": torch.cosh,
    "sign": torch.sgn,
    "norm": lambda x: torch.linalg.vector_norm(x, 3, -1),
    "std": lambda x: x.std(-1),
    "mean": lambda x: x.mean(-1),
    "cast": lambda x: x.real.to(x.dtype) * x,
    "mul": torch.mul,
    "div": torch.div,
    "pow": torch.pow,
    "matmul": torch.matmul,
    "dot": torch.dot,
    "vdot": torch.vdot,
    "outer": torch.outer,
    "einsum": lambda x, y: torch.einsum("bij,bjk->bk", x, y),
}


def parts(z):
    if not z.is_complex():
        return z
    return torch.cat([z.real, z.imag], -1) if z.dim() else torch.stack([z.real, z.imag])


ops = {
    f"complex {name}": lambda *xs, f=f: parts(f(*(torch.complex(*xs[i:i + 2]) for i in range(0, len(xs), 2))))
    for name, f in functions.items()
}
