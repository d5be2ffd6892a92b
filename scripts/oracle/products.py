"""Products."""
import torch

equations = ["ij,jk->ik", "bhqd,bhkd->bhqk", "...ij,...jk", "ii->i", "ij->", "i,j", "ab,bc,cd->ad", "bij,bj->ij", "bn,anm,bm->ba"]

ops = {
    "matmul vector": torch.matmul,
    "bmm": torch.bmm,
    "dot": torch.dot,
    "mv": torch.mv,
    "outer": torch.outer,
    "addmm": torch.addmm,
    "gemm": lambda c, a, b: torch.addmm(c, a, b, beta=2, alpha=0.5),
    "kron": torch.kron,
    "cross": lambda x, y: torch.linalg.cross(x, y),
    "trace": torch.trace,
    "tensordot": lambda x, y: torch.tensordot(x, y, ([2, 1], [0, 2])),
} | {"einsum " + e: (lambda *xs, e=e: torch.einsum(e, *xs)) for e in equations}
