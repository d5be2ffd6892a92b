"""Makes the seeds of the fuzz targets of AnnData, NetCDF and MATLAB: files of few objects, so that
an execution takes little time. Needs h5py: python3 make_seeds.py, in its folder
"""
import h5py
import numpy as np

text = h5py.string_dtype()


def anndata(name, fill):
    with h5py.File(f"../anndata/testdata/seeds/{name}.h5ad", "w", libver="latest") as f:
        f.attrs["encoding-type"] = "anndata"
        fill(f)


def encoded(f, path, encoding, **attrs):
    g = f.create_group(path)
    g.attrs.update({"encoding-type": encoding, **attrs})
    return g


def sparse(encoding):
    def fill(f):
        g = encoded(f, "X", encoding, shape=[2, 3])
        g["data"], g["indices"], g["indptr"] = np.array([1, 2], "f4"), np.array([0, 1], "i4"), np.array([0, 1, 2] + [2] * (encoding == "csc_matrix"), "i4")
    return fill


def categorical(categories):
    def fill(f):
        g = encoded(f, "c", "categorical", ordered=False)
        g["codes"], g["categories"] = np.array([0, 1, -1], "i1"), categories
    return fill


def nullable(f):
    g = encoded(f, "n", "nullable-integer")
    g["values"], g["mask"] = np.array([1, 2]), np.array([True, False])


def frame(f):
    g = encoded(f, "obs", "dataframe", _index="i")
    g.attrs["column-order"] = np.array(["x"], dtype=text)
    g["i"], g["x"] = np.array(["a", "b"], dtype=text), np.array([1.5, 2])


anndata("csr", sparse("csr_matrix"))
anndata("csc", sparse("csc_matrix"))
anndata("words", categorical(np.array(["a", "b"], dtype=text)))
anndata("numbers", categorical(np.array([5, 7])))
anndata("nullable", nullable)
anndata("frame", frame)


def netcdf(name, fill):
    with h5py.File(f"../netcdf/testdata/seeds/{name}.nc", "w", libver="latest") as f:
        f.attrs["_NCProperties"] = "version=2"
        x = f.create_dataset("x", data=np.arange(3, dtype="f4"))
        x.make_scale("x")
        fill(f, x)


def packed(f, x):
    v = f.create_dataset("v", data=np.array([1, -9, 3], "i2"))
    v.attrs.update({"scale_factor": 0.5, "add_offset": 1.0, "_FillValue": np.array([-9], "i2")})
    v.dims[0].attach_scale(x)


def characters(f, x):
    f.create_dataset("c", data=np.array([[b"a", b"b"], [b"c", b""]], "S1"))


def unsigned(f, x):
    v = f.create_dataset("u", data=np.array([1, -1, 3], "i1"))
    v.attrs.update({"_Unsigned": "true", "missing_value": np.int8(3)})


def dimensions(f, x):
    y = f.create_dataset("y", data=np.zeros(2, "f4"))
    y.make_scale("This is a netCDF dimension but not a netCDF variable.         2")
    y.attrs["_Netcdf4Dimid"] = np.int32(1)
    x.attrs["_Netcdf4Dimid"] = np.int32(0)
    f.create_dataset("_nc4_non_coord_y", data=np.zeros((3, 2), "f4")).attrs["_Netcdf4Coordinates"] = np.array([0, 1], "i4")


for fill in [packed, characters, unsigned, dimensions]:
    netcdf(fill.__name__, fill)


def matlab(name, fill):
    file = f"../matlab/testdata/seeds/{name}.mat"
    with h5py.File(file, "w", userblock_size=512, libver="latest") as f:
        fill(f)
    with open(file, "r+b") as f:
        f.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\0\2IM")


def variable(f, path, data, kind, **attrs):
    d = f.create_dataset(path, data=data)
    d.attrs["MATLAB_class"] = np.bytes_(kind)
    d.attrs.update(attrs)
    return d


def matrix(f):
    g = f.create_group("s")
    g.attrs.update({"MATLAB_class": np.bytes_("double"), "MATLAB_sparse": np.uint64(2)})
    g["data"], g["ir"], g["jc"] = np.array([1.0, 2]), np.array([0, 1], "u8"), np.array([0, 1, 1, 2], "u8")


def cell(f):
    one = variable(f, "#refs#/b", np.array([[97], [98]], "u2"), "char", MATLAB_int_decode=np.int32(2))
    c = f.create_dataset("c", data=np.array([[one.ref], [one.ref]], h5py.ref_dtype), dtype=h5py.ref_dtype)
    c.attrs["MATLAB_class"] = np.bytes_("cell")


def numbers(f):
    variable(f, "x", np.ones((2, 3)), "double")
    variable(f, "b", np.array([[1, 0]], "u1"), "logical", MATLAB_int_decode=np.int32(1))
    variable(f, "z", np.array([(1, 2)], [("real", "f8"), ("imag", "f8")]), "double")


def empty(f):
    variable(f, "e", np.array([0, 3], "u8"), "double", MATLAB_empty=np.uint8(1))
    variable(f, "t", np.array([[97, 98], [99, 100]], "u2"), "char", MATLAB_int_decode=np.int32(2))


def record(f):
    g = f.create_group("s")
    g.attrs["MATLAB_class"] = np.bytes_("struct")
    variable(g, "a", np.ones((1, 1)), "double")


for fill in [matrix, cell, numbers, empty, record]:
    matlab(fill.__name__, fill)
