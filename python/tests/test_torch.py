"""PyTorch's tensors and DataLoader."""
import os
import subprocess
import sys

import numpy as np

from common import DIGITS, Skipped, folder, here, main, need, refused

import h5dnn

FIELDS = {"x": "train/images", "y": "train/labels"}


def loader(**settings):
    return h5dnn.Loader(DIGITS, FIELDS, **{"batch_size": 100, "seed": 3, "index": "row", "to": "torch", **settings})


def rows(batches):
    return [r for b in batches for r in b["row"].tolist()]


def test_tensors_share_the_memory_of_batches():
    torch = need("torch")
    for b in loader():
        assert isinstance(b["x"], torch.Tensor) and b["x"].dtype == torch.uint8 and b["x"].shape[1:] == (8, 8)
    array = next(iter(loader(to="numpy")))["x"]
    assert torch.from_dlpack(array).data_ptr() == array.ctypes.data
    with h5dnn.open(DIGITS) as f:
        whole = torch.from_numpy(f["train/images"][()])
    kept = list(loader())
    assert all((b["x"] == whole[b["row"]]).all() for b in kept)
    weights = h5dnn.load_state_dict(DIGITS, to="torch")
    assert (weights["train/images"] == whole).all()


def test_dataloader_takes_batches_as_they_are():
    torch = need("torch")
    from h5dnn.torch import IterableDataset
    for workers, context in ((0, None), (2, "fork"), (2, "spawn")):
        l = loader()
        next(iter(l))  # the parent has read through it
        l.set_epoch(0)
        batches = torch.utils.data.DataLoader(IterableDataset(l), batch_size=None, num_workers=workers, multiprocessing_context=context)
        first = rows(batches)
        assert sorted(first) == list(range(1437)), (workers, context, len(first))
        if workers == 0:
            assert first == rows(loader())


def test_dataloader_resumes_with_workers():
    torch = need("torch")
    from h5dnn.torch import DataLoader
    for workers in (0, 2):
        whole = [b["row"].tolist() for b in DataLoader(loader(), num_workers=workers)]
        data = DataLoader(loader(), num_workers=workers)
        it = iter(data)
        first = [next(it)["row"].tolist() for _ in range(5)]
        assert first == whole[:5]
        state = data.state_dict()
        del it
        assert sorted(rows(data)) == list(range(1437)) and data.state_dict()["epoch"] == 2  # the loop that was left is over
        again = DataLoader(loader(), num_workers=workers)
        again.load_state_dict(state)
        assert [b["row"].tolist() for b in again] == whole[5:], workers
        second = [b["row"].tolist() for b in again]
        assert second != whole and sorted(sum(second, [])) == list(range(1437))
        with refused(ValueError, "num_workers"):
            DataLoader(loader(), num_workers=workers + 1).load_state_dict(state)


def test_dataloader_knows_its_length():
    need("torch")
    from h5dnn.torch import DataLoader
    for settings in ({}, {"drop_last": True}, {"rank": 1, "world_size": 3}, {"rank": 0, "world_size": 2, "drop_last": True}):
        for workers in (0, 1, 2, 3):
            data = DataLoader(loader(**settings), num_workers=workers)
            assert len(data) == len(list(data)), (settings, workers)


def test_lightning_resumes_within_an_epoch():
    need("torch")
    lightning = need("lightning")
    import logging
    import torch
    from h5dnn.torch import DataLoader
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer, self.rows = torch.nn.Linear(64, 10), []

        def training_step(self, batch, _):
            self.rows.append(batch["row"].tolist())
            return torch.nn.functional.cross_entropy(self.layer(batch["x"].flatten(1).float()), batch["y"].long())

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    def fit(data, steps, checkpoint=None):
        trainer = lightning.Trainer(max_steps=steps, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
        model = Model()
        trainer.fit(model, data, ckpt_path=checkpoint)
        return trainer, model.rows
    for make in (loader, lambda: DataLoader(loader()), lambda: DataLoader(loader(), num_workers=2)):
        with folder() as name:
            trainer, first = fit(make(), 20)
            trainer.save_checkpoint(name + "/c")
            rest = fit(make(), 40, name + "/c")[1]
        assert first + rest == fit(make(), 40)[1]


def test_examples_run():
    for name, library in (("digits", "torch"), ("lightning_digits", "lightning"), ("accelerate_digits", "accelerate"), ("keras_digits", "keras"), ("jax_digits", "jax")):
        try:
            need(library)
        except Skipped:
            continue
        path = os.path.join(os.path.dirname(here), "examples", name + ".py")
        done = subprocess.run([sys.executable, "-B", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "KERAS_BACKEND": "torch"})
        assert done.returncode == 0, done.stderr


def test_samples_by_index():
    torch = need("torch")
    from h5dnn.torch import Dataset
    with h5dnn.open(DIGITS) as f:
        x = f["train/images"][()]
    for workers in (0, 2):
        data = torch.utils.data.DataLoader(Dataset(loader()), batch_size=64, shuffle=True, num_workers=workers)
        seen = []
        for b in data:
            assert (b["x"].numpy() == x[b["row"].numpy()]).all()
            seen += b["row"].tolist()
        assert sorted(seen) == list(range(1437)) and len(data) == 23
    assert Dataset(loader())[5]["row"] == 5
    with refused(IndexError):
        Dataset(loader())[2000]


def test_training():
    torch = need("torch")
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    data = loader(batch_size=64, index=None)
    for _ in range(8):
        for b in data:
            loss = torch.nn.functional.cross_entropy(model(b["x"] / 16), b["y"].long())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with h5dnn.open(DIGITS) as f:
        x, y = torch.from_numpy(f["test/images"][()]), torch.from_numpy(f["test/labels"][()])
    assert (model(x / 16).argmax(1) == y).float().mean() > 0.9


if __name__ == "__main__":
    main(__name__)
