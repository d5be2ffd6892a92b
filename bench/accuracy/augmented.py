"""Trains the augmented examples with PyTorch and torchvision: the same architecture, data, initial distributions, optimizer,
schedule, batch, epochs and ranges, each image by numbers of its own.

    go run ./examples/pictures/make
    python bench/accuracy/augmented.py [--epochs N] mnist|pictures
"""
import argparse
import os
import time

import h5py
import torch
import torchvision.transforms.v2 as T
from torch import nn
from torch.nn import functional as F

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")
BILINEAR = T.InterpolationMode.BILINEAR


def block(a, b, bias):
    return [nn.Conv2d(a, b, 3, padding=1, bias=bias), nn.BatchNorm2d(b), nn.ReLU()]


def mnist():
    return nn.Sequential(*block(1, 16, True), nn.MaxPool2d(2), *block(16, 32, True), *block(32, 32, True), nn.MaxPool2d(2), *block(32, 64, True),
                         nn.Flatten(), nn.Dropout(0.2), nn.Linear(64 * 49, 128), nn.ReLU(), nn.Linear(128, 10))


def pictures():
    return nn.Sequential(*block(3, 24, False), nn.MaxPool2d(2), *block(24, 48, False), *block(48, 48, False), nn.MaxPool2d(2),
                         *block(48, 96, False), *block(96, 96, False), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(96, 10))


# data, parts, model, augmentation, batch, epochs; shear is in degrees, of which 0.1 is 5.7
TASKS = {
    "mnist": ("mnist/mnist.h5", ("train", "test"), mnist, [T.RandomAffine(10, (0.08, 0.08), (0.9, 1.1), 5.7, BILINEAR)], 128, 10),
    "pictures": ("pictures/pictures.h5", ("train", "val"), pictures, [
        T.RandomHorizontalFlip(), T.Pad(8, padding_mode="reflect"), T.RandomAffine(180, (0.05, 0.05), (0.85, 1.15), None, BILINEAR), T.CenterCrop(32),
        T.ColorJitter(0.3, 0.3, 0.5, 0.2)], 64, 24),
}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("task", choices=TASKS)
    p.add_argument("--epochs", type=int)
    p.add_argument("--plain", action="store_true", help="do not augment")
    p.add_argument("--data")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    data, parts, model, augment, batch, epochs = TASKS[a.task]
    epochs = a.epochs or epochs
    with h5py.File(a.data or os.path.join(EXAMPLES, data)) as f:
        (x, y), (val_x, val_y) = [(torch.from_numpy(f[part + "/images"][:]), torch.from_numpy(f[part + "/labels"][:]).long()) for part in parts]
    if x.ndim == 3:
        x, val_x = x.unsqueeze(1), val_x.unsqueeze(1)
    mean, std = x.float().mean(), x.float().std(unbiased=False)
    torch.set_num_threads(a.threads)
    torch.manual_seed(a.seed)
    net, change = model(), T.Compose(augment)
    optimizer = torch.optim.AdamW(net.parameters(), lr=4e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, epochs * ((len(x) + batch - 1) // batch), cycle_momentum=False)
    start = time.time()
    for epoch in range(epochs):
        net.train()
        for rows in torch.randperm(len(x)).split(batch):
            images = x[rows] if a.plain else torch.stack([change(x[i]) for i in rows])
            optimizer.zero_grad()
            F.cross_entropy(net((images.float() - mean) / std), y[rows]).backward()
            optimizer.step()
            schedule.step()
        net.eval()
        with torch.no_grad():
            right = sum((net((part.float() - mean) / std).argmax(1) == labels).sum().item() for part, labels in zip(val_x.split(1000), val_y.split(1000)))
        print(f"epoch {epoch + 1}/{epochs}  {100 * right / len(val_y):.2f} % of {len(val_y)}, {time.time() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
