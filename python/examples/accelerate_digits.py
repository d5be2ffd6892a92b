"""Trains with Accelerate, and goes on in the middle of an epoch. The loader divides samples among processes, so that it is not prepared;
its state is saved with the rest.

    accelerate launch python/examples/accelerate_digits.py
"""
import os
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(here))  # not needed where h5dnn is installed

import accelerate
import torch

import h5dnn

DIGITS = os.path.join(here, "..", "..", "testdata", "digits.h5")


def parts():
    accelerator = accelerate.Accelerator(cpu=True)
    loader = h5dnn.Loader(DIGITS, {"x": "train/images", "y": "train/labels"}, batch_size=64, seed=1, to="torch", index="row")
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    model, optimizer = accelerator.prepare(model, torch.optim.Adam(model.parameters(), 5e-3))
    accelerator.register_for_checkpointing(loader)
    return accelerator, loader, model, optimizer


def train(accelerator, loader, model, optimizer, steps):
    """Takes at most that many steps of an epoch, and returns the rows of their samples."""
    rows = []
    for _, batch in zip(range(steps), loader):
        batch = accelerate.utils.send_to_device(batch, accelerator.device)
        loss = torch.nn.functional.cross_entropy(model(batch["x"] / 16), batch["y"].long())
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
        rows += batch["row"].tolist()
    return rows


with tempfile.TemporaryDirectory() as folder:
    one = parts()
    train(*one, 100)  # the first epoch
    first = train(*one, 7)
    one[0].save_state(folder)
    rest = train(*one, 100)  # the next epoch, as a loop that was left is over
    again = parts()
    again[0].load_state(folder)
    second = train(*again, 100)
print(f"{len(first)} samples, then {len(second)}")
assert sorted(first + second) == sorted(rest)
