"""Writes negated.pt: a tensor whose conjugation and negation are both not carried out."""
import os
import torch

z = torch.tensor([1 + 2j, -3j])
both = torch._neg_view(z.conj())
assert both.is_conj() and both.is_neg() and both.resolve_conj().resolve_neg().tolist() == [-1 + 2j, -3j]
torch.save({"both": both, "negated": torch._neg_view(z)}, os.path.join(os.path.dirname(__file__), "negated.pt"))
