"""Loaders of shuffled batches, read ahead by threads of the library."""
from __future__ import annotations

import ctypes
import json
import operator
import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from . import _library
from ._library import AGAIN, NUMPY, Handle, call, call_json

_WAIT = 100  # milliseconds after which Python looks for signals, such as Ctrl-C
_SHUFFLE = {True: "auto", False: "none", "auto": "auto", "none": "none", "exact": "exact", "window": "window"}


class Loader:
    """Batches of samples from arrays in files: an iterator of dicts of arrays, by field.

    paths are files, URLs, or patterns of them (demo_*.h5, s3://bucket/*.h5, https://host/shard-{000..012}.h5), whose samples
    follow one another. fields are the paths of
    arrays in them, by the names of the fields; a path may have stars for the groups of episodes, and end in a
    [slice]. Element i of the first axis of every array is sample i.

    Each loop over a loader is one epoch. The order follows from seed and epoch alone: not from the number of workers or
    from memory, nor from where an epoch goes on after load_state_dict.

    Arrays share the memory that the library reads to. It is reused once no array refers to it.

    batch_size   samples in a batch; the last one has fewer, unless drop_last is set
    shuffle      "auto" or True: exact, or by window where chunks are decoded or remote; "exact", "window", or
                 "none" or False: as stored
    window       chunks in the shuffle buffer of "window"; about 64 MiB by default
    rows         filters of samples: "[1000:]", "mask/train", "quality>0.5"
    steps        neighbouring rows that make one sample, a window; they are an axis of it
    frames       rows of the window that a field has, by field: {"pixels": "::5"}; only these are read
    episodes     the path of what divides rows into episodes, within which windows stay: integers or strings that the
                 rows of an episode share, lengths of episodes, or the rows where they begin
    csr          fields whose batches are sparse: scipy.sparse.csr_matrix, or torch.sparse_csr_tensor. Their path is a
                 group of CSR, such as X of an .h5ad, or of its values, beside x_columns and x_offsets
    genes        columns of X, raw/X and layers of .h5ad files by their names in var: "union" or "intersection" of the genes of all
                 files, or a list of names. A gene that a file lacks is 0 there. Without it, files whose genes differ, or are in another
                 order, are refused. loader.genes has the names
    memory       bytes, at most; by default 512 MiB, or what is needed. An order by window then keeps decoded samples for later
                 epochs only if all of them take 96 MiB or less; allow what they take to keep more
    workers      threads that read; one a processor by default
    rank, world_size  the share of the samples that this process loads; of torch.distributed, where it is initialized
    to           "numpy", or "torch" for tensors
    transform    a function of a batch, whose result is yielded in its place
    index        the name of a field with the indices of the samples, after rows, if given
    format, follow  of the files, as for File
    settings     other settings of data in a run's configuration (docs/configuration.md), such as
                 pad_before=3   windows begin up to 3 rows before an episode, with copies of its first row; pad_after likewise
                 images={"pixels": "rgb"}   rows of bytes are PNG or JPEG files, which the threads decode; or "gray"
                 x_offsets, missing
    """

    def __init__(self, paths: str | os.PathLike | Iterable[str | os.PathLike], fields: Mapping[str, str | list[str]], batch_size: int = 64,
                 shuffle: str | bool = "auto", seed: int = 0, *, drop_last: bool = False, window: int = 0, rows: str | list[str] | None = None,
                 steps: int = 0, frames: Mapping[str, str] | None = None, episodes: str | None = None, csr: str | list[str] | None = None, genes: str | Iterable[str] | None = None,
                 memory: int = 0, workers: int = 0, rank: int | None = None, world_size: int | None = None, to: str = "numpy", transform: Callable[[dict], Any] | None = None,
                 index: str | None = None, format: str = "", follow: str | os.PathLike = "", **settings: Any):
        names = [paths] if isinstance(paths, (str, bytes, os.PathLike)) else list(paths)
        if not isinstance(fields, Mapping) or not fields:
            raise ValueError(f"fields={fields!r}; want a dict of paths in the file by name, such as {{'x': 'images'}}")
        if shuffle not in _SHUFFLE:
            raise ValueError(f"shuffle={shuffle!r}; want auto, exact, window or none")
        data = {"file": [os.fsdecode(name) for name in names], "x": dict(fields), "shuffle": _SHUFFLE[shuffle],
                "window": window, "steps": steps, "categorical": "codes", **settings}
        if genes is not None and not isinstance(genes, str):
            genes = [str(name) for name in genes]
        data.update({name: dict(value) if name == "frames" else value
                     for name, value in (("rows", rows), ("frames", frames), ("episodes", episodes), ("csr", csr), ("genes", genes)) if value is not None})
        self._begin({"data": data, "batch_size": batch_size, "drop_last": drop_last, "seed": seed, "memory": memory,
                     "workers": workers, "format": format, "follow": os.fsdecode(follow)}, rank, world_size, to, transform, index, list(fields))

    @classmethod
    def from_config(cls, path: str | os.PathLike, validation: bool = False, *, batch_size: int = 0, seed: int | None = None,
                    drop_last: bool = False, memory: int = 0, workers: int = 0, rank: int | None = None, world_size: int | None = None,
                    to: str = "numpy", transform: Callable[[dict], Any] | None = None, index: str | None = None) -> Loader:
        """The loader of the samples to train on, or to validate on, of the configuration of a run: a YAML file."""
        self = cls.__new__(cls)
        self._begin({"config": os.fsdecode(path), "validation": validation, "batch_size": batch_size, "drop_last": drop_last,
                     "seed": seed, "memory": memory, "workers": workers}, rank, world_size, to, transform, index, None)
        return self

    def _begin(self, settings, rank, world_size, to, transform, index, order):
        if to not in ("numpy", "torch"):
            raise ValueError(f"to={to!r}; want numpy or torch")
        if operator.index(settings["batch_size"]) < 0 or settings["batch_size"] == 0 and "config" not in settings:
            raise ValueError(f"batch_size={settings['batch_size']}; want a number from 1 on")
        if (rank is None) != (world_size is None):
            raise ValueError("rank and world_size go together; name both or neither")
        if rank is None:
            rank, world_size = _distributed()
        self._settings = {**settings, "rank": rank, "world_size": world_size}
        self._to, self.transform, self._index, self._order = to, transform, index, order
        self._call = _library.caller(_text(settings))
        self._epoch, self._consumed, self._next = 0, None, (0, 0)
        self._handle = self._iterator = None
        self._open()

    def _open(self):
        self._handle = Handle("loader_close", "loader_open", _library.encoded(_text(self._settings), "setting"), by=self._call)
        self._about = call_json("loader_about", self._handle.number)
        fields = self._about["fields"]
        for f in fields:
            if self._to == "numpy" and f["dtype"] not in NUMPY:
                raise _library.DTypeError(f"{f['name']} holds {f['dtype']}, which NumPy does not have; load it with to='torch'")
        self._names = [f["name"] for f in fields]
        self._csr = self._about["csr"]
        parts = [name for x in self._csr.values() for name in (x["columns"], x["lengths"])]
        if self._csr and self._to == "numpy":
            _scipy()
        if self._order is None or sorted(self._order) != sorted(set(self._names) - set(parts)):
            self._order = [name for name in self._names if name not in parts]
        if self._index in self._names:
            raise ValueError(f"index={self._index!r} is the name of a field; choose another one")

    def _number(self):
        """The handle, which the child of a fork opens for itself."""
        if self._handle is None:
            raise _library.StateError("the loader is closed")
        if self._handle.stale:
            self._open()
        return self._handle.number

    @property
    def fields(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        """The fields of a batch: the type and the shape of one sample, by name."""
        kinds = {f["name"]: (f["dtype"], tuple(f["shape"])) for f in self._about["fields"]}
        return {name: (kinds[name][0], (self._csr[name]["width"],)) if name in self._csr else kinds[name] for name in self._order}

    @property
    def plan(self) -> dict[str, Any]:
        """How samples are loaded: order, window, memory, and notes on what to know."""
        return {k: v for k, v in self._about.items() if k not in ("fields", "csr", "genes")}

    @property
    def genes(self) -> list[str]:
        """The names of the columns of X, raw/X and layers, in their order, where genes was given or all files have the same, each once."""
        return list(self._about["genes"] or [])

    @property
    def samples(self) -> int:
        """The number of samples in an epoch of this rank."""
        return self._about["samples"]

    @property
    def epoch(self) -> int:
        """The number of the epoch in progress, or else of the next one."""
        return self._next[0] if self._consumed is None else self._epoch

    def __len__(self) -> int:
        """The number of batches in an epoch of this rank."""
        return self._about["batches"]

    def set_epoch(self, epoch: int) -> None:
        """Makes the next loop that epoch, from its beginning."""
        self._next, self._consumed = (epoch, 0), None

    def __iter__(self) -> Iterator[Any]:
        """Starts the next epoch, or goes on where the state that was loaded was saved. A loop in progress ends."""
        running = self._iterator and self._iterator()
        if running is not None:
            running.ended = True
        self._epoch, self._consumed = self._next
        self._next = (self._epoch + 1, 0)
        epoch = _Epoch(self)
        self._iterator = weakref.ref(epoch)
        return epoch

    def state_dict(self) -> dict[str, Any]:
        """The place after the batch that the loop got last, with what the order of samples follows from."""
        epoch, consumed = self._next if self._consumed is None else (self._epoch, self._consumed)
        return {"epoch": epoch, "consumed": consumed, **self._identity()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Makes the next loop go on at a place that state_dict returned, with the same samples in the same order."""
        for name, value in self._identity().items():
            if state.get(name) != value:
                raise ValueError(f"the state was saved with {name}={state.get(name)!r}, and the loader has {name}={value!r}; the order of samples would differ")
        if not 0 <= state["consumed"] <= self.samples:
            raise ValueError(f"the state is after {state['consumed']} samples of {self.samples}")
        self._next, self._consumed = (state["epoch"], state["consumed"]), None

    def _identity(self):
        about = self._about
        return {"seed": about["seed"], "shuffle": about["shuffle"], "window": about["window"], "total": about["total"],
                "rank": self._settings["rank"], "world_size": self._settings["world_size"]}

    def read(self, rows: Any) -> Any:
        """The samples with these indices, in this order, as one batch."""
        rows = np.asarray(rows)
        if rows.ndim != 1 or rows.size and rows.dtype.kind not in "iu":
            raise _library.ShapeError(f"rows of {rows.dtype}, shape {rows.shape}; want a list of indices")
        rows = np.ascontiguousarray(rows, np.int64)
        number, handles = self._number(), (ctypes.c_uint64 * len(self._names))()
        self._call("loader_read", number, len(rows), rows.ctypes.data_as(ctypes.POINTER(ctypes.c_int64)), len(handles), handles)
        return self._batch(handles, rows)

    def _batch(self, handles, rows):
        arrays = dict(zip(self._names, map(self._array, [Handle.of("free", h) for h in handles])))
        batch = {name: self._sparse(arrays, name) if name in self._csr else arrays[name] for name in self._order}
        if self._index:
            batch[self._index] = rows if self._to == "numpy" else _torch(rows, "int64")
        return batch if self.transform is None else self.transform(batch)

    def _sparse(self, arrays, name):
        """The rows of a sparse field as a matrix in the memory of its three arrays."""
        about = self._csr[name]
        values, columns, offsets = arrays[name], arrays[about["columns"]], arrays[about["lengths"]]
        shape = len(offsets) - 1, about["width"]
        if self._to == "numpy":
            return _scipy().csr_matrix((values, columns, offsets), shape=shape)
        import torch
        return torch.sparse_csr_tensor(offsets, columns, values, size=shape, check_invariants=False)  # the library has looked at the columns

    def _array(self, handle):
        array, kind = _library.show(handle)
        return array if self._to == "numpy" else _torch(array, kind)

    def close(self) -> None:
        """Closes the loader and its files. Batches stay valid."""
        if self._handle is not None:
            self._handle.close()
        self._handle = None

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_):
        self.close()

    def __getstate__(self):
        state = self.__dict__.copy()
        state["_handle"] = state["_iterator"] = None
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)
        if self._consumed is not None:  # a copy goes on after the last batch
            self._next, self._consumed = (self._epoch, self._consumed), None
        self._open()

    def __repr__(self):
        fields = ", ".join(f"{n} {t}{list(s)}" for n, (t, s) in self.fields.items())
        return f"<h5dnn.Loader {fields}: {self.samples} samples in {len(self)} batches, {self._about['shuffle']}>"


def _text(settings):
    """Settings as JSON, of numbers of NumPy too."""
    return json.dumps(settings, default=operator.index)


class _Epoch:
    """The batches of an epoch."""

    def __init__(self, loader):
        self.loader, self.ended = loader, False
        self.number, self.handle = loader._number(), loader._handle
        call("loader_start", self.number, loader._epoch, loader._consumed)
        self.function = _library.library().h5dnn_loader_next

    def __iter__(self):
        return self

    def __next__(self):
        if self.ended:
            raise StopIteration
        if self.handle.stale:
            self._resume()
        _library.release_lost()
        loader, status = self.loader, AGAIN
        handles, rows, consumed = (ctypes.c_uint64 * len(loader._names))(), ctypes.c_uint64(), ctypes.c_int64()
        while status == AGAIN:
            status = self.function(self.number, _WAIT, len(handles), handles, ctypes.byref(rows) if loader._index else None, ctypes.byref(consumed))
        if status:
            raise _library.failure(status)
        if consumed.value < 0:
            if not self.ended:
                self.ended, loader._consumed = True, None
            raise StopIteration
        loader._consumed = consumed.value
        indices = _library.show(Handle.of("free", rows.value))[0] if loader._index else None
        return loader._batch(handles, indices)

    def _resume(self):
        """Goes on in the child of a fork."""
        self.__init__(self.loader)


def _scipy():
    try:
        import scipy.sparse
    except ImportError as error:
        raise ImportError("csr: sparse matrices need SciPy; install it, or load them with to='torch'") from error
    return scipy.sparse


def _torch(array, kind):
    import torch
    tensor = torch.from_numpy(array)
    return tensor if kind in NUMPY else tensor.view(getattr(torch, kind))


def _distributed():
    """Rank and world size of torch.distributed, if this program uses it."""
    import sys
    torch = sys.modules.get("torch")
    distributed = getattr(torch, "distributed", None)
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return 0, 1
