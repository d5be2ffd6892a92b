"""Reads arrays out of files for training: HDF5 and other formats, on disk and at URLs, array by array or in
shuffled, prefetched batches.

    with h5dnn.open("train.h5") as f:
        first = f["images"][:10]

    for batch in h5dnn.Loader("train.h5", {"x": "images", "y": "labels"}, batch_size=64):
        train(batch["x"], batch["y"])

h5dnn.ops computes on arrays in their memory. The library behind it, libh5dnn.so, is loaded at the first call, not by the import.
"""
from ._file import Attributes, Dataset, Empty, ExternalLink, File, Group, HardLink, SoftLink, convert, diff, load_state_dict, verify
from ._library import DeviceError, DTypeError, Error, InternalError, MissingError, SettingError, ShapeError, StateError
from ._loader import Loader
from . import ops

open = File

__all__ = ["Attributes", "Dataset", "DTypeError", "DeviceError", "Empty", "Error", "ExternalLink", "File", "Group", "HardLink", "InternalError", "Loader", "MissingError",
           "SettingError", "ShapeError", "SoftLink", "StateError", "convert", "diff", "load_state_dict", "open", "ops", "verify"]
__version__ = "0.1.0"
