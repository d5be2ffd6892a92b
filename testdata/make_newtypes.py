# Writes types of HDF5 1.12 and 2.0: native complex numbers, references of H5T_STD_REF.
import ctypes, glob, sys, h5py, numpy as np
lib = ctypes.CDLL(glob.glob(h5py.__path__[0] + "/../h5py.libs/libhdf5-*.so*")[0])
name = sys.argv[1]
z = np.array([1+2j, -3.5j, 0, np.inf+1j])
with h5py.File(name, "w", libver="latest") as f:
    for kind, t in ("c64", h5py.h5t.COMPLEX_IEEE_F32LE), ("c128", h5py.h5t.COMPLEX_IEEE_F64LE), ("c128be", h5py.h5t.COMPLEX_IEEE_F64BE):
        s = h5py.h5s.create_simple((4,))
        d = h5py.h5d.create(f.id, kind.encode(), t, s)
        d.write(h5py.h5s.ALL, h5py.h5s.ALL, z.astype("c16"), h5py.h5t.NATIVE_DOUBLE_COMPLEX)
        p = h5py.h5p.create(h5py.h5p.DATASET_CREATE); p.set_chunk((2,)); p.set_deflate(1)
        d = h5py.h5d.create(f.id, (kind + " chunked").encode(), t, s, dcpl=p)
        d.write(h5py.h5s.ALL, h5py.h5s.ALL, z.astype("c16"), h5py.h5t.NATIVE_DOUBLE_COMPLEX)
    a = h5py.h5a.create(h5py.h5o.open(f.id, b"c64"), b"unit", h5py.h5t.COMPLEX_IEEE_F32LE, h5py.h5s.create(h5py.h5s.SCALAR))
    a.write(np.array(1-1j, "c16"), h5py.h5t.NATIVE_DOUBLE_COMPLEX)
    f.create_group("g")["inside"] = np.arange(12).reshape(3, 4)
    f["g/inside"].attrs["unit"] = "m"
    f.flush()
    hid = ctypes.c_int64
    std = hid.in_dll(lib, "H5T_STD_REF_g").value
    ref = ctypes.c_uint8 * 64
    three = (ref * 4)()
    lib.H5Rcreate_object.argtypes = [hid, ctypes.c_char_p, hid, ctypes.c_void_p]
    lib.H5Rcreate_region.argtypes = [hid, ctypes.c_char_p, hid, hid, ctypes.c_void_p]
    lib.H5Rcreate_attr.argtypes = [hid, ctypes.c_char_p, ctypes.c_char_p, hid, ctypes.c_void_p]
    assert lib.H5Rcreate_object(f.id.id, b"/g/inside", 0, ctypes.byref(three[0])) >= 0
    space = h5py.h5s.create_simple((3, 4)); space.select_hyperslab((1, 0), (2, 3))
    assert lib.H5Rcreate_region(f.id.id, b"/g/inside", space.id, 0, ctypes.byref(three[1])) >= 0
    assert lib.H5Rcreate_attr(f.id.id, b"/g/inside", b"unit", 0, ctypes.byref(three[2])) >= 0
    assert lib.H5Rcreate_object(f.id.id, b"/g", 0, ctypes.byref(three[3])) >= 0
    lib.H5Dcreate2.argtypes = [hid, ctypes.c_char_p, hid, hid, hid, hid, hid]; lib.H5Dcreate2.restype = hid
    lib.H5Dwrite.argtypes = [hid, hid, hid, hid, hid, ctypes.c_void_p]
    s = h5py.h5s.create_simple((4,))
    d = lib.H5Dcreate2(f.id.id, b"references", std, s.id, 0, 0, 0)
    assert lib.H5Dwrite(d, std, 0, 0, 0, ctypes.byref(three)) >= 0
    lib.H5Dclose.argtypes = [hid]; lib.H5Dclose(d)
    def write(name, each, chunks=None):
        all = (ref * len(each))(*each)
        p = 0
        if chunks:
            dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE); dcpl.set_chunk(chunks); dcpl.set_shuffle(); dcpl.set_deflate(1); p = dcpl.id
        space = h5py.h5s.create_simple((len(each),))
        d = lib.H5Dcreate2(f.id.id, name, std, space.id, 0, p, 0)
        assert d >= 0 and lib.H5Dwrite(d, std, 0, 0, 0, ctypes.byref(all)) >= 0
        lib.H5Dclose(d)
    write(b"objects", [three[0], three[3], three[0]])
    write(b"regions", [three[1], three[1], three[1]], (2,))
    lib.H5Acreate2.argtypes = [hid, ctypes.c_char_p, hid, hid, hid, hid]; lib.H5Acreate2.restype = hid
    lib.H5Awrite.argtypes = [hid, hid, ctypes.c_void_p]; lib.H5Aclose.argtypes = [hid]
    one, g = h5py.h5s.create(h5py.h5s.SCALAR), f["g"]
    a = lib.H5Acreate2(g.id.id, b"see", std, one.id, 0, 0)
    assert a >= 0 and lib.H5Awrite(a, std, ctypes.byref(three[0])) >= 0
    lib.H5Aclose(a)
    s3 = h5py.h5s.create_simple((2,))
    d = lib.H5Dcreate2(f.id.id, b"null references", std, s3.id, 0, 0, 0); lib.H5Dclose(d)
