"""PyTorch's side of bench/processes: DistributedDataParallel with gloo, on the model and the batches of h5dnn's side.

It prints, from rank 0, the loss of the last epoch and the seconds of the epochs after the first.
"""
import argparse
import time

import h5py
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def model(name: str) -> nn.Module:
    if name == "mlp":
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))
    return nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10))


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("file")
    p.add_argument("--model", default="mlp")
    p.add_argument("--batch", type=int, default=256)
    p.add_argument("--samples", type=int, default=20000)
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--threads", type=int, default=1)
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1)
    with h5py.File(a.file) as f:
        x = torch.from_numpy(f["train/images"][: a.samples])
        y = torch.from_numpy(f["train/labels"][: a.samples]).long()
    net = DistributedDataParallel(model(a.model))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    loss_of = nn.CrossEntropyLoss()
    part = a.batch // world
    seconds, mean = 0.0, 0.0
    for epoch in range(a.epochs):
        began, total = time.perf_counter(), 0.0
        order = torch.randperm(a.samples, generator=torch.Generator().manual_seed(epoch))
        for first in range(0, a.samples - a.batch + 1, a.batch):
            rows = order[first + rank * part : first + (rank + 1) * part]
            images = x[rows].float().div_(255).sub_(0.13).div_(0.31).unsqueeze(1)
            optimizer.zero_grad(set_to_none=True)
            loss = loss_of(net(images), y[rows])
            loss.backward()
            optimizer.step()
            total += loss.item()
        dist.barrier()
        if epoch > 0:
            seconds += time.perf_counter() - began
        mean = torch.tensor([total / (a.samples // a.batch)], dtype=torch.float64)
        dist.all_reduce(mean)
    if rank == 0:
        print(f"{seconds:.4f} seconds, loss {mean.item() / world:.17g}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
