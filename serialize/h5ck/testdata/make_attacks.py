"""Writes the files of the folder attacks with h5py: checkpoints without an index, which are read
as HDF5, each with one thing wrong.

    python3 make_attacks.py
"""
import os
import h5py, numpy as np

here = os.path.dirname(os.path.abspath(__file__))


def attack(name, build):
    with h5py.File(os.path.join(here, "attacks", name + ".h5"), "w", libver="latest") as f:
        f.attrs["h5ck:version"] = np.uint32(1)
        f.create_dataset("storage/0", data=np.arange(4, dtype="<f4"))
        f.create_group("model")
        build(f)


def view(f, name="w", of="storage/0", offset=0, shape=(2,), strides=(1,), leave_out=(), **other):
    d = f.create_dataset("model/" + name, data=h5py.Empty("<f4"))
    attrs = {"storage": f[of].ref if isinstance(of, str) else of, "offset": np.uint64(offset), "shape": np.array(shape, "<i8"), "strides": np.array(strides, "<i8"), **other}
    for key, value in attrs.items():
        if key not in leave_out:
            d.attrs["h5ck:" + key] = value
    return d


def cycle(f):
    a = view(f, "a")
    b = view(f, "b", "model/a")
    a.attrs["h5ck:storage"] = b.ref


def itself(f):
    d = view(f)
    d.attrs["h5ck:storage"] = d.ref


def dataset(**attrs):
    def build(f):
        d = f.create_dataset("model/w", data=np.ones(2, "<f4"))
        for key, value in attrs.items():
            d.attrs["h5ck:" + key] = value
    return build


def texts(f):
    f.create_dataset("storage/1", data=["a", "b"])
    view(f, of="storage/1")


def outside(f):
    f.create_dataset("model/w", (2,), "<f4", external=[("/etc/passwd", 0, 8)])


attack("cycle_of_views", cycle)
attack("view_of_itself", itself)
attack("view_outside", lambda f: view(f, offset=3))
attack("strides_outside", lambda f: view(f, shape=(2, 2), strides=(3, 1)))
attack("negative_stride", lambda f: view(f, offset=3, strides=(-1,)))
attack("negative_shape", lambda f: view(f, shape=(-2,)))
attack("huge_shape", lambda f: view(f, shape=(2**62, 2**62), strides=(0, 0)))
attack("terabytes_of_one_element", lambda f: view(f, shape=(2**40,), strides=(0,)))
attack("ranks_differ", lambda f: view(f, strides=(1, 1)))
attack("two_offsets", lambda f: view(f, offset=(0, 1)))
attack("no_shape", lambda f: view(f, leave_out=["shape"]))
attack("no_reference", lambda f: view(f, of=np.uint64(0)))
attack("reference_to_a_group", lambda f: view(f, of="model"))
attack("reference_to_nothing", lambda f: view(f, of=h5py.Reference()))
attack("view_of_texts", texts)
attack("other_size", dataset(dtype="float64"))
attack("unknown_type", dataset(dtype="float128"))
attack("type_of_numbers", dataset(dtype=np.array(["float32", "int32"], dtype=h5py.string_dtype())))
attack("damaged_elements", dataset(crc32c=np.uint32(1)))
attack("elements_elsewhere", outside)
attack("never_written", lambda f: f.create_dataset("model/w", (2**45,), "<f4", chunks=(2**20,)))
