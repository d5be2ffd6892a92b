"""Selection by index and mask, views, and what joins, splits and repeats tensors."""
import torch
import torch.nn.functional as F

ops = {
    "gather": lambda x, i: x.gather(1, i.long()),
    "index select": lambda x, i: x.index_select(-1, i.long()),
    "index select 0": lambda x, i: x.index_select(0, i.long()),
    "take along": lambda x, i: torch.take_along_dim(x, i.long(), 1),
    "take": lambda x, i: x.take(i.long()),
    "scatter add": lambda x, i, src: x.scatter_add(1, i.long(), src),
    "index add": lambda x, i, src: x.index_add(0, i.long(), src),
    "index add 1": lambda x, i, src: x.index_add(1, i.long(), src),
    "index fill": lambda x, i: x.index_fill(1, i.long(), 2.5),
    "masked fill": lambda x, mask: x.masked_fill(mask, -1.5),
    "nonzero": torch.nonzero,
}
