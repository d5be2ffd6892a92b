"""Trains a small network on the handwritten digits of testdata, and goes on after an interruption.

    python3 python/examples/digits.py
"""
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(here))  # not needed where h5dnn is installed

import torch

import h5dnn

DIGITS = os.path.join(here, "..", "..", "testdata", "digits.h5")


def loader():
    return h5dnn.Loader(DIGITS, {"x": "train/images", "y": "train/labels"}, batch_size=64, seed=1, to="torch")


def train(model, optimizer, data, batches):
    """Takes a number of steps, and returns the last loss."""
    step = 0
    while True:
        for batch in data:
            loss = torch.nn.functional.cross_entropy(model(batch["x"] / 16), batch["y"].long())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step == batches:
                return loss.item()


torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
optimizer = torch.optim.Adam(model.parameters(), 5e-3)
data = loader()
print(data)
train(model, optimizer, data, 100)
state = data.state_dict()  # goes into the checkpoint
again = loader()
again.load_state_dict(state)
print(f"after {state['consumed']} samples of epoch {state['epoch']}")
train(model, optimizer, again, 200)

with h5dnn.open(DIGITS) as f:
    images, labels = (torch.from_numpy(f["test"][name][:]) for name in ("images", "labels"))
accuracy = (model(images / 16).argmax(1) == labels).float().mean()
print(f"accuracy {accuracy:.2f}")
assert accuracy > 0.9
