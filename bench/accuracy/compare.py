"""Trains the examples of dense labels, two targets, codes, signals, tokens and text with h5dnn and with PyTorch: the same architecture,
data, initial distributions, optimizer, batch and epochs, over several seeds. Prints mean and range of each validation metric and of the processor time.

    for e in segmentation fields autoencoder tagger characters ecg gpt; do go run ./examples/$e/make; done
    python bench/accuracy/compare.py bin/h5dnn [--seeds 5] [EXAMPLE ...]
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

import h5py
import torch
from torch import nn
from torch.nn import functional as F

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")


def normalized(channels_in, channels):
    return nn.Sequential(nn.Conv2d(channels_in, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels), nn.ReLU())


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1 = nn.Sequential(normalized(1, 12), normalized(12, 12))
        self.down2 = nn.Sequential(nn.MaxPool2d(2), normalized(12, 24), normalized(24, 24))
        self.bottom = nn.Sequential(nn.MaxPool2d(2), normalized(24, 48), normalized(48, 48), nn.Upsample(scale_factor=2))
        self.up2 = nn.Sequential(normalized(72, 24), nn.Upsample(scale_factor=2))
        self.up1 = nn.Sequential(normalized(36, 12), nn.Conv2d(12, 4, 1))

    def forward(self, x):
        down1 = self.down1(x)
        down2 = self.down2(down1)
        up2 = self.up2(torch.cat([self.bottom(down2), down2], 1))
        return self.up1(torch.cat([up2, down1], 1))


class TwoTargets(nn.Module):
    def __init__(self):
        super().__init__()
        layers = []
        for before, after in ((1, 16), (16, 32), (32, 32)):
            layers += [nn.Conv2d(before, after, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
        self.trunk = nn.Sequential(*layers, nn.Flatten(), nn.Linear(512, 64), nn.ReLU())
        self.kind, self.place = nn.Linear(64, 3), nn.Linear(64, 3)

    def forward(self, x):
        features = self.trunk(x)
        return self.kind(features), self.place(features)


class Circle(nn.Sequential):
    """Convolutions around a circle."""

    def __init__(self):
        def conv(a, b):
            return nn.Conv1d(a, b, 7, padding=3, padding_mode="circular")
        super().__init__(conv(8, 48), nn.GELU(), conv(48, 48), nn.GELU(), conv(48, 48), nn.GELU(), conv(48, 8))

    def forward(self, x):
        x = F.gelu(self[0](x))
        x = x + F.gelu(self[2](x))
        x = x + F.gelu(self[4](x))
        return self[6](x)


class Transfer(nn.Sequential):
    """Begins with the layers of base.pt, but the last, and keeps its convolutions."""

    def __init__(self):
        layers = []
        for before, after in ((1, 16), (16, 32), (32, 32)):
            layers += [nn.Conv2d(before, after, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
        super().__init__(*layers, nn.Flatten(), nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 3))
        base = torch.load(os.path.join(EXAMPLES, "transfer", "base.pt"))
        self.load_state_dict({k: v for k, v in base.items() if not k.startswith("12.")}, strict=False)
        for layer in list(self)[:9]:
            layer.requires_grad_(False)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(80, 16, padding_idx=0)
        self.layers = nn.Sequential(nn.Conv1d(16, 32, 3, padding=1), nn.ReLU(), nn.Conv1d(32, 32, 3, padding=1), nn.ReLU(), nn.Conv1d(32, 7, 1))

    def forward(self, x):
        return self.layers(self.words(x).transpose(1, 2))


def normal(*modules):
    """Parameters drawn as h5dnn draws them: positions with a standard deviation of 0.02."""
    for m in modules:
        nn.init.normal_(m.weight, std=0.02)


class Characters(nn.Module):
    def __init__(self):
        super().__init__()
        self.bytes, self.words = nn.Embedding(256, 64), nn.Conv1d(64, 64, 5, 2, 2)
        self.positions = nn.Embedding(64, 64)
        normal(self.positions)
        layers = [nn.TransformerEncoderLayer(64, 4, 128, 0.1, "gelu", batch_first=True, norm_first=True) for _ in range(2)]  # drawn anew, each
        self.blocks, self.head = nn.Sequential(*layers, nn.LayerNorm(64)), nn.Linear(64, 8)

    def forward(self, x):
        x = F.relu(self.words(self.bytes(x).transpose(1, 2))).transpose(1, 2) + self.positions.weight
        return self.head(self.blocks(x).mean(1))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.bytes, self.positions = nn.Embedding(256, 128), nn.Embedding(128, 128)
        nn.init.xavier_normal_(self.bytes.weight)
        normal(self.positions)
        self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(128, 4, 512, 0, "gelu", batch_first=True, norm_first=True) for _ in range(4))
        self.norm, self.mask = nn.LayerNorm(128), nn.Transformer.generate_square_subsequent_mask(128)

    def forward(self, x):
        x = self.bytes(x) + self.positions.weight
        for block in self.blocks:
            x = block(x, self.mask, is_causal=True)
        return (self.norm(x) @ self.bytes.weight.T).transpose(1, 2)


class Rhythms(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru, self.head = nn.GRU(1, 32, batch_first=True, bidirectional=True), nn.Linear(64, 4)

    def forward(self, x):
        return self.head(self.gru(x)[1].transpose(0, 1).flatten(1))  # both last states


class Autoencoder(nn.Module):
    """A code of 16 numbers, or of 16 normal numbers, whose divergence is added to the loss."""

    def __init__(self, normal=False):
        super().__init__()
        self.normal = normal
        self.code = nn.Sequential(nn.Flatten(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 32 if normal else 16))
        self.image = nn.Sequential(nn.Linear(16, 256), nn.ReLU(), nn.Linear(256, 256))

    def forward(self, x):
        code, added = self.code(x), 0
        if self.normal:
            code, log_variance = code.chunk(2, 1)
            added = (code.square() + log_variance.exp() - log_variance - 1).sum(1).mean() / 2 / 256
            if self.training:
                code = code + (log_variance / 2).exp() * torch.randn_like(code)
        return self.image(code).unflatten(1, (16, 16)), added


def images(a):
    return ((torch.from_numpy(a[:]).float() - 128) / 64).unsqueeze(1)


def pixels(f, part):
    return images(f[part + "/images"]), torch.from_numpy(f[part + "/masks"][:]).long()


def pixel_scores(out, y):
    confusion = torch.bincount((y * 4 + out.argmax(1)).flatten(), minlength=16).reshape(4, 4).double()
    hit = confusion.diag()
    return {"accuracy": (hit.sum() / confusion.sum()).item(), "iou": (hit / (confusion.sum(0) + confusion.sum(1) - hit)).mean().item()}


def places(f, part):
    y = torch.from_numpy(f["train/places"][:])
    return images(f[part + "/images"]), torch.from_numpy(f[part + "/kinds"][:]).long(), torch.from_numpy(f[part + "/places"][:]), y.mean(0), y.std(0, unbiased=False)


def place_loss(out, kind, place, mean, std):
    return F.cross_entropy(out[0], kind) + 2 * F.mse_loss(out[1], (place - mean) / std)


def place_scores(out, kind, place, mean, std):
    return {"kind_accuracy": (out[0].argmax(1) == kind).double().mean().item(), "place_mean_absolute_error": (out[1] * std + mean - place).abs().mean().item()}


def sentences(f, part):
    return torch.from_numpy(f[part + "/tokens"][:]).long(), torch.from_numpy(f[part + "/tags"][:]).long()


def kinds(f, part):
    rows = slice(100 if part == "train" else None)
    return images(f[part + "/images"])[rows], torch.from_numpy(f[part + "/kinds"][:]).long()[rows]


def kind_scores(out, y):
    return {"accuracy": (out.argmax(1) == y).double().mean().item()}


def times(f, part):
    u = torch.from_numpy(f[part + "/u"][:])
    return u[:, :8], u[:, 8:]


def field_scores(out, y):
    return {"mean_absolute_error": (out - y).abs().double().mean().item(), "r2": (1 - (out - y).double().square().sum((0, 2)) / (y - y.mean((0, 2), keepdim=True)).double().square().sum((0, 2))).mean().item()}


def tag_scores(out, y):
    return {"accuracy": (out.argmax(1) == y)[y != -100].double().mean().item()}


def integers(*names):
    return lambda f, part: [torch.from_numpy(f[f"{part}/{name}"][:]).long() for name in names]


def signals(f, part):
    return torch.from_numpy(f[part + "/signals"][:]), torch.from_numpy(f[part + "/rhythms"][:]).long()


def strokes(f, part):
    x = torch.from_numpy(f[part + "/images"][:])
    return x, x


def restored(of):
    """A loss of images and of what the model adds."""
    return lambda out, y: of(out[0], y) + out[1]


def loss_scores(of):
    return lambda out, y: {"loss": restored(of)(out, y).item()}


def token_scores(out, y):
    return {"perplexity": F.cross_entropy(out, y).exp().item()}


TASKS = {  # configuration, data, model, arrays, loss, scores, learning rate, epochs, batch
    "segmentation": ("segmentation/unet.yaml", "segmentation/shapes.h5", UNet, pixels, F.cross_entropy, pixel_scores, 2e-3, 6, 16),
    "targets": ("targets/targets.yaml", "segmentation/shapes.h5", TwoTargets, places, place_loss, place_scores, 1e-3, 15, 32),
    "transfer": ("transfer/frozen.yaml", "segmentation/shapes.h5", Transfer, kinds, F.cross_entropy, kind_scores, 1e-3, 60, 16),
    "fields": ("fields/fields.yaml", "fields/burgers.h5", Circle, times, F.mse_loss, field_scores, 2e-3, 15, 32),
    "tagger": ("tagger/tagger.yaml", "tagger/sentences.h5", Tagger, sentences, F.cross_entropy, tag_scores, 2e-3, 10, 32),
    "characters": ("characters/characters.yaml", "characters/pieces.h5", Characters, integers("bytes", "package"), F.cross_entropy, kind_scores, 1e-3, 8, 64),
    "autoencoder": ("autoencoder/autoencoder.yaml", "autoencoder/strokes.h5", Autoencoder, strokes, restored(F.mse_loss), loss_scores(F.mse_loss), 1e-3, 20, 64),
    "vae": ("autoencoder/vae.yaml", "autoencoder/strokes.h5", lambda: Autoencoder(True), strokes, restored(F.binary_cross_entropy_with_logits),
            loss_scores(F.binary_cross_entropy_with_logits), 1e-3, 20, 64),
    "ecg": ("ecg/ecg.yaml", "ecg/signals.h5", Rhythms, signals, F.cross_entropy, kind_scores, 3e-3, 15, 32),
    "gpt": ("gpt/gpt.yaml", "gpt/text.h5", GPT, integers("bytes", "next"), F.cross_entropy, token_scores, 1e-3, 4, 32),
}
CLIP = {"ecg": 1}  # norm of the gradient at most


def pytorch(task, seed):
    _, data, model, arrays, loss_of, scores, rate, epochs, batch = TASKS[task]
    with h5py.File(os.path.join(EXAMPLES, data)) as f:
        (x, *ys), (val_x, *val_ys) = arrays(f, "train"), arrays(f, "val")
    constants = [y for y in ys if len(y) != len(x)]
    ys, val_ys = [y for y in ys if len(y) == len(x)], val_ys[: len(ys) - len(constants)]
    torch.manual_seed(seed)
    start = time.process_time()
    net = model()
    optimizer = torch.optim.Adam(net.parameters(), lr=rate)
    for _ in range(epochs):
        net.train()
        for rows in torch.randperm(len(x)).split(batch):
            optimizer.zero_grad()
            loss_of(net(x[rows]), *[y[rows] for y in ys], *constants).backward()
            if task in CLIP:
                nn.utils.clip_grad_norm_(net.parameters(), CLIP[task])
            optimizer.step()
    net.eval()
    with torch.no_grad():
        return scores(net(val_x), *val_ys, *constants) | {"seconds": time.process_time() - start}


def h5dnn(program, task, seed, names, threads):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        run = [program, "train", os.path.join(EXAMPLES, TASKS[task][0]), "--seed", str(seed), "--threads", str(threads), "--json", "-o", os.path.join(folder, "run.h5")]
        lines = subprocess.run(run, check=True, capture_output=True, text=True).stdout.splitlines()
    last = [json.loads(line) for line in lines if "val_loss" in line][-1]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {name: last["val_" + name] for name in names if name != "seconds"} | {"seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}


def summary(values):
    return f"{sum(values) / len(values):.4f} ({min(values):.4f} to {max(values):.4f})"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program")
    p.add_argument("tasks", nargs="*", default=list(TASKS))
    p.add_argument("--seeds", type=int, default=5)
    p.add_argument("--threads", type=int, default=2)
    a = p.parse_intermixed_args()
    torch.set_num_threads(a.threads)
    print(f"| example | metric of validation | h5dnn: mean (range) of {a.seeds} seeds | PyTorch {torch.__version__.split('+')[0]} |\n|---|---|---|---|")
    for task in a.tasks:
        theirs, ours = [], []
        for seed in range(1, a.seeds + 1):
            theirs.append(pytorch(task, seed))
            ours.append(h5dnn(a.program, task, seed, theirs[0], a.threads))
            print(task, seed, "h5dnn", ours[-1], "PyTorch", theirs[-1], file=sys.stderr)
        for name in theirs[0]:
            print(f"| {task} | {name} | {summary([s[name] for s in ours])} | {summary([s[name] for s in theirs])} |", flush=True)


if __name__ == "__main__":
    main()
