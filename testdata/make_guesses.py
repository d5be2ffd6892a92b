"""Make guesses.h5: data of the kinds that h5dnn train recognizes by itself.

    python make_guesses.py

Everything follows from formulas, so that the file is the same everywhere.
"""

import h5py
import numpy as np

n = 96
k = np.arange(n)
kind = k % 3
names = np.array(["ash", "birch", "cedar"])

with h5py.File("guesses.h5", "w", libver="earliest", track_order=False) as f:
    # Images with their channels last: the class is the brightest channel.
    images = ((k[:, None, None, None] * 7 + np.arange(8)[:, None, None] * 5 + np.arange(6)[:, None] * 3) % 60 + np.zeros(3)).astype("u1")
    images[k, :, :, kind] += 150
    f.create_dataset("images", data=images, compression="gzip", chunks=(32, 8, 6, 3))
    # A table with columns of very different sizes, one of them constant, one with a gap.
    t = k / n
    table = np.stack([1e6 + 1e3 * np.sin(9 * t), 1e-4 * np.cos(7 * t), np.full(n, 0.1), kind + 0.2 * np.sin(31 * t)], 1)
    f["table"] = table
    f["price"] = 250000 + 50000 * np.sin(9 * t) + 3e4 * kind
    f["prices"] = np.stack([f["price"][:], np.cos(7 * t)], 1).astype("f4")
    f["time"] = (20 * t).astype("f4")
    f["number"] = kind.astype("i4")
    f.create_dataset("species", data=names[kind].astype(object), dtype=h5py.string_dtype())
    f["species_fixed"] = names[kind].astype("S6")
    f.create_dataset("species_enum", data=(10 * kind).astype("u1"), dtype=h5py.enum_dtype({"ash": 0, "birch": 10, "cedar": 20}, "u1"))
    # A categorical column as AnnData stores it; row 5 has no category.
    obs = f.create_group("obs")
    cell = obs.create_group("cell_type")
    cell.attrs["encoding-type"] = "categorical"
    cell["categories"] = np.array(["T cell", "B cell", "NK"], dtype=object)
    codes = kind.astype("i1")
    cell["codes"] = codes
    gaps = obs.create_group("gaps")
    gaps["categories"] = np.array(["T cell", "B cell", "NK"], dtype=object)
    codes[5] = -1
    gaps["codes"] = codes
    # Other samples with the labels of which one is unknown to a model of the above.
    other = f.create_group("other")
    other["table"] = table[:6]
    other.create_dataset("species", data=np.array(["ash", "birch", "cedar", "oak", "ash", "ash"], dtype=object), dtype=h5py.string_dtype())
