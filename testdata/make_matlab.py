"""Makes matlab.mat, a MATLAB 7.3 file with each kind of variable, and matlab.npz, what mat73 reads
from it. Needs hdf5storage, mat73 and scipy: python3 make_matlab.py matlab.mat matlab.npz

hdf5storage writes the variables as MATLAB does, except for texts in cells and structs, sparse
matrices, structs that are arrays and objects, which are added with the attributes of files
of MATLAB.
"""
import sys

import h5py
import hdf5storage
import mat73
import numpy as np
import scipy.sparse

rng = np.random.default_rng(0)
variables = {
    "A": np.arange(12.0).reshape(3, 4),
    "cube": np.arange(24, dtype="i2").reshape(2, 3, 4),
    "single": np.float32([[1.5, -2]]),
    "scalar": 3.0,
    "complex": np.array([[1 + 2j, 3], [4, 5 - 1j]]),
    "csingle": np.array([[1 + 2j, 3]], "c8"),
    "logical": np.array([[True, False, True]]),
    "empty": np.zeros((0, 3)),
    "nothing": np.zeros((0, 0)),
    "text": "Grüße",
    "column": np.array([["ab"], ["cd"]]),
    "blank": "",
    "s": {"x": np.arange(3.0), "deep": {"y": np.uint8([[7]])}},
}
for kind in ["i1", "u1", "u2", "i4", "u4", "i8", "u8"]:
    variables[np.dtype(kind).name] = np.array([[1, 2], [3, 100]], kind)
hdf5storage.savemat(sys.argv[1], variables, format="7.3", oned_as="row", store_python_metadata=False, truncate_existing=True)

with h5py.File(sys.argv[1], "r+") as f:
    S = scipy.sparse.random(5, 4, 0.4, format="csc", random_state=3)
    for name, matrix, kind in [("sparse", S, "double"), ("pattern", S.astype(bool), "logical"), ("zeros", scipy.sparse.csc_matrix((2, 3)), "double")]:
        g = f.create_group(name)
        g.attrs["MATLAB_class"] = np.bytes_(kind)
        g.attrs["MATLAB_sparse"] = np.uint64(matrix.shape[0])
        g["jc"] = matrix.indptr.astype("u8")
        if matrix.nnz:
            g["data"], g["ir"] = matrix.data.astype("u1" if kind == "logical" else "f8"), matrix.indices.astype("u8")
            if kind == "logical":
                g["data"].attrs["MATLAB_int_decode"] = np.int32(1)
    refs = f.require_group("#refs#")

    def text(group, name, value):
        d = group.create_dataset(name, data=np.frombuffer(value.encode("utf-16-le"), "u2")[:, None])
        d.attrs["MATLAB_class"], d.attrs["MATLAB_int_decode"] = np.bytes_("char"), np.int32(2)
        return d

    text(f["s"], "name", "inner")
    number = refs.create_dataset("number", data=[[4.0]])
    number.attrs["MATLAB_class"] = np.bytes_("double")
    for name, values in [("labels", ["cat", "dog", "cat"]), ("mixed", ["word", number])]:
        d = f.create_dataset(name, (len(values), 1), h5py.ref_dtype)
        d.attrs["MATLAB_class"] = np.bytes_("cell")
        for i, value in enumerate(values):
            d[i, 0] = value.ref if value is number else text(refs, f"{name}{i}", value).ref
    g = f.create_group("people")  # a struct array: references to the values of each field
    g.attrs["MATLAB_class"] = np.bytes_("struct")
    for field, values in [("age", [41.0, 42.0]), ("size", [1.5, 1.6])]:
        d = g.create_dataset(field, (2, 1), h5py.ref_dtype)
        for i, value in enumerate(values):
            r = refs.create_dataset(f"{field}{i}", data=[[value]])
            r.attrs["MATLAB_class"] = np.bytes_("double")
            d[i, 0] = r.ref
    d = f.create_dataset("when", data=np.uint32([[0xDD000000, 2, 1, 1, 1, 1]]))
    d.attrs["MATLAB_class"], d.attrs["MATLAB_object_decode"] = np.bytes_("datetime"), np.int32(3)

read = mat73.loadmat(sys.argv[1], use_attrdict=False)
want = {}
for name in ["A", "cube", "single", "scalar", "complex", "csingle", "logical", "int8", "uint8", "uint16", "int32", "uint32", "int64", "uint64"]:
    want[name] = np.asarray(read[name])
want["s/x"], want["s/deep/y"] = read["s"]["x"], np.asarray(read["s"]["deep"]["y"])
for name in ["sparse", "zeros"]:
    want[name] = read[name].toarray()
np.savez(sys.argv[2], **want)
