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
    "index by": lambda x, i: x[i.long()],
    "index by two": lambda x, i, j: x[:, i.long(), j.long()],
    "index by apart": lambda x, i, j: x[i.long(), :, j.long() - 3],
    "index by mask": lambda x, mask: x[mask],
    "index put add": lambda x, i, j, values: x.clone().permute(0, 2, 1).index_put((i.long(), j.long()), values, accumulate=True).permute(0, 2, 1),
    "stack": lambda *xs: torch.stack(xs, -1),
    "split": lambda x: torch.cat((x[:, 4:], x[:, :2] * x[:, 2:4]), 1),
    "split sizes": lambda x: x.split((1, 3, 0, 1), -1)[1],
    "chunk": lambda x: x.chunk(3, 1)[1],
    "unbind": lambda x: x.unbind(1)[0] * x.unbind(1)[2],
    "tile": lambda x: x.tile(2, 1, 3),
    "tile 2": lambda x: x.tile(2),
    "repeat": lambda x: x.repeat(3, 2),
    "repeat interleave": lambda x: x.repeat_interleave(3, -1),
    "repeat interleave each": lambda x: x.repeat_interleave(torch.tensor([2, 0, 3]), 1),
    "roll": lambda x: x.roll(-2, 1),
    "rot90": lambda x: x.rot90(1, (0, 1)) * x.rot90(-3, (0, 1)),
    "rot90 3": lambda x: x.rot90(3, (-2, -1)),
    "tril": lambda x: x.tril(1),
    "triu": torch.triu,
    "meshgrid": lambda *xs: torch.mul(*torch.meshgrid(*xs, indexing="ij")),
    "pad constant": lambda x: F.pad(x, (2, -1, 0, 1), value=1.5),
    "pad edge": lambda x: F.pad(x[None], (2, 1), mode="replicate")[0],
    "resize nearest": lambda x: F.interpolate(x, size=(6, 3)),
    "resize linear": lambda x: F.interpolate(x, size=(6, 3), mode="bilinear"),
    "resize linear corners": lambda x: F.interpolate(x, size=(5, 7), mode="bilinear", align_corners=True),
    "pad reflect": lambda x: F.pad(x[None], (2, 1), mode="reflect")[0],
    "pad wrap": lambda x: F.pad(x[None], (1, 3), mode="circular")[0],
    "reshape copy": lambda x: x.T.reshape(x.shape[0], 3),
    "view": lambda x: x.view(3, -1, 1),
    "flatten 1 2": lambda x: x.flatten(1, 2),
    "unflatten": lambda x: x.unflatten(-1, (2, -1)),
    "move axis": lambda x: x.movedim(0, -1),
} | {
    f"scatter reduce {reduce}{' alone' if not include else ''}":
        lambda x, i, src, reduce=reduce, include=include: x.scatter_reduce(1, i.long(), src, reduce, include_self=include)
    for reduce in ["sum", "prod", "mean", "amax", "amin"] for include in [True, False]
}
