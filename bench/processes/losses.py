"""The loss of one run on 1, 2 and 4 processes: h5dnn's under mpirun, and PyTorch's with DistributedDataParallel and gloo.

    python losses.py ../../bin/h5dnn ../../testdata/digits.h5

Both train two epochs on the first 1,003 samples, batches of 64, Adam, one thread a process, and validate on the file's other samples. A rank of
DistributedDataParallel has an equal part of each batch, or one sample more. It prints a table for README.md.
"""
import argparse
import json
import os
import subprocess
import tempfile

import h5py
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

SAMPLES, BATCH, EPOCHS = 1003, 64, 2
WORLDS = (1, 2, 4)

# By name, h5dnn's layers. PyTorch's are below.
MODELS = {
    "MLP": "[flatten, {dense: 24}, relu, {dense: 10}]",
    "MLP, batch norm, dropout": "[flatten, {dense: 24}, {batchnorm1d: {num_features: 24}}, relu, {dropout: 0.1}, {dense: 10}]",
    "CNN": "[{conv2d: {out_channels: 4, kernel_size: 3}}, relu, {maxpool2d: 2}, flatten, {dense: 10}]",
    "CNN, batch norm, dropout": "[{conv2d: {out_channels: 4, kernel_size: 3}}, {batchnorm2d: {num_features: 4}}, relu, {maxpool2d: 2}, {dropout: 0.1}, flatten, {dense: 10}]",
}


def model(name: str) -> nn.Module:
    more = "batch norm" in name
    if name.startswith("MLP"):
        layers = [nn.Flatten(), nn.Linear(64, 24), more and nn.BatchNorm1d(24), nn.ReLU(), more and nn.Dropout(0.1), nn.Linear(24, 10)]
    else:
        layers = [nn.Conv2d(1, 4, 3), more and nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), more and nn.Dropout(0.1), nn.Flatten(), nn.Linear(36, 10)]
    return nn.Sequential(*(m for m in layers if m))


def ddp(rank: int, world: int, name: str, accumulate: int, drop_last: bool, data: str, folder: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=world)
    with h5py.File(data) as f:
        x, y = torch.from_numpy(f["train/images"][:SAMPLES]), torch.from_numpy(f["train/labels"][:SAMPLES]).long()
        images, labels = torch.from_numpy(f["test/images"][:]), torch.from_numpy(f["test/labels"][:]).long()
    mean, deviation = x.float().mean(), x.float().std()
    scale = lambda v: ((v.float() - mean) / deviation).unsqueeze(1)
    torch.manual_seed(1)
    net = DistributedDataParallel(model(name))
    torch.manual_seed(100 + rank)  # of dropout
    optimizer, loss_of = torch.optim.Adam(net.parameters(), lr=1e-3), nn.CrossEntropyLoss()
    for epoch in range(EPOCHS):
        net.train()
        total, seen = torch.zeros((), dtype=torch.float64), 0
        order = torch.randperm(SAMPLES, generator=torch.Generator().manual_seed(epoch))
        batches = [b for b in order.split(BATCH) if len(b) == BATCH or not drop_last]
        for i, rows in enumerate(batches):
            rows, size = rows.tensor_split(world)[rank], len(rows)
            first, last = i // accumulate * accumulate, min(i // accumulate * accumulate + accumulate, len(batches)) - 1
            if i == first:
                optimizer.zero_grad()
            with (net.no_sync() if i < last else torch.enable_grad()):
                loss = loss_of(net(scale(x[rows])), y[rows])
                (loss / (last - first + 1)).backward()
            total += loss.item() * len(rows)
            seen += size
            if i == last:
                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                optimizer.step()
        dist.all_reduce(total)
    net.eval()
    with torch.no_grad():
        valid = loss_of(net.module(scale(images)), labels).item()
    if rank == 0:
        with open(f"{folder}/loss", "w") as out:
            json.dump([total.item() / seen, valid], out)
    dist.destroy_process_group()


def by_ddp(world: int, name: str, accumulate: int, drop_last: bool, data: str) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(ddp, (world, name, accumulate, drop_last, data, folder), nprocs=world)
        with open(f"{folder}/loss") as f:
            return json.load(f)


def by_h5dnn(program: str, world: int, name: str, accumulate: int, drop_last: bool, data: str) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        config = f"""
data: {{file: {data}, x: 'train/images[:{SAMPLES}]', y: 'train/labels[:{SAMPLES}]', val_x: test/images, val_y: test/labels}}
model: {MODELS[name]}
clip_norm: 1
batch: {BATCH}
epochs: {EPOCHS}
schedule: constant
accumulate: {accumulate}
drop_last: {str(drop_last).lower()}
shards: 4
threads: 1
"""
        with open(f"{folder}/config.yaml", "w") as f:
            f.write(config)
        launcher = [] if world == 1 else ["mpirun.openmpi", "--oversubscribe", "-n", str(world)]
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        out = subprocess.run([*launcher, program, "train", "--json", f"{folder}/config.yaml", "-o", f"{folder}/run.h5"], env=environment, capture_output=True, text=True)
        if out.returncode:
            raise SystemExit(out.stderr)
        last = [json.loads(line) for line in out.stdout.splitlines() if line.startswith("{")][-1]
        return [last["loss"], last["val_loss"]]


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("program")
    p.add_argument("data")
    a = p.parse_args()
    print("| | accumulate, drop_last | loss, h5dnn | 2 and 4 processes | loss, DDP | 2 processes | 4 processes |\n|---|---|---:|---:|---:|---:|---:|")
    for name in MODELS:
        for accumulate, drop_last in ((1, False), (3, True)):
            mine = [by_h5dnn(a.program, world, name, accumulate, drop_last, os.path.abspath(a.data)) for world in WORLDS]
            theirs = [by_ddp(world, name, accumulate, drop_last, a.data) for world in WORLDS]
            off = lambda all, i: max(abs(all[i][k] - all[0][k]) for k in range(2))
            cells = [f"{mine[0][0]:.4f}, {mine[0][1]:.4f}", f"{max(off(mine, 1), off(mine, 2)):.2g}", f"{theirs[0][0]:.4f}, {theirs[0][1]:.4f}", f"{off(theirs, 1):.2g}", f"{off(theirs, 2):.2g}"]
            print(f"| {name} | {accumulate}, {'yes' if drop_last else 'no'} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
