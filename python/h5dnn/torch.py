"""Loaders for PyTorch's DataLoader.

A loader reads ahead with threads of its own, so it needs no workers: h5dnn.Loader(…, to="torch") is an iterable of
batches of tensors already. These classes are for programs that are built around DataLoader.
"""
import copy

import torch
import torch.utils.data


__all__ = ["DataLoader", "Dataset", "IterableDataset"]


class IterableDataset(torch.utils.data.IterableDataset):
    """The batches of a loader, for torch's DataLoader(…, batch_size=None, num_workers=n). Worker k of n loads the k-th
    part of the samples of its rank, as batches of its own."""

    def __init__(self, loader):
        super().__init__()
        self.loader = loader
        self.delivered = 0  # batches of the epoch that all workers have delivered, where it goes on

    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        return iter(self.loader if worker is None else self._share(worker))

    def _share(self, worker):
        """The loader of a worker's samples. DataLoader takes batches from its workers in turn, beginning with the first."""
        settings, n = self.loader._settings, worker.num_workers
        part = (worker.id + self.delivered) % n
        share = copy.copy(self.loader)
        share._settings = {**settings, "rank": settings["rank"] * n + part, "world_size": settings["world_size"] * n}
        share._open()
        epoch, _ = self.loader._next
        batches = len(range(part, self.delivered, n))
        share._next = epoch, min(batches * share.plan["batch_size"], share.samples)
        return share

    def set_epoch(self, epoch):
        """Makes the next loop that epoch, from its beginning."""
        self.loader.set_epoch(epoch)
        self.delivered = 0


class DataLoader(torch.utils.data.DataLoader):
    """Torch's DataLoader of the batches of a loader, whose state can be saved at any batch, with any number of workers.
    Each loop is the next epoch."""

    def __init__(self, loader, num_workers=0, **settings):
        if settings.get("persistent_workers"):
            raise ValueError("persistent_workers=True: workers would not learn which epoch is next; leave it out")
        super().__init__(IterableDataset(loader), batch_size=None, num_workers=num_workers, **settings)
        self._left = None  # the epoch of a loop that was left before its end

    def __len__(self):
        """The number of batches in an epoch: each worker has batches of its own part of the samples."""
        plan, settings, n = self.dataset.loader.plan, self.dataset.loader._settings, max(1, self.num_workers)
        total, size, first, parts = plan["total"], plan["batch_size"], settings["rank"] * n, settings["world_size"] * n
        if settings["drop_last"]:
            return n * (total // parts // size)
        return sum(-((total * k // parts - total * (k + 1) // parts) // size) for k in range(first, first + n))

    def __iter__(self):
        data = self.dataset
        if self.num_workers == 0:
            return iter(data.loader)
        return self._batches()

    def _batches(self):
        data = self.dataset
        if self._left is not None:
            data.set_epoch(self._left + 1)
        self._left = epoch = data.loader._next[0]
        for batch in super().__iter__():
            data.delivered += 1
            yield batch
        data.set_epoch(epoch + 1)
        self._left = None

    def state_dict(self):
        """The place after the batch that the loop got last."""
        state = self.dataset.loader.state_dict()
        if self.num_workers > 0:
            state["consumed"] = 0
        return {**state, "delivered": self.dataset.delivered, "num_workers": self.num_workers}

    def load_state_dict(self, state):
        """Makes the next loop go on at a place that state_dict returned, with the same batches."""
        if state["num_workers"] != self.num_workers:
            raise ValueError(f"the state was saved with num_workers={state['num_workers']}, and the loader has {self.num_workers}; the order of batches would differ")
        self.dataset.loader.load_state_dict({name: value for name, value in state.items() if name not in ("delivered", "num_workers")})
        self.dataset.delivered, self._left = state["delivered"], None


class Dataset(torch.utils.data.Dataset):
    """The samples of a loader by index, for torch's DataLoader(…, sampler=…), which gets a batch of them at once. Order
    and size of batches are DataLoader's: shuffled reads of compressed chunks decode many chunks for each batch."""

    def __init__(self, loader):
        self.loader = loader

    def __len__(self):
        return self.loader.plan["total"]

    def __getitem__(self, index):
        return self.__getitems__([index])[0]

    def __getitems__(self, indices):
        batch = self.loader.read(indices)
        return [{name: array[k] for name, array in batch.items()} for k in range(len(indices))]
