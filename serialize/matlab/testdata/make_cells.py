"""Writes cells.mat, a MATLAB 7.3 file of cells and struct arrays, and the files of attacks whose
references go in circles. Needs hdf5storage and h5py: python3 make_cells.py
"""
import os

import h5py
import hdf5storage
import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
path = lambda *names: os.path.join(here, *names)


def cell(shape, *values):
    c = np.empty(shape, dtype=object)
    for place, value in zip(np.ndindex(*shape), values):
        c[place] = value
    return c


c = cell((2, 2), 1.0, "two", np.arange(3.0), {"k": np.eye(2)})
people = np.zeros(2, dtype=[("age", "O"), ("name", "O")])
people["age"][0], people["age"][1] = 41.0, np.array([42.0, 43.0])
people["name"][:] = "Ada", "Bo"
if os.path.exists(path("cells.mat")):
    os.remove(path("cells.mat"))
hdf5storage.savemat(path("cells.mat"), {"c": c, "nested": cell((1, 2), c, 3.0), "people": people, "empty": np.zeros((0, 3))}, format="7.3", store_python_metadata=False, oned_as="row")


def attack(name, write):
    with h5py.File(path("members", name), "w", userblock_size=512, libver="latest") as f:
        write(f)
    with open(path("members", name), "r+b") as f:
        f.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\0\2IM")


def references(f, name, *to):
    d = f.create_dataset(name, (len(to), 1), h5py.ref_dtype)
    d.attrs["MATLAB_class"] = np.bytes_("cell")
    for i, r in enumerate(to):
        if r is not None:
            d[i, 0] = (d if r == "self" else r).ref
    return d


def doubled(f):  # 2^20 elements
    below = references(f, "#refs#/0", None)
    for level in range(20):
        below = references(f, f"#refs#/{level + 1}", below, below)
    references(f, "x", below)


def crowd(f):  # 50,000 elements: a struct of 100, 500 times
    g = f.create_group("#refs#/g")
    g.attrs["MATLAB_class"] = np.bytes_("struct")
    for i in range(100):
        g.create_dataset(str(i), data=1.0)
    references(f, "x", *[g] * 500)


os.makedirs(path("members"), exist_ok=True)
attack("circle.mat", lambda f: references(f, "x", references(f, "#refs#/a", "self")))
attack("nothing.mat", lambda f: references(f, "x", None))
attack("doubled.mat", doubled)
attack("root.mat", lambda f: references(f, "x", f["/"], f["/"]))
attack("crowd.mat", crowd)
