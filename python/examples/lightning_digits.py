"""Trains with Lightning, stops in the middle of an epoch, and goes on: Lightning saves the loader's state with its checkpoints.

    python3 python/examples/lightning_digits.py
"""
import os
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(here))  # not needed where h5dnn is installed

import lightning
import torch

import h5dnn

DIGITS = os.path.join(here, "..", "..", "testdata", "digits.h5")


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
        self.rows = []

    def training_step(self, batch, _):
        self.rows += batch["row"].tolist()
        return torch.nn.functional.cross_entropy(self.layers(batch["x"] / 16), batch["y"].long())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 5e-3)


def fit(steps, checkpoint=None):
    """Trains up to a number of steps, and returns the trainer and the rows of samples that it took."""
    loader = h5dnn.Loader(DIGITS, {"x": "train/images", "y": "train/labels"}, batch_size=64, seed=1, to="torch", index="row")
    trainer = lightning.Trainer(max_steps=steps, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    model = Model()
    trainer.fit(model, loader, ckpt_path=checkpoint)
    return trainer, model.rows


with tempfile.TemporaryDirectory() as folder:
    checkpoint = os.path.join(folder, "middle.ckpt")
    trainer, first = fit(30)  # an epoch has 23 batches
    trainer.save_checkpoint(checkpoint)
    _, rest = fit(69, checkpoint)
_, whole = fit(69)
print(f"{len(first)} samples, then {len(rest)}")
assert first + rest == whole
